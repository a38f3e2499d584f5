"""A note too large for the model's window stops nobody: it is set aside, told, and taken as soon as there is room."""

import json
from typing import Any

import pytest

from livemem.bank import corrections
from livemem.llm import window
from livemem.spaces import head as heads
from livemem.spaces import oversized_notes
from livemem.spaces.head import Meta
from livemem.store.bucket import BANK_FILE, LEASE, NOTE
from livemem.upkeep import health
from tests.support.cases import each
from tests.support.world import EVERYONE, World, append_everything, read_prompt
from tests.unit.consolidation.test_pipeline_notes import record_of

SMALL = 8_000
"""Tokens of a window in which a note of 30 kB can't stand."""
HUGE = "x" * 30_000
OLD = "- " + "old " * 50 + "\n"


def space(threshold: int = 0, **settings: Any) -> World:
    world = World(**{"llmaas_context_tokens": SMALL, **settings})
    world.create_space(threshold=threshold)
    return world


def write(world: World, *texts: str) -> list[str]:
    ids = []
    for text in texts:
        ids.append(world.note(text).note_id)
        world.clock.move(1)
    return ids


def head_of(world: World) -> Meta:
    return heads.load(world.process, "demo").meta


def look(world: World) -> health.Health:
    settings = world.settings.model_copy(update={"llmaas_api_url": None})
    return health.deep(world.with_parts(settings=settings), EVERYONE)


def prompted(world: World) -> list[str]:
    return [note["content"] for note in read_prompt(world.llm.prompts[-1])["notes"]]


def with_window(world: World, tokens: int) -> World:
    """The same bucket and time under another setting."""
    other = World(world.inner, llmaas_context_tokens=tokens)
    other.clock.moment = world.clock()
    other.ids.count = world.ids.count + 1_000
    return other


@each("character", ['"', "\n", "\\"])
def test_the_largest_note_of_characters_that_json_escapes_is_folded_in_the_default_window(character: str):
    world = space(llmaas_context_tokens=100_000)
    write(world, f"a{character * 99_998}b", "one more")
    world.llm.default = lambda shown: append_everything(
        {**shown, "notes": [{**n, "content": "long"} for n in shown["notes"]]}
    )

    assert world.consolidate().state == "done"
    assert world.consolidate().state == "done"

    assert world.live_ids() == []


def test_a_note_that_can_not_fit_is_set_aside_and_the_others_are_folded():
    world = space()
    ids = write(world, "one", HUGE, "two")

    run = world.consolidate()

    assert run.state == "done"
    assert prompted(world) == ["one", "two"]
    assert world.live_ids() == [ids[1]]
    aside = run.metrics["oversized_notes"]
    assert [item["note_id"] for item in aside] == [ids[1]]
    assert aside[0]["tokens"] > len(HUGE) // window.BYTES_PER_TOKEN
    assert (run.metrics["notes_oversized"], run.metrics["notes_remaining"]) == (1, 0)
    assert set(head_of(world).oversized_notes.needs) == {ids[1]}
    assert record_of(world).oversized_notes == head_of(world).oversized_notes


def test_a_run_that_finds_nothing_else_says_so_and_fails_nobody():
    world = space()
    (huge,) = write(world, HUGE)

    run = world.consolidate()

    assert (run.state, run.error) == ("nothing_to_do", None)
    assert huge in (run.message or "")
    assert run.metrics["oversized_notes"][0]["note_id"] == huge
    assert world.llm.prompts == []
    assert world.live_ids() == [huge]
    assert world.inner.objects.get(LEASE.key("demo")) is None


def test_notes_that_are_set_aside_start_no_run_by_themselves():
    world = space(threshold=3)
    write(world, HUGE, HUGE, HUGE)
    assert world.count().result == "started"
    world.settle()

    assert world.count().result == "below_threshold"
    assert world.sweep().did("started") == []
    write(world, "one", "two")
    assert world.count().result == "below_threshold"
    write(world, "three")
    assert world.count().result == "started"
    world.settle()

    assert prompted(world) == ["one", "two", "three"]
    assert len(world.live_ids()) == 3
    assert world.count().result == "below_threshold"


def test_the_head_is_written_once_for_the_same_notes():
    world = space()
    write(world, HUGE)
    world.consolidate()
    rev = head_of(world).rev

    world.consolidate()

    assert head_of(world).rev == rev


def test_a_note_set_aside_is_not_read_again_to_tell_that_it_does_not_fit():
    world = space()
    (huge,) = write(world, HUGE)
    world.consolidate()
    asked: list[str] = []
    inner = world.inner.get_object

    def get_object(**request: Any) -> Any:
        asked.append(request["Key"])
        return inner(**request)

    world.inner.get_object = get_object
    write(world, "one")

    assert world.consolidate().state == "done"

    assert NOTE.key("demo", huge) not in asked
    assert any("/live/" in key for key in asked)
    assert set(head_of(world).oversized_notes.needs) == {huge}


def test_a_larger_window_takes_what_was_set_aside():
    world = space(threshold=1)
    write(world, HUGE)
    world.count()
    world.settle()
    assert world.count().result == "below_threshold"

    larger = with_window(world, 60_000)

    assert larger.count().result == "started"
    larger.settle()
    assert larger.live_ids() == []
    assert head_of(larger).oversized_notes == oversized_notes.OversizedNotes()


def test_a_smaller_bank_takes_what_was_set_aside():
    world = space(llmaas_context_tokens=20_000)
    world.inner.put_object(
        Bucket="b", Key=BANK_FILE.key("demo", "log.md"), Body=f"# Log\n\n## Log\n\n{OLD * 180}".encode()
    )
    write(world, HUGE)
    assert world.consolidate().state == "nothing_to_do"
    assert head_of(world).oversized_notes.needs

    corrections.write_file(world.process, "admin", "demo", "log.md", "# Log\n\n## Log\n\n- old\n", None)
    assert head_of(world).oversized_notes == oversized_notes.OversizedNotes()

    assert world.consolidate().state == "done"
    assert world.live_ids() == []


def test_health_names_the_space_and_the_note():
    world = space(threshold=5)
    (huge,) = write(world, HUGE)
    world.consolidate()

    found = look(world)

    assert [(problem.space_id, problem.code) for problem in found.problems] == [("demo", "oversized_notes")]
    assert huge in found.problems[0].detail
    world.clock.move(100 * 86_400)
    assert [problem.code for problem in look(world).problems] == ["oversized_notes"]


def test_a_rehearsal_remembers_nothing():
    world = space()
    write(world, HUGE)
    before = head_of(world)

    run = world.consolidate(dry_run=True)

    assert run.state == "nothing_to_do"
    assert head_of(world) == before


def test_a_run_of_one_agent_forgets_nobody_elses():
    world = space()
    (huge,) = write(world, HUGE)
    world.consolidate()
    world.note("one", agent="bob")

    assert world.consolidate(agent="bob").state == "done"

    assert set(head_of(world).oversized_notes.needs) == {huge}


def test_the_late_duplicate_of_a_folded_note_is_removed_however_large_it_is():
    world = space(llmaas_context_tokens=60_000)
    (huge,) = write(world, HUGE)
    body = world.text(NOTE.key("demo", huge)).encode()
    world.llm.default = lambda shown: append_everything({**shown, "notes": [{"number": 1, "content": "long"}]})
    assert world.consolidate().state == "done"
    world.inner.put_object(Bucket="b", Key=NOTE.key("demo", huge), Body=body)

    run = with_window(world, SMALL).consolidate()

    assert run.state == "nothing_to_do"
    assert world.live_ids() == []
    assert head_of(world).oversized_notes.needs == {}


def test_more_such_notes_than_a_head_remembers_let_the_runs_wait(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(oversized_notes, "MOST", 3)
    world = space(threshold=1)
    write(world, *[HUGE] * 5)

    for _ in range(2):
        run = world.consolidate()

        assert run.error.code == "note_too_large"
        assert world.count().result == "busy"
    assert len(head_of(world).oversized_notes.needs) == 3
    assert len(world.live_ids()) == 5


def test_even_then_the_notes_that_fit_are_folded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(oversized_notes, "MOST", 3)
    world = space(threshold=1)
    write(world, *[HUGE] * 6, "one")
    assert world.consolidate().state == "failed"

    assert world.consolidate().state == "done"

    assert prompted(world) == ["one"]
    assert len(world.live_ids()) == 6


@each("character", ["x", '"', "\n"])
def test_a_file_that_no_later_prompt_could_hold_is_refused_with_what_would_fit(character: str):
    world = space(llmaas_context_tokens=20_000)
    write(world, "one")
    content = "# Log\n\n## Log\n\n" + character * 90_000
    world.llm.queue.append(whole("log.md", content))
    fitting: list[int] = []

    def shorter(_: Any) -> str:
        told = world.llm.prompts[-1][-1]["content"]
        fitting.append(int(told.partition("at most about ")[2].split()[0]))
        return whole("log.md", content.encode()[: fitting[0]].decode())

    world.llm.queue.append(shorter)

    run = world.consolidate()

    assert "log.md is too large" in world.llm.prompts[-1][-1]["content"]
    assert (run.state, run.metrics["llm_calls"]) == ("done", 2)
    assert fitting[0] > 30_000
    # The next prompt still has room for notes.
    write(world, "two " * 500)
    discarding = {"bank_files": [], "synthesis": "x", "discarded": [{"note": 1, "reason": "repeats"}]}
    world.llm.queue.append(json.dumps(discarding))
    assert world.consolidate().state == "done"


def test_a_bank_that_no_answer_keeps_small_enough_is_an_error_and_nothing_is_changed():
    world = space()
    ids = write(world, "one")
    world.llm.default = lambda _: whole("log.md", "# Log\n\n" + "x" * 30_000)

    run = world.consolidate()

    assert run.error.code == "llm_contract"
    assert "log.md is too large" in run.error.detail
    assert (world.bank(), world.live_ids()) == ({}, ids)


def test_an_answer_that_makes_a_too_large_bank_smaller_is_taken():
    world = space()
    body = "# Log\n\n## Log\n\n" + OLD * 80
    world.inner.put_object(Bucket="b", Key=BANK_FILE.key("demo", "log.md"), Body=body.encode())
    write(world, "one")
    world.llm.queue.append(whole("log.md", body.replace("old old ", "old ", 80)))

    assert world.consolidate().state == "done"


def whole(path: str, content: str) -> str:
    return json.dumps({"bank_files": [{"filename": path, "action": "updated", "content": content}], "synthesis": "x"})
