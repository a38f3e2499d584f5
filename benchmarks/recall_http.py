"""The same questions through the service's own door: a local runtime takes a data set in, and answers over HTTP.

Part of `python -m benchmarks.recall --through http`. Each conversation of a data set gets a space of its own for each
way in: an imported conversation of whole turns, one of single messages, or live notes. When all texts have their
vectors, each question is asked of the search and of the two contexts that an agent is given. What the function finds
for the same questions stands in the first row.

With given vectors a small server answers in the place of an embedding model. It knows the vectors of the data set's
texts. To another text, such as a summary, it gives the mean of those that it holds, or that hold one of its sentences:
a space's vectors are looked at through a lens that all of them make (search/vectors.py).
"""

import contextlib
import json
import re
import statistics
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from benchmarks.recall import OF_VECTORS, Conversation, Loaded, fit, recall, times, without
from benchmarks.recall import ask as ask_function
from benchmarks.requests import Bench, running, timed
from livemem import limits
from livemem.search import passages, ranking

Way = Literal["turns", "messages", "notes"]
WAYS: tuple[Way, ...] = ("turns", "messages", "notes")
Vectors = Literal["given", "local", "none"]
FIRST = (5, 10, 25)
LIMIT = FIRST[-1]
LINES = 200
"""Of one import: fewer than may be sent, so that none is left for lack of time."""
SHOWN = 80
"""Characters of a text by which it is recognised in a context."""
SENTENCE = 30
"""Characters of a sentence that hardly stands in two texts by chance."""
_SENTENCES = re.compile(r"(?<=[.!?:])\s+|\n+")
TRIES = 20
"""Of an import."""
WITHOUT_PAUSES = {"batch_delay_ms": 0}
"""Between the calls of the LLM that summarises: the one here has no limit."""
PATIENCE = 900
"""Seconds for which the vectors of a space, or its summaries, are waited for."""

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Taken:
    """A conversation of the data set in the service. `ids` are what a search calls each document, `whole` what a
    context calls it.
    """

    space: str
    scope: str
    ids: Sequence[str]
    whole: Sequence[str]


@dataclass
class Row:
    """What was found for each question, in percent, and what it cost. An empty list: it was not asked for."""

    name: str
    found: list[Sequence[float]] = field(default_factory=list)
    """Of the evidence, among the first of FIRST."""
    precision: list[float] = field(default_factory=list)
    """Of the first ten hits, the part that is evidence."""
    context: list[float] = field(default_factory=list)
    start: list[float] = field(default_factory=list)
    others: list[float] = field(default_factory=list)
    """Of the first ten hits, those that are no document of the data set, such as summaries."""
    milliseconds: list[float] = field(default_factory=list)
    of_context: list[float] = field(default_factory=list)
    requests: int = 0

    def cells(self) -> list[str]:
        """The row of the table."""
        shares = " / ".join(f"{share:.1f}" for share in np.mean(self.found, axis=0))
        p50 = [f"{statistics.median(some):.0f}" if some else "-" for some in (self.milliseconds, self.of_context)]
        asked = f"{self.requests / len(self.milliseconds):.1f}" if self.milliseconds else "-"
        parts = [_mean(some) for some in (self.precision, self.context, self.start, self.others)]
        return [self.name, shares, *parts, asked, *p50]


HEAD = (
    *("way in", f"@{' / @'.join(map(str, FIRST))}", "precision @10", "in the context", "in the start", "others in ten"),
    *("requests of a search", "p50 ms", "of the context"),
)


def _mean(some: Sequence[float]) -> str:
    return f"{np.mean(some):.1f}" if some else "-"


class GivenVectors(threading.Thread):
    """An OpenAI-compatible embedding model that knows the vectors of a data set."""

    def __init__(self, known: Mapping[str, Floats]) -> None:
        """It listens from now on, and answers once it is started."""
        super().__init__(daemon=True)
        model = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                rows = [
                    {"index": place, "embedding": model.vector(text).tolist()}
                    for place, text in enumerate(asked["input"])
                ]
                answer = json.dumps({"model": asked["model"], "data": rows}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: Any) -> None:
                return

        self._known = dict(known)
        self._made: dict[str, Floats] = {}
        self._width = len(next(iter(known.values())))
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def run(self) -> None:
        """Answer until `stop`."""
        self._server.serve_forever()

    def stop(self) -> None:
        """End it."""
        self._server.shutdown()
        self._server.server_close()

    def vector(self, text: str) -> Floats:
        """The vector of a text; the mean of those that stand in it, or that a sentence of it stands in; for all other
        texts the same one.
        """
        if text in self._known:
            return self._known[text]
        if text not in self._made:
            sentences = [one for one in _SENTENCES.split(text) if len(one) >= SENTENCE]
            near = [one for said, one in self._known.items() if said in text or any(part in said for part in sentences)]
            mean = np.mean(near, axis=0) if near else np.eye(1, self._width, dtype=np.float32)[0]
            self._made[text] = mean / np.linalg.norm(mean)
        return self._made[text]


def given(loaded: Loaded) -> dict[str, Floats]:
    """The vectors of all questions and of all passages as the service cuts them."""
    dataset, questions, vectors, owner = loaded
    known: dict[str, Floats] = {}
    asked = [question.text for one in dataset.conversations for question in one.questions]
    first = 0
    for conversation in dataset.conversations:
        some = conversation.documents
        inside = (owner >= first) & (owner < first + len(some))
        cut = [(at, document.text[a:b]) for at, document in enumerate(some) for a, b in passages.split(document.text)]
        fitted = fit(vectors[inside], owner[inside] - first, np.array([at for at, _ in cut], np.int32))
        known |= {text: vector for (_, text), vector in zip(cut, fitted, strict=True)}
        first += len(some)
    return known | dict(zip(asked, questions, strict=True))


def lines_of_messages(conversation: Conversation) -> Iterator[tuple[dict[str, Any], Sequence[tuple[int, str]]]]:
    """A line of an import for each document, with the document's number and its side."""
    some = conversation.documents
    for number, (document, name, moment) in enumerate(zip(some, conversation.authors, times(some), strict=True)):
        role = document.role or "user"
        yield _line(number, moment, role=role, content=document.text, author=name), [(number, role)]


def lines_of_turns(conversation: Conversation) -> Iterator[tuple[dict[str, Any], Sequence[tuple[int, str]]]]:
    """The same in whole turns: what one says and what the other one answers in the same session."""
    some, speakers, moments = conversation.documents, conversation.authors, times(conversation.documents)
    sides = [(document.role, name) for document, name in zip(some, speakers, strict=True)]
    at = 0
    while at < len(some):
        first = some[at]
        pair = at + 1 < len(some) and first.role != "assistant" and some[at + 1].session == first.session
        pair = pair and sides[at + 1] != sides[at]
        numbers = [(at, "assistant" if first.role == "assistant" else "user")]
        numbers += [(at + 1, "assistant")] if pair else []
        said = {f"{side}_message": some[number].text for number, side in numbers}
        names = {"user" if side == "user" else "author": speakers[number] for number, side in numbers}
        yield _line(at, moments[at], **said, **names), numbers
        at += len(numbers)


def _line(number: int, moment: float, **more: str) -> dict[str, Any]:
    line = {"message_id": f"d{number}", **{name: value for name, value in more.items() if value}}
    return line if np.isnan(moment) else line | {"client_timestamp": _iso(moment)}


def _iso(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def take_in(bench: Bench, conversation: Conversation, space: str, way: Way) -> Taken:
    """Bring a conversation of the data set into a space of its own."""
    bench.ok("POST", "/spaces", {"space_id": space, "description": "", "consolidation_threshold": 0, "rules": "# R\n"})
    if way == "notes":
        return _as_notes(bench, conversation, space)
    made = list((lines_of_turns if way == "turns" else lines_of_messages)(conversation))
    talk = bench.ok("POST", f"/spaces/{space}/conversations", {"parameters": WITHOUT_PAUSES})["conversation_id"]
    for start in range(0, len(made), LINES):
        items = [line for line, _ in made[start : start + LINES]]
        repeat_import(bench, f"/spaces/{space}/conversations/{talk}/turns", items)
    summarise(bench, f"/spaces/{space}/conversations/{talk}")
    turns = {number: (index, side) for index, (_, some) in enumerate(made, 1) for number, side in some}
    placed = [turns[number] for number in range(len(conversation.documents))]
    return Taken(
        space,
        "conversations",
        [f"{talk}/{index}/{side}" for index, side in placed],
        [f"conversations/{talk}/turns/{index}" for index, _ in placed],
    )


def summarise(bench: Bench, talk: str) -> None:
    """Ask until all of a conversation is summarised. On a busy machine an update may be ended: the next one goes on."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        status, answer, _ = bench.api.call("POST", f"{talk}/summaries/update", {"strategy": "incremental"})
        if status == HTTPStatus.OK and answer["status"] in ("done", "nothing_to_do"):
            return
        assert status < HTTPStatus.BAD_REQUEST or status >= HTTPStatus.INTERNAL_SERVER_ERROR, (status, answer)
        time.sleep(0.5)
    raise TimeoutError(f"the summaries of {talk} were not done after {PATIENCE} s")


def repeat_import(bench: Bench, path: str, items: Sequence[Mapping[str, Any]]) -> None:
    """Send turns until all are there: a repeat writes none twice. On a busy machine the store may be late."""
    for _ in range(TRIES):
        status, answer, _ = bench.api.call("POST", path, {"items": items})
        if status == HTTPStatus.OK and not answer.get("left"):
            return
        assert status == HTTPStatus.OK or status >= HTTPStatus.INTERNAL_SERVER_ERROR, (status, answer)
    raise TimeoutError(f"{path} was not imported in {TRIES} tries")


def _as_notes(bench: Bench, conversation: Conversation, space: str) -> Taken:
    ids: list[str] = []
    moments = times(conversation.documents)
    notes = [
        {"category": "observation", "content": document.text}
        | ({} if np.isnan(moment) else {"said_at": _iso(moment)})
        | ({"author": name} if name else {})
        for document, name, moment in zip(conversation.documents, conversation.authors, moments, strict=True)
    ]
    for start in range(0, len(notes), limits.BATCH_NOTES):
        some = notes[start : start + limits.BATCH_NOTES]
        ids += [one["note_id"] for one in bench.ok("POST", f"/spaces/{space}/notes", {"items": some})["items"]]
    return Taken(space, "live", ids, [f"notes/{one}" for one in ids])


def wait_for_vectors(bench: Bench, taken: Taken) -> None:
    """Wait until a search has seen all documents."""
    end = time.monotonic() + PATIENCE
    path = f"/spaces/{taken.space}/search?q=anything+at+all&scope={taken.scope}&limit=1"
    while time.monotonic() < end:
        status, answer, _ = bench.api.call("GET", path)
        if status == 200 and not answer["unembedded"] and not answer["view"]["unread"] and not answer.get("failure"):
            return
        time.sleep(0.5)
    raise TimeoutError(f"the vectors of {taken.space} were not there after {PATIENCE} s")


def ask(bench: Bench, conversation: Conversation, taken: Taken, row: Row, *, contexts: bool) -> None:
    """Ask all questions about a conversation: the search, and the two contexts too if `contexts`."""
    below = f"/spaces/{taken.space}"
    for question in conversation.questions:
        q = quote(question.text.replace('"', " "))
        wanted = [taken.ids[at] for at in question.evidence]
        bench.seen()
        answers: list[Any] = []
        path = f"{below}/search?q={q}&scope={taken.scope}&limit={LIMIT}"
        row.milliseconds.append(timed(lambda: answers.append(bench.ok("GET", path))))  # noqa: B023
        row.requests += len(bench.seen())
        hits = [hit["id"] for hit in answers[0]["items"]]
        row.found.append([100 * sum(one in hits[:k] for one in wanted) / len(wanted) for k in FIRST])
        ten = hits[:10]
        row.precision.append(100 * sum(one in wanted for one in ten) / len(ten) if ten else 0.0)
        row.others.append(float(len(set(ten) - set(taken.ids))))
        if not contexts:
            continue
        told: list[Any] = []
        row.of_context.append(timed(lambda: told.append(bench.ok("GET", f"{below}/context?q={q}"))))  # noqa: B023
        shown = {one["id"] for one in told[0]["items"]}
        row.context.append(_share(conversation, question.evidence, taken.whole, shown, told[0]["markdown"]))
        if taken.scope == "live":
            parts = bench.ok("GET", f"{below}/start?q={q}")["parts"]
            given = {one["source"] for one in parts if one["why"] == "question"}
            row.start.append(_share(conversation, question.evidence, taken.whole, given, ""))


def _share(
    conversation: Conversation, evidence: Sequence[int], whole: Sequence[str], shown: set[str], markdown: str
) -> float:
    """Percent of the evidence that is shown: by its id, or as the other half of an exchange by its words."""
    there = 0
    for at in evidence:
        text = " ".join(conversation.documents[at].text.split())[:SHOWN]
        there += whole[at] in shown or (bool(markdown) and text in markdown)
    return 100 * there / len(evidence)


def of_function(loaded: Loaded, model: Vectors) -> Row:
    """What the ranking as a function finds for the same questions, with the vectors of the data set or without any."""
    asked, _ = ask_function(loaded)
    found = recall(asked, without(*OF_VECTORS) if model == "none" else ranking.WEIGHTS)
    row = Row(f"the function, {'without' if model == 'none' else 'with given'} vectors")
    row.found = [one[: len(FIRST)] for one in found.tolist()]
    row.precision = [share * len(one.evidence) / 10 for one, (_, share, *_) in zip(asked, row.found, strict=True)]
    return row


def _longest(loaded: Loaded) -> int:
    """Bytes of the longest text."""
    return max(len(one.text.encode()) for each in loaded.dataset.conversations for one in each.documents)


def rows(loaded: Loaded, ways: Sequence[Way], model: Vectors, *, contexts: bool) -> Iterator[Row]:
    """A row for the function and for each way in."""
    yield of_function(loaded, model)
    variables = {"EMBEDDINGS_API_URL": "off"} if model == "none" else {}
    with contextlib.ExitStack() as stack:
        if model == "given":
            server = GivenVectors(given(loaded))
            server.start()
            stack.callback(server.stop)
            variables = {"EMBEDDINGS_API_URL": server.url, "EMBEDDINGS_API_KEY": "none", "EMBEDDINGS_MODEL": "given"}
        bench = stack.enter_context(running(0, 1, offline_llm=True, variables=variables))
        for way in ways:
            if way == "notes" and (longest := _longest(loaded)) > limits.NOTE_BYTES:
                print(f"not as notes: a text has {longest} bytes, a note at most {limits.NOTE_BYTES}", file=sys.stderr)
                continue
            row = Row(f"{way}, over HTTP")
            for number, conversation in enumerate(loaded.dataset.conversations):
                began = time.monotonic()
                taken = take_in(bench, conversation, f"{way}-{number}", way)
                if model != "none":
                    wait_for_vectors(bench, taken)
                print(f"{taken.space}: taken in and indexed after {time.monotonic() - began:.0f} s", file=sys.stderr)
                ask(bench, conversation, taken, row, contexts=contexts)
            yield row


def show(folders: Sequence[Loaded], ways: Sequence[Way], model: Vectors, *, contexts: bool) -> None:
    """Print a table for each folder."""
    for loaded in folders:
        count = sum(len(one.questions) for one in loaded.dataset.conversations)
        print(f"\n{loaded.dataset.name}: {len(loaded.dataset.conversations)} conversations, {count} questions\n")
        print(f"| {' | '.join(HEAD)} |\n{'|---' * len(HEAD)}|")
        for row in rows(loaded, ways, model, contexts=contexts):
            print(f"| {' | '.join(row.cells())} |", flush=True)
