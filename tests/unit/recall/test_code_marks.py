"""Marks for what was written on another branch: in a start, a search, a context and what is read. None for others."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livemem.bank import corrections
from livemem.markdown.edits import Edit
from livemem.notes import appending
from livemem.notes.appending import NoteDraft
from livemem.recall import by_id, code_marks, message_context, start
from livemem.recall import search as searching
from livemem.recall.by_id import ReadRequest
from livemem.recall.search_request import SearchRequest
from livemem.recall.start import StartRequest
from livemem.search.documents import BANK, Document
from livemem.search.engine import Hit
from livemem.text.code_version import UNKNOWN, CodeVersion, line_key
from tests.support.world import EVERYONE, World, forked

MAIN = CodeVersion("forge.example.org/ferry", "main", "00000000000a")
THERE = replace(MAIN, branch="feature/x", commit="00000000000b")
ELSEWHERE = replace(MAIN, repository="forge.example.org/other")
MARK = " (on feature/x as of 00000000000b)"
HERE, OTHER = "The ferry import tries three times.", "The timetable parser reads `kiel.csv` in one pass."


@forked
def two_branches() -> World:
    found = World()
    found.create_space(rules="# Log")
    noted(found, HERE, MAIN)
    noted(found, OTHER, THERE)
    return found


@pytest.fixture
def world() -> World:
    return two_branches()


def noted(world: World, content: str, code: CodeVersion) -> None:
    world.pass_time(1)
    appending.append(world.process, "demo", "ann", NoteDraft("decision", content, code=code))


def started(world: World, reader: CodeVersion = MAIN, **wanted: object) -> str:
    return start.start(world.process, "demo", StartRequest(reader=reader, **wanted)).markdown  # type: ignore[arg-type]


def found(world: World, reader: CodeVersion = MAIN) -> str:
    request = replace(SearchRequest.of("timetable parser"), reader=reader)
    hits = map(code_marks.shown, searching.search(world.process, "demo", request).hits)
    return "\n".join(hit.document.text[slice(*hit.snippet)] for hit in hits)


def known(world: World, reader: CodeVersion = MAIN) -> str:
    return message_context.context(world.process, "demo", "How does the timetable parser read?", reader=reader).markdown


@pytest.mark.parametrize("is_folded", [False, True], ids=["live", "folded"])
@pytest.mark.parametrize("look", [started, found, known])
def test_what_is_of_another_branch_is_marked_for_who_works_on_one_and_for_nobody_else(world, look, is_folded):
    if is_folded:
        world.consolidate()

    told = look(world)

    assert f"{OTHER}{MARK}" in told
    assert f"{HERE}{MARK}" not in told
    assert "(on main" not in told
    for reader in (UNKNOWN, THERE, ELSEWHERE):
        assert MARK not in look(world, reader)
    if look is started:
        assert f"{HERE} (on main as of 00000000000a)" in look(world, THERE)


def test_a_line_that_a_search_shows_in_part_has_its_mark_behind_that_part():
    world = World()
    world.create_space(rules="# Log")
    long = f"The timetable parser reads {', '.join(f'quay {number}' for number in range(200))}"
    noted(world, long, THERE)
    for _ in range(2):
        shown = found(world)
        assert shown.endswith(MARK)
        assert MARK not in shown.removesuffix(MARK)
        assert len(shown) < len(long)
        asked = "How does the timetable parser read quay 7?"
        (item,) = message_context.context(world.process, "demo", asked, clear=True, reader=MAIN).items
        assert item.text.endswith(MARK)
        assert len(item.text) < len(long)
        world.consolidate()


def test_a_start_with_marks_keeps_to_its_characters(world):
    for number in range(40):
        noted(world, f"Harbour {number} has {number + 2} cranes and a depth of {number + 5} metres at low tide.", THERE)
    for _ in range(2):
        told = started(world, max_chars=2_000)
        assert len(told) <= 2_000
        assert MARK in told
        world.consolidate()


def test_what_is_read_is_marked_and_other_reads_ask_no_more(world):
    note_id = world.live_ids()[-1]

    def read(name: str, reader: CodeVersion) -> str:
        content = by_id.read(world.new_process(), "demo", ReadRequest.of(name, reader=reader)).content
        return content if isinstance(content, str) else content.content  # type: ignore[union-attr]

    assert read(note_id, MAIN) == f"{OTHER}{MARK}"
    assert read(note_id, THERE) == OTHER
    world.consolidate()
    counts = {}
    for name in ("bank/log.md", "bank/log.md#Log > Log"):
        for reader in (UNKNOWN, MAIN):
            world.client.reset()
            assert (f"- {OTHER}{MARK}\n" in read(name, reader) + "\n") == (reader == MAIN)
            counts[name, reader] = len(world.client.requests)
    assert counts["bank/log.md", MAIN] == counts["bank/log.md", UNKNOWN] + 1
    assert counts["bank/log.md#Log > Log", MAIN] == counts["bank/log.md#Log > Log", UNKNOWN]


@pytest.mark.parametrize("look", [started, found, known])
def test_marks_ask_the_store_nothing_more(world, look):
    world.consolidate()
    counts = []
    for reader in (UNKNOWN, MAIN):
        world.new_process()
        look(world, reader)
        counts.append(len(world.client.requests))
    assert counts[0] == counts[1]


def answering(*edits: dict[str, object]):
    """A model that changes lines of the log."""

    def answer(prompt):
        numbers = [note["number"] for note in prompt["notes"]]
        batch = [{"notes": numbers, "heading": "## Log", **edit} for edit in edits]
        file = {"filename": "log.md", "action": "edited", "edits": batch}
        return json.dumps({"bank_files": [file], "synthesis": "Changed."})

    return answer


def test_a_line_keeps_its_mark_until_a_note_of_the_own_branch_writes_it_and_gets_it_back_by_an_undo(world):
    world.consolidate()
    noted(world, "The parser is in review.", MAIN)
    world.llm.default = answering({"op": "append_to_section", "content": "- The parser is in review."})
    world.consolidate()
    assert started(world).count(MARK) == 1

    noted(world, "Merged: the timetable parser reads kiel.csv in one pass.", MAIN)
    merged = "- The timetable parser reads `kiel.csv` in one pass since Monday."
    world.llm.default = answering({"op": "replace_line", "line": f"- {OTHER}", "content": merged})
    world.consolidate()
    assert merged in started(world)
    assert MARK not in started(world)

    world.undo(3)
    assert f"{OTHER}{MARK}" in started(world)


def test_a_line_in_other_words_keeps_its_mark_and_one_by_a_person_has_none(world):
    world.consolidate()
    noted(world, "Shorter, please.", MAIN)
    shorter = "- Timetable parser: reads `kiel.csv` in one pass."
    world.llm.default = answering(
        {"op": "replace_line", "line": f"- {OTHER}", "content": shorter, "notes": []},
        {"op": "append_to_section", "content": "- Shorter."},
    )
    world.consolidate()
    assert f"{shorter}{MARK}" in started(world)

    by_hand = "- Timetable parser: reads `kiel.csv` in one pass, on main too."
    edits = [Edit("replace_line", "## Log", by_hand, line=shorter)]
    corrections.edit_sections(world.process, EVERYONE, "demo", "log.md", edits, "It is merged.")
    assert by_hand in started(world)
    assert MARK not in started(world)


LINES = st.lists(st.sampled_from(["- a b", "| a | b |", "", "# a", "text", "  - c "]), max_size=6)


@given(LINES, st.data())
def test_marks_move_the_ranges_of_a_hit_and_change_nothing_else(lines, data):
    text = "\n".join(lines)
    start_at = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start_at, len(text)))
    marks = sorted(dict.fromkeys(data.draw(st.lists(st.integers(0, len(text)))), MARK).items())
    document = Document("log.md", BANK, text, "log.md", "0")
    hit = Hit(document, 1.0, (start_at, end), [(0, end - start_at)] if end > start_at else [], marks=marks)

    shown = code_marks.shown(hit)

    assert shown.document.text.replace(MARK, "") == text
    if end:
        snippet = shown.document.text[slice(*shown.snippet)]
        assert snippet.replace(MARK, "") == text[start_at:end]
        for first, last in shown.highlights:
            assert snippet[first:last].replace(MARK, "") == text[start_at:end]


def test_a_row_of_a_table_is_marked_within_its_last_cell():
    row = "| parser | in one pass |"
    assert code_marks.marked(row, {line_key(row): THERE}, MAIN) == f"| parser | in one pass{MARK} |"
