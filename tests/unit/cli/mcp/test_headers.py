"""A client that asks for headers gets those of the service that it names, and no other token."""

import json

import pytest

from live_memory.cli import local_service
from live_memory.cli.config import Profile, keep
from live_memory.cli.local_service import LocalService
from live_memory.cli.mcp.headers import ASKED_URL, base_of

TEAM, OTHER = "https://memory.example.org", "https://other.example.org/base"


@pytest.fixture
def desk(desk):
    desk.alone()
    keep(desk.config, "default", Profile(TEAM, "lm_team", "demo"))
    keep(desk.config, "work", Profile(OTHER, "lm_other"))
    return desk


@pytest.mark.parametrize(
    ("asked", "token"),
    [
        (None, "lm_team"),
        (f"{TEAM}/mcp?space=demo&structured=false", "lm_team"),
        (f"{OTHER}/mcp/", "lm_other"),
    ],
)
def test_it_is_the_token_of_the_profile_whose_service_the_client_names(desk, asked, token):
    desk.environ |= {ASKED_URL: asked} if asked else {}
    assert json.loads(desk.say("mcp-headers").out) == {"Authorization": f"Bearer {token}"}
    assert desk.asked == []


@pytest.mark.parametrize(
    "asked", ["https://evil.example.org/mcp", f"{TEAM}.evil.org/mcp", "http://memory.example.org/mcp", "x"]
)
def test_another_server_gets_no_token(desk, asked):
    desk.environ[ASKED_URL] = asked
    for profile in ([], ["--profile", "work"]):
        said = desk.say(*profile, "mcp-headers")
        assert (said.code in (2, 4), said.out) == (True, "")
        assert "lm_" not in said.err


def test_a_profile_that_was_named_is_the_only_one(desk):
    desk.environ[ASKED_URL] = f"{TEAM}/mcp"
    assert desk.say("--profile", "work", "mcp-headers").code == 4


def test_a_token_of_the_environment_is_for_the_server_that_the_client_was_given(desk):
    desk.config.unlink()
    desk.environ |= {ASKED_URL: f"{TEAM}/mcp", "LIVEMEM_TOKEN": "lm_own"}
    assert json.loads(desk.say("mcp-headers").out) == {"Authorization": "Bearer lm_own"}


def test_the_service_of_this_machine_gives_the_agent_a_token_of_its_own(desk, monkeypatch):
    desk.config.unlink()
    (desk.home / "data").mkdir()
    desk.answers = {"create_token": {"token": "lm_agents"}}
    monkeypatch.setattr(local_service, "ready", lambda _: LocalService(1, "http://127.0.0.1:3000", "own-key", {}))
    desk.environ[ASKED_URL] = "http://127.0.0.1:3000/mcp"
    for _ in range(2):
        assert json.loads(desk.say("mcp-headers").out) == {"Authorization": "Bearer lm_agents"}
    assert [name for name, _ in desk.asked] == ["create_token"]


def test_the_service_is_what_stands_before_mcp():
    assert base_of(f"{OTHER}/mcp?space=x") == OTHER
