"""The memory of a project with the personal space beside it: asked at once, and the project's comes first.

The personal space costs the project nothing: where it fails or is late, one line says so.
"""

import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Any, TypeVar

from live_memory._invisible import visible
from live_memory._redaction import redact
from live_memory.cli.given_lines import GivenLines, statement
from live_memory.cli.init.hooks import prompts

SHARE = 5
"""The part of a start that the personal space has: a fifth."""
LEAST_CHARS, DEFAULT_CHARS, MOST_CHARS = 2_000, 9_500, 100_000
"""Characters that a start has at least, if nothing else is asked for, and at most."""
GRACE_SECONDS = 0.5
"""For so long the personal space is waited for after the project has answered."""
PERSONAL = "personal"
_NEAREST, _LIKE = 3, 0.3
"""Statements of the project that may be against a personal one, and how near they are by their letters at least."""
_HEADING = re.compile(r"(#+) ")

T = TypeVar("T")
Call = Callable[[str, Mapping[str, Any]], Any]


@dataclass(frozen=True)
class PersonalSpace:
    """The personal space of a folder. `call` asks the service, by a connection of its own."""

    space_id: str
    call: Call
    given: GivenLines

    def ask(self, operation: str, **arguments: Any) -> Any:
        """The answer of an operation there; arguments that are None are not sent."""
        told = {name: value for name, value in arguments.items() if value is not None}
        return self.call(operation, {"space_id": self.space_id, **told})

    def unanswered(self, reason: str) -> str:
        """The line that stands in the place of its answer."""
        return f"The personal space `{self.space_id}` is left out: {redact(reason)[0][:300]}"

    def start(
        self,
        project: Callable[[int], T],
        text_of: Callable[[T], str],
        max_chars: int | None = None,
        *,
        in_time: Callable[[], bool] = lambda: True,
        **wanted: Any,
    ) -> tuple[T, str]:
        """The start of the project, and the text to be put behind it. 2 requests at once. Where there is nothing to
        put there, and the project would have taken its place, it is asked once more, if there is time.
        """
        chars = DEFAULT_CHARS if max_chars is None else max_chars
        if not LEAST_CHARS <= chars <= MOST_CHARS:
            return project(chars), ""
        share = chars // SHARE
        least = max(LEAST_CHARS, chars - share)
        asked = max(LEAST_CHARS, 2 * share)
        found, own, problem = at_once(
            lambda: project(least), lambda: self.ask("get_start", max_chars=asked, **wanted), grace=GRACE_SECONDS
        )
        markdown = text_of(found)
        lines = list(_lines(_body(own), _Known(markdown))) if own else []
        try:
            text = self._told(lines, min(share, chars - len(markdown)))
        except OSError as full:
            text, problem = "", f"its lines can't be noted as given: {full.strerror}."
        if not text and least < chars and len(markdown) > least // 2 and in_time():
            try:
                found = project(chars)
            except Exception as again:  # noqa: BLE001 - the first answer is good
                problem = problem or str(again)
        return found, text or (f"\n{self.unanswered(problem)}\n" if problem else "")

    def _told(self, lines: Iterable[tuple[str, ...]], room: int) -> str:
        text = (
            f"\n# Personal space `{self.space_id}` of your user\n\nIt holds in all projects. The above comes first. "
            f"`read` its ids with space_id `{self.space_id}`.\n"
        )
        shown: list[str] = []
        room -= len(text)
        for block in lines:
            room -= sum(len(line) + 1 for line in block)
            if room < 0:
                break
            shown += block
        if not shown:
            return ""
        self.note("\n".join(shown))
        return text + "".join(f"{line}\n" for line in shown)

    def note(self, text: str) -> None:
        """Note the lines of a text as given. Raises OSError: then they must not be."""
        self.given.add(statement(line) for line in text.splitlines() if not _HEADING.match(line))

    def context(self, project: Callable[[], T], **wanted: Any) -> tuple[T, str]:
        """The context of the project, and the text to be put behind it. 2 requests at once."""
        found, own, problem = at_once(
            project,
            lambda: self.ask("load_context", max_chars=prompts.ASKED_CHARS, **wanted)["items"],
            grace=GRACE_SECONDS,
        )
        return found, self._listed(own or (), problem)

    def search(self, project: Callable[[], T], limit: Any = None, **wanted: Any) -> tuple[T, str]:
        """The hits of the project, and the text to be put behind them: a third as many. 2 requests at once."""
        fewer = max(1, (limit if isinstance(limit, int) else prompts.LINES * 3) // 3)
        found, own, problem = at_once(
            project, lambda: self.ask("search_space", limit=fewer, **wanted)["items"], grace=GRACE_SECONDS
        )
        return found, self._listed([{**hit, "text": hit["snippet"]} for hit in own or ()], problem)

    def _listed(self, items: Iterable[Mapping[str, Any]], problem: str) -> str:
        try:
            items = self.about((), items, frozenset())
        except OSError as full:
            items, problem = [], str(full)
        if not items:
            return f"\n{self.unanswered(problem)}\n" if problem else ""
        plain = [{**item, PERSONAL: False} for item in items]
        return "\n".join(
            (f"\n# Personal space `{self.space_id}` of your user\n", *map(visible, prompts.lines(plain)), "")
        )

    def about(
        self, project: Sequence[Mapping[str, Any]], own: Iterable[Mapping[str, Any]], told: frozenset[str]
    ) -> list[Mapping[str, Any]]:
        """The items of two contexts that are told of both together, without what the project says itself. Raises
        OSError: then no personal ones may be told.
        """
        said = frozenset[str]().union(*(prompts.marks(item["text"]) for item in project))
        items = prompts.new(by_rank(project, [item for item in own if not prompts.is_told(item["text"], said)]), told)
        texts = (line for item in items if item.get(PERSONAL) for line in str(item["text"]).splitlines())
        self.given.add(map(statement, texts))
        return items


def at_once(
    project: Callable[[], T], personal: Callable[[], Any], *, total: float = 0, grace: float = 0
) -> tuple[T, Any, str]:
    """The answers of both: the personal one None, and the reason, if it failed or came later than `total` seconds in
    all and `grace` seconds after the project's. Raises the errors of `project`.
    """
    answers: list[tuple[Any, str]] = []

    def ask() -> None:
        try:
            answers.append((personal(), ""))
        except Exception as problem:  # noqa: BLE001 - the project goes on without
            answers.append((None, str(problem) or type(problem).__name__))

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    until = time.monotonic() + total
    found = project()
    thread.join(max(grace, until - time.monotonic()))
    return (found, *(answers[0] if answers else (None, "It gave no answer in time.")))


def by_rank(project: Iterable[Any], personal: Iterable[Mapping[str, Any]]) -> list[Any]:
    """The items of both by their ranks, on the same rank the project's first. Those of the personal space say so."""
    marked = ({**item, PERSONAL: True} for item in personal)
    return [item for item in chain.from_iterable(zip_longest(project, marked)) if item is not None]


def _body(start: Mapping[str, Any]) -> str:
    """A start without the words about its use, and without the list of what it leaves out."""
    markdown, at, kept = str(start["markdown"]), 0, []
    for part in start.get("parts") or [{"kind": "", "chars": len(markdown)}]:
        if part["kind"] not in ("guide", "outline"):
            kept.append(markdown[at : at + part["chars"]])
        at += part["chars"]
    return "".join(kept)


def _lines(markdown: str, project: "_Known") -> Iterator[tuple[str, ...]]:
    """The lines that are new beside the project's, a block of code as one, each behind the headings that it opens."""
    headings: list[str] = []
    code: list[str] | None = None
    for line in markdown.splitlines():
        if line.lstrip().startswith("```"):
            if code is None:
                code = [line]
                continue
            line, code = "\n".join([*code, line]), None  # noqa: PLW2901 - the block
        elif code is not None:
            code.append(line)
            continue
        elif heading := _HEADING.match(line):
            level = len(heading[1])
            headings = [one for one in headings if one.index(" ") < level] + [line]
            continue
        if line.strip() and not project.knows(statement(line)):
            yield (*headings, line)
            headings = []


class _Known:
    """The statements of a project's start."""

    def __init__(self, markdown: str) -> None:
        # It takes longer to load than a hook has for a prompt.
        from live_memory import _similarity  # noqa: PLC0415

        self._similarity = _similarity
        texts = [statement(line) for line in markdown.splitlines() if line.strip() and not _HEADING.match(line)]
        self._marks = prompts.marks(markdown)
        self._same = {_similarity.normalised(text) for text in texts}
        self._grams = [(text, _similarity.prepare(text)) for text in texts]

    def knows(self, text: str) -> bool:
        """Whether the project says the same as a text, or perhaps something against it."""
        if self._similarity.normalised(text) in self._same or prompts.is_told(text, self._marks):
            return True
        grams = self._similarity.prepare(text)
        near = sorted(((self._similarity.like(grams, other), one) for one, other in self._grams), reverse=True)
        against = self._similarity.contradicts
        return any(against(text, one) or against(one, text) for likeness, one in near[:_NEAREST] if likeness >= _LIKE)
