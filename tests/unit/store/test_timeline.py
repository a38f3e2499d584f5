"""Objects whose names begin with a time: the newest first, and all side by side."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livemem.bank import summary
from livemem.process import Process
from livemem.spaces import contents
from livemem.store import keys, timeline
from livemem.store.bucket import NOTE
from livemem.store.objects import Store
from tests.support.cases import each
from tests.support.world import START, World

SECONDS = [0, 1, 2, 59, 60, 86_400, 31_536_000, 250_000_000_000]
DAY = 86_400
MANY = 4_000
"""Notes, of which a listing shows a twentieth."""


class Rounds(Store):
    """Counts how often requests are sent side by side: what a caller waits for."""

    def map(self, function: Any, items: Any) -> Any:
        object.__setattr__(self, "rounds", getattr(self, "rounds", 0) + 1)
        return super().map(function, items)


def space_with(world: World, seconds: list[float]) -> list[str]:
    """A space with one note at each moment (seconds from the start); returns the keys in order."""
    world.create_space()
    made = []
    world.inner.put_object(Bucket="b", Key="one", Body=b"x")
    # All are alike: only one has to be taken in as a store does.
    stored = world.inner.objects.pop("one")
    for number, moment in enumerate(seconds):
        name = keys.NoteName(START + timedelta(seconds=int(moment)), "ann", "todo", f"{number:08x}")
        made.append(NOTE.key("demo", name.note_id))
        world.inner.objects[made[-1]] = stored
    return sorted(made)


def back(process: Process, **bounds: Any) -> list[list[str]]:
    line = contents._timeline("demo")
    now = timeline.seconds(process.clock())
    return [[entry.key for entry in batch] for batch in timeline.newest_first(process.store, line, now=now, **bounds)]


moments = st.lists(st.sampled_from(SECONDS), max_size=30)


guesses = st.none() | st.sampled_from(SECONDS)


@given(moments=moments, most=st.integers(1, 5), now=st.sampled_from([-10, 0, 1, 86_400, 31_536_001]), guess=guesses)
def test_newest_first_gives_everything_once_and_no_batch_before_a_newer_one_whatever_is_guessed(
    moments: list[int], most: int, now: int, guess: int | None
):
    world = World()
    made = space_with(world, list(moments))
    world.inner.most_keys = most
    world.clock.move(now)

    batches = back(world.process, near=None if guess is None else timeline.seconds(START) + guess)

    assert [key for batch in batches[::-1] for key in batch] == made


@given(
    moments=moments,
    most=st.integers(1, 5),
    since=st.sampled_from(SECONDS),
    before=st.sampled_from(SECONDS),
    guess=guesses,
)
def test_bounds_of_time_leave_out_exactly_what_is_beyond_them(
    moments: list[int], most: int, since: int, before: int, guess: int | None
):
    world = World()
    space_with(world, list(moments))
    world.inner.most_keys = most
    start = timeline.seconds(START)

    near = None if guess is None else start + guess
    batches = back(world.process, since=start + since, before=start + before, near=near)

    assert sum(map(len, batches)) == sum(since <= moment < before for moment in moments)


@given(moments=moments, most=st.integers(1, 5), now=st.sampled_from([-10, 0, 1, 86_400, 31_536_001]))
def test_all_together_are_everything_once_in_order(moments: list[int], most: int, now: int):
    world = World()
    made = space_with(world, list(moments))
    world.inner.most_keys = most
    world.clock.move(now)

    assert [entry.key for entry in contents.all_live_notes(world.process, "demo")] == made


@each("most", [1, 3, 1_000])
def test_objects_of_other_names_are_left_out_wherever_they_sort(most: int):
    world = World()
    made = space_with(world, [0, 1, 100])
    for name in ("0.md", "20260220.md", "20269999T999999_ann_todo_00000000.md", "x.md", "x/y.md", "~"):
        world.inner.put_object(Bucket="b", Key=f"demo/live/{name}", Body=b"x")
    world.inner.most_keys = most

    assert [key for batch in back(world.process)[::-1] for key in batch] == made
    assert [entry.key for entry in contents.all_live_notes(world.process, "demo")] == made


@pytest.mark.slow
@each(
    ("apart", "age", "rounds", "lists"),
    [(3_000, 0, 3, 33), (DAY / MANY, 0, 3, 33), (DAY / MANY, 90 * DAY, 5, 60), (7.5, -3 * 3_600, 9, 25)],
    ids=["over months", "in a day", "in a day months ago", "the reader's clock is behind"],
)
def test_counting_20_pages_of_notes_takes_few_round_trips(apart: float, age: float, rounds: int, lists: int):
    world = World()
    made = space_with(world, [number * apart for number in range(MANY)])
    world.inner.most_keys = MANY // 20
    world.clock.move(MANY * apart + age)
    client: Any = world.client
    store = Rounds("bucket", client, client, threads=1)
    world.client.reset()

    assert len(timeline.everything(store, contents._timeline("demo"), now=timeline.seconds(world.clock()))) == len(made)
    assert store.rounds <= rounds  # type: ignore[attr-defined]
    assert world.client.counts["LIST"] <= lists


def test_the_summary_of_a_space_has_all_of_its_20_pages_of_notes():
    world = World()
    space_with(world, [number * 7.5 for number in range(MANY)])
    world.inner.most_keys = MANY // 20
    info = summary.info(world.process, "demo")
    assert (len(info.live), info.bank, info.synthesis_exists) == (MANY, [], False)


@each("most", [1, 2, 1_000])
def test_a_scan_stops_before_its_end(most: int):
    world = World()
    made = space_with(world, [0, 1, 2, 3])
    world.inner.most_keys = most

    for index, stop in enumerate([*made, "demo/live/~"]):
        assert [entry.key for entry in world.store.scan("demo/live/2", stop=stop)] == made[:index]
        found = world.store.first("demo/live/2", stop=stop)
        assert ([entry.key for entry in found.entries], found.more) == (made[:index][:most], index >= most < len(made))
