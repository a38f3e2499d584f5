"""The image and compose.yaml as a team runs them: real containers, with VersityGW as the store (`make test-image`)."""

import json
import os
import shutil
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.integration.local.support import wait_until

ROOT = Path(__file__).resolve().parents[2]
KEY, PORT, PROJECT = "0123456789abcdef" * 2, 3177, "livemem-test-image"
STORE = "live-memory-test-store:1"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "live-memory"
PROGRAM = Path(os.environ.get("LIVEMEM_CACHE_DIR") or CACHE) / "bin" / "versitygw"
START_SECONDS = 120


def docker(*arguments: str) -> str:
    return subprocess.run(["docker", *arguments], check=True, capture_output=True, text=True).stdout.strip()


def container(name: str) -> str:
    return docker("ps", "--all", "--quiet", "--filter", f"label=com.docker.compose.project={PROJECT}",
                  "--filter", f"label=com.docker.compose.service={name}")  # fmt: skip


class Stack:
    """compose.yaml under a project of its own."""

    url = f"http://127.0.0.1:{PORT}"

    def compose(self, *arguments: str) -> None:
        plugin = subprocess.run(["docker", "compose", "version"], check=False, capture_output=True).returncode == 0
        program = ["docker", "compose"] if plugin else [shutil.which("docker-compose") or "docker-compose"]
        settings = {
            "ADMIN_BOOTSTRAP_KEY": KEY,
            "STORE_SECRET_KEY": KEY,
            "STORE_IMAGE": STORE,
            "LIVEMEM_LISTEN": f"127.0.0.1:{PORT}",
            "LIVEMEM_METRICS_KEY": KEY,
        }
        command = [*program, "--project-name", PROJECT, "--file", str(ROOT / "compose.yaml"), *arguments]
        subprocess.run(command, check=True, env={**os.environ, **settings}, capture_output=True)

    def up(self, *arguments: str) -> None:
        self.compose("up", "--detach", *arguments)
        wait_until(lambda: self.ask("/healthz")[0] == 200, START_SECONDS)

    def ask(self, path: str, body: object = None, **headers: str) -> tuple[int, str]:
        data = None if body is None else json.dumps(body).encode()
        known = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json", **headers}
        try:
            with urllib.request.urlopen(urllib.request.Request(self.url + path, data, known), timeout=30) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError as error:
            return 0, str(error)


@pytest.fixture(scope="module")
def stack(tmp_path_factory):
    folder = tmp_path_factory.mktemp("store")
    shutil.copy(PROGRAM, folder / "versitygw")
    (folder / "Dockerfile").write_text('FROM scratch\nCOPY versitygw /versitygw\nENTRYPOINT ["/versitygw"]\n')
    docker("build", "--quiet", "--tag", STORE, str(folder))
    running = Stack()
    running.compose("down", "--volumes")
    running.up()
    yield running
    running.compose("down", "--volumes")


def test_a_note_outlives_the_container_because_everything_of_value_is_in_the_store(stack):
    stack.ask("/v1/spaces", {"space_id": "team"})
    note = {"category": "decision", "content": "The parser keeps tabs now."}
    assert stack.ask("/v1/spaces/team/notes", note)[0] == 201

    first = container("livemem")
    stack.up("--force-recreate", "--no-deps", "livemem")

    assert container("livemem") != first
    assert "The parser keeps tabs now." in stack.ask("/v1/spaces/team/notes")[1]
    assert json.loads(stack.ask("/v1/health")[1])["checks"]["conditional_writes"] == "ok"


def test_the_container_is_nobody_writes_nothing_but_scratch_and_is_healthy(stack):
    running = container("livemem")
    tried = "id -u; touch /x /opt/live-memory/x 2>/dev/null || echo refused; touch /data/x /tmp/x && echo scratch"
    assert docker("exec", running, "sh", "-c", tried).split() == ["10001", "refused", "scratch"]
    # Docker tells it at the next check, 15 s after the last one.
    wait_until(lambda: docker("inspect", "--format", "{{.State.Health.Status}}", running) == "healthy", 60)


def test_nobody_outside_invokes_functions_or_reads_without_a_token(stack):
    assert stack.ask("/2015-03-31/functions/SweepFunction/invocations", {})[0] == 404
    assert stack.ask("/v1/spaces", Authorization="Bearer wrong")[0] == 401


def test_prometheus_reads_the_metrics_with_their_key_alone(stack):
    stack.ask("/v1/spaces/team/notes")
    status, told = stack.ask("/metrics")
    assert status == 200
    assert 'method="GET",route="/v1/spaces/{space_id}/notes",status="200"' in told
    assert stack.ask("/metrics", Authorization="")[0] == 401


def test_sigterm_ends_it_in_order(stack):
    running = container("livemem")
    stack.compose("stop", "livemem")
    assert docker("inspect", "--format", "{{.State.ExitCode}}", running) == "0"
    stack.up()
    assert "The parser keeps tabs now." in stack.ask("/v1/spaces/team/notes")[1]


def test_the_image_does_not_start_for_others_without_a_key(stack):
    image = docker("inspect", "--format", "{{.Config.Image}}", container("livemem"))
    said = subprocess.run(["docker", "run", "--rm", image], check=False, capture_output=True, text=True)
    assert said.returncode == 2
    assert "set ADMIN_BOOTSTRAP_KEY" in said.stderr
