"""Each agent has one token for the service of this machine, whoever asks for it first or at once."""

import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_memory.cli.agent_tokens import AgentToken, agent_name
from livemem.store.keys import check_agent
from tests.support.cases import each


@given(st.text(max_size=100))
def test_every_name_becomes_one_that_a_token_may_have_and_stays_itself(given):
    name = agent_name(given)
    assert check_agent(name) == name == agent_name(name)


@each(
    ("given", "name"),
    [
        ("claude-code", "claude-code"),
        ("codex-mcp-client", "codex"),
        ("Visual Studio Code", "vscode"),
        ("copilot-cli", "vscode"),
        ("gemini-cli-mcp-client", "gemini-cli"),
        ("cursor-vscode", "cursor"),
        ("Cline", "cline"),
        ("..", "agent"),
    ],
)
def test_clients_have_the_same_name_over_mcp_and_in_hooks(given, name):
    assert agent_name(given) == name


ROOT = Path(__file__).parents[3]


class DataFolder:
    """A service's data folder; the tokens that it makes are numbered."""

    def __init__(self, path):
        self.path = path
        self._made = count(1)

    def __call__(self, agent="cline"):
        return AgentToken(self.path, agent, lambda: f"lm_{next(self._made)}")


@pytest.fixture
def folder(tmp_path):
    return DataFolder(tmp_path)


def test_it_is_made_once_and_only_its_owner_reads_it(folder):
    assert folder().get() == folder().get() == "lm_1"
    assert folder("codex").get() == "lm_2"
    modes = {
        path.name: stat.S_IMODE(path.stat().st_mode)
        for path in [folder.path / "agents", *(folder.path / "agents").iterdir()]
    }
    assert modes == {"agents": 0o700, "cline.token": 0o600, "codex.token": 0o600}


@pytest.mark.parametrize("given", ["CON", "nul", "com1", "lpt9"])
def test_an_agent_with_the_name_of_a_device_has_a_file_that_windows_takes(folder, given):
    agent = agent_name(given)
    assert folder(agent).get() == folder(agent).get() == "lm_1"
    assert [path.name for path in (folder.path / "agents").iterdir()] == [f"{agent}-.token"]


def test_many_that_need_it_at_once_get_the_same_one_also_after_it_was_refused(folder):
    for wanted in (lambda: folder().get(), lambda: folder().renewed("lm_1")):
        with ThreadPoolExecutor(8) as executor:
            found = {one.result() for one in [executor.submit(wanted) for _ in range(8)]}
        assert len(found) == 1, found
    assert folder().get() == "lm_2"


@pytest.mark.process
def test_two_processes_of_a_system_without_fcntl_get_the_same_one_at_once(tmp_path):
    program = (
        "import pathlib, uuid, sys\n"
        "from live_memory.cli.agent_tokens import AgentToken\n"
        "print(AgentToken(pathlib.Path(sys.argv[1]), 'con', lambda: uuid.uuid4().hex).get())"
    )
    environ = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT / "client"), str(ROOT / "tests/support/elsewhere")]),
    }
    command = [sys.executable, "-c", program, str(tmp_path)]
    started = [subprocess.Popen(command, env=environ, stdout=subprocess.PIPE) for _ in range(2)]
    (one, other) = (process.communicate(timeout=60)[0] for process in started)
    assert one == other != b""


def test_a_file_that_holds_none_is_as_one_that_is_not_there(folder):
    folder().get()
    (folder.path / "agents/cline.token").write_bytes(b"\xff\xfe")
    assert folder().get() == "lm_2"


def test_a_token_that_could_not_be_made_leaves_nothing_behind(folder):
    def fail():
        raise OSError("no answer")

    with pytest.raises(OSError, match="no answer"):
        AgentToken(folder.path, "cline", fail).get()
    assert folder().get() == "lm_1"
