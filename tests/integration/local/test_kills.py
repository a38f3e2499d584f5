"""The service is killed under load and started again on its folder: nothing acknowledged is lost or doubled."""

import json
import os
import random
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from tests.integration.local.support import ROOT, wait_until

KILLS = int(os.environ.get("LIVEMEM_TEST_KILLS", "1"))
WRITERS = 4
CHANCE = random.Random(1)


class Service:
    """`python -m local` on one data folder."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self.url = ""
        self.process: subprocess.Popen[bytes]

    def start(self) -> None:
        environment = {**os.environ, "PORT": "0", "LIVEMEM_DATA_DIR": str(self._data), "EMBEDDINGS_API_URL": "off"}
        environment |= {"REQUESTS_PER_TOKEN_PER_SECOND": "0", "REQUESTS_PER_SPACE_PER_SECOND": "0"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "local"], cwd=ROOT, env=environment, stdout=subprocess.DEVNULL
        )
        endpoints = self._data / "endpoints.json"
        wait_until(lambda: endpoints.exists() and json.loads(endpoints.read_text())["pid"] == self.process.pid, 60)
        self.url = json.loads(endpoints.read_text())["api"]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        token = (self._data / "admin.key").read_text().strip()
        data = json.dumps(body).encode() if body is not None else None
        given = {"Authorization": f"Bearer {token}", **headers}
        request = urllib.request.Request(f"{self.url}/v1{path}", data, given, method=method)
        with urllib.request.urlopen(request, timeout=20) as response:
            return json.loads(response.read())


def write(service: Service, writer: int, acknowledged: dict[str, str], stop: threading.Event) -> None:
    """Append notes, each again with its key until it is acknowledged."""
    number = 0
    while not stop.is_set():
        text = f"note {writer} {number}"
        try:
            note = {"category": "observation", "content": text}
            answer = service.ask("POST", "/spaces/demo/notes", note, **{"Idempotency-Key": text.replace(" ", "-")})
        except (OSError, urllib.error.HTTPError, ValueError):
            stop.wait(0.05)
            continue
        acknowledged[text] = answer["note_id"]
        number += 1


def all_notes(service: Service) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    cursor = ""
    while True:
        page = service.ask("GET", f"/spaces/demo/notes?limit=500{cursor}")
        found += page["items"]
        if not page.get("next_cursor"):
            return found
        cursor = f"&cursor={page['next_cursor']}"


def test_nothing_acknowledged_is_lost_or_doubled_by_kills(tmp_path):
    service, stop = Service(tmp_path / "data"), threading.Event()
    acknowledged: dict[str, str] = {}
    service.start()
    service.ask("POST", "/spaces", {"space_id": "demo", "consolidation_threshold": 0})
    writers = [threading.Thread(target=write, args=(service, n, acknowledged, stop)) for n in range(WRITERS)]
    for writer in writers:
        writer.start()
    try:
        for _ in range(KILLS):
            before = len(acknowledged)
            least = before + CHANCE.randrange(1, 30)
            wait_until(lambda least=least: len(acknowledged) >= least, 60)
            service.kill()
            service.start()
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    notes = all_notes(service)
    service.process.terminate()
    assert service.process.wait(60) == 0
    texts = [note["content"] for note in notes]
    assert len(texts) == len(set(texts))
    assert {note["note_id"]: note["content"] for note in notes}.items() >= {
        (note_id, text) for text, note_id in acknowledged.items()
    }
