"""Which notes a run folds, which it leaves, and what it says about each of them."""

import json
from typing import Any

from livemem.changes.records import Record
from livemem.llm.client import Reply
from livemem.llm.usage import Usage
from livemem.notes import pages
from livemem.spaces import head as heads
from livemem.spaces.head import Meta
from livemem.store.bucket import BANK_FILE, NOTE, RECORD, SYNTHESIS_FILE
from tests.support.cases import each
from tests.support.world import World, append_everything, read_prompt

FOREIGN = "20260220T135959_cat_todo_0000abcd"


def record_of(world: World, number: int = 1, space_id: str = "demo") -> Record:
    found = [key for key in world.keys(RECORD.prefix(space_id)) if f"/{number:06d}_" in key]
    return Record.from_bytes(world.text(found[0]).encode())


def prompted(world: World) -> list[str]:
    """The contents of the notes in the last prompt."""
    return [note["content"] for note in read_prompt(world.llm.prompts[-1])["notes"]]


def put_object(world: World, note_id: str, body: bytes) -> None:
    world.inner.put_object(Bucket="b", Key=NOTE.key("demo", note_id), Body=body)


def space_with_notes(*authors: str, **settings: Any) -> World:
    world = World(**settings)
    world.create_space()
    for number, author in enumerate(authors, 1):
        world.note(f"{author} {number}", agent=author)
        world.clock.move(1)
    return world


def head_of(world: World) -> Meta:
    return heads.load(world.process, "demo").meta


def test_a_run_folds_all_notes_oldest_first_and_keeps_them_whole_in_its_record():
    world = space_with_notes("ann", "bob", "ann")
    raw = {note_id: world.text(NOTE.key("demo", note_id)) for note_id in world.live_ids()}

    run = world.consolidate()

    assert prompted(world) == ["ann 1", "bob 2", "ann 3"]
    assert world.live_ids() == []
    record = record_of(world)
    assert [(source.note_id, source.raw) for source in record.notes] == sorted(raw.items())
    assert (record.number, record.kind, record.trigger, record.run_id) == (1, "consolidation", "api", run.job_id)
    assert world.bank() == {"log.md": "# Log\n\n## Log\n\n- ann 1\n- bob 2\n- ann 3\n"}
    head = head_of(world)
    assert (head.consolidation_count, head.total_notes_processed, head.committed_run) == (1, 3, None)
    assert head.last_consolidation == record.committed_at


def test_notes_of_one_second_come_in_the_order_of_their_writing_whoever_wrote_them_and_of_whatever_category():
    world = World()
    world.create_space()
    written = [("zoe", "progress"), ("zoe", "issue"), ("ann", "progress"), ("zoe", "decision")]
    texts = ["deploy works", "it broke", "fixed", "freeze"]
    for (agent, category), text in zip(written, texts, strict=True):
        world.note(text, agent=agent, category=category)
    assert [world.text(NOTE.key("demo", note_id)).split("\n")[-1] for note_id in world.live_ids()] != texts

    world.consolidate()

    assert prompted(world) == texts
    assert [source.raw.split("\n")[-1] for source in record_of(world).notes] == texts


def test_the_oldest_of_one_second_are_those_that_were_written_first():
    world = World()
    world.create_space()
    for agent, text in (("zoe", "first"), ("bob", "second"), ("ann", "third")):
        world.note(text, agent=agent)

    world.consolidate(max_notes=2)

    assert prompted(world) == ["first", "second"]


def test_a_second_run_edits_the_bank_and_sees_the_synthesis_of_the_first():
    world = space_with_notes("ann")
    world.consolidate()
    world.note("bob 2", agent="bob")

    world.consolidate()

    assert world.bank() == {"log.md": "# Log\n\n## Log\n\n- ann 1\n- bob 2\n"}
    assert "1 notes." in world.llm.prompts[1][1]["content"]
    assert "1 notes." in world.text(SYNTHESIS_FILE.key("demo"))
    assert "consolidation_number: 2" in world.text(SYNTHESIS_FILE.key("demo"))


def test_a_run_of_one_agent_folds_only_its_notes_and_leaves_the_others_live():
    world = space_with_notes("ann", "bob", "ann-2", "ann")

    run = world.consolidate(agent="ann")

    assert prompted(world) == ["ann 1", "ann 4"]
    assert [note_id.split("_")[1] for note_id in world.live_ids()] == ["bob", "ann-2"]
    assert run.metrics["notes_processed"] == 2
    assert record_of(world).agent == "ann"


def test_the_agent_is_the_notes_own_field_and_not_its_name():
    world = space_with_notes("ann")
    body = world.text(NOTE.key("demo", world.live_ids()[0]))
    put_object(world, FOREIGN, body.replace("ann 1", "by ann, under the name of cat").encode())

    world.consolidate(agent="ann")

    assert prompted(world) == ["by ann, under the name of cat", "ann 1"]
    assert world.live_ids() == []


def test_a_malformed_note_counts_for_the_agent_that_its_name_tells_and_is_folded_as_text():
    world = space_with_notes("ann")
    put_object(world, FOREIGN, b"---\nagent: [ann\nno front matter at all \xff")

    world.consolidate(agent="cat")

    assert prompted(world) == ["---\nagent: [ann\nno front matter at all \ufffd"]
    assert [note_id.split("_")[1] for note_id in world.live_ids()] == ["ann"]
    # Byte for byte, although it is no text.
    assert record_of(world).notes[0].body() == b"---\nagent: [ann\nno front matter at all \xff"


def test_an_agent_without_notes_leaves_nothing_to_do():
    world = space_with_notes("ann", "bob")

    run = world.consolidate(agent="eve")

    assert run.state == "nothing_to_do"
    assert world.llm.prompts == []
    assert len(world.live_ids()) == 2


@each(("setting", "asked", "folded"), [(500, 2, 2), (2, None, 2), (2, 3, 2), (500, None, 5)])
def test_max_notes_takes_the_oldest_and_the_setting_is_the_ceiling(setting: int, asked: int | None, folded: int):
    world = space_with_notes(*["ann"] * 5, consolidation_max_notes=setting)
    newest = world.live_ids()[folded:]

    run = world.consolidate(max_notes=asked)

    assert prompted(world) == [f"ann {number}" for number in range(1, folded + 1)]
    assert world.live_ids() == newest
    assert run.metrics["notes_remaining"] == 5 - folded


def test_max_notes_of_one_agent_skips_the_notes_of_the_others():
    world = space_with_notes("bob", "ann", "bob", "ann", "ann")

    world.consolidate(agent="ann", max_notes=2)

    assert prompted(world) == ["ann 2", "ann 4"]


def test_notes_beyond_the_models_window_wait_for_the_next_run():
    world = space_with_notes(llmaas_context_tokens=8_000, llmaas_max_tokens=1_000)
    for number in range(10):
        world.note(f"{number} " + "word " * 1_000)
        world.clock.move(1)
    world.llm.queue.append(
        lambda shown: append_everything({**shown, "notes": [{**note, "content": "-"} for note in shown["notes"]]})
    )

    run = world.consolidate()

    taken = run.metrics["notes_processed"]
    assert 0 < taken < 10
    assert run.metrics["notes_remaining"] == 10 - taken == len(world.live_ids())
    assert [text.split()[0] for text in prompted(world)] == [str(number) for number in range(taken)]
    assert world.llm.limits[0][0] == 1_000


def test_other_objects_below_live_are_neither_folded_nor_removed():
    world = space_with_notes("ann")
    strangers = ["demo/live/README.md", "demo/live/x.txt", f"demo/live/sub/{FOREIGN}.md", f"demo/live/{FOREIGN}.md.bak"]
    for key in strangers:
        world.inner.put_object(Bucket="b", Key=key, Body=b"stranger")

    world.consolidate()

    assert prompted(world) == ["ann 1"]
    assert set(strangers) <= set(world.keys("demo/live/"))


def citing_first_only(prompt: dict[str, Any]) -> str:
    answer = json.loads(append_everything({**prompt, "notes": prompt["notes"][:1]}))
    return json.dumps(answer)


def test_an_answer_that_cites_nothing_folds_every_note():
    world = space_with_notes("ann", "bob")
    world.llm.queue.append(
        json.dumps(
            {"bank_files": [{"filename": "a.md", "action": "created", "content": "ann and bob"}], "synthesis": "x"}
        )
    )

    run = world.consolidate()

    assert (run.metrics["notes_uncited"], run.metrics["notes_processed"]) == (0, 2)
    assert world.live_ids() == []
    assert len(world.llm.prompts) == 1


def test_discarded_notes_leave_with_their_reason_in_the_record():
    world = space_with_notes("ann", "bob")
    ids = world.live_ids()

    def discarding(prompt: dict[str, Any]) -> str:
        return json.dumps({**json.loads(citing_first_only(prompt)), "discarded": [{"note": 2, "reason": "chatter"}]})

    world.llm.queue.append(discarding)
    run = world.consolidate()

    assert record_of(world).discarded == [{"note_id": ids[1], "reason": "chatter"}]
    assert [source.note_id for source in record_of(world).notes] == ids
    assert (run.metrics["notes_discarded"], run.metrics["notes_uncited"], run.metrics["notes_processed"]) == (1, 0, 2)
    assert world.live_ids() == []


def test_the_late_duplicate_of_a_folded_note_is_removed_and_not_folded_again():
    world = space_with_notes("ann")
    note_id = world.live_ids()[0]
    body = world.text(NOTE.key("demo", note_id)).encode()
    world.consolidate()
    put_object(world, note_id, body)

    run = world.consolidate()

    assert run.state == "nothing_to_do"
    assert len(world.llm.prompts) == 1
    assert world.live_ids() == []
    assert pages.get(world.process, "demo", note_id).status == "consolidated"


def test_a_note_written_while_the_llm_thinks_stays_live():
    world = space_with_notes("ann")

    def writing_meanwhile(prompt: dict[str, Any]) -> str:
        world.note("late", agent="bob")
        return append_everything(prompt)

    world.llm.queue.append(writing_meanwhile)

    assert world.consolidate().metrics["notes_processed"] == 1
    assert [note_id.split("_")[1] for note_id in world.live_ids()] == ["bob"]


METRICS = {
    "notes_processed": 2,
    "notes_remaining": 0,
    "notes_discarded": 0,
    "notes_uncited": 0,
    "notes_left_out": 0,
    "notes_oversized": 0,
    "bank_files_created": 1,
    "bank_files_updated": 1,
    "bank_files_unchanged": 1,
    "edits_applied": 1,
    "warnings": 0,
    "bank_length": 53,
    "llm_calls": 1,
    "llm_prompt_tokens": 100,
    "llm_completion_tokens": 20,
    "llm_tokens_used": 120,
    "duration_seconds": 7.25,
}


def test_every_metric_of_a_run_is_there_and_right():
    world = space_with_notes("ann")
    world.consolidate()
    world.inner.put_object(Bucket="b", Key=BANK_FILE.key("demo", "still.md"), Body=b"# Still\n")
    world.note("bob 2", agent="bob")
    world.note("cat 3", agent="cat")

    def slowly(prompt: dict[str, Any]) -> str:
        world.clock.move(7.25)
        answer = json.loads(append_everything(prompt))
        answer["bank_files"].append({"filename": "new.md", "action": "created", "content": "# New\n", "notes": [2]})
        return json.dumps(answer)

    world.llm.queue.append(slowly)
    run = world.consolidate()

    size = len(world.text(SYNTHESIS_FILE.key("demo")).encode())
    assert run.metrics == {**METRICS, "synthesis_size": size}
    assert record_of(world, 2).metrics == run.metrics
    assert record_of(world, 2).usage == Usage(1, 100, 20)
    assert (run.model, run.consolidation) == (world.settings.llmaas_model, 2)


def test_of_a_provider_that_counts_no_tokens_they_are_estimated():
    world = space_with_notes("ann")
    scripted = world.llm
    world.llm = lambda *asked: Reply(scripted(*asked).text)  # type: ignore[assignment]

    run = world.consolidate()

    assert run.state == "done"
    assert (run.metrics["llm_calls"], run.metrics["llm_prompt_tokens"]) == (1, 0)
    assert run.metrics["llm_tokens_used"] == run.metrics["llm_tokens_estimated"] > 0
