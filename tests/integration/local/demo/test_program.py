"""`python -m local.demo` as a process, where it does not come to its end."""

import os
import subprocess
import sys

import pytest

from local.demo.__main__ import DemoError, running_service
from local.front.httpd import Request, Response, Server, answer_json
from tests.integration.local.support import ROOT, descendants, is_alive, wait_until


@pytest.fixture
def start(tmp_path):
    started = []

    def start(**variables: str) -> subprocess.Popen[str]:
        others = ("LLMAAS_", "EMBEDDINGS_", "CONSOLIDATION_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(others)}
        path = os.pathsep.join((str(ROOT), str(ROOT / "client")))
        environment = kept | {"LIVEMEM_DATA_DIR": str(tmp_path / "data"), "PYTHONPATH": path} | variables
        started.append(
            subprocess.Popen(
                [sys.executable, "-m", "local.demo"],
                cwd=ROOT,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


def test_it_says_which_models_it_uses_and_a_reader_that_has_seen_enough_ends_it(start):
    process = start(EMBEDDINGS_API_URL="off")
    seen = "".join(process.stdout.readline() for _ in range(4))
    assert "(offline stand-in: fixed rules, no language model" in seen
    assert "Embeddings: none: search goes by words alone" in seen
    process.stdout.close()
    assert process.wait(60) == 0
    assert process.stderr.read() == ""


def test_a_dead_llm_is_said_before_anything_starts(start, tmp_path):
    process = start(LLMAAS_API_URL="http://me:hunter2@127.0.0.1:9/v1")
    out, err = process.communicate(timeout=30)
    assert process.returncode == 1
    assert "Nothing listens at LLMAAS_API_URL: start the server" in err
    assert "Without LLMAAS_API_URL the demo shows the offline stand-in." in err
    assert "hunter2" not in err
    assert out == ""
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(("status", "words"), [(401, "status 401. Check LLMAAS_API_KEY"), (403, "status 403.")])
def test_a_key_that_the_llm_refuses_is_said_before_anything_starts(monkeypatch, tmp_path, status, words):
    asked: list[Request] = []
    llm = Server("127.0.0.1", 0, lambda request: asked.append(request) or Response(status), max_body=10)
    llm.start()
    monkeypatch.setenv("LLMAAS_API_URL", f"{llm.url}/v1/")
    monkeypatch.setenv("LLMAAS_API_KEY", "hunter2")
    with pytest.raises(DemoError) as refused, running_service(tmp_path / "data"):
        pass
    llm.stop()
    assert words in str(refused.value)
    assert "hunter2" not in str(refused.value)
    assert [(request.path, request.header("Authorization")) for request in asked] == [("/v1/models", "Bearer hunter2")]
    assert not (tmp_path / "data").exists()


def test_a_wrong_variable_is_said_before_anything_starts(start, tmp_path):
    process = start(CONSOLIDATION_THRESHOLD="abc", LLMAAS_TEMPERATURE="9")
    _, err = process.communicate(timeout=30)
    assert process.returncode == 2
    assert sorted(line.split(":")[0] for line in err.splitlines()) == ["CONSOLIDATION_THRESHOLD", "LLMAAS_TEMPERATURE"]
    assert not (tmp_path / "data").exists()


def test_a_story_ends_with_the_demo_that_is_asked_to_stop(start):
    process = start(EMBEDDINGS_API_URL="off")
    while "livemem token create" not in process.stdout.readline():
        pass
    story = descendants(process.pid)
    process.terminate()
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.splitlines() == ["", "The demo was stopped."]
    assert story
    wait_until(lambda: not any(map(is_alive, story)), 20)


@pytest.mark.parametrize(
    "line", ["ask lead no-such-command", "answer=yes; holds no 'It says yes.'", "await Never False whoami"]
)
def test_a_story_that_cannot_show_what_it_is_to_show_fails(tmp_path, line):
    server = Server("127.0.0.1", 0, lambda _: answer_json(200, {"name": "ann", "spaces": []}), max_body=10)
    server.start()
    environment = os.environ | {
        "PYTHON": sys.executable,
        "PYTHONPATH": str(ROOT / "client"),
        "DATA": str(tmp_path),
        "ADMIN_TOKEN": "none",
        "PATIENCE": "1",
        "LIVEMEM_URL": server.url,
    }
    command = ["bash", "-c", f". examples/story/stage.sh; {line}; echo shown"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    server.stop()
    assert (done.returncode, done.stdout) == (1, "")
    assert "The demo failed." in done.stderr
