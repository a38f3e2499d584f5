"""A tidy run shortens a bank that is too long. It folds no note, and what went is in its record."""

import json
from typing import Any

import pytest

from livemem.bank import history, review
from livemem.changes import records
from livemem.changes.bank_warnings import BankWarning
from livemem.changes.records import Record
from livemem.consolidation import dry_run
from livemem.errors import InvalidRequest
from livemem.jobs.queue import RunOrder
from livemem.llm.client import LlmError, Reply
from livemem.spaces import head as heads
from tests.support.cases import each
from tests.support.world import EVERYONE, World, fewer_lines, file_to_tidy, forked

LENGTH = 2_000


@forked
def long_space(notes: int = 10, **settings: Any) -> World:
    """A space whose bank, one file of a line for each note, is longer than it should be; with one live note."""
    world = World(**settings)
    world.create_space()
    heads.patch(world.process, "demo", bank_chars=LENGTH)
    for number in range(notes):
        world.note(f"Port {number} of the ferry has the crane K{number}, which lifts {number + 40} tons." * 6)
    world.consolidate()
    world.note("one more")
    return world


def last(world: World) -> Record:
    return records.get(world.process, "demo", heads.load(world.process, "demo").meta.changes)


def told(record: Record) -> list[BankWarning]:
    """The warnings that are not about a line's details."""
    return [one for one in record.warnings if one.kind != "lost_detail"]


def test_a_tidy_run_shortens_the_long_file_and_folds_no_note():
    world = long_space()
    before, live = world.bank()["log.md"], world.live_ids()

    run = world.consolidate(tidy=True)

    after = world.bank()["log.md"]
    assert (run.state, after) == ("done", fewer_lines(before))
    assert world.live_ids() == live
    record = last(world)
    assert (record.kind, record.notes, record.synthesis, record.model) == ("tidy", [], None, run.model)
    assert record.files[0].before.content == before
    assert [run.metrics[name] for name in ("files_tidied", "bank_length_before", "bank_length", "notes_processed")] == [
        1, len(before), len(after), 0,
    ]  # fmt: skip
    assert (run.metrics["llm_calls"], run.usage.calls) == (1, 1)
    meta = heads.load(world.process, "demo").meta
    assert (meta.tidied.run_id, meta.tidied.chars, meta.bank_length) == (run.job_id, len(after), len(after))
    assert (meta.consolidation_count, meta.changes, meta.committed_run) == (1, 2, None)


def test_the_record_lists_every_line_that_went_and_history_and_undo_know_the_run():
    world = long_space()
    before = world.bank()["log.md"]

    world.consolidate(tidy=True)

    gone = [line for line in before.splitlines() if line not in world.bank()["log.md"].splitlines()]
    shown = history.read(world.process, "demo", 2)
    assert [(one.file, one.line) for one in shown.removed] == [("log.md", line) for line in gone]
    assert shown.summary.metrics["lines_removed"] == len(gone) == 5
    assert shown.summary.kind == "tidy"
    assert history.read_file(world.process, "demo", "log.md", at="1", sources=False)[0].content == before

    world.undo(2)

    meta = heads.load(world.process, "demo").meta
    assert world.bank()["log.md"] == before
    assert (meta.tidy_paused, meta.auto_paused, meta.bank_length) == (True, False, len(before))


def test_each_sentence_that_stays_keeps_its_notes():
    world = long_space()
    before = history.read_file(world.process, "demo", "log.md", at=None, sources=True)[1]

    world.llm.tidier = lambda text: fewer_lines(text).replace("## Log", "## Ports")
    world.consolidate(tidy=True)

    after = history.read_file(world.process, "demo", "log.md", at=None, sources=True)[1]
    assert before.sections[-1].heading == "## Log"
    assert after.sections[-1].heading == "## Ports"
    assert after.sections[-1].sources == before.sections[-1].sources
    assert len(after.sections[-1].sources) == 10


def test_the_prompt_has_the_rules_the_file_the_outline_of_the_others_and_the_wanted_length():
    world = long_space()
    world.store.put("demo/bank/small.md", b"# Small\n\n## One\n\nA line.\n")

    world.consolidate(tidy=True)

    (prompt,) = world.llm.prompts
    assert file_to_tidy(prompt)["filename"] == "log.md"
    user = prompt[1]["content"]
    assert '"Keep a log."' in user
    assert '[{"filename":"small.md","characters":25,"headings":[["# Small",1],["## One",9]]}]' in user
    assert "Today is 2026-02-20 (UTC)." in user
    assert "It should have 1875: take out about 1650." in user


@each(
    ("bank_chars", "settings", "said"),
    [
        (0, {}, "`bank_chars` is 0"),
        (100_000, {}, "should have 100000"),
        (LENGTH, {"llmaas_model": "offline-rules"}, "offline LLM"),
    ],
)
def test_a_run_that_has_nothing_to_tidy_says_why_and_asks_nobody(bank_chars: int, settings: dict[str, Any], said: str):
    world = long_space(**settings)
    heads.patch(world.process, "demo", bank_chars=bank_chars)

    run = world.consolidate(tidy=True)

    assert run.state == "nothing_to_do"
    assert said in (run.message or "")
    assert not world.llm.prompts


def test_a_dry_run_shows_the_shorter_bank_and_changes_nothing():
    world = long_space()
    before, head = world.bank(), heads.load(world.process, "demo").meta

    run = world.consolidate(tidy=True, dry_run=True)

    assert run.state == "done"
    assert len(run.plan["removed"]) == 5
    assert run.plan["changes"][0]["path"] == "log.md"
    assert run.plan["sources"] == []
    assert world.bank() == before
    assert heads.load(world.process, "demo").meta == head


@each("more", [{"agent": "ann"}, {"max_notes": 3}, {"notes_of": 1, "dry_run": True}])
def test_a_tidy_run_takes_no_order_about_notes(more: dict[str, Any]):
    world = long_space()

    with pytest.raises(InvalidRequest):
        dry_run.order(world.process, EVERYONE, "demo", RunOrder(trigger="api", tidy=True, **more))


def answers(content: Any, **more: Any) -> str:
    return json.dumps({"content": content, **more})


@each(
    ("texts", "said"),
    [
        ([answers("# Log\n\n" + "- long\n" * 1_000)], "the answer is not shorter"),
        (["I would rather not."] * 2, "could not be used"),
        ([answers("---\ntitle: x\n---\n")] * 2, "front matter"),
        ([answers("# Log\n\n## Log\n\n...\n")] * 2, "would take the place"),
        ([answers(7)] * 2, "content"),
        ([answers("  \n ")] * 2, "empty"),
        ([LlmError("llm_cut_off", "The answer was cut off.")], "cut off"),
    ],
)
def test_a_file_whose_answer_is_of_no_use_stays_as_it_is(texts: list[Any], said: str):
    world = long_space()
    before = world.bank()
    world.llm.queue.extend(texts)

    run = world.consolidate(tidy=True)

    assert run.state == "nothing_to_do"
    assert said in (run.message or "")
    assert run.usage.calls == len(texts)
    assert world.bank() == before
    assert heads.load(world.process, "demo").meta.changes == 1


def test_an_answer_in_a_fence_or_after_words_is_read():
    world = long_space()
    world.llm.queue.append(f"Here it is:\n```json\n{answers('# Log', reason='over')}\n```")

    assert world.consolidate(tidy=True).state == "done"
    assert world.bank()["log.md"] == "# Log\n"


def test_a_model_that_drops_most_of_a_file_is_warned_of_recorded_and_undone():
    world = long_space()
    before = world.bank()
    world.llm.queue.append(answers("# Log\n\n## Log\n\n- Port 1 has the crane K1.\n"))

    run = world.consolidate(tidy=True)

    record = last(world)
    assert (run.state, record.kind) == ("done", "tidy")
    assert [(one.kind, one.file) for one in told(record)] == [("shrunk", "log.md")]
    assert len(record.removed) == 10
    world.undo(2)
    assert world.bank() == before


def test_a_line_whose_details_stand_nowhere_else_is_warned_of():
    world = World()
    world.create_space()
    heads.patch(world.process, "demo", bank_chars=LENGTH)
    lines = ["- The crane K417 is at berth 12.", "- K417 was at berth 12 before.", "- The tunnel closes on 3 May."]
    text = "# Log\n\n" + "\n".join(lines) + "\n" + "- It all went well that day, and nobody was hurt.\n" * 60
    world.store.put("demo/bank/log.md", text.encode())
    world.llm.queue.append(answers(f"# Log\n\n{lines[0]}\n", reason="over"))

    world.consolidate(tidy=True)

    record = last(world)
    assert len(record.removed) == 62
    assert [(one.kind, one.file) for one in record.warnings] == [("lost_detail", "log.md")]
    assert record.warnings[0].text.endswith(lines[2])


def test_a_heading_that_the_rules_ask_for_is_asked_for_once_and_warned_of_if_it_still_goes():
    rules = "## log.md\n\n- `## Ports`\n- `## Log`\n"
    for second, kinds in (("# Log\n\n## Log\n\n## Ports\n", []), ("# Log\n\n## Log\n", ["lost_heading"])):
        world = long_space()
        world.store.put("demo/_rules.md", rules.encode())
        text = world.bank()["log.md"] + "\n## Ports\n\n- Kiel\n"
        world.store.put("demo/bank/log.md", text.encode())
        world.llm.queue.extend([answers("# Log\n\n## Log\n", reason="over"), answers(second, reason="over")])

        run = world.consolidate(tidy=True)

        assert (run.state, run.usage.calls) == ("done", 2)
        assert [one.kind for one in told(last(world))] == kinds


def test_a_warning_says_that_the_bank_is_still_too_long():
    world = long_space(notes=16)

    world.consolidate(tidy=True)

    assert [one.kind for one in told(last(world))] == ["length"]


def test_a_model_that_is_down_ends_the_run_with_an_error_and_the_next_run_tries_again():
    world = long_space()
    world.llm.queue.append(LlmError("llm_unreachable", "No answer."))

    run = world.consolidate(tidy=True)

    assert (run.state, run.error.code) == ("failed", "llm_unreachable")
    assert heads.load(world.process, "demo").meta.tidied is None
    assert world.consolidate(tidy=True).state == "done"


def test_a_file_of_which_the_model_read_only_a_part_stays_as_it_is():
    world = long_space()
    before = world.bank()
    cut = Reply(answers("# Log\n", reason="over"), {"prompt_tokens": 100, "completion_tokens": 20}, cut=True)
    world.process = world.with_parts(ask=lambda *_: cut)

    run = world.consolidate(tidy=True)

    assert (run.state, world.bank()) == ("nothing_to_do", before)
    assert "read only a part" in (run.message or "")


def test_a_file_that_takes_too_long_does_not_keep_the_others_away():
    world = long_space()
    two_files(world)
    world.llm.queue.append(LlmError("llm_timeout", "Too slow."))

    run = world.consolidate(tidy=True)

    assert (run.state, run.metrics["files_tidied"]) == ("done", 1)
    assert [(one.kind, one.file) for one in told(last(world))] == [("not_tidied", "other.md"), ("length", None)]


def test_a_failure_that_may_have_cost_something_is_not_tried_again_before_the_bank_has_grown():
    world = long_space()
    world.llm.queue.append(LlmError("llm_timeout", "Too slow."))

    run = world.consolidate(tidy=True)

    assert (run.state, run.error.code) == ("failed", "llm_timeout")
    meta = heads.load(world.process, "demo").meta
    assert (meta.tidied.run_id, meta.tidied.chars) == (run.job_id, meta.bank_length)


def two_files(world: World) -> None:
    world.store.put("demo/bank/other.md", ("# Other\n\n" + "- A line of the other file.\n" * 150).encode())


def test_what_was_answered_before_the_model_went_down_is_committed():
    world = long_space()
    two_files(world)
    world.llm.queue.extend([answers("# Log\n", reason="over"), LlmError("llm_unreachable", "No answer.")])

    run = world.consolidate(tidy=True)

    assert (run.state, run.metrics["files_tidied"], run.usage.calls) == ("done", 1, 2)
    assert [one.kind for one in told(last(world))] == ["not_tidied", "length"]


def test_a_file_that_does_not_fit_the_window_is_left_and_the_others_are_tidied():
    world = long_space(llmaas_context_tokens=12_000)
    world.store.put("demo/bank/line.md", b"x" * 100_000)

    run = world.consolidate(tidy=True)

    assert (run.state, run.metrics["files_tidied"]) == ("done", 1)
    warnings = told(last(world))
    assert [(one.kind, one.file) for one in warnings] == [("not_tidied", "line.md"), ("length", None)]
    assert "window" in warnings[0].text


def test_one_line_of_100_kb_is_shortened_and_counted():
    world = long_space()
    world.store.put("demo/bank/line.md", ("word " * 20_000 + "end").encode())
    world.llm.queue.extend([answers("# Line\n\nword\n", reason="repeats"), answers("# Log\n", reason="over")])

    assert world.consolidate(tidy=True).state == "done"
    record = last(world)
    assert {one.file for one in record.removed} == {"log.md"}
    assert record.metrics["lines_removed"] == len(record.removed) + 1


def test_of_thirty_long_files_a_run_takes_the_ten_longest():
    world = long_space()
    for number in range(30):
        content = "# F\n\n## A\n\n" + "- a line\n" * (50 + number)
        world.store.put(f"demo/bank/f{number:03}.md", content.encode())

    run = world.consolidate(tidy=True)

    assert (run.metrics["files_tidied"], run.usage.calls) == (10, 10)
    assert "21 more files" in last(world).warnings[0].text
    assert max(len(prompt[1]["content"]) for prompt in world.llm.prompts) < 25_000


def test_in_review_the_plan_waits_and_its_refusal_pauses_tidying_alone():
    world = long_space()
    heads.patch(world.process, "demo", consolidation_mode="review", threshold=5)
    before = world.bank()

    run = world.consolidate(tidy=True)

    assert (run.state, world.bank()) == ("awaiting_approval", before)
    world.approve()
    assert world.bank() != before
    assert last(world).kind == "tidy"
    assert world.view(run.job_id).state == "done"

    world.undo(2)
    heads.patch(world.process, "demo", tidy_paused=False)
    waiting = world.consolidate(tidy=True)
    review.refuse(world.process, EVERYONE, "demo", waiting.job_id, "too much went")
    meta = heads.load(world.process, "demo").meta
    assert (meta.tidy_paused, meta.auto_paused, world.bank()) == (True, False, before)
