"""The bank as it stood after each change, from the records alone."""

from datetime import timedelta
from functools import cache
from typing import Any

import pytest

from livemem import clock
from livemem.bank import corrections, files, history, time_travel
from livemem.changes import records
from livemem.errors import Conflict, InvalidRequest, NotFound
from livemem.store.bucket import BANK_FILE, RECORD
from tests.support.cases import each
from tests.support.counting import Killed
from tests.support.world import World, forked, several_files


@cache
def _changed_many_times() -> tuple[World, list[dict[str, str]]]:
    """A space after two consolidations, edits, an undo and deletions by hand; and its bank after each change."""
    world = World()
    world.create_space()
    world.llm.default = several_files
    states = [world.bank()]

    def fold() -> None:
        for number in range(4):
            world.note(f"note {len(states)}.{number}")
            world.clock.move(1)
        assert world.consolidate().state == "done"

    def write(path: str, text: str) -> None:
        corrections.write_file(world.process, "admin", "demo", path, text, None)

    for change in (
        fold,
        fold,
        lambda: write("log.md", "# Title\n\n## Log\n\nRewritten by hand.\n"),
        fold,
        lambda: world.undo(4),
        lambda: corrections.delete_file(world.process, "admin", "demo", "people/all.md", "wrong"),
        lambda: write("new.md", "# New\n"),
        lambda: corrections.delete_file(world.process, "admin", "demo", "new.md", None),
        lambda: write("new.md", "# New again\n"),
        lambda: world.undo(9),
    ):
        change()
        states.append(world.bank())
        world.clock.move(60)
    return world, states


def changed_many_times() -> tuple[World, list[dict[str, str]]]:
    world, states = _changed_many_times()
    return world.fork(), states


def read_at(world: World, path: str, number: int) -> files.File:
    moment = time_travel.then(world.process, "demo", str(number))
    return time_travel.file_at(world.process, "demo", path, moment)


def test_every_file_can_be_read_as_it_stood_after_every_change():
    world, states = changed_many_times()

    for number, state in list(enumerate(states))[1:]:
        committed_at = records.get(world.process, "demo", number).committed_at
        for path in ("log.md", "people/all.md", "new.md", "never.md"):
            if path in state:
                found = read_at(world, path, number)
                assert (found.content, found.consolidation) == (state[path], number)
                assert (found.size, found.last_modified) == (len(state[path].encode()), committed_at)
            else:
                with pytest.raises(NotFound) as missing:
                    read_at(world, path, number)
                assert missing.value.code == "bank_file_not_found"


@pytest.mark.parametrize("number", [0, 11, 999_999_999])
def test_a_change_that_never_was_is_not_found(number: int):
    world, _ = changed_many_times()

    with pytest.raises(NotFound) as missing:
        read_at(world, "log.md", number)
    assert missing.value.code == "consolidation_not_found"


def test_more_records_than_are_read_at_once_change_nothing():
    world = World()
    world.create_space()
    for number in range(records.AT_ONCE * 2 + 3):
        corrections.write_file(world.process, "admin", "demo", f"{number % 7}.md", f"text {number}\n", None)

    assert read_at(world, "3.md", 4).content == "text 3\n"
    assert read_at(world, "3.md", 20).content == "text 17\n"
    assert read_at(world, "6.md", 35).content == "text 34\n"


def test_a_file_at_a_time_and_its_sources_do_not_go_together():
    world, _ = changed_many_times()

    with pytest.raises(InvalidRequest) as refused:
        history.read_file(world.process, "demo", "log.md", at="1", sources=True)
    assert [field.field for field in refused.value.fields] == ["sources"]


def test_reading_at_a_time_goes_through_the_history_as_well():
    world, states = changed_many_times()

    file, cited = history.read_file(world.process, "demo", "log.md", at="2", sources=False)

    assert (file.content, cited) == (states[2]["log.md"], None)
    with pytest.raises(NotFound) as missing:
        history.read_file(world.process, "nowhere", "log.md", at="1", sources=False)
    assert missing.value.code == "space_not_found"


def test_a_time_travel_reads_its_own_record_and_later_ones_only():
    world, _ = changed_many_times()
    world.new_process()

    with pytest.raises(NotFound):
        read_at(world, "never.md", 9)

    prefix = RECORD.prefix("demo")
    asked = [key.removeprefix(prefix)[:6] for _, key in world.client.requests if key.startswith(prefix)]
    assert asked == ["", "000009", "", "000010"]


def bank_at(world: World, at: str) -> dict[str, str | None]:
    found = history.bank(world.process, "demo", at=at, content=True)
    listed = history.bank(world.process, "demo", at=at, content=False)
    assert [(file.path, file.size, file.last_modified) for file in listed] == [
        (file.path, file.size, file.last_modified) for file in found
    ]
    assert [file.path for file in found] == sorted(file.path for file in found)
    assert not any(file.content for file in listed)
    return {file.path: file.content for file in found}


def test_the_bank_can_be_listed_as_it_stood_after_every_change():
    world, states = changed_many_times()

    for number in range(1, len(states)):
        assert bank_at(world, str(number)) == states[number]


def test_the_synthesis_can_be_read_as_it_stood_after_every_change():
    world = World()
    world.create_space()
    told: list[str | None] = [None]
    corrections.write_file(world.process, "admin", "demo", "a.md", "text\n", None)
    told.append(None)
    for count in (1, 2):
        for number in range(count):
            world.note(f"{count}.{number}")
        world.consolidate()
        told.append(f"{count} notes.")
    corrections.write_file(world.process, "admin", "demo", "a.md", "more\n", None)
    world.undo(4)
    world.undo(3)
    told += ["2 notes.", "2 notes.", "1 notes."]

    for number in range(1, len(told)):
        try:
            found = history.synthesis(world.process, "demo", at=str(number)).content.strip()
        except NotFound:
            found = None
        assert found == told[number], number


def test_a_time_means_the_last_change_committed_at_or_before_it():
    world, states = changed_many_times()
    moments = [clock.parse(records.get(world.process, "demo", n).committed_at) for n in range(1, len(states))]

    for number, moment in enumerate(moments, start=1):
        for seconds in (0, 0.5):
            text = clock.iso_millis(moment + timedelta(seconds=seconds))
            assert bank_at(world, text) == states[number]
            if "log.md" in states[number]:
                file, _ = history.read_file(world.process, "demo", "log.md", at=text, sources=False)
                assert (file.content, file.consolidation) == (states[number]["log.md"], number)
    with pytest.raises(NotFound) as missing:
        bank_at(world, clock.iso(moments[0] - timedelta(seconds=1)))
    assert missing.value.code == "consolidation_not_found"


@each("at", ["", "yesterday", "-1", "1.5", "2026-02-31", "1" * 10])
def test_what_is_neither_a_number_nor_a_time_is_refused(at: str):
    world, _ = changed_many_times()

    for ask in (
        lambda: history.bank(world.process, "demo", at=at, content=False),
        lambda: history.synthesis(world.process, "demo", at=at),
        lambda: history.read_file(world.process, "demo", "log.md", at=at, sources=False),
    ):
        with pytest.raises(InvalidRequest) as refused:
            ask()
        assert [field.field for field in refused.value.fields] == ["at"]


def long_history(count: int) -> World:
    world = _long_history(count)
    history.bank(world.process, "demo", at=None, content=False)
    world.client.reset()
    return world


@forked
def _long_history(count: int) -> World:
    world = World()
    world.create_space()
    corrections.write_file(world.process, "admin", "demo", "first.md", "first\n", None)
    for number in range(count - 1):
        world.clock.move(60)
        corrections.write_file(world.process, "admin", "demo", f"{number % 3}.md", f"text {number}\n", None)
    return world


def records_read(world: World) -> int:
    prefix = RECORD.prefix("demo")
    return sum(verb == "GET" and key.startswith(prefix) for verb, key in world.client.requests)


@each(
    ("ask", "most"),
    [
        (lambda process: history.bank(process, "demo", at="50", content=True), 1 + 10),
        (lambda process: history.read_file(process, "demo", "0.md", at="50", sources=False), 1 + 10),
        (lambda process: history.read_file(process, "demo", "first.md", at="20", sources=False), 1),
        (lambda process: history.read_file(process, "demo", "0.md", at="20", sources=False), 1 + records.AT_ONCE),
        (lambda process: history.bank(process, "demo", at="2026-02-20T14:49:30Z", content=False), 8 + 10),
    ],
    ids=["the bank", "a file", "a file unchanged since", "a file changed soon after", "a time"],
)
def test_going_back_reads_later_records_only_and_no_more_than_it_needs(ask: Any, most: int):
    world = long_history(60)

    ask(world.process)

    assert records_read(world) <= most
    assert world.client.counts["LIST"] <= 3


def test_going_back_too_far_is_refused_with_a_word_and_costs_no_more(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(time_travel, "MOST_CHANGES", 32)
    world = long_history(60)

    with pytest.raises(Conflict):
        history.bank(world.process, "demo", at="2", content=False)

    assert records_read(world) == 1 + 32


def test_a_change_that_is_committed_but_not_written_out_is_shown_whole():
    world = long_history(3)
    calls = []

    def stop(index: int, verb: str) -> None:
        calls.append(world.client.requests[-1])
        if calls[-1] == ("PUT", BANK_FILE.key("demo", "first.md")):
            raise Killed

    world.client.before = stop
    with pytest.raises(Killed):
        corrections.write_file(world.process, "admin", "demo", "first.md", "second\n", None)
    world.new_process()

    assert bank_at(world, "4")["first.md"] == "second\n"
    assert bank_at(world, "3")["first.md"] == "first\n"
