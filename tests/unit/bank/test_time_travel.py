"""The bank as it stood after each change, from the records alone."""

import pytest

from livemem.bank import corrections, history, time_travel
from livemem.changes import records
from livemem.errors import InvalidRequest, NotFound
from livemem.store import keys
from tests.support.crash import several_files
from tests.support.world import World


def changed_many_times() -> tuple[World, list[dict[str, str]]]:
    """A space after two consolidations, edits, an undo and deletions by hand; and its bank after each change."""
    world = World()
    world.create_space()
    world.llm.default = several_files
    states = [world.bank()]

    def fold() -> None:
        for number in range(4):
            world.note(f"note {len(states)}.{number}")
            world.clock.move(1)
        assert world.consolidate().status == "ok"

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


def test_every_file_can_be_read_as_it_stood_after_every_change():
    world, states = changed_many_times()

    for number, state in list(enumerate(states))[1:]:
        committed_at = records.get(world.process, "demo", number).committed_at
        for path in ("log.md", "people/all.md", "new.md", "never.md"):
            if path in state:
                found = time_travel.read_at(world.process, "demo", path, number)
                assert (found.content, found.consolidation) == (state[path], number)
                assert (found.size, found.last_modified) == (len(state[path].encode()), committed_at)
            else:
                with pytest.raises(NotFound) as missing:
                    time_travel.read_at(world.process, "demo", path, number)
                assert missing.value.code == "bank_file_not_found"


@pytest.mark.parametrize("number", [0, 11, 999_999_999, -1])
def test_a_change_that_never_was_is_not_found(number: int):
    world, _ = changed_many_times()

    with pytest.raises(NotFound) as missing:
        time_travel.read_at(world.process, "demo", "log.md", number)
    assert missing.value.code == "consolidation_not_found"


def test_more_records_than_are_read_at_once_change_nothing():
    world = World()
    world.create_space()
    for number in range(records.AT_ONCE * 2 + 3):
        corrections.write_file(world.process, "admin", "demo", f"{number % 7}.md", f"text {number}\n", None)

    assert time_travel.read_at(world.process, "demo", "3.md", 4).content == "text 3\n"
    assert time_travel.read_at(world.process, "demo", "3.md", 20).content == "text 17\n"
    assert time_travel.read_at(world.process, "demo", "6.md", 35).content == "text 34\n"


def test_a_file_at_a_time_and_its_sources_do_not_go_together():
    world, _ = changed_many_times()

    with pytest.raises(InvalidRequest) as refused:
        history.read_file(world.process, "demo", "log.md", at=1, sources=True)
    assert [field.field for field in refused.value.fields] == ["sources"]


def test_reading_at_a_time_goes_through_the_history_as_well():
    world, states = changed_many_times()

    file, cited = history.read_file(world.process, "demo", "log.md", at=2, sources=False)

    assert (file.content, cited) == (states[2]["log.md"], None)
    with pytest.raises(NotFound) as missing:
        history.read_file(world.process, "nowhere", "log.md", at=1, sources=False)
    assert missing.value.code == "space_not_found"


def test_a_time_travel_reads_its_own_record_and_later_ones_only():
    world, _ = changed_many_times()
    world.new_process()

    time_travel.read_at(world.process, "demo", "log.md", 9)

    prefix = keys.records_prefix("demo")
    asked = [key.removeprefix(prefix)[:6] for _, key in world.client.requests if key.startswith(prefix)]
    assert asked == ["", "000009", "000010"]
