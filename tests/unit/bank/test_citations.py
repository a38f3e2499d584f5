"""Which notes each section of a file rests on, from the records, following later edits of that section."""

import contextlib
import json
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livemem.bank import citations, corrections, files, history
from livemem.bank.citations import Citations
from livemem.changes import provenance, section_sources
from livemem.changes.records import FileChange, NoteSource, Record
from livemem.changes.section_sources import Sources, Trace
from livemem.errors import Conflict, NotFound, StoreUnavailable
from livemem.markdown import blocks, sections
from livemem.store.bucket import BANK_FILE, RECORD
from tests.support.bucket import error
from tests.support.world import World

MOMENT = "2026-02-20T14:00:00Z"
START = "# Log\n\n## Done\n\n- start\n\n## Open\n\n- question\n"


class Diary:
    """A space whose notes go where the test says, with short names for notes."""

    def __init__(self, other: "Diary | None" = None) -> None:
        self.world: World = other.world.fork() if other else World()
        self.names: dict[str, str] = dict(other.names) if other else {}
        if not other:
            self.world.create_space()

    def fold(self, notes: str, *files: dict[str, Any], discarded: tuple[int, ...] = ()) -> None:
        """Write one note for each letter of `notes` and fold them all by the given answer."""
        for letter in notes:
            self.world.clock.move(1)
            self.names[self.world.note(letter).note_id] = letter
        gone = [{"note": number, "reason": "no use"} for number in discarded]
        self.world.llm.queue.append(json.dumps({"bank_files": files, "synthesis": "x", "discarded": gone}))
        run = self.world.consolidate()
        assert run.state == "done", run.error

    def cited(self, path: str = "log.md") -> dict[str, tuple[list[tuple[str, int]], list[int]]]:
        """By section path: the notes with their consolidations, and the corrections."""
        _, found = history.read_file(self.world.process, "demo", path, at=None, sources=True)
        assert found is not None
        return {
            " > ".join(item.path): (
                [(self.names[source.note_id], source.consolidation) for source in item.sources], item.corrections,
            )
            for item in found.sections
        }  # fmt: skip


def created(content: str = START, **rest: Any) -> dict[str, Any]:
    return {"filename": "log.md", "action": "created", "content": content, **rest}


def edited(*edits: dict[str, Any]) -> dict[str, Any]:
    return {"filename": "log.md", "action": "edited", "edits": list(edits)}


def edit(op: str, heading: str, *notes: int, content: str = "- more", **rest: Any) -> dict[str, Any]:
    return {"op": op, "heading": heading, "content": content, "notes": list(notes), **rest}


DONE, OPEN = "# Log > ## Done", "# Log > ## Open"


def started() -> Diary:
    """A file that a skeleton and two edits made: a brought the first section, b the second one."""
    return Diary(_started())


@cache
def _started() -> Diary:
    diary = Diary()
    skeleton = "# Log\n\n## Done\n\n## Open\n"
    edits = [edit("append_to_section", "## Done", 1, content="- start"), edit("append_to_section", "## Open", 2)]
    diary.fold("ab", created(skeleton, edits=edits))
    return diary


def test_a_new_files_sections_rest_on_the_notes_of_their_edits():
    assert started().cited() == {"# Log": ([], []), DONE: ([("a", 1)], []), OPEN: ([("b", 1)], [])}


def test_an_append_adds_its_notes_to_its_section_only():
    diary = started()

    diary.fold("cd", edited(edit("append_to_section", "## Done", 1, 2, content="- two more")))

    assert diary.cited() == {
        "# Log": ([], []), DONE: ([("a", 1), ("c", 2), ("d", 2)], []), OPEN: ([("b", 1)], []),
    }  # fmt: skip


def test_a_replacement_keeps_what_the_section_rested_on_because_it_keeps_what_holds():
    diary = started()

    diary.fold("c", edited(edit("replace_section", "## Done", 1, content="- start, and c")))

    assert diary.cited()[DONE] == ([("a", 1), ("c", 2)], [])
    assert diary.cited()[OPEN] == ([("b", 1)], [])


def test_an_edit_that_names_no_notes_rests_on_all_that_were_folded_and_not_discarded():
    diary = started()

    diary.fold("cde", edited(edit("append_to_section", "## Done")), discarded=(2,))

    assert diary.cited()[DONE] == ([("a", 1), ("c", 2), ("e", 2)], [])
    assert diary.cited()[OPEN] == ([("b", 1)], [])


def test_the_address_of_an_edit_may_be_a_path():
    diary = started()

    diary.fold("c", edited(edit("append_to_section", OPEN, 1)))

    assert diary.cited()[OPEN] == ([("b", 1), ("c", 2)], [])


def test_a_heading_that_an_edit_names_with_other_capitals_and_emphasis_has_its_notes():
    diary = started()

    diary.fold("c", edited(edit("append_to_section", "## **open**", 1)))
    diary.fold("d", edited(edit("confirm_section", "# LOG > ## open", 1)))

    assert diary.cited()[OPEN] == ([("b", 1), ("c", 2), ("d", 3)], [])


def test_a_new_section_rests_on_the_notes_that_brought_it_and_a_deleted_one_is_gone():
    diary = started()

    diary.fold(
        "cd",
        edited(
            edit("add_section", "## News", 1, content="- c"),
            edit("delete_section", "## Open", 2, reason="all answered"),
        ),
    )

    assert diary.cited() == {"# Log": ([], []), DONE: ([("a", 1)], []), "# Log > ## News": ([("c", 2)], [])}


def test_a_section_that_comes_back_does_not_rest_on_what_the_old_one_rested_on():
    diary = started()
    diary.fold("c", edited(edit("delete_section", "## Open", 1, reason="answered")))

    diary.fold("d", edited(edit("add_section", "## Open", 1, content="- anew")))

    assert diary.cited()[OPEN] == ([("d", 3)], [])


def test_an_edit_of_a_section_reaches_the_sections_inside_it_that_it_rewrote():
    diary = started()

    diary.fold("c", edited(edit("replace_section", "## Done", 1, content="text\n\n### Deep\n\n- c")))

    assert diary.cited()[DONE] == ([("a", 1), ("c", 2)], [])
    assert diary.cited()[f"{DONE} > ### Deep"] == ([("c", 2)], [])


def test_a_whole_file_rests_on_the_notes_that_it_names():
    diary = Diary()

    diary.fold("abc", created(notes=[1, 3]), discarded=(2,))

    assert diary.cited()[DONE] == ([("a", 1), ("c", 1)], [])


def test_a_whole_file_that_names_no_notes_rests_on_all_that_were_folded_and_not_discarded():
    diary = Diary()

    diary.fold("abc", created(), discarded=(2,))

    assert diary.cited()[DONE] == ([("a", 1), ("c", 1)], [])
    assert diary.cited()[OPEN] == ([("a", 1), ("c", 1)], [])


def test_a_rewritten_file_credits_only_the_sections_whose_text_changed():
    diary = Diary()
    diary.fold("a", created())

    diary.fold("b", {**created(START.replace("- question", "- answer")), "action": "updated"})

    assert diary.cited() == {
        "# Log": ([], []), DONE: ([("a", 1)], []), OPEN: ([("a", 1), ("b", 2)], []),
    }  # fmt: skip


def test_a_note_that_is_cited_again_keeps_the_consolidation_that_brought_it_in():
    diary = started()

    diary.fold(
        "c", edited(edit("append_to_section", "## Done", 1), edit("prepend_to_section", "## Done", 1, content="- top"))
    )

    assert diary.cited()[DONE] == ([("a", 1), ("c", 2)], [])


def test_a_manual_correction_is_named_where_it_changed_the_text_and_keeps_the_sources():
    diary = started()
    text = diary.world.bank()["log.md"].replace("- start", "- begin")

    corrections.write_file(diary.world.process, "admin", "demo", "log.md", text, None)

    assert diary.cited() == {"# Log": ([], []), DONE: ([("a", 1)], [2]), OPEN: ([("b", 1)], [])}


def test_an_undone_consolidation_is_no_source():
    diary = started()
    diary.fold("c", edited(edit("append_to_section", "## Done", 1)))
    diary.world.undo(2)

    assert diary.cited() == {"# Log": ([], []), DONE: ([("a", 1)], []), OPEN: ([("b", 1)], [])}
    # Its note is live again and the next consolidation brings it in.
    diary.fold("", edited(edit("append_to_section", "## Open", 1)))
    assert diary.cited()[OPEN] == ([("b", 1), ("c", 4)], [])


def test_an_undone_correction_is_no_correction():
    diary = started()
    corrections.write_file(diary.world.process, "admin", "demo", "log.md", START, None)
    diary.world.undo(2)

    assert diary.cited()[DONE] == ([("a", 1)], [])


def test_a_file_that_was_deleted_and_written_anew_begins_without_sources():
    diary = started()
    corrections.delete_file(diary.world.process, "admin", "demo", "log.md", None)
    corrections.write_file(diary.world.process, "admin", "demo", "log.md", START, None)

    assert diary.cited() == {"# Log": ([], []), DONE: ([], [3]), OPEN: ([], [3])}


def test_a_file_that_no_record_knows_has_sections_without_sources():
    diary = started()
    diary.world.inner.put_object(Bucket="b", Key=BANK_FILE.key("demo", "own.md"), Body=b"before\n\n# Own\n\ntext\n")

    assert diary.cited("own.md") == {"": ([], []), "# Own": ([], [])}


def test_text_before_the_first_heading_is_a_section_without_a_heading():
    diary = Diary()

    diary.fold("a", created("Intro.\n\n# Log\n\ntext\n"))

    assert diary.cited() == {"": ([("a", 1)], []), "# Log": ([("a", 1)], [])}


def test_a_heading_in_a_code_fence_is_no_section():
    diary = Diary()

    diary.fold("a", created("# Log\n\n```md\n## Not a section\n```\n"))

    assert list(diary.cited()) == ["# Log"]


@pytest.mark.parametrize("content", ["- " * 60 + "deep\n", "> " * 100 + "# deep\n"])
def test_a_file_nested_beyond_the_parser_is_one_piece_of_text(content: str):
    diary = Diary()
    diary.fold("a", created(content))

    assert diary.cited() == {"": ([("a", 1)], [])}


def test_the_sources_of_a_missing_file_are_not_found():
    with pytest.raises(NotFound):
        started().cited("missing.md")


def test_without_the_question_no_record_is_read():
    diary = started()
    diary.world.new_process()

    _, found = history.read_file(diary.world.process, "demo", "log.md", at=None, sources=False)

    assert found is None
    assert not [key for _, key in diary.world.client.requests if key.startswith(RECORD.prefix("demo"))]


def ask(diary: Diary, path: str = "log.md") -> Citations:
    process = diary.world.process
    return citations.citations(process, "demo", files.read(process, "demo", path))


def grown(rounds: int = 20) -> Diary:
    """A file that every one of `rounds` consolidations appends to."""
    return Diary(_grown(rounds))


@cache
def _grown(rounds: int) -> Diary:
    diary = started()
    for _ in range(rounds - 1):
        diary.fold("x", edited(edit("append_to_section", "## Done", 1, content="- x\n")))
    return diary


@pytest.mark.parametrize("rounds", [2, 20])
def test_asking_for_sources_costs_three_requests_however_long_the_history_is(rounds: int):
    diary = grown(rounds)
    diary.world.client.reset()

    found = ask(diary)

    assert sum(len(section.sources) for section in found.sections) == rounds + 1
    assert diary.world.client.counts == {"GET": 3}  # the head, the file, one record


def count_parsed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Lines handed to the parser, one number for each text."""
    parsed: list[int] = []
    parse = blocks.parse

    def counting(lines: Any, *effort: Any) -> Any:
        parsed.append(len(lines))
        return parse(lines, *effort)

    monkeypatch.setattr(sections, "parse", counting)
    sections.read.cache_clear()
    return parsed


def test_asking_for_sources_parses_the_files_text_once_and_no_earlier_version(monkeypatch: pytest.MonkeyPatch):
    diary = grown()
    lines = len(diary.world.bank()["log.md"].splitlines())
    parsed = count_parsed(monkeypatch)

    ask(diary)

    assert parsed == [lines]


def test_a_change_hands_the_text_before_and_the_text_after_to_the_parser_for_its_sources_and_no_other(
    monkeypatch: pytest.MonkeyPatch,
):
    diary = grown()
    parsed = count_parsed(monkeypatch)

    corrections.write_file(diary.world.process, "admin", "demo", "log.md", START, None)

    assert len(parsed) == 2


def forget(diary: Diary) -> None:
    """What the sources rest on is taken out of the bucket, as if an older version had written everything."""
    objects = diary.world.inner.objects
    for key, stored in list(objects.items()):
        if "/_consolidations/" in key:
            record = Record.from_bytes(stored.body)
            plain = [change.model_copy(update={"sources": None}) for change in record.files]
            body = record.model_copy(update={"files": plain}).to_bytes()
            diary.world.inner.put_object(Bucket="b", Key=key, Body=body)
        if "/bank/" in key and stored.metadata:
            metadata = {"consolidation": stored.metadata["consolidation"]}
            diary.world.inner.put_object(Bucket="b", Key=key, Body=stored.body, Metadata=metadata)


STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.just("edit"),
            st.sampled_from(["append_to_section", "replace_section", "prepend_to_section"]),
            st.sampled_from(["## Done", "## Open", "# Log"]),
            st.lists(st.integers(1, 2), max_size=2, unique=True),
        ),
        st.tuples(st.just("whole"), st.sampled_from([START, START + "\n## Late\n\n- late\n", "# Log\n\nall new\n"])),
        st.tuples(st.just("hand"), st.sampled_from([START.replace("start", "begin"), "# Other\n\ntext\n"])),
        st.tuples(st.just("undo")),
        st.tuples(st.just("delete")),
    ),
    max_size=8,
)


def take(diary: Diary, step: tuple[Any, ...]) -> None:
    process = diary.world.process
    exists = "log.md" in diary.world.bank()
    if step[0] == "hand" and diary.world.bank().get("log.md") != step[1]:
        corrections.write_file(process, "admin", "demo", "log.md", step[1], None)
    elif step[0] == "delete" and exists:
        corrections.delete_file(process, "admin", "demo", "log.md", None)
    elif step[0] == "undo":
        for item in history.page(process, "demo", limit=50, before=None)[0]:
            if item.kind != "undo" and not item.undone:
                diary.world.undo(item.number)
                return
    elif step[0] == "whole":
        action = "updated" if exists else "created"
        diary.fold(
            "yz", {**created(step[1], reason="so it is"), "action": action}, discarded=(2,) if not exists else ()
        )
    elif step[0] == "edit" and exists and f"\n{step[2]}\n" in f"\n{diary.world.bank()['log.md']}":
        diary.fold("yz", {**edited(edit(step[1], step[2], *step[3])), "reason": "so it is"})


@given(steps=STEPS)
def test_what_is_carried_on_from_change_to_change_is_what_a_replay_of_all_records_finds(steps: list[tuple[Any, ...]]):
    diary = started()
    for step in steps:
        # An answer that changes nothing is refused.
        with contextlib.suppress(AssertionError, Conflict):
            take(diary, step)
    diary.world.settle()
    if "log.md" not in diary.world.bank():
        return

    carried = ask(diary)
    forget(diary)

    assert ask(diary) == carried


def test_where_too_many_records_would_have_to_be_replayed_the_newest_are_and_the_answer_says_from_which_on(
    monkeypatch: pytest.MonkeyPatch,
):
    diary = grown()
    forget(diary)
    monkeypatch.setattr(citations, "MOST_RECORDS", 16)
    diary.world.client.reset()

    found = ask(diary)

    assert found.since == 5
    assert [source.consolidation for section in found.sections for source in section.sources] == list(range(5, 21))
    assert diary.world.client.counts["GET"] <= 3 + 16


def test_a_file_that_none_of_the_newest_records_changed_is_said_to_be_partly_told(monkeypatch: pytest.MonkeyPatch):
    diary = started()
    for number in range(20):
        corrections.write_file(diary.world.process, "admin", "demo", "other.md", f"{number}\n", None)
    forget(diary)
    monkeypatch.setattr(citations, "MOST_RECORDS", 16)

    found = ask(diary)

    assert (found.since, [section.sources for section in found.sections]) == (6, [[], [], []])
    assert ask(diary, "other.md").since == 6


def test_a_replay_parses_a_bounded_amount_of_text(monkeypatch: pytest.MonkeyPatch):
    diary = grown()
    forget(diary)
    size = len(diary.world.bank()["log.md"])
    monkeypatch.setattr(citations, "MOST_CHARACTERS", 2 * size)

    assert ask(diary).since == 19


def test_a_replay_ends_at_the_newest_record_that_says_what_the_file_rests_on():
    diary = grown()
    text = diary.world.bank()["log.md"].encode() + b"- by hand in the bucket\n"
    diary.world.inner.put_object(Bucket="b", Key=BANK_FILE.key("demo", "log.md"), Body=text)
    diary.world.client.reset()

    found = ask(diary)

    assert found.since is None
    assert [len(section.sources) for section in found.sections] == [0, 20, 1]
    assert diary.world.client.counts["GET"] == 2 + 16


def test_of_more_sources_than_a_record_keeps_the_oldest_are_counted_only(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(section_sources, "MOST_NOTES", 3)
    diary = started()
    for letter in "cdef":
        diary.fold(letter, edited(edit("append_to_section", "## Done", 1)))

    assert diary.cited() == {
        "# Log": ([], []), DONE: ([("d", 3), ("e", 4), ("f", 5)], []), OPEN: ([], []),
    }  # fmt: skip
    assert [section.omitted for section in ask(diary).sections] == [0, 2, 1]


@given(st.lists(st.lists(st.integers(1, 30), unique=True), max_size=4))
def test_what_a_record_keeps_of_sources_is_read_as_it_was(lists: list[list[int]]):
    state: dict[tuple[str, ...], Trace] = {
        (f"# {index}",): Trace({f"2026_{number:02}": number for number in numbers}, [index])
        for index, numbers in enumerate(lists, 1)
    }

    kept = Sources.model_validate_json(Sources.of(state).model_dump_json())

    assert kept.state() == state


def test_500_notes_of_a_section_stand_in_the_record_once_each():
    notes = {f"20260220T140000_ann_progress_{number:08x}": 1 for number in range(500)}
    state: dict[tuple[str, ...], Trace] = {(f"# {index}",): Trace(dict(notes)) for index in range(50)}

    assert len(Sources.of(state).model_dump_json()) < 500 * 50 + 50 * 100


def test_a_file_of_many_sections_that_many_notes_made_keeps_a_bounded_number_of_links():
    notes = [NoteSource(note_id=f"20260220T140000_ann_progress_{number:08x}", raw="") for number in range(500)]
    content = "".join(f"## {number}\n\ntext\n\n" for number in range(1_000))
    change = FileChange(path="a.md", action="created", before=None, after=content)
    record = Record(
        number=1, run_id="r", uid="u", kind="consolidation", trigger="api", started_at=MOMENT, committed_at=MOMENT,
        notes=notes, files=[change],
    )  # fmt: skip

    state = provenance.after({}, record, change)
    kept = Sources.of(state).state()

    assert sum(len(trace.sources) for trace in kept.values()) == section_sources.MOST_LINKS
    assert sum(len(trace.sources) + trace.omitted for trace in kept.values()) == 500 * 1_000


def test_a_store_that_does_not_answer_is_no_reason_to_forget_what_a_file_rests_on():
    diary = started()
    world = diary.world
    world.new_process()

    def fail(index: int, verb: str) -> None:
        if verb == "GET" and "/_consolidations/" in world.client.requests[-1][1]:
            raise error("SlowDown", 503, "GetObject")

    world.client.before = fail
    with pytest.raises(StoreUnavailable):
        corrections.write_file(world.process, "admin", "demo", "log.md", START, None)
    world.new_process()
    world.clock.move(100)
    corrections.write_file(world.process, "admin", "demo", "log.md", START, None)

    assert [len(section.sources) for section in ask(diary).sections] == [0, 1, 1]
