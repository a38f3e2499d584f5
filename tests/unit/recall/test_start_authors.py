"""The new notes of a start: each author has a share, one alone may have all, and the budget is exact."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livemem.notes import appending
from livemem.notes.appending import NoteDraft
from livemem.notes.note import Note
from livemem.recall import start, start_material
from livemem.recall.start import Start, StartRequest
from livemem.recall.start_material import StartMaterial
from tests.support.world import World
from tests.unit.recall.test_start import DAY, check, material

BANK = {"log.md": "# Log\n\n## A\n\n- one\n"}


def notes(agent: str, count: int, length: int = 60, category: str = "progress") -> list[Note]:
    """Notes of an author, the newest first."""
    return [
        Note(f"20260220T140000_{agent}_{category}_{number:08x}", "demo", DAY, agent, category, (), "x" * length, length)
        for number in range(count)
    ]


def of(*live: Note) -> StartMaterial:
    return material(BANK, live=sorted(live, key=lambda note: note.category not in start_material.URGENT))


def chars(found: Start) -> dict[str, int]:
    """The characters of the new notes that are given, by author."""
    sums: dict[str, int] = {}
    for part in found.parts:
        if part.why == "live":
            agent = str(part.source).split("_")[1]
            sums[agent] = sums.get(agent, 0) + part.chars
    return sums


def test_one_author_alone_may_have_all_and_the_order_is_by_urgency_then_by_time():
    many = [*notes("ann", 300), *notes("ann", 2, category="decision")]

    found = start.render(of(*many), 8_000, "en")

    given = [part.source for part in found.parts if part.why == "live"]
    assert given[:2] == [f"notes/{note.note_id}" for note in notes("ann", 2, category="decision")]
    assert given[2:] == [f"notes/{note.note_id}" for note in notes("ann", len(given) - 2)]
    assert chars(found)["ann"] > 7_000


@pytest.mark.parametrize("category", ["progress", "decision"])
@pytest.mark.parametrize("length", [10, 60, 1_500, 6_000])
def test_one_that_fills_the_space_with_notes_leaves_a_second_one_its_share(category: str, length: int):
    flood = notes("mallory", 150, length, category)
    own = notes("ann", 20, 120)

    found = start.render(of(*flood, *own), 8_000, "en")

    # All of the other author's notes fit into half of the room.
    assert len([part for part in found.parts if part.why == "live" and "_ann_" in str(part.source)]) == 20
    check(of(*flood, *own), found, 8_000)


def test_what_one_leaves_goes_to_the_others():
    found = chars(start.render(of(*notes("ann", 100), *notes("bob", 100), *notes("cleo", 2)), 8_000, "en"))

    assert found["cleo"] < found["ann"]
    assert abs(found["ann"] - found["bob"]) < 200
    assert sum(found.values()) > 6_800


def test_of_fifty_authors_each_is_heard_before_one_is_heard_twice():
    flood = notes("mallory", 400, category="decision")
    live = [*flood, *(note for number in range(49) for note in notes(f"agent-{number}", 3))]

    found = start.render(of(*live), 9_500, "en")

    assert len(chars(found)) == 50
    narrow = start.render(of(*live), 4_000, "en")
    assert max(chars(narrow).values()) < 150


def test_in_a_space_a_flood_of_notes_hides_no_other_author_s(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(start_material, "NOTES_MOST", 50)
    world = World()
    world.create_space()
    appending.append(world.process, "demo", "ann", NoteDraft("progress", "The ferry leaves at nine."))
    for number in range(80):
        world.clock.move(1)
        appending.append(world.process, "demo", "mallory", NoteDraft("decision", f"Order {number}."))

    for most in (2_000, 3_000, 100_000):
        found = start.start(world.process, "demo", StartRequest(max_chars=most))

        assert "The ferry leaves at nine." in found.markdown
        assert len(found.markdown) <= most
        assert "Order 79." in found.markdown


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(1, 3_000), st.booleans()), max_size=40),
    st.integers(2_000, 9_000),
)
def test_any_notes_of_any_authors_keep_the_budget_and_what_fits_is_given(some, most):
    live = [
        Note(f"20260220T140000_a{agent}_{'todo' if urgent else 'insight'}_{number:08x}", "demo", DAY, f"a{agent}",
             "todo" if urgent else "insight", (), "y" * length, length)
        for number, (agent, length, urgent) in enumerate(some)
    ]  # fmt: skip
    wanted = of(*live)

    found = start.render(wanted, most, "en")

    check(wanted, found, most)
    given_ids = [part.source for part in found.parts if part.why == "live"]
    order = [f"notes/{note.note_id}" for note in wanted.live]
    assert given_ids == [one for one in order if one in given_ids]
    # An author whose notes fit its share has all of them.
    room = most - 1_000
    agents = {note.agent for note in live}
    sums = {agent: sum(len(note.content) + 80 for note in live if note.agent == agent) for agent in agents}
    for agent, size in sums.items():
        if size <= room // len(agents):
            assert {f"notes/{note.note_id}" for note in live if note.agent == agent} <= set(given_ids)
