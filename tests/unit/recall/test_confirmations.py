"""What still holds is confirmed without a word changed, and each answer says when it was confirmed last."""

import json

import pytest

from livemem.access.principal import Principal
from livemem.bank import corrections, history
from livemem.errors import Conflict, Forbidden, InvalidRequest
from livemem.markdown.edits import Edit
from livemem.memories import storing
from livemem.memories.memory import MemoryDraft
from livemem.recall import search, stale, start
from livemem.recall.search_request import SearchRequest
from livemem.recall.start import StartRequest
from livemem_http.views.search import SearchAnswer
from livemem_http.views.search import as_markdown as hits_as_markdown
from tests.support.cases import each
from tests.support.world import World, forked

DAY = 86_400
WRITER = Principal("ann", frozenset({"read", "write"}), frozenset())
READER = Principal("eve", frozenset({"read"}), frozenset())
LOG = "# Log\n\n## A\n\n- apples\n\n### Below\n\n- pears\n\n## B\n\n- bread\n"
A, BELOW, B = "bank/log.md#Log > A", "bank/log.md#Log > A > Below", "bank/log.md#Log > B"
OLD, NEW = "2026-02-20", "2026-05-31"


def fold(world: World, *edits: dict[str, object], said: str = "more") -> None:
    """A note and its consolidation: the whole file, or edits of it."""
    world.note(said)
    file = {"filename": "log.md", "action": "created", "content": LOG, "notes": [1]}
    if edits:
        file = {"filename": "log.md", "action": "edited", "edits": [{"notes": [1], **edit} for edit in edits]}
    world.llm.queue.append(json.dumps({"bank_files": [file], "synthesis": "x"}))
    world.consolidate()


def confirm(world: World, heading: str, by: Principal = WRITER, *more: Edit) -> None:
    corrections.edit_sections(world.process, by, "demo", "log.md", [Edit("confirm_section", heading), *more], "holds")


@pytest.fixture
def world() -> World:
    return hundred_days_old()


@forked
def hundred_days_old() -> World:
    """A space with three sections and a fact."""
    found = World()
    found.create_space(rules="Keep a log.")
    fold(found)
    storing.store(found.process, "demo", "ann", MemoryDraft("The store is S3."))
    found.clock.move(100 * DAY)
    return found


def days(world: World) -> dict[str, str]:
    """The day of each section as the list of what is stale, the start and the search give it, which is the same."""
    stale_days = {one.id: one.verified_at[:10] for one in stale.stale(world.process, "demo", days=1).items}
    parts = start.start(world.process, "demo", StartRequest()).parts
    found = {str(part.source): (part.verified_at or "")[:10] for part in parts if part.kind == "section"}
    assert {name: day for name, day in stale_days.items() if not name.startswith("memories/")} == found
    hits = search.search(world.process, "demo", SearchRequest.of("apples pears bread", scope="bank"))
    told = {hit.title: str(hit.verified_at)[:10] for hit in SearchAnswer.of(hits, explain=False).items}
    assert told == {name.removeprefix("bank/").replace("#", " > "): day for name, day in found.items()}
    return found


def test_a_person_confirms_a_section_with_what_is_below_it_and_no_word_changes(world: World):
    assert days(world) == dict.fromkeys((A, BELOW, B), OLD)

    confirm(world, "## A")
    world.clock.move(3 * DAY)

    assert days(world) == {A: NEW, BELOW: NEW, B: OLD}
    assert world.bank() == {"log.md": LOG}
    assert history.read(world.process, "demo", 2).summary.author == "ann"


def test_a_note_that_says_it_again_confirms_the_section_that_the_model_names(world: World):
    fold(world, {"op": "confirm_section", "heading": "## B"}, said="we still bake bread")
    world.clock.move(3 * DAY)

    assert days(world) == {A: OLD, BELOW: OLD, B: NEW}
    assert world.bank() == {"log.md": LOG}
    sections = history.read_file(world.process, "demo", "log.md", at=None, sources=True)[1].sections
    assert {one.heading: len(one.sources) for one in sections if one.sources} == {"## A": 1, "### Below": 1, "## B": 2}
    assert {one.heading: (one.verified_at or "")[:10] for one in sections}["## B"] == NEW


def test_a_confirmation_outlasts_later_changes_of_the_file_and_goes_with_its_undo(world: World):
    confirm(world, "## A")
    world.clock.move(DAY)
    fold(world, {"op": "append_to_section", "heading": "## B", "content": "- butter"})
    world.clock.move(3 * DAY)
    assert days(world) == {A: NEW, BELOW: NEW, B: "2026-06-01"}

    world.undo(3)
    world.undo(2)
    assert days(world) == dict.fromkeys((A, BELOW, B), OLD)
    # As a process tells it that reads all records at once.
    world.new_process()
    assert days(world) == dict.fromkeys((A, BELOW, B), OLD)


def test_the_start_and_the_search_say_so_shortly_where_the_day_is_another_one(world: World):
    assert "confirmed" not in start.start(world.process, "demo", StartRequest()).markdown
    confirm(world, "## B")
    found = start.start(world.process, "demo", StartRequest()).markdown

    assert f"#### B ({OLD}, confirmed {NEW})\n" in found
    assert f"#### A ({OLD})\n" in found
    hits = search.search(world.process, "demo", SearchRequest.of("bread S3 apples", scope="bank,memories"))
    lines = hits_as_markdown(SearchAnswer.of(hits, explain=False)).splitlines()
    (apples,) = [line for line in lines if "- apples" in line]
    # The file was written when its other section was confirmed.
    assert f"confirmed {OLD}" in apples
    assert [line for line in lines if "S3" in line and "confirmed" not in line]


def test_a_search_asks_the_store_for_nothing_more_to_know_it(world: World):
    confirm(world, "## A")
    world.clock.move(DAY)
    asked = SearchRequest.of("apples", scope="bank")
    search.search(world.process, "demo", asked)
    world.client.reset()

    hit = SearchAnswer.of(search.search(world.process, "demo", asked), explain=False).items[0]

    assert (hit.verified_at or "")[:10] == NEW
    # Live notes, bank and records are listed.
    assert world.client.counts == {"LIST": 3}


def test_who_may_write_may_confirm_but_not_correct_and_who_reads_may_do_neither(world: World):
    confirm(world, "## A")
    with pytest.raises(Forbidden):
        confirm(world, "## A", WRITER, Edit("delete_section", "## B"))
    with pytest.raises(Forbidden):
        confirm(world, "## A", READER)
    with pytest.raises(InvalidRequest, match="Missing"):
        confirm(world, "## Missing")
    assert world.bank() == {"log.md": LOG}


def test_a_second_confirmation_on_the_same_day_stores_nothing(world: World):
    def records() -> int:
        return len([key for key in world.keys("demo/_consolidations/") if key.endswith(".json")])

    before = records()
    confirm(world, "### Below")
    # Not all of this section was confirmed today.
    confirm(world, "## A")
    assert records() == before + 2
    written = world.keys("demo/")
    world.client.reset()
    for _ in range(3):
        confirm(world, "## A")
        confirm(world, "### Below")
        confirm(world, "## A", WRITER, Edit("confirm_section", "### Below"))
    assert set(world.client.counts) <= {"GET"}
    assert world.client.counts["GET"] <= 9 * 4
    assert world.keys("demo/") == written
    with pytest.raises(InvalidRequest, match="Missing"):
        confirm(world, "## A", WRITER, Edit("confirm_section", "## Missing"))

    confirm(world, "## A", WRITER, Edit("confirm_section", "## B"))
    assert records() == before + 3
    world.clock.move(3 * DAY)
    assert days(world) == {A: NEW, BELOW: NEW, B: NEW}
    confirm(world, "## A")
    assert records() == before + 4


EMPTY = "# Log\n\n## A\n\n\t \n## B\n\n### C\n\n#### D\n## E\n\n<!-- none yet -->\n\n## F\n### G\n\n- bread\n\n## Last"


@pytest.fixture
def sparse(world: World) -> World:
    """The same with a file of which most sections are empty."""
    corrections.write_file(world.process, "ann", "demo", "log.md", EMPTY, None)
    return world


@each("heading", ["## A", "## B", "### C", "# Log > ## B > ### C > #### D", "## Last"])
def test_a_section_without_a_text_can_not_be_confirmed_and_nothing_is_written(sparse: World, heading: str):
    written = sparse.keys("demo/")

    sparse.client.reset()
    with pytest.raises(InvalidRequest, match="nothing to confirm") as refused:
        confirm(sparse, heading)
    assert [one.field for one in refused.value.fields] == ["edits.0"]
    assert set(sparse.client.counts) == {"GET"}
    with pytest.raises(InvalidRequest, match="nothing to confirm") as refused:
        confirm(sparse, "### G", WRITER, Edit("confirm_section", heading))
    assert [one.field for one in refused.value.fields] == ["edits.1"]
    assert sparse.keys("demo/") == written


@each("heading", ["# Log", "## E", "## F", "### G"])
def test_a_text_below_a_section_or_a_comment_in_it_can_be_confirmed_once_a_day(sparse: World, heading: str):
    sparse.clock.move(DAY)
    confirm(sparse, heading)
    written = sparse.keys("demo/")
    confirm(sparse, heading)

    assert sparse.keys("demo/") == written


def test_a_section_that_a_correction_fills_can_be_confirmed_behind_it(sparse: World):
    admin = Principal("root", frozenset({"admin"}), frozenset())
    filled = [Edit("append_to_section", "## A", "- apples"), Edit("confirm_section", "## A")]
    corrections.edit_sections(sparse.process, admin, "demo", "log.md", filled, "it was missing")
    with pytest.raises(InvalidRequest, match="nothing to confirm"):
        corrections.edit_sections(
            sparse.process, admin, "demo", "log.md", [Edit("replace_section", "## A", " \n"), filled[1]], "out"
        )

    assert "## A\n\n- apples\n" in sparse.bank()["log.md"]


def test_a_model_that_confirms_an_empty_section_is_asked_to_mend_its_answer(sparse: World):
    edit = {"op": "confirm_section", "heading": "## A", "notes": [1]}
    bad = {"bank_files": [{"filename": "log.md", "action": "edited", "edits": [edit]}], "synthesis": "x"}
    sparse.llm.queue.append(json.dumps(bad))
    fold(sparse, {"op": "append_to_section", "heading": "## A", "content": "- quinces"}, said="quinces, too")

    assert "nothing to confirm" in sparse.llm.prompts[-1][-1]["content"]
    assert "- quinces" in sparse.bank()["log.md"]


def test_a_section_that_a_note_confirmed_today_is_not_confirmed_again_by_hand(world: World):
    fold(world, {"op": "confirm_section", "heading": "## B"}, said="we still bake bread")
    written = world.keys("demo/")
    confirm(world, "## B")

    assert world.keys("demo/") == written


def test_an_answer_that_confirms_without_a_note_changes_nothing(world: World):
    fold(
        world,
        {"op": "confirm_section", "heading": "## B", "notes": []},
        {"op": "append_to_section", "heading": "## A", "content": "- quinces"},
    )
    world.clock.move(3 * DAY)

    assert days(world) == {A: NEW, BELOW: OLD, B: OLD}


def test_the_same_fact_remembered_again_is_confirmed(world: World):
    storing.store(world.process, "demo", "bob", MemoryDraft("The store is S3."))

    hits = search.search(world.process, "demo", SearchRequest.of("store", scope="memories"))

    (hit,) = SearchAnswer.of(hits, explain=False).items
    assert (hit.verified_at or "")[:10] == NEW


def test_an_edit_that_neither_changes_nor_confirms_is_refused(world: World):
    with pytest.raises(Conflict):
        corrections.edit_sections(
            world.process,
            Principal("root", frozenset({"admin"}), frozenset()),
            "demo",
            "log.md",
            [Edit("replace_section", "## B", "- bread\n")],
            "no change",
        )
