"""Following the notes of a space: `tail`."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Annotated, Any

import typer

from live_memory.cli import following, showing
from live_memory.cli.options import Json, MaybeSpace, Space, named
from live_memory.cli.session import Session, opened
from live_memory.errors import LiveMemoryError

SHORTEST_PAUSE, LONGEST_PAUSE = 2.0, 10.0
"""Seconds between two looks: soon after something came, more rarely while nothing does."""
PAGE = 200


def tail(
    ctx: typer.Context,
    space_id: MaybeSpace = None,
    lines: Annotated[
        int, typer.Option("--lines", "-n", min=0, max=500, help="The number of existing notes to show first.")
    ] = 10,
    space: Space = None,
    json: Json = False,
) -> None:
    """Follow the new notes of a space until Ctrl-C.

    Each note is shown once, also one that is consolidated at once.
    """
    with opened(ctx, json=json, space=named(space_id, space)) as session:
        source = _Service(session)
        try:
            found, seen = following.begin(source, lines, session.program.clock())
            _show(session, found)
            _follow(session, source, seen)
        except KeyboardInterrupt:
            # Ctrl-C is the usual end.
            raise typer.Exit from None


def _follow(session: Session, source: "_Service", seen: following.Seen) -> None:
    pause, silent = SHORTEST_PAUSE, False
    while True:
        session.program.sleep(pause)
        try:
            found, seen = following.look(source, seen, session.program.clock())
        except LiveMemoryError as problem:
            if not problem.curable:
                raise
            if not silent:
                session.out.say(f"{problem.detail} Trying again.")
            silent, pause = True, max(LONGEST_PAUSE, float(problem.retry_after or 0))
            continue
        _show(session, found)
        silent, pause = False, SHORTEST_PAUSE if found else min(pause * 1.25, LONGEST_PAUSE)


def _show(session: Session, found: Iterable[dict[str, Any]]) -> None:
    for note in found:
        if session.out.json:
            session.out.record(note)
        else:
            session.out.lines(showing.note(note))


@dataclass(frozen=True)
class _Service:
    """The requests of following, sent to the service."""

    session: Session

    def newest(self, count: int) -> Sequence[following.Note]:
        return list(islice(self.session.pages("list_notes", limit=min(count, PAGE)), count))

    def live(self, since: datetime | None) -> Iterable[following.Note]:
        text = since.strftime("%Y-%m-%dT%H:%M:%SZ") if since else None
        return self.session.pages("list_notes", since=text, order="asc", limit=PAGE)

    def changes(self) -> Iterable[dict[str, Any]]:
        return self.session.pages("list_consolidations", limit=20)

    def folded(self, number: int) -> Sequence[following.Note]:
        return list(self.session.here("get_consolidation", number=number)["sources"])
