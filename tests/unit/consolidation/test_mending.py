"""A flaw of an answer costs what it concerns: the entry of one file is asked for by itself, and all others stand."""

import json
from typing import Any

from livemem.bank import history
from livemem.llm import window
from livemem.llm.client import LlmError
from tests.support.cases import each
from tests.support.world import World, read_prompt
from tests.unit.consolidation.test_pipeline_notes import record_of, space_with_notes

BAD = {"op": "append_to_section", "heading": "## Nowhere", "content": "- bob 2", "notes": [2]}
GOOD = {**BAD, "heading": "## Log"}


def created(name: str, content: str, *notes: int) -> dict[str, Any]:
    return {"filename": name, "action": "created", "content": content, "notes": list(notes)}


def edited(name: str, *edits: dict[str, Any]) -> dict[str, Any]:
    return {"filename": name, "action": "edited", "edits": list(edits)}


def whole(*files: dict[str, Any], synthesis: str = "x") -> str:
    return json.dumps({"bank_files": files, "synthesis": synthesis})


def with_a_bank() -> World:
    """A space with the files `a.md` and `log.md`, and three live notes."""
    world = space_with_notes("old")
    world.llm.queue.append(whole(created("log.md", "# Log\n\n## Log\n", 1), created("a.md", "# A\n\n## Log\n")))
    world.consolidate()
    for name in ("ann", "bob", "cat"):
        world.note(f"{name} says so", agent=name)
        world.clock.move(1)
    world.llm.prompts.clear()
    return world


FIRST = created("new.md", "# New\n\n- ann, cat\n", 1, 3)


def test_the_second_question_shows_only_the_file_its_notes_and_the_fault():
    world = with_a_bank()
    world.llm.queue.extend([whole(FIRST, edited("log.md", BAD)), whole(edited("log.md", GOOD))])

    run = world.consolidate()

    first, second = world.llm.prompts
    shown = read_prompt(second)
    assert list(shown["bank"]) == ["log.md"]
    assert [(note["number"], note["agent"]) for note in shown["notes"]] == [(2, "bob")]
    assert shown["synthesis"] is None
    assert 'no section \\"## Nowhere\\"' in second[1]["content"]
    assert second[0] == first[0]
    assert (run.state, run.metrics["llm_calls"]) == ("done", 2)
    assert world.bank() == {
        "a.md": "# A\n\n## Log\n",
        "log.md": "# Log\n\n## Log\n\n- bob 2\n",
        "new.md": "# New\n\n- ann, cat\n",
    }
    assert world.live_ids() == []
    assert record_of(world, 2).warnings == []


@each("notes", [[], [9], [0, -1], "all"])
def test_the_question_about_an_entry_that_cites_no_note_of_the_prompt_shows_them_all(notes: object):
    world = with_a_bank()
    world.llm.queue.extend([whole(FIRST, edited("log.md", {**BAD, "notes": notes})), whole(edited("log.md", GOOD))])

    assert world.consolidate().state == "done"

    assert [note["number"] for note in read_prompt(world.llm.prompts[1])["notes"]] == [1, 2, 3]


@each("retry", ["prose", whole(), whole(edited("log.md", BAD)), LlmError("llm_timeout", "Too slow.")])
def test_an_entry_that_stays_bad_is_left_out_with_its_notes_and_the_others_stand(retry: Any):
    world = with_a_bank()
    bob = world.live_ids()[1]
    world.llm.queue.extend([whole(FIRST, edited("log.md", BAD)), retry])

    run = world.consolidate()

    assert (run.state, run.metrics["notes_left_out"]) == ("done", 1)
    assert world.bank()["new.md"] == "# New\n\n- ann, cat\n"
    assert world.bank()["log.md"] == "# Log\n\n## Log\n"
    assert world.live_ids() == [bob]
    (warning,) = history.read(world.process, "demo", 2).warnings
    assert (warning.kind, warning.file) == ("entry_left_out", "log.md")
    assert warning.text.startswith("What the answer says of log.md was left out: log.md: edit 1")


def test_a_file_that_the_second_answer_passes_over_is_named_and_one_that_it_mends_stands():
    world = with_a_bank()
    bad = {**BAD, "notes": [3]}
    world.llm.queue.extend(
        [
            whole(created("new.md", "# New\n", 1), edited("log.md", BAD), edited("a.md", bad)),
            whole(edited("log.md", GOOD)),
        ]
    )

    assert world.consolidate().state == "done"

    assert world.bank()["log.md"].endswith("- bob 2\n")
    assert world.bank()["a.md"] == "# A\n\n## Log\n"
    assert [(one.kind, one.file) for one in record_of(world, 2).warnings] == [("entry_left_out", "a.md")]
    assert len(world.live_ids()) == 1


def test_an_answer_without_citations_that_keeps_a_bad_entry_ends_the_run_and_every_note_stays():
    world = with_a_bank()
    bad = {key: value for key, value in BAD.items() if key != "notes"}
    world.llm.queue.extend([whole(created("new.md", "# New\n"), edited("log.md", bad))] * 2)

    run = world.consolidate()

    assert run.error is not None
    assert (run.state, run.error.code) == ("failed", "llm_contract")
    assert 'no section "## Nowhere"' in run.error.detail
    assert len(world.live_ids()) == 3
    assert "new.md" not in world.bank()


def test_a_second_answer_changes_no_entry_that_stood():
    world = with_a_bank()
    other = created("new.md", "# Other\n", 1)
    world.llm.queue.extend([whole(FIRST, edited("log.md", BAD)), whole(other, edited("log.md", GOOD), synthesis="y")])

    world.consolidate()

    assert world.bank()["new.md"] == "# New\n\n- ann, cat\n"
    assert "\nx\n" in world.text("demo/_synthesis.md")


@each("size", [10, 5_000, 100_000])
def test_what_is_shown_of_a_bad_entry_is_short(size: int):
    world = with_a_bank()
    bad = {**BAD, "content": "- " + "word " * size}
    world.llm.queue.extend([whole(FIRST, edited("log.md", bad)), whole(edited("log.md", GOOD))])

    assert world.consolidate().state == "done"

    first, second = world.llm.prompts
    assert window.size(second) < window.size(first) + 700


@each(
    ("answer", "quote"),
    [
        ("I'm sorry, but I can't help with that.", " It answered: \"I'm sorry, but I can't help with that.\""),
        ("No. " * 100, ' It answered: "' + ("No. " * 25) + '..."'),
        ('{"bank_files": 3}', ""),
        ("<html>Bad gateway</html>", ""),
        ("<think>Hm.</think>Never.", ' It answered: "Never."'),
    ],
)
def test_a_refusal_in_prose_is_quoted_in_the_run(answer: str, quote: str):
    world = with_a_bank()
    world.llm.queue.extend([answer] * 2)

    run = world.consolidate()

    assert run.error is not None
    assert run.error.detail.endswith(quote)
    assert ("It answered" in run.error.detail) is bool(quote)


def test_two_thousand_characters_of_a_bad_answer_are_shown_again_and_no_more():
    world = with_a_bank()
    world.llm.queue.append("prose " * 4_000)

    assert world.consolidate().state == "done"

    assert world.llm.prompts[1][2]["content"] == ("prose " * 4_000)[:2_000]
