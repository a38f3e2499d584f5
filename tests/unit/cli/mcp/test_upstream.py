"""Which service an agent's messages go to, and when that of this machine is started."""

from dataclasses import dataclass, field

import httpx
import pytest

from live_memory.cli import local_service
from live_memory.cli.config import Profile, keep
from live_memory.cli.exits import Refused
from live_memory.cli.local_service import Choices, LocalService
from live_memory.cli.mcp.upstream import Upstreams
from tests.support.cli_harness import CliHarness
from tests.support.scripted import problem


@dataclass
class Machine:
    """A machine without a profile. `taken` are its ports that another program has."""

    desk: CliHarness
    taken: set[int] = field(default_factory=set)
    started: list[Choices] = field(default_factory=list)

    def start(self, _environ, _folder, choices):
        self.started.append(choices)
        return self.service

    @property
    def service(self):
        port = self.started[-1].port if self.started else None
        return LocalService(1, f"http://127.0.0.1:{port or 3000}", "own-key", {}) if self.started else None

    def upstreams(self, space="auto"):
        return Upstreams(self.desk.program(), space, self.desk.home / "My Project", self.start)

    def log_in(self, url):
        keep(self.desk.config, "default", Profile(url, "t", "team"))


@pytest.fixture
def machine(desk, monkeypatch):
    found = Machine(desk.alone())
    space = {"space_id": "x"}
    desk.answers = {"get_space": space, "patch_space": space, "list_conversations": {"items": []}}
    desk.answers["create_token"] = {"token": "lm_agents"}
    (desk.home / "data").mkdir(parents=True)
    monkeypatch.setattr(local_service, "is_free", lambda port: port not in found.taken)
    monkeypatch.setattr(local_service, "ready", lambda _: found.service)
    return found


def test_without_a_profile_the_service_of_this_machine_is_started_once_and_gives_the_agent_a_token(machine):
    upstreams = machine.upstreams()
    found = upstreams.get("Claude Code")

    assert (found.url, found.token, found.space) == ("http://127.0.0.1:3000", "lm_agents", "my-project")
    assert upstreams.get("Claude Code") is found
    assert len(machine.started) == 1
    assert not any(secret in repr(found) for secret in ("own-key", "lm_agents"))
    (made,) = [asked for name, asked in machine.desk.asked if name == "create_token"]
    assert made == {"name": "claude-code", "permissions": ["read", "write"], "space_ids": []}


def test_a_token_that_the_service_refuses_is_replaced_once_for_all_that_had_it(machine):
    machine.desk.answers["create_token"] = [{"token": "lm_one"}, {"token": "lm_two"}, {"token": "lm_three"}]
    upstreams = machine.upstreams()
    refused = upstreams.get("codex-mcp-client")

    assert upstreams.renewed(refused).token == upstreams.renewed(refused).token == "lm_two"
    assert upstreams.get("codex-mcp-client").token == "lm_two"
    assert (machine.desk.home / "data/agents/codex.token").read_text() == "lm_two"


def test_the_token_of_a_profile_is_used_as_it_is(machine):
    machine.log_in("http://localhost:3100")
    found = machine.upstreams().get("claude-code")

    assert (found.token, machine.upstreams().renewed(found)) == ("t", None)
    assert "create_token" not in [name for name, _ in machine.desk.asked]


def test_where_another_program_has_the_port_any_free_one_is_taken(machine):
    machine.taken = {3000}
    machine.upstreams().get()

    assert [choices.port for choices in machine.started] == ["0"]


def test_a_service_that_died_is_started_again_by_one_of_those_that_found_it_dead(machine):
    upstreams = machine.upstreams("demo")
    dead = upstreams.get()
    again = [upstreams.again(dead), upstreams.again(dead)]

    assert again[0] is again[1] is not dead
    assert len(machine.started) == 2


def test_a_service_elsewhere_is_never_replaced_by_one_of_this_machine(machine):
    machine.log_in("https://memory.example.org")
    upstreams = machine.upstreams()
    found = upstreams.get()

    assert (found.url, found.token, found.space) == ("https://memory.example.org", "t", "team")
    with pytest.raises(Refused, match="no connection to https://memory"):
        upstreams.again(found)
    machine.desk.answers["get_space"] = httpx.ConnectError("refused")
    with pytest.raises(Refused, match="no connection"):
        machine.upstreams().get()
    assert not machine.started


def test_the_service_of_a_local_profile_is_started_at_the_profiles_port(machine):
    machine.log_in("http://localhost:3100")
    machine.desk.answers["get_space"] = [httpx.ConnectError("refused")] * 4 + [{"space_id": "team"}]

    assert machine.upstreams().get().url == "http://localhost:3100"
    assert [choices.port for choices in machine.started] == ["3100"]


def test_a_started_service_that_does_not_know_the_profiles_token_is_said(machine):
    machine.log_in("http://localhost:3100")
    machine.desk.answers["get_space"] = [httpx.ConnectError("refused")] * 4 + [problem(401, "unauthorized")]

    with pytest.raises(Refused, match="livemem logout"):
        machine.upstreams().get()


def test_a_local_profile_of_another_service_than_the_one_that_runs_is_said(machine):
    machine.log_in("http://127.0.0.1:3100")
    machine.desk.answers["get_space"] = httpx.ConnectError("refused")
    runs = LocalService(1, "http://127.0.0.1:3000", "own-key", {})

    with pytest.raises(Refused, match="the service of this machine is at http"):
        Upstreams(machine.desk.program(), "auto", machine.desk.home, lambda *_: runs).get()
