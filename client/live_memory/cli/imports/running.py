"""An import as a whole: it detects the source, plans the spaces or conversations, and makes them."""

import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import IO, cast

import httpx

from live_memory import LiveMemoryError
from live_memory.cli.given_lines import GivenLines
from live_memory.cli.imports import (
    basic_memory,
    buckets,
    claude_notes,
    detection,
    folders,
    git_history,
    mem0,
    own_memories,
    placing,
    rules_texts,
    sending,
    talks,
)
from live_memory.cli.imports.detection import Source
from live_memory.cli.imports.found_items import Found
from live_memory.cli.imports.projects import Projects
from live_memory.cli.imports.reports import ItemReport, SpaceReport, TalkReport
from live_memory.cli.imports.sending import Service
from live_memory.cli.imports.unfit import BadSource

NEEDS_SPACE = "Name the target space: --space."
FOR_MARKDOWN = "Rules can be given only for a folder of Markdown files: a space has its own."
SEVERAL = "The source has {} spaces, which keep their ids. To use --space, name the folder of one of them."
TOLD_EVERY = 20
"""Number of conversations after which the progress is shown."""
ANONYMOUS = "import"
"""The author of the import's change if nobody is logged in, as in a dry run."""


@dataclass(frozen=True)
class Order:
    """An import as the user requests it: `rules` and `rules_template` for Markdown files, `profile` and `since` and
    `projects` for conversations, `threshold` for spaces of a bucket, `newest` for commits.
    """

    path: Path
    space_id: str | None = None
    description: str | None = None
    rules: str | None = None
    rules_template: str | None = None
    profile: str = "windows"
    since: str | None = None
    threshold: int = buckets.THRESHOLD
    newest: int = 100
    projects: Projects | None = None

    def options(self) -> dict[str, str]:
        """The options that go to the service with the archive."""
        wanted = {"description": self.description, "rules": self.rules, "rules_template": self.rules_template}
        return {name: value for name, value in wanted.items() if value is not None}


@dataclass(frozen=True)
class Parcel:
    """The archives of a space, which are ready to be sent, with their report."""

    archives: list[IO[bytes]]
    report: SpaceReport


@dataclass(frozen=True)
class Planned:
    """A source with what it holds for a space that exists: conversations, and notes and memories. Any other source
    becomes spaces.
    """

    source: Source
    talk: TalkReport | None = None
    found: Found | None = None

    def reports(self, space_id: str, sent: Collection[str]) -> list[TalkReport | ItemReport]:
        """What would be done. `sent`: the names of what was sent before."""
        talk = [replace(self.talk, space_id=space_id)] if self.talk else []
        return [*talk, *([placing.plan(self.found, space_id, sent)] if self.found else [])]


@dataclass(frozen=True)
class World:
    """The dependencies of an import: the service, the upload to a URL, the wait, and the output."""

    service: Service
    web: httpx.Client
    sleep: Callable[[float], None]
    say: Callable[[str], None] = field(default=lambda _: None)
    hooks: Path | None = None
    """The folder of the hooks' state, which knows the lines of a personal space that agents were given."""


def look(order: Order) -> Source:
    """The source and its kind. Raises BadSource, also if the order does not fit it."""
    source = detection.look(order.path)
    if source.kind != "markdown" and (order.rules is not None or order.rules_template is not None):
        raise BadSource(FOR_MARKDOWN)
    if source.kind == "markdown" and not order.space_id:
        raise BadSource(NEEDS_SPACE)
    if order.space_id and not buckets.SPACE_ID.fullmatch(order.space_id):
        raise BadSource("A space's id is 1 to 64 of A-Z a-z 0-9 _ -, beginning with a letter or digit.")
    return source


def items_of(source: Source, now: datetime, newest: int = 100) -> Found:
    """The notes and memories of a source, without those that have expired. Raises BadSource."""
    if source.kind == "mem0":
        return mem0.found(source.path.read_bytes(), now)
    if source.kind == "git":
        return git_history.found(source.path, newest)
    if source.kind == "own-memory":
        return own_memories.found(source.path)
    return basic_memory.found(source.path) if source.kind == "basic-memory" else rules_texts.found(source.path)


def place(world: World, found: Found, space_id: str, sent: placing.Sent) -> ItemReport:
    """Send the notes and memories. Raises LiveMemoryError, OSError. A repeat continues the import."""
    return placing.carry_out(world.service, found, space_id, sent, world.say)


def plan(source: Source, order: Order, now: datetime) -> Planned:
    """The conversations and items to import into a space that exists. Raises BadSource."""
    if source.kind in detection.OF_ITEMS:
        return Planned(source, None, items_of(source, now, order.newest))
    if source.kind != "chats":
        return Planned(source)
    found = claude_notes.found(source) if source.beside_chats() else None
    return Planned(source, talks.plan(source, _wanted(order), alone=not (found and found.items)), found)


def _wanted(order: Order) -> talks.Wanted:
    return talks.Wanted(order.space_id or "", order.profile, order.since, order.projects)


@contextmanager
def packed(source: Source, order: Order, author: str = ANONYMOUS) -> Iterator[list[Parcel]]:
    """All spaces to make, as archives in files that nobody else sees. Raises BadSource."""
    with ExitStack() as stack:
        if source.kind == "export":
            archives: list[IO[bytes]] = [
                stack.enter_context(path.open("rb")) for path in detection.archives(source.path)
            ]
            yield [Parcel(archives, _of_export(source, order))]
        elif source.kind == "markdown":
            target = _place(stack)
            yield [Parcel([target], folders.pack(source, order.space_id or "", target))]
        else:
            parcels = [_of_bucket(stack, source, space, order, author) for space in _spaces(source, order)]
            parcels[0].report.not_taken += Counter({"files outside of spaces": buckets.outside(source)})
            yield parcels


def _place(stack: ExitStack) -> IO[bytes]:
    """A file without a name, which is removed when it is closed."""
    return stack.enter_context(cast("IO[bytes]", tempfile.TemporaryFile()))


def _spaces(source: Source, order: Order) -> list[buckets.OldSpace]:
    found = buckets.spaces(source)
    if len(found) > 1 and order.space_id:
        raise BadSource(SEVERAL.format(len(found)))
    return found


def _of_bucket(stack: ExitStack, source: Source, space: buckets.OldSpace, order: Order, author: str) -> Parcel:
    target = _place(stack)
    space_id = buckets.name_of(space, order.space_id)
    return Parcel([target], buckets.pack(source, space, space_id, target, author, order.threshold))


def _of_export(source: Source, order: Order) -> SpaceReport:
    """The content that an export of this service states. The service checks the whole export."""
    tops = {path.partition("/")[0] for path in source.sizes}
    if len(tops) > 1:
        raise BadSource("The archive is not an export of this service: it has several folders.")
    (top,) = tops
    names = [path.partition("/")[2] for path in source.sizes]
    report = SpaceReport(order.space_id or top, source=top)
    report.notes = sum(name.startswith("live/") and name.endswith(".md") for name in names)
    report.bank_files = sum(name.startswith("bank/") and name.endswith(".md") for name in names)
    report.rules, report.synthesis = "_rules.md" in names, "_synthesis.md" in names
    report.objects = len(names) - 1
    return report


def send_all(world: World, parcels: list[Parcel], order: Order) -> list[SpaceReport]:
    """Make a space of each archive. If one of several is refused, report it and continue with the others. Raises
    LiveMemoryError otherwise.
    """
    for parcel in parcels:
        report = parcel.report
        world.say(f"Importing {report.space_id} ...")
        try:
            _send(world.service, world, parcel, order.options())
        except LiveMemoryError as error:
            if len(parcels) == 1 or error.status not in (400, 403, 409, 413, 422):
                raise
            report.outcome = "exists_already" if error.code == "space_exists" else "failed"
            report.error = error.detail
    return [parcel.report for parcel in parcels]


def _send(service: Service, world: World, parcel: Parcel, options: Mapping[str, str]) -> None:
    report = parcel.report
    job = sending.send(service, world.web, parcel.archives, report.space_id, options, world.sleep)
    if job["status"] == "done":
        report.outcome = "imported"
        report.objects = (job.get("progress") or {}).get("done", report.objects)
        return
    report.outcome = "failed"
    report.error = (job.get("error") or {}).get("detail", "The source was not imported.")


def talk(world: World, source: Source, order: Order, planned: TalkReport) -> TalkReport:
    """Import the conversations. Raises LiveMemoryError. A repeat continues the import."""
    total = planned.conversations

    def told(done: int) -> None:
        if done % TOLD_EVERY == 0 or done == total:
            world.say(f"{done} of {total} conversations")

    wanted = _wanted(order)
    if world.hooks:
        # A session may be another project's.
        wanted = replace(wanted, cut=GivenLines.of(world.hooks, wanted.space_id).cutter(everywhere=True))
    return talks.carry_out(world.service, source, wanted, planned, told)
