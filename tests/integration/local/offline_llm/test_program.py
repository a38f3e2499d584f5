"""`python -m local.offline_llm` as a process."""

import json
import signal
import socket
import subprocess
import sys
import urllib.request

COMMAND = [sys.executable, "-m", "local.offline_llm"]


def test_it_prints_one_ready_line_answers_and_stops_on_sigterm() -> None:
    process = subprocess.Popen([*COMMAND, "--port", "0"], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        line = process.stdout.readline()
        assert "rule-based stand-in" in line
        url = line.rsplit(" ", 1)[1].strip()
        with urllib.request.urlopen(f"{url}/models", timeout=10) as response:
            assert json.load(response)["data"][0]["id"] == "offline-rules"
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=10) == 0
        assert process.stdout.read() == ""
    finally:
        process.kill()
        process.communicate()


def test_a_port_in_use_ends_it_with_a_message() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = subprocess.run(
            [*COMMAND, "--port", str(taken.getsockname()[1])], capture_output=True, text=True, timeout=20, check=False
        )
    assert done.returncode == 1
    assert "cannot listen on 127.0.0.1" in done.stderr
