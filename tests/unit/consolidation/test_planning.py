"""From an answer to changes: whatever a valid answer says, it is drawn up exactly or refused as a whole."""

import json
import re
from typing import TypeVar

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from livemem.bank import files, paths
from livemem.bank.files import BankFile
from livemem.consolidation import answer, planning
from livemem.consolidation.answer import AnswerDraft, AnswerEdit, ContractError, FileAnswer
from tests.support.cases import each
from tests.unit.consolidation.test_answer import OPS

T = TypeVar("T")

IDS = ["20260220T140000_ann_todo_00000001", "20260220T140001_ann_todo_00000002", "20260220T140002_bob_todo_00000003"]
LOG = BankFile("log.md", "# Log\n\n## Log\n\n- first\n- second\n- third\n\n## Else\n\nText.\n", '"1"')
TOPICS = BankFile("sub/topics.md", "# Topics\n\n## Log\n\na\n\n### Deep\n\nb\n", '"2"')
BANK = [LOG, TOPICS]


def mostly(usual: st.SearchStrategy[T], odd: st.SearchStrategy[T]) -> st.SearchStrategy[T]:
    """One odd value in ten: with more of them no answer would ever be accepted."""
    return st.integers(0, 9).flatmap(lambda die: usual if die else odd)


ODD_NAMES = st.sampled_from(["LOG.md", "../log.md", "_x.md", "log.txt", "log.md", "new.md"])
OLD_NAMES = mostly(st.sampled_from(["log.md", "sub/topics.md", "bank/log.md", "l\u200bog.md"]), ODD_NAMES)
NEW_NAMES = mostly(st.sampled_from(["bank/new.md", "more/new.md"]), ODD_NAMES)
TEXTS = mostly(
    st.sampled_from(["- one\n", "text", "# A\n\n## Log\n\n" + "words " * 12, "### Deeper\n\nx"]),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)
    | st.sampled_from(
        ["---\nx: 1\n---\n", "## Log\n\nx", "```\nopen", "<!-- open", "a\0b", "\ufeff---\n", "- " * 60, "> " * 60]
    ),
)
HEADINGS = mostly(
    st.sampled_from(
        ["## Log", "# Log > ## Log", "## Else", "# Topics > ## Log > ### Deep", "### Deep", "# Log > ## New"]
    ),
    st.sampled_from(["## Missing", "no heading", "## A\n## B", "#"]) | st.text(min_size=1),
)
NUMBERS = mostly(st.lists(st.integers(1, 2), max_size=2), st.lists(st.integers(-1, 4) | st.just(10**30), max_size=3))
REASONS = mostly(st.just("obsolete"), st.none() | st.sampled_from(["", " "]))
EDITS = st.builds(
    AnswerEdit,
    op=st.sampled_from(OPS),
    heading=HEADINGS,
    content=TEXTS,
    after=mostly(st.none(), HEADINGS),
    notes=NUMBERS,
    reason=REASONS,
)
EDITED = st.builds(
    FileAnswer,
    filename=OLD_NAMES,
    action=st.just("edited"),
    edits=st.lists(EDITS, min_size=1, max_size=3),
    notes=NUMBERS,
    reason=REASONS,
)
WHOLE = st.sampled_from([("created", NEW_NAMES), ("updated", OLD_NAMES)]).flatmap(
    lambda chosen: st.builds(
        FileAnswer,
        filename=chosen[1],
        action=st.just(chosen[0]),
        content=TEXTS,
        edits=mostly(st.just([]), st.lists(EDITS, max_size=2)),
        notes=NUMBERS,
        reason=REASONS,
    )
)
ANSWERS = st.builds(
    AnswerDraft,
    entries=st.lists(EDITED | WHOLE, max_size=3).map(tuple),
    discarded=st.dictionaries(st.integers(0, 4), st.just("no use"), max_size=3),
)


@given(ANSWERS)
@example(AnswerDraft((), discarded=dict.fromkeys((1, 2, 3), "r")))
def test_any_valid_answer_becomes_changes_that_may_be_written_or_is_refused(found: AnswerDraft):
    try:
        outcome = planning.draw_up(found, BANK, IDS)
    except ContractError:
        return

    before = {file.path: file for file in BANK}
    assert len({change.path for change in outcome.files}) == len(outcome.files)
    for change in outcome.files:
        paths.check_bank_path(change.path)
        assert change.after is not None
        assert files.content_problem(change.after) is None
        old = before.get(change.path)
        assert (change.before is None) == (old is None) == (change.action == "created")
        assert old is None or (change.before.etag, change.before.content) == (old.etag, old.content)
        assert change.before is None or change.after != change.before.content
        assert set(change.notes) <= set(IDS)
        assert {note_id for edit in change.edits for note_id in edit["notes"]} <= set(IDS)
    numbers = set(range(1, len(IDS) + 1))
    assert outcome.cited | set(outcome.discarded) | outcome.uncited <= numbers
    assert not outcome.cited & set(outcome.discarded)
    assert outcome.uncited == (numbers - outcome.cited - set(outcome.discarded) if outcome.cited else frozenset())
    assert outcome.unchanged + sum(change.before is not None for change in outcome.files) == len(BANK)
    assert outcome.files or outcome.broken or set(outcome.discarded) == numbers
    assert all(broken.fault for broken in outcome.broken)


def entry(filename: str = "log.md", action: str = "edited", **rest: object) -> dict[str, object]:
    return {"filename": filename, "action": action, **rest}


def draw_up(*entries: dict[str, object], discarded: tuple[int, ...] = ()) -> planning.DrawnUp:
    found = {
        "bank_files": list(entries),
        "synthesis": "x",
        "discarded": [{"note": number, "reason": "no use"} for number in discarded],
    }
    outcome = planning.draw_up(answer.parse(json.dumps(found)), BANK, IDS)
    if outcome.broken:
        raise ContractError(outcome.broken[0].fault)
    return outcome


def append(content: str = "- new", notes: tuple[int, ...] = (1,), **rest: object) -> dict[str, object]:
    return {"op": "append_to_section", "heading": "# Log > ## Log", "content": content, "notes": list(notes), **rest}


def test_an_edit_changes_its_section_and_no_other_line():
    outcome = draw_up(entry(edits=[append(notes=(1, 3))], notes=[2]))

    assert outcome.files[0].after == LOG.content.replace("- third\n", "- third\n- new\n")
    assert outcome.files[0].edits[0]["notes"] == [IDS[0], IDS[2]]
    assert outcome.files[0].notes == [IDS[1]]
    assert (outcome.edits_applied, outcome.unchanged) == (1, 1)
    assert (outcome.cited, outcome.uncited) == ({1, 2, 3}, frozenset())


@each(
    "heading",
    ["t.md > ## Log", "bank/t.md#Topics > Log", "t.md#Log", "t.md > log", "# Topics > ## LOG", "Topics > Log"],
)
def test_a_section_is_found_in_the_form_in_which_search_names_it(heading: str):
    bank = [BankFile("t.md", "# Topics\n\n## Log\n\n- first\n", "")]
    found = {"bank_files": [entry("t.md", edits=[append(heading=heading)])], "synthesis": "x"}

    outcome = planning.draw_up(answer.parse(json.dumps(found)), bank, IDS)

    assert outcome.files[0].after == bank[0].content + "- new\n"
    assert not str(outcome.files[0].edits[0]["heading"]).startswith(("t.md", "bank/"))


def test_a_new_file_may_be_a_skeleton_with_edits_on_top():
    skeleton = "# New\n\n## Log\n"

    outcome = draw_up(entry("new.md", "created", content=skeleton, edits=[{**append("- x"), "heading": "## Log"}]))

    assert outcome.files[0].after == "# New\n\n## Log\n\n- x\n"
    assert outcome.cited == {1}
    assert outcome.uncited == {2, 3}


def test_a_file_rewritten_to_what_it_was_is_unchanged_and_not_written():
    outcome = draw_up(entry("log.md", "updated", content=LOG.content), entry("new.md", "created", content="# New\n"))

    assert [change.path for change in outcome.files] == ["new.md"]
    assert outcome.unchanged == 2


def test_an_answer_that_cites_nothing_leaves_no_note_uncited():
    assert draw_up(entry("new.md", "created", content="# New\n")).uncited == frozenset()


def test_an_answer_that_discards_every_note_may_change_nothing():
    outcome = draw_up(discarded=(1, 2, 3))

    assert outcome.files == []
    assert outcome.discarded == {1: "no use", 2: "no use", 3: "no use"}


@each("discarded", [(), (1,), (1, 2)])
def test_an_answer_that_changes_nothing_must_discard_every_note(discarded: tuple[int, ...]):
    with pytest.raises(ContractError, match="changes no file"):
        draw_up(discarded=discarded)


HALF = LOG.content[: len(LOG.content) // 2]
assert len(HALF) * 2 == len(LOG.content)


@each("reason", [None, "", " "])
def test_a_file_that_shrinks_by_more_than_half_needs_a_reason(reason: str | None):
    with pytest.raises(ContractError, match=r"These lines would go: .*Text"):
        draw_up(entry("log.md", "updated", content=HALF[:-2], reason=reason))


@pytest.mark.parametrize(("content", "reason"), [(HALF, None), (HALF[:-2], "the rest is obsolete")])
def test_a_file_may_shrink_to_half_or_for_a_stated_reason(content: str, reason: str | None):
    outcome = draw_up(entry("log.md", "updated", content=content, reason=reason))

    assert (outcome.files[0].after, outcome.files[0].reason) == (content, reason)


def test_edits_that_together_shrink_a_file_need_a_reason_which_one_of_them_may_give():
    edits = [{"op": "delete_section", "heading": heading} for heading in ("# Log > ## Log", "## Else")]

    with pytest.raises(ContractError, match="would shrink"):
        draw_up(entry(edits=edits))

    outcome = draw_up(entry(edits=[edits[0], {**edits[1], "reason": "all done"}]))
    assert outcome.files[0].reason == "all done"


def test_two_new_files_that_differ_in_case_only_are_refused():
    with pytest.raises(ContractError, match="case only"):
        draw_up(entry("new.md", "created", content="a"), entry("New.md", "created", content="b"))


@each(
    ("content", "problem"),
    [
        ("a\0b", "NUL"),
        ("x" * 500_001, "500001 bytes"),
        ("é" * 250_001, "500002 bytes"),
        ("\ud800", "surrogate"),
        ("---\nx: 1\n---\n", "front matter"),
        ("---\r\nx: 1\r\n---\r\n", "front matter"),
        ("---  \nx", "front matter"),
        ("\ufeff---\nx", "front matter"),
    ],
)
def test_content_that_no_bank_file_may_have_is_refused_and_the_reason_told(content: str, problem: str):
    assert re.search(problem, files.content_problem(content) or "")


@each("content", ["", "----\n", " ---\n", "# T\n\n---\n", "--- x\n", "x" * 500_000])
def test_rules_and_lines_of_dashes_elsewhere_are_markdown(content: str):
    assert files.content_problem(content) is None
