"""A consolidated note that no longer holds says which one holds, stands behind it, and is in no context."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from livemem.recall import message_context, start
from livemem.recall.start import StartRequest
from livemem.search.engine import Hit
from livemem_http.views.search import SearchAnswer, as_markdown
from tests.support.searching import find, run_indexer, searching_world
from tests.support.world import World

ASKED = "How many seconds does the export wait for an answer?"


def folding(world: World, said: str, line: str, former: str | None = None, *, path: str = "service.md") -> str:
    """A note is folded: its line is added to the section, or put in the place of a former one. Its id."""
    note = world.note(said)
    world.clock.move(3_600)
    there = world.bank()
    edit: dict[str, Any] = {"heading": "## Waits", "content": f"- {line}", "notes": [1]}
    if former:
        edit |= {"op": "replace_line", "line": f"- {former}"}
    else:
        edit |= {"op": "append_to_section"}
    file: dict[str, Any] = {"filename": path, "action": "edited", "edits": [edit]}
    if path not in there:
        content = f"# Service\n\n## Waits\n\n- {line}\n"
        file = {"filename": path, "action": "created", "content": content, "notes": [1]}
    world.llm.queue.append(json.dumps({"bank_files": [file], "synthesis": "Waits."}))
    world.consolidate()
    assert f"- {line}\n" in world.bank()[path]
    return note.note_id


@pytest.fixture
def by_meaning() -> bool:
    return True


@pytest.fixture
def world(by_meaning: bool) -> World:
    found = searching_world()[0] if by_meaning else World()
    found.create_space()
    return found


def archived(world: World, asked: str = ASKED, **more) -> dict[str, str | None]:
    run_indexer(world)
    hits: Sequence[Hit] = find(world.process, asked, scope="archive", **more).hits
    return {hit.document.id: hit.superseded_by for hit in hits}


@pytest.mark.parametrize("by_meaning", [False, True])
def test_a_note_whose_value_was_replaced_says_by_which_note_and_stands_behind_it(world):
    first = folding(world, "The export waits 30 seconds for an answer.", "The export waits 30 seconds.")
    second = folding(
        world, "The export waits 45 seconds for an answer now.", "The export waits 45 seconds.", "The export waits 30"
    )
    third = folding(
        world,
        "The export waits 90 seconds, the archive is slow.",
        "The export waits 90 seconds.",
        "The export waits 45",
    )

    told = archived(world)
    assert next(iter(told)) == third
    assert told == {third: None, second: third, first: third}
    # A process that reads a snapshot knows it too.
    world.process = world.with_parts()
    assert archived(world) == told

    view = SearchAnswer.of(find(world.process, ASKED, scope="archive"), explain=False)
    assert f"superseded by {third}" in as_markdown(view)
    assert [item.superseded_by for item in view.items] == [None, third, third]

    shown = message_context.context(world.process, "demo", ASKED).items
    assert {item.id for item in shown} == {"bank/service.md#Service > Waits", f"notes/{third}"}
    began = start.start(world.process, "demo", StartRequest(q=ASKED)).markdown
    assert "90 seconds" in began
    assert "30 seconds" not in began
    # Who asks for the past is given it.
    past = message_context.context(world.process, "demo", "How many seconds did the export wait for an answer before?")
    assert {f"notes/{first}", f"notes/{second}"} <= {item.id for item in past.items}


def test_a_value_that_comes_back_holds_and_the_one_between_does_not(world):
    first = folding(world, "The export waits 30 seconds for an answer.", "The export waits 30 seconds.")
    second = folding(world, "The export waits 45 seconds for an answer.", "The export waits 45 seconds.", "The export")
    third = folding(world, "The export waits 30 seconds for an answer.", "The export waits 30 seconds.", "The export")

    # The first says the same as the third, word for word, so it is left out as a copy.
    assert first not in archived(world)
    assert archived(world) == {third: None, second: third}


def test_notes_in_the_same_words_hold_beside_each_other_where_the_bank_has_both(world):
    ids = [
        folding(world, f"The export of {where} waits {wait} seconds.", f"The export of {where} waits {wait} seconds.")
        for where, wait in (("staging", 30), ("production", 45), ("preview", 30))
    ]

    assert archived(world) == dict.fromkeys(archived(world), None)
    assert set(archived(world)) == set(ids)


def test_a_note_of_another_section_supersedes_nothing(world):
    folding(world, "The export waits 30 seconds for an answer.", "Exports have a limit.")
    folding(world, "The export waits 45 seconds for an answer.", "The export waits 45 seconds.", path="other.md")

    assert set(archived(world).values()) == {None}


def test_a_change_that_is_undone_supersedes_nothing(world):
    first = folding(world, "The export waits 30 seconds for an answer.", "The export waits 30 seconds.")
    folding(world, "The export waits 45 seconds for an answer.", "The export waits 45 seconds.", "The export")
    world.undo(2)

    assert archived(world) == {first: None}
