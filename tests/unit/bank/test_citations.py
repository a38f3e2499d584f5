"""Which notes each section of a file rests on, from the records, following later edits of that section."""

import json
from typing import Any

import pytest

from livemem.bank import corrections, history
from livemem.errors import NotFound
from livemem.store import keys
from tests.support.world import World

START = "# Log\n\n## Done\n\n- start\n\n## Open\n\n- question\n"


class Diary:
    """A space whose notes go where the test says, with short names for notes."""

    def __init__(self) -> None:
        self.world = World()
        self.world.create_space()
        self.names: dict[str, str] = {}

    def fold(self, notes: str, *files: dict[str, Any], discarded: tuple[int, ...] = ()) -> None:
        """Write one note for each letter of `notes` and fold them all by the given answer."""
        for letter in notes:
            self.world.clock.move(1)
            self.names[self.world.note(letter).note_id] = letter
        gone = [{"note": number, "reason": "no use"} for number in discarded]
        self.world.llm.queue.append(json.dumps({"bank_files": files, "synthesis": "x", "discarded": gone}))
        run = self.world.consolidate()
        assert run.status == "ok", run.error

    def cited(self, path: str = "log.md") -> dict[str, tuple[list[tuple[str, int]], list[int]]]:
        """By section path: the notes with their consolidations, and the corrections."""
        _, found = history.read_file(self.world.process, "demo", path, at=None, sources=True)
        assert found is not None
        return {
            " > ".join(item.path): (
                [(self.names[source.note_id], source.consolidation) for source in item.sources], item.corrections,
            )
            for item in found
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
    diary.world.inner.put_object(Bucket="b", Key=keys.bank_file("demo", "own.md"), Body=b"before\n\n# Own\n\ntext\n")

    assert diary.cited("own.md") == {"": ([], []), "# Own": ([], [])}


def test_text_before_the_first_heading_is_a_section_without_a_heading():
    diary = Diary()

    diary.fold("a", created("Intro.\n\n# Log\n\ntext\n"))

    assert diary.cited() == {"": ([("a", 1)], []), "# Log": ([("a", 1)], [])}


def test_a_heading_in_a_code_fence_is_no_section():
    diary = Diary()

    diary.fold("a", created("# Log\n\n```md\n## Not a section\n```\n"))

    assert list(diary.cited()) == ["# Log"]


@pytest.mark.parametrize("content", ["- " * 60 + "deep\n", "> " * 100 + "# deep\n", ">" * 38 + "a\n" + "b\n" * 9_000])
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
    assert not [key for _, key in diary.world.client.requests if key.startswith(keys.records_prefix("demo"))]
