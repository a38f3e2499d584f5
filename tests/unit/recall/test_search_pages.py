"""The answer to a search is one list: each document that matches once, however many are asked for."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livemem.errors import InvalidRequest
from livemem.recall import hit_list, search
from livemem.recall.document_sources import SECTIONS
from livemem.recall.hit_list import Above, current_first
from livemem.recall.search_request import SKIP_MOST, SearchRequest
from livemem.search import words
from livemem.search.documents import Document
from livemem.search.engine import Hit
from tests.support.cases import each
from tests.support.memories import store
from tests.support.part import of_proof
from tests.support.searching import find, ids, run_indexer, searching_world
from tests.support.talk import Talk, captures
from tests.support.world import World

WORDS = "crane oil pier gate ferry Kiel rust paint rope winch 7ab31fe v1.3.1".split()
HELD = [
    " ".join(WORDS[(start + step * place) % len(WORDS)] for place in range(size))
    for start, step, size in product(range(0, 12, 4), (1, 5), (2, 4, 9))
]


@pytest.fixture(scope="module")
def narrow() -> Iterator[None]:
    """Fewer documents than usual may change places: the harbour has five times as many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hit_list, "WINDOW", 10)
        yield


@pytest.fixture(scope="module", params=["hybrid", *of_proof("bm25")])
def harbour(request, narrow) -> World:
    """A space with a bank of long sections, folds, live notes, a conversation with summaries and notes captured from
    it, and memories.
    """
    world = searching_world()[0] if request.param == "hybrid" else World()
    world.create_space()
    for number, text in enumerate(HELD):
        world.note(f"{text.capitalize()} {number}.")
        world.clock.move(60)
        if number % 3 == 0:
            store(world.process, f"The {text} of {WORDS[number % 12]} {number}.", subjects=[WORDS[number % 12]])
    world.consolidate()
    talked = Talk("windows", world, capture="notes", min_flush_chars=40, window_chars=500)
    talked.llm.default = captures({"category": "decision", "content": "The crane of the pier needs oil.", "turns": [1]})
    for number, text in enumerate(HELD[::2]):
        talked.say(f"What of the {text}?", f"The {WORDS[number % 12]} {number} is there.")
        world.note(f"New: {text} {number}.")
    talked.update()
    run_indexer(world)
    kinds = {hit.document.kind for hit in find(world.process, "crane pier oil", scope="all", limit=100).hits}
    assert kinds >= {"note", "bank", "turn", "summary", "memory"}
    return world


@given(
    asked=st.lists(st.sampled_from([*WORDS, *(str(number) for number in range(0, 50, 9))]), min_size=1, max_size=4),
    few=st.integers(1, 30),
    limit=st.sampled_from([15, 20]),
    scope=st.sampled_from(["all", "all", "live,bank,archive", "bank,archive,memories", "conversations"]),
)
def test_the_answer_is_one_list_that_holds_each_document_once_by_any_pages_and_however_many_are_asked_for(
    harbour, asked, few, limit, scope
):
    def first(number: int) -> list[str]:
        return ids(find(harbour.process, " ".join(asked), limit=number, scope=scope))

    pages = pages_of(harbour, " ".join(asked), limit, scope=scope)
    shown = [hit.document.id for one in pages for hit in one.hits]

    assert len(set(shown)) == len(shown)
    assert shown == first(100)
    assert shown[:few] == first(few)
    assert all(len(one.hits) == limit for one in pages[:-1])
    # Only where turns are left can there be no room for a summary of them.
    kinds = [hit.document.kind for one in pages for hit in one.hits]
    assert "summary" not in kinds[: len(kinds) - kinds.count("summary")]


def documents(*told: tuple[str, str, str]) -> list[Document]:
    return [
        Document(f"{kind}{place}", kind, text, "all", str(place), source={"conversation_id": "C", **_of(source)})
        for place, (kind, text, source) in enumerate(told)
    ]


def _of(source: str) -> dict[str, str]:
    return {"turn_index": source} if source.isdigit() else {"covers": source} if source else {}


@pytest.mark.parametrize(
    ("above", "below", "original"),
    [
        (("bank", "- Oil is low.\n- The crane is red.", ""), ("archive", "The crane  is red.", ""), True),
        # What stands behind a note takes nothing from it.
        (("archive", "The crane is red.", ""), ("bank", "- Oil is low.\n- The crane is red.", ""), True),
        (("archive", "The crane is red.", ""), ("bank", "- The crane needs oil.\n- The crane is red.", ""), False),
        (("archive", "The crane is red.", ""), ("bank", "- The crane is blue.", ""), False),
        (("turn", "It is red.", "4"), ("note", "The crane is red.", "3-5"), True),
        (("turn", "It is red.", "4"), ("summary", "The crane is red.", "4-4"), True),
        (("turn", "It is red.", "4"), ("summary", "The crane is red.", "3-5"), False),
        (("note", "The crane is red.", "3-5"), ("turn", "It is red.", "4"), False),
        (("turn", "It is red.", "2"), ("archive", "The crane is red.", "3-5"), False),
    ],
)
def test_a_copy_gives_way_only_to_what_stands_above_it(above, below, original):
    first, second = documents(above, below)
    seen = Above(words.parse("which colour has the crane"))
    assert seen.original(first) is None
    seen.add(Hit(first, 1.0))

    assert seen.original(second) == (first.id if original else None)


@each(
    "note, went_into, is_copy",
    [
        ("We painted the crane red.", "bank0", True),
        ("We painted the crane red.", "bank1", False),
        # Half of its words alone, a number, a word of the question, and what the section says elsewhere.
        ("We painted the crane red on Monday with old paint from Kiel.", "bank0", False),
        ("We painted the crane 7 red.", "bank0", False),
        ("We never painted the crane red.", "bank0", False),
        ("We painted the crane red, a colour.", "bank0", False),
        ("We painted the crane red for the ferry.", "bank0", False),
    ],
)
def test_a_consolidated_note_repeats_the_line_that_it_became(note: str, went_into: str, is_copy: bool):
    text = "- The ferry needs oil.\n- Crane: painted red (2026-03-02)."
    section, below = documents(("bank", text, ""), ("archive", note, ""))
    seen = Above(words.parse("which colour has the crane"))
    seen.add(Hit(section, 1.0, line=(text.index("- Crane"), len(text))))

    assert seen.original(replace(below, more={SECTIONS: [went_into]})) == ("bank0" if is_copy else None)


@each(
    "note, went_into, order",
    [
        ("The crane was painted red on 2026-03-02.", "bank2", ["bank2", "archive0", "bank1"]),
        # A section that says the same of itself did not come from it, but one with its very words holds it.
        ("The crane was painted red on 2026-03-02.", "bank1", ["bank1", "archive0", "bank2"]),
        ("Crane: painted red (2026-03-02).", "bank1", ["bank2", "archive0", "bank1"]),
    ],
)
def test_the_section_with_the_line_that_a_note_became_comes_before_it_and_not_a_better_one_with_its_words(
    note: str, went_into: str, order: list[str]
):
    line = "- Crane: painted red (2026-03-02)."
    below, other, right = documents(("archive", note, ""), ("bank", "- The crane lifts cargo.", ""), ("bank", line, ""))
    hits = [
        Hit(replace(below, more={SECTIONS: [went_into]}), 3.0),
        Hit(other, 2.0, line=(0, len(other.text))),
        Hit(right, 1.0, line=(0, len(line))),
    ]

    ordered = current_first(hits, words.parse("which colour has the crane"))

    assert [hit.document.id for hit in ordered] == order


def test_a_note_is_found_though_a_section_far_behind_it_holds_its_words():
    world = World()
    world.create_space()
    world.note("Build 7ab31fe went to staging.")
    for number in range(30):
        world.note(f"Ferry {number} carried {number * 3} cars of Kiel to the long pier in the harbour and came back.")
    world.consolidate()
    for number in range(12):
        world.note(f"Staging {number} is a build.")

    for limit in (1, 5, 10, 20, 50):
        found = find(world.process, "7ab31fe staging", scope="all", limit=limit)
        assert "7ab31fe" in found.hits[0].document.text, limit


def pages_of(world: World, query: str, limit: int, **asked) -> list[search.SpaceHits]:
    wanted = SearchRequest.of(query, limit=limit, **asked)
    found = [search.search(world.process, "demo", wanted)]
    while found[-1].after is not None:
        found.append(search.search(world.process, "demo", wanted.from_rank(found[-1].after)))
    return found


def test_all_that_matches_comes_by_pages_with_its_number():
    world = World()
    world.create_space()
    for number in range(45):
        world.note(f"The crane {number} needs oil.", agent="ann" if number % 3 else "bob")
        world.clock.move(1)
    world.note("Bread is in the oven.")

    pages = pages_of(world, "crane oil", 20)
    assert [len(one.hits) for one in pages] == [20, 20, 5]
    assert {one.total for one in pages} == {45}
    assert len({hit.document.id for one in pages for hit in one.hits}) == 45
    assert [one.total for one in pages_of(world, "crane oil", 20, author="bob")] == [15]
    # What is on the first page does not depend on the size of the second one.
    whole = pages_of(world, "crane oil", 100)
    assert [hit.document.id for one in pages for hit in one.hits] == [hit.document.id for hit in whole[0].hits]


def test_memories_that_no_longer_answer_end_the_pages():
    world, _ = searching_world()
    world.create_space()
    for number in range(12):
        store(world.process, f"The port of staging opened gate {number}.", subjects=["staging"])
    for number in range(12):
        store(world.process, f"Ferry {number} carries cargo {number * 7} to Kiel.")
    run_indexer(world)

    pages = pages_of(world, "port of staging", 5, scope="memories")
    texts = [hit.document.text for one in pages for hit in one.hits]
    assert [len(one.hits) for one in pages] == [5, 5, 2]
    assert len(set(texts)) == 12
    assert all("staging" in text for text in texts)


def test_a_memory_of_a_later_page_is_judged_beside_those_before_it():
    world, _ = searching_world()
    world.create_space()
    best, other = "The gate of the staging port is red.", "The gate of a port is green."
    for text in (best, other):
        store(world.process, text)
    for number in range(8):
        store(world.process, f"Ferry {number} carries cargo {number * 7} to Kiel.")
    run_indexer(world)

    pages = pages_of(world, "gate of the staging port", 1, scope="memories")
    assert [hit.document.text for one in pages for hit in one.hits] == [best]
    # Alone it would answer.
    assert [hit.document.text for hit in pages_of(world, "gate of the port", 1, scope="memories")[0].hits] == [other]


def test_notes_behind_memories_that_do_not_answer_come_once_each():
    world, _ = searching_world()
    world.create_space()
    for number in range(12):
        world.note(
            f"The crane {number} of the long pier in the harbour of Kiel stands still, as Ole says, for want of oil."
        )
        world.clock.move(1)
    world.clock.move(86_400)
    for number in range(2):
        store(world.process, f"The crane of pier {number * 7} needs oil. Historical record only.")
    run_indexer(world)

    pages = pages_of(world, "crane oil", 3, scope="all", recency=3)
    notes = [hit.document.id for one in pages for hit in one.hits if hit.document.kind == "note"]
    assert len(pages[0].hits) == 3
    assert len(notes) == len(set(notes)) == 12
    # They are ranked before the notes.
    asked = SearchRequest.of("crane oil", limit=3, scope="all", recency=3)
    plain = search.search(world.process, "demo", replace(asked, floor=None)).hits
    assert [hit.document.kind for hit in plain] == ["memory", "memory", "note"]


def test_a_question_without_an_answer_has_one_page_and_nothing_in_it():
    world, _ = searching_world()
    world.create_space()
    for number in range(20):
        world.note(f"The crane {number} needs oil.")
    run_indexer(world)

    (only,) = pages_of(world, "blorf quintazzle vrenk", 5)
    assert (only.hits, only.total, only.below_floor) == ([], 0, True)


@pytest.mark.parametrize("skip", [0, -1, SKIP_MOST + 1])
def test_a_place_that_no_page_ends_at_is_refused(skip):
    with pytest.raises(InvalidRequest, match="cursor"):
        SearchRequest.of("crane").from_rank(skip)
