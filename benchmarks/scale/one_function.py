"""One step of one function in a process of its own, on the bucket of `benchmarks.scale.memory`: prints its memory."""

import importlib.util
import io
import json
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from multiprocessing.connection import Client, Connection
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError
from botocore.response import StreamingBody

ROOT = Path(__file__).resolve().parents[2]
SPACE, FACTS = "demo", "facts"
TALK = "01KHXE5Q2V8R0M4T6W9YBNCD3F"
"""A conversation of SPACE."""
DIMENSIONS = 1_536
"""Of vectors."""
MODEL = "m"
"""The name of the embedding model."""
PIECE = 1 << 20
"""Bytes of content that are sent at once."""


class PipeClient:
    """An S3 client that asks another process. Each thread has a connection of its own. Content goes in pieces, so that
    neither side holds it twice, as over HTTP.
    """

    def __init__(self, address: str) -> None:
        self._address, self._mine = address, threading.local()

    def __getattr__(self, name: str) -> Any:
        return lambda **arguments: self._call(name, arguments)

    def _call(self, name: str, arguments: dict[str, Any]) -> Any:
        if not hasattr(self._mine, "connection"):
            self._mine.connection = Client(self._address, "AF_UNIX")
        connection = self._mine.connection
        body = arguments.pop("Body", None)
        connection.send((name, arguments, body is not None))
        if body is not None:
            file = io.BytesIO(body) if isinstance(body, bytes) else body
            while piece := file.read(PIECE):
                connection.send_bytes(piece)
            connection.send_bytes(b"")
        kind, found = connection.recv()
        if kind == "error":
            raise ClientError(*found)
        if "Body" in found:
            size = found["ContentLength"]
            raw: Any = io.BytesIO(connection.recv_bytes()) if size <= PIECE else self._read(found["Body"])
            found["Body"] = StreamingBody(raw, size)
        return found

    def _read(self, number: int) -> "_Read":
        return _Read(Client(self._address, "AF_UNIX"), number)


class _Read:
    """The content of an object, which is asked for piece by piece."""

    def __init__(self, connection: Connection, number: int) -> None:
        self._connection, self._number = connection, number
        self._left = b""

    def read(self, amount: int | None = None) -> bytes:
        """At most so many bytes; all that is left without an amount."""
        if amount is None:
            return b"".join(iter(lambda: self.read(PIECE), b""))
        if not self._left:
            self._connection.send(("read", {"number": self._number}, False))
            self._left = self._connection.recv_bytes()
        piece, self._left = self._left[:amount], self._left[amount:]
        return piece

    def close(self) -> None:
        """Ask for no more."""
        self._connection.close()


def main() -> int:
    """Load the function as Lambda does, do the step, and print what it took."""
    address, function, step, now = sys.argv[1:]
    spec = importlib.util.spec_from_file_location("app", ROOT / "functions" / function / "app.py")
    assert spec
    assert spec.loader
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
    said = do(step, PipeClient(address), datetime.fromisoformat(now))
    print(json.dumps({"megabytes": largest() // 1_024, "said": said}))
    return 0


def largest() -> int:
    """The greatest resident size of this process so far, in kB. (`ru_maxrss` holds that of the parent, too.)"""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def process_on(client: Any, now: datetime) -> Any:
    """A process of the service. Its model takes everything that it is given into one file."""
    from benchmarks.scale.one_model import converse, reply  # noqa: PLC0415 - not before the function is loaded
    from livemem.process import Process  # noqa: PLC0415
    from livemem.settings import Settings  # noqa: PLC0415
    from livemem.store.objects import Store  # noqa: PLC0415

    settings = Settings(llmaas_api_url="http://llm.invalid/v1", admin_bootstrap_key="k" * 32)
    store = Store("bucket", client, client)
    return Process(
        store=store,
        settings=settings,
        ask=reply,
        converse=converse,
        enqueue=lambda *_: None,
        new_suffix=lambda: "0000000a",
        clock=lambda: now,
    )


def do(step: str, client: Any, now: datetime) -> str:
    """Do a step, and say how it ended. Modules are loaded only for the step, so that no other counts."""
    return STEPS[step](process_on(client, now), now + timedelta(minutes=15))


def _count(process: Any, _: datetime) -> str:
    from livemem.jobs import counter  # noqa: PLC0415

    return counter.hear(process, SPACE).result


def _sweep(process: Any, until: datetime, *, everything: bool = False) -> str:
    from livemem.upkeep import sweep  # noqa: PLC0415

    report = sweep.sweep(process, deadline=until, everything=everything)
    return f"{report.spaces} spaces, {len(report.failed)} failed"


def _note(process: Any, _: datetime) -> str:
    from livemem.notes import appending  # noqa: PLC0415

    appending.append(process, SPACE, "ann", appending.NoteDraft("progress", "One more."))
    return "written"


def _page(process: Any, _: datetime) -> str:
    from livemem.notes import pages  # noqa: PLC0415

    return f"{len(pages.page(process, SPACE, pages.NotesFilter(), limit=100).items)} notes"


def _summary(process: Any, _: datetime) -> str:
    from livemem.bank import summary  # noqa: PLC0415

    return type(summary.summary(process, SPACE, with_rules=True)).__name__


def _start(process: Any, _: datetime) -> str:
    from livemem.recall import start  # noqa: PLC0415

    return f"{len(start.start(process, SPACE, start.StartRequest()).markdown)} characters"


def _index(process: Any, until: datetime) -> str:
    from livemem.recall import indexing  # noqa: PLC0415

    return "a snapshot" if indexing.index(process, SPACE, until)["snapshot"] else "no snapshot"


def _embed(process: Any, until: datetime) -> str:
    from livemem.recall import indexing  # noqa: PLC0415

    return f"{indexing.index(_with_vectors(process), SPACE, until)['embedded']:,} vectors"


def _by_meaning(process: Any, until: datetime) -> str:
    return _search(_with_vectors(process), until)


def _ask(process: Any, until: datetime) -> str:
    from livemem.ask import question_work  # noqa: PLC0415
    from livemem.ask.question import AskRequest  # noqa: PLC0415

    wanted = AskRequest("What is the port of the server?")
    worked = question_work.ask(_with_vectors(process), SPACE, "ann", wanted, may_write=True, until=until, alone=True)
    return worked.outcome


def _summarize(process: Any, until: datetime) -> str:
    from livemem.conversations import update  # noqa: PLC0415

    return update.look(process, SPACE, TALK, until).outcome


def _digest(process: Any, until: datetime) -> str:
    from livemem.rooms import digest_work  # noqa: PLC0415
    from livemem.rooms.digest_work import DigestOrder  # noqa: PLC0415

    worked = digest_work.carry_out(_with_vectors(process), FACTS, DigestOrder(forced=True), until)
    return f"{len(worked)} digests, {worked[-1].outcome}"


def _back_up(process: Any, until: datetime) -> str:
    from livemem.copies import taking  # noqa: PLC0415

    taken = taking.take(process, SPACE, taking.BackupRequest("api", "x"), deadline=until)
    return f"{taken.result}, {taken.manifest.objects_count:,} objects"


def _search(process: Any, _: datetime) -> str:
    from livemem.errors import LiveMemoryError  # noqa: PLC0415
    from livemem.recall import search  # noqa: PLC0415
    from livemem.recall.search_request import SearchRequest  # noqa: PLC0415

    try:
        return f"{len(search.search(process, SPACE, SearchRequest.of('ports servers')).hits)} hits"
    except LiveMemoryError as error:
        return error.code


def _with_vectors(process: Any) -> Any:
    from benchmarks.memories import Embedding  # noqa: PLC0415

    given = {"embeddings_api_url": "http://embeddings.invalid", "embeddings_model": MODEL}
    return replace(process, embed=Embedding(DIMENSIONS), settings=process.settings.model_copy(update=given))


def _store(process: Any, _: datetime) -> str:
    from livemem.memories import storing  # noqa: PLC0415
    from livemem.memories.memory import MemoryDraft  # noqa: PLC0415

    storing.store(_with_vectors(process), FACTS, "ann", MemoryDraft("The mill stands at the river."))
    return "stored"


def _answers(process: Any, _: datetime) -> str:
    from livemem.memories import reading  # noqa: PLC0415

    return f"{len(reading.answers(_with_vectors(process), FACTS, 'Where is the mill?', kind='fact').found)} found"


def _consolidate(process: Any, until: datetime) -> str:
    from livemem.access.principal import PERMISSIONS, Principal  # noqa: PLC0415
    from livemem.consolidation import pipeline  # noqa: PLC0415
    from livemem.jobs import queue  # noqa: PLC0415

    run = queue.order(
        process, Principal("admin", frozenset(PERMISSIONS), frozenset()), SPACE, queue.RunOrder(trigger="api")
    )
    ended = pipeline.consolidate(process, SPACE, run.job_id, deadline=until)
    return f"{ended.state}, {ended.metrics.get('notes_processed')} notes" if ended else "nothing"


STEPS: Mapping[str, Callable[[Any, datetime], str]] = {
    "count": _count,
    "sweep": _sweep,
    "daily": lambda process, until: _sweep(process, until, everything=True),
    "note": _note,
    "page": _page,
    "summary": _summary,
    "start": _start,
    "search": _search,
    "index": _index,
    "embed": _embed,
    "by_meaning": _by_meaning,
    "ask": _ask,
    "summarize": _summarize,
    "digest": _digest,
    "store": _store,
    "answers": _answers,
    "consolidate": _consolidate,
    "back_up": _back_up,
}


if __name__ == "__main__":
    sys.exit(main())
