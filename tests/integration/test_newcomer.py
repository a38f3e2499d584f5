"""Three days of one person (benchmarks/newcomer): what the start of the fourth morning tells of what is needed then."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmarks.newcomer import play, recorded_model
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


@contextmanager
def rules() -> Iterator[str]:
    """The offline LLM."""
    server = offline_llm.bind()
    server.start()
    try:
        yield offline_llm.base_url(server)
    finally:
        server.stop()


def fourth_start(service: Service, patch: pytest.MonkeyPatch, folder: Path, url: str, model: str) -> str:
    """What the hooks give after three days."""
    for name, value in {"LLMAAS_API_URL": url, "LLMAAS_MODEL": model, "SESSION_FOLDS": "true"}.items():
        patch.setenv(name, value)
    with front.opened(service) as door:
        address = f"http://127.0.0.1:{door.port}"
        with Client(address, BOOTSTRAP_KEY) as admin:
            admin.call("create_space", {"space_id": "spoke", "description": "Invoices of a workshop"})
            asked = {"name": "dana", "permissions": ["read", "write"], "space_ids": ["spoke"]}
            token = admin.call("create_token", asked)["token"]
        agent = HookedAgent.installed("dana", folder, "spoke", address, token)
        seen: set[str] = set()
        play.live_three_days(agent, lambda: service.settle(seen))
        return agent.begin(3)


def test_with_fixed_rules_the_fourth_start_answers_half_of_what_is_needed(
    service: Service, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with rules() as url:
        start = fourth_start(service, monkeypatch, tmp_path / "dana", url, "offline-rules")
    missing = play.missing(start)
    assert len(missing) <= play.NEEDS - play.RULES_GOAL, (missing, start)
    # Both decisions are there: no rule says which one holds, and the newer one says that there is another.
    assert any("WeasyPrint instead of ReportLab" in line and ", against 20" in line for line in start.splitlines())


@pytest.mark.proof
def test_with_a_language_model_the_fourth_start_answers_four_fifths_of_what_is_needed(
    service: Service, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with recorded_model.serving(play.ANSWERS) as (model, url):
        start = fourth_start(service, monkeypatch, tmp_path / "dana", url, recorded_model.MODEL)
    assert model.unknown == {}
    missing = play.missing(start)
    assert len(missing) <= play.NEEDS - play.MODEL_GOAL, (missing, start)
