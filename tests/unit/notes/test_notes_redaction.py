"""With REDACT_SECRETS no way to write a note stores what looks like a secret, and the answer says so."""

from collections.abc import Callable
from typing import Any

import pytest

from livemem.errors import InvalidRequest, TooLarge
from livemem.notes import appending, idempotency, pages
from livemem.notes.appending import NoteDraft
from livemem.notes.note import Note
from livemem_http.views import NoteView
from tests.support.cases import each
from tests.support.counting import Killed
from tests.support.world import World

SECRET = "ghp_" + "aB3dE6" * 6
OTHER = "ghp_" + "Zz9yX8" * 6
DRAFT = NoteDraft("todo", f"Rotate {SECRET}.", ("ci", SECRET))
REDACTED = ("Rotate [redacted:github].", ("ci", "[redacted:github]"))


def new_world(**settings: Any) -> World:
    world = World(**({"redact_secrets": True} | settings))
    world.create_space()
    world.new_process()
    return world


def append(world: World, draft: NoteDraft = DRAFT) -> Note:
    return appending.append(world.process, "demo", "ann", draft)


def append_in_batch(world: World, draft: NoteDraft = DRAFT) -> Note:
    _, note = appending.append_batch(world.process, "demo", "ann", [NoteDraft("todo", "first"), draft])
    return note


def append_once(world: World, draft: NoteDraft = DRAFT) -> Note:
    note, _ = idempotency.append_once(world.process, "demo", "ann", draft, "k-1")
    return note


WAYS = pytest.mark.parametrize("way", [append, append_in_batch, append_once])
Way = Callable[[World, NoteDraft], Note]


@WAYS
def test_a_secret_is_stored_nowhere_and_the_answer_tells_how_many_there_were(way: Way):
    world = new_world()

    note = way(world, DRAFT)

    assert (note.content, note.tags) == REDACTED
    assert note.size == len(note.content)
    assert note.redacted == {"github": 2}
    assert not [key for key in world.keys("demo") if SECRET in world.text(key)]


@WAYS
def test_whoever_reads_the_note_later_is_not_told_that_it_held_secrets(way: Way):
    world = new_world()
    note = way(world, DRAFT)

    read = pages.get(world.process, "demo", note.note_id)

    assert (read.content, read.tags) == REDACTED
    assert read.redacted == {}


@WAYS
def test_without_the_setting_a_note_is_stored_as_it_was_sent(way: Way):
    world = new_world(redact_secrets=False)

    note = way(world, DRAFT)

    assert (note.content, note.tags, note.redacted) == (DRAFT.content, DRAFT.tags, {})
    assert pages.get(world.process, "demo", note.note_id) == note


@WAYS
def test_a_note_without_secrets_is_stored_as_it_was_sent(way: Way):
    world = new_world()

    note = way(world, NoteDraft("todo", "Rotate the keys.", ("ci",)))

    assert (note.content, note.tags, note.redacted) == ("Rotate the keys.", ("ci",), {})


@WAYS
def test_redaction_costs_no_request(way: Way):
    counts = []
    for redact_secrets in (False, True):
        world = new_world(redact_secrets=redact_secrets)
        way(world, DRAFT)
        counts.append(dict(world.client.counts))

    assert counts[0] == counts[1]


@WAYS
def test_sizes_are_those_of_what_was_sent(way: Way):
    world = new_world()

    with pytest.raises(TooLarge):
        way(world, NoteDraft("todo", "x" * 99_990 + f" {SECRET}"))
    with pytest.raises(InvalidRequest):
        way(world, NoteDraft("todo", "x", (f"{SECRET} and {SECRET}",)))
    assert world.live_ids() == []


def test_a_repeat_answers_the_note_that_was_stored_and_what_was_taken_out():
    world = new_world()
    first = append_once(world)

    again, is_new = idempotency.append_once(world.process, "demo", "ann", DRAFT, "k-1")

    assert (again, is_new) == (first, False)
    assert again.redacted == {"github": 2}


def test_a_key_knows_the_note_by_what_was_stored_so_that_nothing_tells_secrets_apart():
    world = new_world()
    first = append_once(world)

    other = NoteDraft("todo", f"Rotate {OTHER}.", ("ci", OTHER))

    assert append_once(world, other).note_id == first.note_id


@each("done", [False, True])
@each("point", range(2))
def test_a_try_that_died_left_no_secret_and_is_completed_by_its_repetition(point: int, done: bool):
    world = new_world()
    append(world, NoteDraft("todo", "warm"))
    world.client.reset()
    world.client.kill_at(point, done=done)
    with pytest.raises(Killed):
        append_once(world)
    world.new_process()

    note = append_once(world)

    assert ((note.content, note.tags), note.redacted) == (REDACTED, {"github": 2})
    assert len(world.live_ids()) == 2
    assert not [key for key in world.keys("demo") if SECRET in world.text(key)]


def test_the_model_never_sees_the_secret():
    world = new_world()
    append(world)

    world.consolidate()

    assert SECRET not in str(world.llm.prompts)
    assert "[redacted:github]" in str(world.bank())


def test_the_answer_has_the_field_only_where_something_was_replaced():
    world = new_world()

    with_secret, without = append(world), append(world, NoteDraft("todo", "x"))

    assert NoteView.of(with_secret).model_dump()["redacted"] == {"github": 2}
    assert "redacted" not in NoteView.of(without).model_dump()
