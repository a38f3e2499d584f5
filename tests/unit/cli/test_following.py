"""Each note is told once, whatever happens between two looks and within one."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from live_memory.cli import following
from live_memory.cli.following import Note

START = datetime(2026, 2, 20, 14, tzinfo=UTC)


@dataclass
class Space:
    """A space in small: live notes, and changes that fold and give back. `meanwhile` runs before each request."""

    now: datetime = START
    live_notes: dict[str, Note] = field(default_factory=dict)
    records: list[dict[str, Any]] = field(default_factory=list)
    sources: dict[int, list[Note]] = field(default_factory=dict)
    made: int = 0
    meanwhile: Callable[[], None] = lambda: None

    def write(self, late: int = 0) -> str:
        """A note that arrives `late` seconds after the moment of its name."""
        self.made += 1
        moment = self.now - timedelta(seconds=late)
        note_id = f"{moment:%Y%m%dT%H%M%S}_ann_todo_{self.made:08x}"
        self.live_notes[note_id] = {"note_id": note_id}
        return note_id

    def consolidate(self, share: int = 1) -> None:
        """Fold every `share`-th live note."""
        taken = sorted(self.live_notes)[::share]
        self._change("consolidation", [self.live_notes.pop(note_id) for note_id in taken])

    def undo(self) -> None:
        """Give the notes of the last change that folded some back."""
        for record in reversed(self.records):
            if record["kind"] == "consolidation" and not record["undone"]:
                record["undone"] = True
                back = self.sources[record["number"]]
                self.live_notes |= {note["note_id"]: note for note in back}
                self._change("undo", back)
                return

    def _change(self, kind: str, notes: list[Note]) -> None:
        number = len(self.records) + 1
        moment = f"{self.now:%Y-%m-%dT%H:%M:%SZ}"
        told = {"number": number, "kind": kind, "notes_count": len(notes), "committed_at": moment, "undone": False}
        self.records.append(told)
        self.sources[number] = list(notes)

    def newest(self, count: int) -> Sequence[Note]:
        self.meanwhile()
        return sorted(self.live_notes.values(), key=lambda note: note["note_id"], reverse=True)[:count]

    def live(self, since: datetime | None) -> Iterable[Note]:
        self.meanwhile()
        name = f"{since:%Y%m%dT%H%M%S}" if since else ""
        return [note for note_id, note in self.live_notes.items() if note_id >= name]

    def changes(self) -> Iterable[dict[str, Any]]:
        self.meanwhile()
        return list(reversed(self.records))

    def folded(self, number: int) -> Sequence[Note]:
        self.meanwhile()
        return list(self.sources[number])


STEP = st.one_of(
    st.tuples(st.just("write"), st.integers(0, 60)),
    st.tuples(st.just("write"), st.just(0)),
    st.tuples(st.just("consolidate"), st.integers(1, 3)),
    st.tuples(st.just("undo"), st.just(0)),
    st.tuples(st.just("pass"), st.integers(1, 300)),
    st.tuples(st.just("look"), st.just(0)),
)


def take(space: Space, step: tuple[str, int]) -> str | None:
    """Let it happen; returns the note if one was written."""
    what, how = step
    if what == "write":
        return space.write(how)
    if what == "consolidate" and space.live_notes:
        space.consolidate(how)
    elif what == "undo":
        space.undo()
    elif what == "pass":
        space.now += timedelta(seconds=how)
    return None


@given(
    before=st.lists(STEP, max_size=12),
    steps=st.lists(STEP, max_size=25),
    within=st.lists(st.none() | STEP, max_size=30),
    count=st.sampled_from([0, 1, 10, 500]),
)
@example(before=[("write", 0), ("consolidate", 1)], steps=[("undo", 0)], within=[], count=10)
@example(before=[], steps=[("write", 0), ("consolidate", 1)], within=[], count=10)
@example(before=[("write", 0)], steps=[("look", 0)], within=[None, ("write", 0), ("consolidate", 1)], count=10)
def test_every_note_that_is_written_meanwhile_is_told_once_and_no_earlier_one_twice(before, steps, within, count):
    space = Space()
    for step in before:
        take(space, step)
    written: list[str] = []
    pending = list(within)

    def meanwhile() -> None:
        # Something happens between two requests of one look.
        step = pending.pop(0) if pending else None
        if step and (made := take(space, step)):
            written.append(made)

    first, seen = following.begin(space, count, space.now)
    space.meanwhile = meanwhile
    told = [note["note_id"] for note in first]
    for step in [*steps, ("look", 0)]:
        if step[0] == "look":
            new, seen = following.look(space, seen, space.now)
            told += [note["note_id"] for note in new]
        elif made := take(space, step):
            written.append(made)
    # Two quiet looks: what moved within the last one is seen by the next.
    pending.clear()
    for _ in range(2):
        new, seen = following.look(space, seen, space.now)
        told += [note["note_id"] for note in new]

    assert len(told) == len(set(told))
    assert set(written) <= set(told)
    assert set(told) - set(written) == {note["note_id"] for note in first}


@given(before=st.lists(STEP, max_size=8), within=st.lists(st.none() | STEP, max_size=12))
def test_what_is_written_while_one_begins_is_told_once(before, within):
    space = Space()
    for step in before:
        take(space, step)
    written: list[str] = []
    pending = list(within)

    def meanwhile() -> None:
        step = pending.pop(0) if pending else None
        if step and (made := take(space, step)):
            written.append(made)

    space.meanwhile = meanwhile
    first, seen = following.begin(space, 500, space.now)
    pending.clear()
    new, _ = following.look(space, seen, space.now)
    told = [note["note_id"] for note in [*first, *new]]

    assert len(told) == len(set(told))
    assert set(written) <= set(told)


def test_a_note_from_the_future_hides_none_that_is_written_until_then():
    space = Space()
    _, seen = following.begin(space, 10, space.now)
    odd = space.write(late=-3600)
    first, seen = following.look(space, seen, space.now)
    usual = space.write()
    second, seen = following.look(space, seen, space.now)
    third, _ = following.look(space, seen, space.now)

    assert [[note["note_id"] for note in notes] for notes in (first, second, third)] == [[odd], [usual], []]


def test_what_is_known_stays_small_however_long_one_follows():
    space = Space()
    _, seen = following.begin(space, 10, space.now)
    for _ in range(500):
        space.write()
        space.now += timedelta(seconds=10)
        _, seen = following.look(space, seen, space.now)

    assert len(seen.ids) <= following.OVERLAP / timedelta(seconds=10) + 1
