"""`python -m local.demo` where it does not come to its end."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TextIO

import pytest

from local import stopping
from local.demo.__main__ import DemoError, main, running_service
from local.front.httpd import Request, Response, Server, answer_json
from tests.integration.local.support import ROOT, descendants, is_alive, last, wait_until
from tests.support.functions import forget


@pytest.fixture
def demo(tmp_path, monkeypatch, capfd):
    """Tell the story in this process, and have what is shown `watched`; gives the status and what is on stderr."""
    before = {number: signal.getsignal(number) for number in stopping.SIGNALS}
    others = ("LLMAAS_", "EMBEDDINGS_", "CONSOLIDATION_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(others)}

    def demo(watched: Callable[[TextIO], object] = lambda story: story.read(), **variables: str) -> tuple[int, str]:
        monkeypatch.setattr(os, "environ", kept | {"LIVEMEM_DATA_DIR": str(tmp_path / "data")} | variables)
        monkeypatch.setattr(sys, "argv", ["demo"])
        last(monkeypatch)
        forget()
        reading, writing = os.pipe()
        stdout = os.dup(1)
        os.dup2(writing, 1)
        os.close(writing)
        with os.fdopen(reading) as story, ThreadPoolExecutor() as pool:
            seen = pool.submit(watched, story)
            try:
                status = main()
            finally:
                os.dup2(stdout, 1)
                os.close(stdout)
            seen.result()
        return status, capfd.readouterr().err

    yield demo
    forget()
    for number, handler in before.items():
        signal.signal(number, handler)


def test_it_says_which_models_it_uses_and_a_reader_that_has_seen_enough_ends_it(demo):
    def watched(shown: TextIO) -> None:
        seen = "".join(shown.readline() for _ in range(4))
        assert "(offline stand-in: fixed rules, no language model" in seen
        assert "Embeddings: none: search goes by words alone" in seen
        shown.close()

    assert demo(watched, EMBEDDINGS_API_URL="off") == (0, "")


def test_a_dead_llm_is_said_before_anything_starts(demo, tmp_path):
    shown: list[str] = []
    status, err = demo(lambda story: shown.append(story.read()), LLMAAS_API_URL="http://me:hunter2@127.0.0.1:9/v1")
    assert status == 1
    assert "Nothing listens at LLMAAS_API_URL: start the server" in err
    assert "Without LLMAAS_API_URL the demo shows the offline stand-in." in err
    assert "hunter2" not in err
    assert shown == [""]
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


def test_a_wrong_variable_is_said_before_anything_starts(demo, tmp_path):
    status, err = demo(CONSOLIDATION_THRESHOLD="abc", LLMAAS_TEMPERATURE="9")
    assert status == 2
    assert sorted(line.split(":")[0] for line in err.splitlines()) == ["CONSOLIDATION_THRESHOLD", "LLMAAS_TEMPERATURE"]
    assert not (tmp_path / "data").exists()


def test_a_story_ends_with_the_demo_that_is_asked_to_stop(demo):
    story: set[int] = set()

    def watched(shown: TextIO) -> None:
        while "livemem space create" not in shown.readline():
            pass
        story.update(descendants(os.getpid()) - others)
        os.kill(os.getpid(), signal.SIGTERM)
        assert shown.read() == ""

    others = descendants(os.getpid())
    status, err = demo(watched, EMBEDDINGS_API_URL="off")
    assert status == 130
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
