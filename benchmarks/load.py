"""What a service stands when many agents work at once: notes and searches a second, and how long each one waits.

    .venv/bin/python -m benchmarks.load --url http://127.0.0.1:3000 [--agents 1 8 32] [--notes 400] [--searches 400]

The token is read from LIVEMEM_TOKEN; it must be one that makes spaces. Each run makes a space of its own and deletes it
at the end. An agent is a thread with one connection that sends its next request when it has its answer. All work is
bounded by counts. The program and the service share the machine if they run on one.
"""

import argparse
import http.client
import json
import os
import statistics
import sys
import threading
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

WORDS = "parser token bucket lease index retry shard cache queue worker schema cursor digest budget model agent".split()
_READY_TRIES = 120


@dataclass(frozen=True)
class Measured:
    """One kind of request at one number of agents; times in seconds."""

    kind: str
    agents: int
    seconds: float
    times: Sequence[float]
    failed: int

    def row(self) -> str:
        """The line of the table."""
        cuts = statistics.quantiles(self.times, n=100) if len(self.times) > 1 else [0.0] * 99
        each = " | ".join(f"{1000 * cuts[n]:.0f}" for n in (49, 94, 98))
        return f"| {self.kind} | {self.agents} | {len(self.times) / self.seconds:.0f} | {each} | {self.failed} |"


class Agent:
    """One connection with a token."""

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._connection = kind(parts.netloc, timeout=60)
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, bytes]:
        """One request; returns its status and body."""
        data = None if body is None else json.dumps(body).encode()
        self._connection.request(method, path, data, self._headers)
        answer = self._connection.getresponse()
        return answer.status, answer.read()


def note(number: int) -> dict[str, str]:
    """A note of some 200 characters, unlike its neighbours."""
    words = [WORDS[(number * 7 + step * (number % 5 + 1)) % len(WORDS)] for step in range(20)]
    return {"category": "observation", "content": f"Case {number}: the {' '.join(words)} holds at {number * 37} ms."}


def measure(kind: str, agents: Sequence[Agent], count: int, one: tuple[str, str, int]) -> Measured:
    """Let the agents share `count` requests. `one` is method, path (searches get a question) and the good status."""
    method, path, good = one
    numbers = iter(range(count))
    lock, times, failed = threading.Lock(), list[float](), [0]

    def work(agent: Agent) -> None:
        while True:
            with lock:
                number = next(numbers, None)
            if number is None:
                return
            question = f"?q={quote(note(number)['content'][:60])}&limit=5" if path.endswith("/search") else ""
            began = time.perf_counter()
            status, _ = agent.ask(method, path + question, note(number) if method == "POST" else None)
            took = time.perf_counter() - began
            with lock:
                times.append(took)
                failed[0] += status != good

    threads = [threading.Thread(target=work, args=(agent,)) for agent in agents]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return Measured(kind, len(agents), time.perf_counter() - began, times, failed[0])


def run(url: str, token: str, crowds: Sequence[int], notes: int, searches: int) -> int:
    """Print the table; 1 if a request failed."""
    space = f"load-{uuid.uuid4().hex[:8]}"
    first = Agent(url, token)
    status, said = first.ask("POST", "/v1/spaces", {"space_id": space})
    if status != 201:
        print(f"No space could be made ({status}): {said.decode()[:300]}", file=sys.stderr)
        return 1
    failed = 0
    print("| request | agents | a second | p50 ms | p95 ms | p99 ms | failed |\n|---|---|---|---|---|---|---|")
    try:
        for crowd in crowds:
            agents = [Agent(url, token) for _ in range(crowd)]
            written = measure("write a note", agents, notes, ("POST", f"/v1/spaces/{space}/notes", 201))
            _wait_for_index(first, space)
            # Processes that the crowd needs are started, and have opened the index.
            measure("warm", agents, 4 * crowd, ("GET", f"/v1/spaces/{space}/search", 200))
            read = measure("search", agents, searches, ("GET", f"/v1/spaces/{space}/search", 200))
            start = measure("start of an agent", agents, searches // 4, ("GET", f"/v1/spaces/{space}/start", 200))
            for one in (written, read, start):
                print(one.row(), flush=True)
                failed += one.failed
    finally:
        first.ask("DELETE", f"/v1/spaces/{space}")
    return 1 if failed else 0


def _wait_for_index(agent: Agent, space: str) -> None:
    for _ in range(_READY_TRIES):
        if agent.ask("GET", f"/v1/spaces/{space}/search?q=parser&limit=1")[0] == 200:
            return
        time.sleep(0.5)


def main() -> int:
    """Read the arguments and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", default="http://127.0.0.1:3000")
    parser.add_argument("--agents", type=int, nargs="+", default=[1, 8, 32])
    parser.add_argument("--notes", type=int, default=400, help="notes for each number of agents")
    parser.add_argument("--searches", type=int, default=400, help="searches for each number of agents")
    given = parser.parse_args()
    token = os.environ.get("LIVEMEM_TOKEN")
    if not token:
        parser.error("set LIVEMEM_TOKEN to a token that makes spaces")
    return run(given.url, token, given.agents, given.notes, given.searches)


if __name__ == "__main__":
    sys.exit(main())
