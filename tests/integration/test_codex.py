"""The real Codex against a scripted endpoint: which tools are in the first request to its model.

It runs where `codex` is installed, or LIVEMEM_TEST_CODEX names it (which then has to work).
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from live_memory.cli import local_service
from tests.support import responses_server
from tests.support.responses_server import tools_of

CODEX = os.environ.get("LIVEMEM_TEST_CODEX") or shutil.which("codex")
ROOT = Path(__file__).parents[2]
PATH = os.pathsep.join(str(ROOT / part) for part in ("client", "layers/livemem", "."))

pytestmark = [
    pytest.mark.process,
    pytest.mark.slow,
    pytest.mark.skipif(not CODEX, reason="codex is not installed: npm install @openai/codex"),
]


def test_codex_has_the_tools_in_its_first_request_also_where_the_service_of_the_machine_does_not_run(tmp_path):
    project, data = tmp_path / "ferry", tmp_path / "data"
    project.mkdir()
    (tmp_path / "codex").mkdir()
    environ = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("LIVEMEM_", "OPENAI_", "PYTHON"))},
        "HOME": str(tmp_path),
        "CODEX_HOME": str(tmp_path / "codex"),
        "LIVEMEM_DATA_DIR": str(data),
        "LIVEMEM_STATE": str(tmp_path / "state"),
        "LIVEMEM_CONFIG": str(tmp_path / "none.toml"),
        "PYTHONPATH": PATH,
    }
    program = [sys.executable, "-m", "live_memory.cli", "mcp", "--space", "demo"]
    own = ", ".join(f"{name} = {json.dumps(environ[name])}" for name in environ if name.startswith(("LIVEMEM", "PYTH")))
    servers = f"""
[mcp_servers.livemem]
command = {json.dumps(program[0])}
args = {json.dumps(program[1:])}
startup_timeout_sec = 60
env = {{ {own} }}
"""
    command = [str(CODEX), "exec", "--skip-git-repo-check", "When do ferries leave?"]
    with responses_server.serving() as server:
        (tmp_path / "codex/config.toml").write_text(server.settings + servers)
        try:
            # The first session of all has nothing that was kept: the service runs, as `livemem init` leaves it.
            local_service.start(environ, data, local_service.choices_of_agent(data))
            for _ in range(2):
                subprocess.run(
                    command,
                    cwd=project,
                    env=environ,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    timeout=90,
                    check=True,
                )
                local_service.stop(data)
                # From now on it can't be started.
                (data / local_service.CHOICES).write_text("no JSON")
        finally:
            local_service.stop(data)

    asked = [tools_of(one) for one in server.asked]
    assert len(asked) == 2
    assert all({"note", "search", "start_session"} <= set(tools) for tools in asked), asked
