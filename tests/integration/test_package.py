"""The package on a machine without the checkout: one command installs it, one starts the service."""

import io
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from scripts import generated, wheel
from tests.support import elsewhere, package_story
from tests.support.installed import install, own_environment, required, size
from tests.support.mcp_stdio import McpStdio

MB = 1_000_000


@pytest.fixture(scope="module")
def programs(tmp_path_factory) -> Path:
    """Those of an environment that is not on Linux, as far as our own code can tell (tests/support/elsewhere)."""
    programs = install(tmp_path_factory.mktemp("package"), wheel.EXTRA)
    (packages,) = (programs.parent / "lib").glob("python*/site-packages")
    shutil.copy(Path(elsewhere.__path__[0]) / "sitecustomize.py", packages)
    return programs


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def livemem(programs, home):
    """The installed command, in an empty home; the service that it starts ends with the tests."""

    def say(*arguments: str, status: int = 0) -> str:
        done = subprocess.run(
            [str(programs / "livemem"), *arguments],
            cwd=home,
            env=own_environment(home),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        assert done.returncode == status, done.stderr
        return done.stdout

    yield say
    subprocess.run([str(programs / "livemem"), "stop"], env=own_environment(home), capture_output=True, check=False)


@pytest.mark.process
@pytest.mark.slow
def test_the_installed_command_starts_the_service_writes_folds_searches_and_stops(programs, home):
    data = home / "data of the story"
    package_story.play(str(programs / "livemem"), {**own_environment(home), "LIVEMEM_DATA_DIR": str(data)}, home)

    assert {oct((data / name).stat().st_mode & 0o777) for name in ("admin.key", "serve.log", "serve.json")} == {"0o600"}
    assert not (data / "endpoints.json").exists()


@pytest.mark.process
@pytest.mark.slow
def test_a_store_of_ones_own_without_its_extra_is_refused_in_one_sentence(programs, home):
    refused = subprocess.run(
        [str(programs / "livemem"), "serve", "--port", "0", "--s3", "http://127.0.0.1:9", "--bucket", "memory"],
        env={**own_environment(home), "LIVEMEM_DATA_DIR": str(home / "of a store")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (refused.returncode, refused.stderr) == (
        1,
        "The store at http://127.0.0.1:9 needs the extra `s3`: pipx install 'live-memory[server,s3]'.\n",
    )


@pytest.mark.process
@pytest.mark.slow
def test_an_agent_needs_nothing_but_the_command_for_a_memory_of_its_repository(programs, home, livemem):
    folder = home / "My.Project"
    folder.mkdir()
    with McpStdio([str(programs / "livemem"), "mcp"], folder, own_environment(home)) as agent:
        asked = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        assert agent.ask("initialize", asked)["serverInfo"]["name"] == "live-memory"
        agent.tell("notifications/initialized")
        assert {"note", "start_session"} <= {tool["name"] for tool in agent.ask("tools/list")["tools"]}
        agent.call("note", category="decision", content="The parser keeps tabs now.")
        assert " test decision] The parser keeps tabs now." in agent.call("start_session"), "the note names its agent"
    assert agent.ended == 0
    assert "my-project" in livemem("spaces")


def test_the_same_tree_gives_the_same_small_wheel_with_every_file_that_git_has_or_that_is_made_of_others(
    programs, tmp_path
):
    (first,) = (programs.parents[1] / "dist").iterdir()
    built = [first.read_bytes(), (tmp_path / wheel.build_wheel(str(tmp_path))).read_bytes()]

    assert built[0] == built[1]
    assert len(built[0]) < 5 * MB

    with zipfile.ZipFile(io.BytesIO(built[0])) as package:
        held = {name for name in package.namelist() if ".dist-info/" not in name}
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *wheel.FOLDERS]
    there = subprocess.run(listed, cwd=wheel.ROOT, capture_output=True, text=True, check=True).stdout.split()
    left_out = ("local/demo/", "local/sam/")
    wanted = {name for name in there if (wheel.ROOT / name).exists() and not name.startswith(left_out)}
    wanted |= {*generated.TARGETS}
    wanted = {name for name in wanted if not name.endswith("requirements.txt")}

    in_client = {name.removeprefix("client/") for name in wanted if name.startswith("client/")}
    in_server = {f"{wheel.SERVER}/{name}" for name in [*wanted, "template.yaml"] if not name.startswith("client/")}
    assert in_client | in_server == held


def test_an_installation_stays_small():
    client = {one.name: size(one) for one in required()}
    assert MB < sum(client.values()) < 40 * MB
    assert 40 * MB < sum(size(one) for one in required(wheel.EXTRA) if one.name not in client) < 150 * MB
