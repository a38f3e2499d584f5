"""The pages of a search: each document that matches once, however large a page is."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livemem.errors import InvalidRequest
from livemem.recall import search
from livemem.recall.search_request import SKIP_MOST, SearchRequest
from livemem.search import engine, shape, words
from livemem.search.documents import Document, Reading
from livemem.search.engine import Found, SpaceQuery
from livemem.search.index import DocumentFilter, Index
from tests.support.memories import store
from tests.support.searching import run_indexer, searching_world
from tests.support.world import World

FILLS = "summary"
KINDS = ("note", FILLS)
QUERY = words.parse("crane oil")


def copies(found: Sequence[Document]) -> dict[str, str]:
    """Of documents with the same tag the first one by its id is the original."""
    originals: dict[str, str] = {}
    for one in sorted(found, key=lambda one: one.id):
        originals.setdefault(one.tags[0], one.id)
    return {one.id: originals[one.tags[0]] for one in found if originals[one.tags[0]] != one.id}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("pages")


@given(
    texts=st.lists(
        st.tuples(st.sampled_from(KINDS), st.integers(1, 6), st.integers(0, 6), st.integers(0, 9)), max_size=40
    ),
    limit=st.integers(1, 6),
)
def test_the_pages_of_an_answer_hold_each_document_once_and_no_copy(folder, texts, limit):
    path = folder / "pages.sqlite"
    path.unlink(missing_ok=True)
    index = Index(path)
    documents = [
        Document(
            f"d{place:02d}", kind, "crane " * cranes + "oil " * oils + "sea", "all", f"{place:03d}", tags=(f"t{tag}",)
        )
        for place, (kind, cranes, oils, tag) in enumerate(texts)
    ]
    index.update([Reading(f"demo/live/{one.id}.md", "1", (one,)) for one in documents])
    whole = shape.shape(index)

    def page(skip: int) -> Found:
        question = SpaceQuery(QUERY, DocumentFilter(), limit, fill=(FILLS,), copies=copies, skip=skip)
        return engine.search(index, whole, None, question)

    pages = [page(0)]
    while pages[-1].after is not None:
        pages.append(page(pages[-1].after))
    shown = [hit.document for one in pages for hit in one.hits]

    assert len({one.id for one in shown}) == len(shown)
    assert {one.matching for one in pages} == {len(documents)}
    # No more is left out than what another one says.
    assert {one.tags for one in shown} == {one.tags for one in documents}
    assert all(len(one.hits) <= limit for one in pages)
    # No copy comes on the page of its original, or on a later one.
    originals: dict[str, str] = {one.tags[0]: one.id for one in reversed(documents)}
    told: set[str] = set()
    for one in pages:
        here = {hit.document.id for hit in one.hits}
        told |= {tag for tag, name in originals.items() if name in here}
        assert [hit.document.id for hit in one.hits if hit.document.tags[0] in told] == [
            hit.document.id for hit in one.hits if hit.document.id in originals.values()
        ]
    kinds = [one.kind for one in shown]
    if len(set(kinds)) > 1 and FILLS in kinds[:limit]:
        # What fills comes in the first page only where the others leave room.
        assert kinds.count("note") < limit
    index.close()


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
