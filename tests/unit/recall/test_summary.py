"""What an agent loads at its start: everything, fresh, in few round trips."""

import threading
from datetime import timedelta

import pytest

from livemem import clock
from livemem.bank import corrections, summary
from livemem.bank.files import File
from livemem.bank.summary import in_order_of
from livemem.changes.rules_change import NewRules, change
from livemem.errors import InvalidRequest, NotFound
from livemem.notes import note as notes
from livemem.store import keys
from livemem.store.bucket import NOTE, RULES
from livemem_http.views import SpaceSummary
from tests.support.cases import each
from tests.support.world import START, World


def in_use(threads: int = 1) -> World:
    world = World(threads=threads)
    world.create_space(rules="# Files\n\n`z.md` holds the plan.\n\nThen bank/people/all.md.\n")
    for number, path in enumerate(("a.md", "people/all.md", "z.md")):
        corrections.write_file(world.process, "bob", "demo", path, f"text {number}\n", None)
    for number in range(3):
        world.note(f"note {number}")
        world.clock.move(1)
    world.new_process()
    return world


def many(world: World, count: int, size: int = 1) -> None:
    body = notes.format_note(notes.Note("", "demo", clock.iso(START), "ann", "todo", (), "x" * size, size))
    world.inner.put_object(Bucket="b", Key="one", Body=body)
    stored = world.inner.objects.pop("one")
    for number in range(count):
        name = keys.NoteName(START + timedelta(minutes=number), "ann", "todo", f"{number:08x}")
        world.inner.objects[NOTE.key("demo", name.note_id)] = stored
    world.clock.move(60 * count)


def test_files_are_in_the_order_of_the_rules_and_live_notes_are_there_newest_last():
    found = summary.summary(in_use().process, "demo")

    assert [(file.path, file.content) for file in found.bank] == [
        ("z.md", "text 2\n"),
        ("people/all.md", "text 1\n"),
        ("a.md", "text 0\n"),
    ]
    assert found.live is not None
    assert [note.content for note in found.live.notes] == ["note 0", "note 1", "note 2"]
    assert (found.live.count, found.live.exact) == (3, True)


@each(
    ("rules", "order"),
    [
        ("", ["a.md", "changelog.md", "log.md", "x/a.md"]),
        ("changelog.md, then log.md", ["changelog.md", "log.md", "a.md", "x/a.md"]),
        ("See x/a.md. And **a.md**.", ["x/a.md", "a.md", "changelog.md", "log.md"]),
        ("(LOG.md) ./a.md bank/changelog.md", ["log.md", "a.md", "changelog.md", "x/a.md"]),
        ("log.mdx changelog.md.bak", ["a.md", "changelog.md", "log.md", "x/a.md"]),
    ],
)
def test_a_file_stands_where_its_whole_name_first_occurs_in_the_rules(rules: str, order: list[str]):
    bank = [File(path, 0, "") for path in ("a.md", "changelog.md", "log.md", "x/a.md")]

    assert [file.path for file in in_order_of(rules, bank)] == order


def test_the_newest_live_notes_are_50_and_20_kilobytes_at_most_but_always_one():
    for count, size, shown in ((60, 1, 50), (60, 1_000, 18), (2, 50_000, 1)):
        world = in_use()
        for key in world.keys("demo/live/2"):
            world.inner.delete_object(Bucket="b", Key=key)
        many(world, count, size)

        live = summary.summary(world.process, "demo").live

        assert live is not None
        assert (live.count, live.exact, len(live.notes)) == (count, True, shown)
        assert [note.note_id[-8:] for note in live.notes] == [f"{n:08x}" for n in range(count - shown, count)]


def test_a_summary_costs_two_listings_and_what_it_shows():
    world = in_use()

    summary.summary(world.process, "demo")

    # The head, rules, synthesis; 3 files; 3 notes.
    assert world.client.counts == {"LIST": 2, "GET": 3 + 3 + 3}


@pytest.mark.slow
def test_of_many_live_notes_the_newest_cost_a_few_lists_and_are_not_counted():
    world = in_use()
    many(world, 3_500)

    live = summary.summary(world.process, "demo").live

    assert live is not None
    assert (live.exact, live.notes[-1].note_id[-8:]) == (False, f"{3_499:08x}")
    assert live.count < 3_500
    assert world.client.counts["LIST"] <= 1 + 1 + 3
    assert world.client.counts["GET"] == 3 + 3 + 50


def test_a_summary_takes_two_round_trips():
    """The five requests of the first wait for each other, and so do the six of the second: else this fails."""
    world = in_use(threads=16)
    first, second = threading.Barrier(5), threading.Barrier(6)

    def together(index: int, verb: str) -> None:
        (first if index < 5 else second).wait(timeout=20)

    world.client.before = together

    found = summary.summary(world.process, "demo")

    assert len(found.bank) == 3
    assert len(world.client.requests) == 11


def test_rules_can_be_left_out():
    process = in_use().process

    answer = SpaceSummary.of_summary(summary.summary(process, "demo", with_rules=False)).model_dump()

    assert "rules" not in answer
    assert [file["path"] for file in answer["bank"]] == ["z.md", "people/all.md", "a.md"]
    assert SpaceSummary.of_summary(summary.summary(process, "demo")).model_dump()["rules"].startswith("# Files")


def test_a_look_back_has_the_bank_of_then_says_so_and_has_no_live_notes():
    process = in_use().process

    answer = SpaceSummary.of_summary(summary.summary(process, "demo", at="2")).model_dump()

    assert [file["path"] for file in answer["bank"]] == ["people/all.md", "a.md"]
    assert answer["at"] == {"change": 2, "committed_at": "2026-02-20T14:00:00Z"}
    assert "live" not in answer
    assert "synthesis" not in answer
    assert answer["rules"].startswith("# Files")


@pytest.mark.parametrize("at", [None, "1"])
def test_an_unknown_space_has_no_summary(at: str | None):
    with pytest.raises(NotFound) as missing:
        summary.summary(World().process, "nowhere", at=at)
    assert missing.value.code == "space_not_found"


def test_a_look_back_to_nowhere_is_refused():
    with pytest.raises(InvalidRequest):
        summary.summary(in_use().process, "demo", at="then")
    with pytest.raises(NotFound):
        summary.summary(in_use().process, "demo", at="9")


def test_a_look_back_has_the_rules_of_then_and_the_order_of_files_that_they_give():
    world = in_use()
    old = world.text(RULES.key("demo"))
    change(world.process, "bob", "demo", NewRules("Only a.md counts.\n"))
    world.clock.move(60)

    for at, text, first in (("3", old, "z.md"), ("4", "Only a.md counts.\n", "a.md")):
        found = summary.summary(world.process, "demo", at=at)
        assert (found.rules, found.bank[0].path) == (text, first)
