"""Three days of one person (benchmarks/newcomer): the start of the fourth morning."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.newcomer import play
from live_memory import Client
from local.offline_llm import server as offline_llm
from tests.support import front
from tests.support.hooked_agent import HookedAgent
from tests.support.policy import Role
from tests.support.service import Service
from tests.support.world import BOOTSTRAP_KEY


@pytest.fixture
def roles(roles: dict[str, Role]) -> dict[str, Role]:
    """On one's own machine functions have no roles: that of summaries starts consolidations there."""
    return {**roles, "Summarize": Role(roles["Summarize"].grants + roles["Counter"].grants)}


@pytest.fixture
def rules(service: Service, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    del service  # It names an address of its own first.
    server = offline_llm.bind()
    server.start()
    monkeypatch.setenv("LLMAAS_API_URL", offline_llm.base_url(server))
    monkeypatch.setenv("LLMAAS_MODEL", "offline-rules")
    monkeypatch.setenv("SESSION_FOLDS", "true")
    yield
    server.stop()


@pytest.mark.usefixtures("rules")
def test_with_fixed_rules_the_fourth_start_answers_half_of_what_is_needed(service: Service, tmp_path: Path) -> None:
    with front.opened(service) as door:
        url = f"http://127.0.0.1:{door.port}"
        with Client(url, BOOTSTRAP_KEY) as admin:
            admin.call("create_space", {"space_id": "spoke", "description": "Invoices of a workshop"})
            asked = {"name": "dana", "permissions": ["read", "write"], "space_ids": ["spoke"]}
            token = admin.call("create_token", asked)["token"]
        agent = HookedAgent.installed("dana", tmp_path / "dana", "spoke", url, token)
        seen: set[str] = set()
        play.live_three_days(agent, lambda: service.settle(seen))
        start = agent.begin(3)
    missing = [need.id for need in play.needs() if not need.answered(start)]
    assert len(play.needs()) - len(missing) >= play.RULES_GOAL, (missing, start)
