"""What users wait for: each operation over HTTP on the local service, beside the S3 requests that it can't do without.

    .venv/bin/python -m benchmarks.requests [--delay-ms 20] [--notes 2000] [--calls 40]

It starts the embedded store, a proxy that counts its requests and adds the delay to each, the service, and an LLM that
answers at once. `raw` is the same requests, sent one after the other by the service's own client in this program, by
the same proxy: the limit where an operation needs them in a row. `ratio` is p50 / raw of the same run. What an answer
takes in the front and the function without any request to the store is the row `whoami`.

`in function` is what Lambda would bill, without the local front; the ratio in brackets is of that.
"""

import argparse
import contextlib
import http.client
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from benchmarks import far_store
from benchmarks.chaos.programs import BUCKET, ROOT, EmbeddedStore, Runtime, free_port
from livemem.settings import Settings
from livemem.store import bucket, clients
from livemem.store.bucket import BANK_FILE
from tests.support.llm_server import completion
from tests.support.world import append_everything, read_prompt

SPACE = "bench"
NOTE = {"category": "observation", "content": "What was seen and may matter later. " * 28, "tags": ["bench"]}
"""About 1 kB."""
FILES, FILE_BYTES = 20, 5_000
CLIENTS = 16
SAMPLE = 100
"""Requests of one call from which on they are not all replayed."""


@dataclass(frozen=True)
class Row:
    """One operation: milliseconds, the requests of one call by verb, and the raw cost of these requests."""

    name: str
    times: Sequence[float]
    requests: Counter[str]
    raw: float | None = None
    inside: Sequence[float] = ()
    memory: float | None = None
    note: str = ""
    rounds: int | None = None
    """Round trips of one call: requests that were under way together are one."""

    @property
    def p50(self) -> float:
        return statistics.median(self.times)

    @property
    def p95(self) -> float:
        return sorted(self.times)[min(len(self.times) - 1, int(len(self.times) * 0.95))]


class Api:
    """The service's API over one connection of a thread's own."""

    def __init__(self, port: int, token: str) -> None:
        self._port, self._token = port, token
        self._local = threading.local()

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any, dict[str, str]]:
        """Status, JSON and headers of the answer. A text is sent as it is, anything else as JSON."""
        if not hasattr(self._local, "connection"):
            self._local.connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=120)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        text = body if isinstance(body, str) else json.dumps(body)
        data = text.encode() if body is not None else None
        given = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json", **named}
        self._local.connection.request(method, f"/v1{path}", data, given)
        answer = self._local.connection.getresponse()
        told = answer.read()
        whole = json.loads(told) if told and "content-encoding" not in answer.headers else None
        return answer.status, whole, dict(answer.headers)


class Bench:
    """The service and its store while they run."""

    def __init__(self, runtime: Runtime, store: EmbeddedStore, port: int, calls: int) -> None:
        self.calls = calls
        self.url, self.token = runtime.url, runtime.admin_key()
        self.api = Api(runtime.port, self.token)
        self._runtime = runtime
        self._logs = runtime.data / "logs"
        self._port = port
        self.rounds = 0
        """The round trips of what was last seen."""
        settings = Settings(
            s3_endpoint_url=f"http://127.0.0.1:{port}",
            s3_region_name="us-east-1",
            s3_access_key_id=store.access_key,
            s3_secret_access_key=store.secret_key,
        )
        self.client: Any = clients.s3_client(settings)

    def seen(self) -> list[tuple[str, str]]:
        """The requests to the store since the last question."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self._port}{far_store.LOG}") as answer:
            found = json.load(answer)
        self.rounds = round_trips([(begin, end) for *_, begin, end in found])
        return [(method, target) for method, target, *_ in found]

    def ok(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """The JSON of an answer that must be a success."""
        status, answer, _ = self.api.call(method, path, body, **headers)
        assert status < 400, (method, path, status, answer)
        return answer

    def row(self, name: str, call: Callable[[], Any], *, function: str, raw: bool = True, calls: int = 0) -> Row:
        """Call it so often; each time counts, the requests are those of the last call."""
        call()
        times, seen = [], []
        log = self._logs / f"{function}Function.log"
        before = log.stat().st_size if log.exists() else 0
        for _ in range(calls or self.calls):
            self.seen()
            times.append(timed(call))
            seen = self.seen()
        inside, rounds = _inside(log, before)[-len(times) :], self.rounds
        cost = self.replay(seen) if raw and seen else None
        return Row(name, times, verbs(seen), cost, inside, self.memory(), rounds=rounds)

    def replay(self, seen: Sequence[tuple[str, str]]) -> float:
        """Milliseconds that the requests take one after the other, the median of several times; of many, by a part."""
        part = seen[:: max(len(seen) // SAMPLE, 1)]
        times = [timed(lambda: self._send(part)) for _ in range(max(self.calls // 4, 5) if len(seen) < SAMPLE else 1)]
        return statistics.median(times) * len(seen) / len(part)

    def _send(self, seen: Sequence[tuple[str, str]]) -> None:
        for method, target in seen:
            url = urlsplit(target)
            key, query = unquote(url.path).lstrip("/").partition("/")[2], dict(parse_qsl(url.query))
            if method == "GET" and "list-type" in query:
                named = {"Prefix": query.get("prefix", ""), "MaxKeys": int(query.get("max-keys", 1_000))}
                named |= {"StartAfter": query["start-after"]} if "start-after" in query else {}
                named |= {"ContinuationToken": query["continuation-token"]} if "continuation-token" in query else {}
                self.client.list_objects_v2(Bucket=BUCKET, **named)
            elif method == "GET":
                with contextlib.suppress(self.client.exceptions.ClientError):
                    self.client.get_object(Bucket=BUCKET, Key=key)["Body"].read()
            elif method == "PUT":
                self.put(b"x" * 1_200)
            elif method == "DELETE":
                self.client.delete_object(Bucket=BUCKET, Key="raw/none")
            elif method == "POST":
                self.client.delete_objects(Bucket=BUCKET, Delete={"Objects": [{"Key": "raw/none"}]})

    def put(self, body: bytes) -> None:
        """One PUT of a note's size."""
        self.client.put_object(Bucket=BUCKET, Key=f"raw/{time.time_ns()}.md", Body=body, ContentType="text/markdown")

    def memory(self) -> float | None:
        """The most memory in MiB that the service has held."""
        return _peak(self._runtime.pid or 0)


def verbs(seen: Sequence[tuple[str, str]]) -> Counter[str]:
    """The requests by what S3 calls them."""
    return Counter("LIST" if method == "GET" and "list-type=2" in target else method for method, target in seen)


def round_trips(spans: Sequence[tuple[float, float]]) -> int:
    """The most requests of which each began when the one before had ended, given when each began and ended."""
    longest: list[tuple[float, int]] = []
    for begin, end in sorted(spans):
        longest.append((end, 1 + max((count for ended, count in longest if ended <= begin), default=0)))
    return max((count for _, count in longest), default=0)


def timed(call: Callable[[], Any]) -> float:
    """Milliseconds."""
    begin = time.perf_counter()
    call()
    return (time.perf_counter() - begin) * 1_000


def _peak(pid: int) -> float | None:
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return None
    return int(status.partition("VmHWM:")[2].split()[0]) / 1_024


def _inside(log: Path, start: int) -> list[float]:
    """What the invocations reported since `start` took, in milliseconds."""
    time.sleep(0.05)
    with log.open("rb") as file:
        file.seek(start)
        lines = [json.loads(line) for line in file.read().splitlines() if b"platform.report" in line]
    return [line["record"]["metrics"]["durationMs"] for line in lines if line.get("type") == "platform.report"]


def measure(bench: Bench, notes: int) -> Iterator[Row]:
    """All rows, in an order in which none disturbs another."""
    yield Row("raw PUT of a note", [timed(lambda: bench.put(b"x" * 1_200)) for _ in range(bench.calls)], Counter(PUT=1))
    yield bench.row("whoami", lambda: bench.ok("GET", "/whoami"), function="Reads")
    yield from _appends(bench)
    fill(bench, notes)
    page = f"/spaces/{SPACE}/notes?limit=50"
    yield bench.row(f"page of 50 of {notes:,}, warm", lambda: bench.ok("GET", page), function="Reads")
    etag = bench.api.call("GET", page)[2]["etag"]
    again = bench.row(
        "the same, not changed (304)", lambda: bench.ok("GET", page, If_None_Match=etag), function="Reads"
    )
    yield again
    search = f"/spaces/{SPACE}/search?q=what+may+matter"
    wait(lambda: _is_indexed(bench, search), {True}, {False})
    yield bench.row(f"search in {notes:,}, warm", lambda: bench.ok("GET", search), function="Search")
    bank = f"/spaces/{SPACE}/bank?content=true"
    yield bench.row(f"bank of {FILES} files, warm", lambda: bench.ok("GET", bank), function="Reads")
    gzip = {"Accept_Encoding": "gzip"}
    yield bench.row("the same in gzip", lambda: bench.ok("GET", bank, **gzip), function="Reads")
    yield bench.row("summary, warm", lambda: bench.ok("GET", f"/spaces/{SPACE}/summary"), function="Reads")
    yield _once(bench, "consolidate 100 notes", lambda: consolidate(bench))
    yield bench.row("history of 1, warm", lambda: bench.ok("GET", f"/spaces/{SPACE}/consolidations"), function="Reads")
    yield _once(bench, "back up", lambda: back_up(bench))


def _is_indexed(bench: Bench, search: str) -> bool:
    """Whether all texts have their vectors: the indexer is at it since the first search."""
    status, answer, _ = bench.api.call("GET", search)
    return status == 200 and not answer.get("unembedded") and not answer["view"]["unread"]


def _appends(bench: Bench) -> Iterator[Row]:
    path = f"/spaces/{SPACE}/notes"
    one = bench.row("append, 1 client", lambda: bench.ok("POST", path, NOTE), function="Ingest")
    yield one
    with ThreadPoolExecutor(CLIENTS) as pool:
        count = bench.calls * CLIENTS
        # Environments start one after the other while requests wait.
        list(pool.map(lambda _: bench.ok("POST", path, NOTE), range(count // 2)))
        alone = count_per_second(lambda: [bench.ok("POST", path, NOTE) for _ in range(bench.calls)], bench.calls)
        times: list[float] = []
        many = count_per_second(
            lambda: times.extend(pool.map(lambda _: timed(lambda: bench.ok("POST", path, NOTE)), range(count))), count
        )
        raw = count_per_second(lambda: list(pool.map(lambda _: bench.put(b"x" * 1_200), range(count))), count)
    said = f"{many:.0f}/s, 1 client {alone:.0f}/s: {many / alone:.1f} times; raw PUTs of {CLIENTS} threads {raw:.0f}/s"
    yield Row(f"append, {CLIENTS} clients", times, Counter(PUT=1), memory=bench.memory(), note=said)


def count_per_second(work: Callable[[], Any], count: int) -> float:
    """How many of `count` things are done in a second."""
    return count / timed(work) * 1_000


def _once(bench: Bench, name: str, work: Callable[[], Any]) -> Row:
    """What is long and changes the space is measured three times."""
    times, seen = [], []
    for _ in range(3):
        bench.seen()
        times.append(timed(work))
        seen = bench.seen()
    return Row(name, times, verbs(seen), bench.replay(seen), memory=bench.memory())


def fill(bench: Bench, notes: int) -> None:
    """Notes of the last days, and a bank, written past the service: how they got there is not what is measured."""
    body = f'---\ntimestamp: "{{}}"\nagent: "ann"\ncategory: "todo"\ntags: ["a"]\nspace_id: "{SPACE}"\n---\n\n'

    def write(number: int) -> None:
        moment = time.gmtime(time.time() - 200_000 + number * 60)
        name = f"{time.strftime('%Y%m%dT%H%M%S', moment)}_ann_todo_{number:08x}"
        whole = body.format(time.strftime("%Y-%m-%dT%H:%M:%SZ", moment)) + f"{number} {NOTE['content']}"
        bench.client.put_object(Bucket=BUCKET, Key=bucket.NOTE.key(SPACE, name), Body=whole.encode())

    have = bench.ok("GET", f"/spaces/{SPACE}")["live"]["notes_count"]
    line = "- A line of the bank that says something which still holds today\n"
    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(write, range(max(notes - have, 0))))
        for number in range(FILES):
            text = f"# File {number}\n\n## Facts\n\n" + line * (FILE_BYTES // len(line))
            bench.client.put_object(Bucket=BUCKET, Key=BANK_FILE.key(SPACE, f"file{number}.md"), Body=text.encode())
    time.sleep(2.5)


def consolidate(bench: Bench) -> None:
    """Fold 100 notes, and wait for the end."""
    run = bench.ok("POST", f"/spaces/{SPACE}/consolidations", {"max_notes": 100})["job"]
    wait(lambda: bench.ok("GET", f"/jobs/{run}")["status"], {"done"}, {"queued", "running"})


def back_up(bench: Bench) -> None:
    """Take a backup, and wait for the end."""
    bench.ok("POST", f"/spaces/{SPACE}/notes", NOTE)
    made = bench.ok("POST", f"/spaces/{SPACE}/backups", {})
    path = f"/spaces/{SPACE}/backups/{made['backup_id']}"
    wait(lambda: bench.ok("GET", path)["complete"], {True}, {False})


def wait(look: Callable[[], Any], good: set[Any], going_on: set[Any]) -> None:
    """Wait until it is one of `good`."""
    while (state := look()) not in good:
        assert state in going_on, state
        time.sleep(0.05)


class InstantLlm(threading.Thread):
    """Answers each prompt at once: with what puts all notes into one file, or as `answer` does."""

    def __init__(self, answer: Callable[[dict[str, Any]], str] = append_everything) -> None:
        super().__init__(daemon=True)
        import http.server  # noqa: PLC0415 - of this part alone

        self.messages: list[dict[str, Any]] = []
        """Of the last prompt."""
        llm = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                llm.messages = asked["messages"]
                told = json.dumps(completion(_answered(asked["messages"], answer))).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(told)))
                self.end_headers()
                self.wfile.write(told)

            def log_message(self, *_: Any) -> None:
                return

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def run(self) -> None:
        self._server.serve_forever()


def _answered(messages: Any, answer: Callable[[dict[str, Any]], str]) -> str:
    try:
        return answer(read_prompt(messages))
    except ValueError:
        # It asks for something else than a consolidation, such as a summary.
        return "{}"


@contextlib.contextmanager
def running(
    delay: float, calls: int, *, offline_llm: bool = False, variables: Mapping[str, str] | None = None
) -> Iterator[Bench]:
    """Store, proxy and service, until the end of the block; with an LLM that answers at once, or the offline LLM.
    `variables` are further ones of the service.
    """
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="livemem-requests-")))
        store = EmbeddedStore(folder / "s3", folder / "s3.log")
        stack.callback(store.stop)
        store.start()
        command = [sys.executable, "-m", "benchmarks.far_store", "--to", store.address, "--delay-ms", str(delay)]
        proxy = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT))
        stack.callback(proxy.terminate)
        assert proxy.stdout
        port = int(proxy.stdout.readline())
        llm = InstantLlm()
        llm.start()
        runtime = Runtime(folder / "local", folder / "local.log", ROOT / "template.yaml", free_port(), {
            "S3_ENDPOINT_URL": f"http://127.0.0.1:{port}",
            "S3_ACCESS_KEY_ID": store.access_key,
            "S3_SECRET_ACCESS_KEY": store.secret_key,
            "S3_REGION_NAME": "us-east-1",
            "S3_BUCKET_NAME": BUCKET,
            **({} if offline_llm else {"LLMAAS_API_URL": llm.url, "LLMAAS_API_KEY": "none"}),
            "CONSOLIDATION_COOLDOWN_SECONDS": "0",
            "LIVEMEM_SWEEP_SECONDS": "100000",
            **(variables or {}),
        })  # fmt: skip
        stack.callback(runtime.stop)
        runtime.start()
        bench = Bench(runtime, store, port, calls)
        new = {"space_id": SPACE, "description": "", "consolidation_threshold": 0, "rules_template": "standard"}
        bench.ok("POST", "/spaces", new)
        yield bench


def show(rows: Iterator[Row]) -> None:
    """Print the rows as they come."""
    heads = ("operation", "p50 ms", "p95 ms", "in function, p50", "raw ms", "ratio", "S3 requests a call")
    print("|", " | ".join([*heads, "round trips", "peak MiB"]), "|")
    print("|---|---|---|---|---|---|---|---|---|")
    put = 0.0
    for row in rows:
        put = put or row.p50
        raw = row.raw
        inside = f"{statistics.median(row.inside):.1f}" if row.inside else ""
        ratio = f"{row.p50 / raw:.2f}" if raw else ""
        if raw and row.inside:
            ratio += f" ({statistics.median(row.inside) / raw:.2f})"
        asked = ", ".join(f"{count} {verb}" for verb, count in sorted(row.requests.items()))
        rounds = str(row.rounds) if row.rounds else ""
        cells = [
            row.name,
            f"{row.p50:.1f}",
            f"{row.p95:.1f}",
            inside,
            f"{raw:.1f}" if raw else "",
            ratio,
            asked,
            rounds,
        ]
        print("|", " | ".join([*cells, f"{row.memory:.0f}" if row.memory else ""]), "|", flush=True)
        if row.note:
            print(f"| ↳ {row.note} | | | | | | | | |", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--delay-ms", type=float, default=0, help="added to each request to the store")
    parser.add_argument("--notes", type=int, default=2_000)
    parser.add_argument("--calls", type=int, default=40, help="of each operation")
    arguments = parser.parse_args()
    with running(arguments.delay_ms, arguments.calls) as bench:
        show(measure(bench, arguments.notes))


if __name__ == "__main__":
    main()
