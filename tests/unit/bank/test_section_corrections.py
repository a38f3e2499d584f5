"""Corrections by section: what one who may write notes may do in the bank, where the space allows it."""

import pytest

from livemem import limits
from livemem.access.principal import Principal
from livemem.bank import corrections, history
from livemem.bank.files import File
from livemem.errors import (
    Conflict,
    Forbidden,
    InvalidName,
    InvalidRequest,
    LiveMemoryError,
    NotFound,
    PreconditionLost,
    TooLarge,
)
from livemem.jobs import lease, places
from livemem.markdown.edits import Edit
from livemem.spaces import head as heads
from tests.support.cases import each
from tests.support.world import EVERYONE, World, forked

AGENT = Principal("ann", frozenset(("read", "write")), frozenset())
READER = Principal("eve", frozenset(("read",)), frozenset())
EDIT = Edit("replace_section", "## Log", "- One.\n")
LOG = "# Log\n\n## Log\n\n- one\n"


@forked
def space_with_a_bank(allowed: heads.Corrections = "write") -> World:
    world = World()
    world.create_space()
    world.note("one")
    world.consolidate()
    heads.patch(world.process, "demo", corrections=allowed)
    return world


def edit(
    world: World, *edits: Edit, principal: Principal = AGENT, path: str = "log.md", reason: str = "it was wrong"
) -> File:
    return corrections.edit_sections(world.process, principal, "demo", path, edits, reason)


def test_an_edit_changes_its_section_and_is_in_the_history_with_author_edits_and_reason():
    world = space_with_a_bank()
    new = Edit("add_section", "## Ideas", "- two")

    file = edit(world, EDIT, new)

    text = "# Log\n\n## Log\n\n- One.\n\n## Ideas\n\n- two\n"
    assert (file.path, file.content, file.consolidation, file.size) == ("log.md", text, 2, len(text))
    assert world.bank() == {"log.md": text}
    found = history.read(world.process, "demo", 2)
    assert (found.summary.kind, found.summary.author) == ("manual", "ann")
    (shown,) = found.changes
    assert (shown["action"], shown["reason"]) == ("edited", "it was wrong")
    assert shown["edits"] == [
        {"op": "replace_section", "heading": "## Log", "content": "- One.\n"},
        {"op": "add_section", "heading": "## Ideas", "content": "- two"},
    ]
    assert "-- one\n+- One.\n" in shown["diff"]
    assert lease.look(world.process, places.of_space("demo")) is None


def test_a_row_by_hand_goes_on_with_its_table_and_a_heading_that_two_fit_is_refused_with_both():
    world = space_with_a_bank()
    table = "| Day | What |\n|---|---|\n| 1 | SQS |\n"
    edit(world, Edit("replace_section", "## log", table))

    file = edit(world, Edit("append_to_section", "## **Log**", "| 2 | Go |"))

    assert file.content == f"# Log\n\n## Log\n\n{table}| 2 | Go |\n"
    edit(world, Edit("add_section", "# Log > ## `New`"), Edit("append_to_section", "# Log", "## new\n\nx"))
    with pytest.raises(InvalidRequest, match=r'2 sections match.*"# Log > ## `New`", "# Log > ## new"'):
        edit(world, Edit("delete_section", "## NEW"))


def test_an_edit_of_a_file_that_another_change_has_written_since_is_refused():
    world = space_with_a_bank()
    edit(world, EDIT)

    with pytest.raises(PreconditionLost, match="change 2"):
        corrections.edit_sections(
            world.process, AGENT, "demo", "log.md", [Edit("delete_section", "## Log")], "old", written_by=1
        )
    assert "One." in world.bank()["log.md"]
    assert lease.look(world.process, places.of_space("demo")) is None
    last = Edit("replace_section", "## Log", "- two\n")
    file = corrections.edit_sections(world.process, AGENT, "demo", "log.md", [last], "so it is", written_by=2)
    assert file.consolidation == 3


def test_the_section_shows_the_correction_beside_the_notes_that_it_rests_on():
    world = space_with_a_bank()
    edit(world, EDIT)

    _, cited = history.read_file(world.process, "demo", "log.md", at=None, sources=True)

    assert cited is not None
    found = {section.heading: section for section in cited.sections}["## Log"]
    assert found.corrections == [2]
    assert [source.consolidation for source in found.sources] == [1]


def test_it_can_be_undone():
    world = space_with_a_bank()
    edit(world, EDIT)

    world.undo(2)

    assert world.bank() == {"log.md": LOG}


@each(
    ("principal", "allowed", "may"),
    [
        (AGENT, "write", True),
        (AGENT, "admin", False),
        (EVERYONE, "write", True),
        (EVERYONE, "admin", True),
        (READER, "write", False),
    ],
)
def test_who_may_correct_is_the_spaces_choice(principal: Principal, allowed: heads.Corrections, may: bool):
    world = space_with_a_bank(allowed)

    if may:
        edit(world, EDIT, principal=principal)
    else:
        with pytest.raises(Forbidden):
            edit(world, EDIT, principal=principal)

    assert (world.bank()["log.md"] != LOG) is may


def test_who_may_not_correct_does_not_even_take_the_lease():
    world = space_with_a_bank("admin")

    with pytest.raises(Forbidden):
        edit(world, EDIT)

    assert world.client.counts == {"GET": 1}


def test_a_new_space_lets_admins_alone_correct():
    assert World().create_space().corrections == "admin"


def test_an_edit_that_does_not_fit_is_named_and_nothing_is_written():
    world = space_with_a_bank()
    before = {key: stored.body for key, stored in world.inner.objects.items() if key.startswith("demo/")}

    with pytest.raises(InvalidRequest) as refused:
        edit(world, EDIT, Edit("delete_section", "## Missing"))

    (field,) = refused.value.fields
    assert field.field == "edits.1"
    assert "## Missing" in field.message
    assert refused.value.detail.startswith("edit 2 (delete_section")
    assert {key: stored.body for key, stored in world.inner.objects.items() if key.startswith("demo/")} == before


BAD_EDITS = [
    ([], InvalidRequest, "edits"),
    ([EDIT] * (limits.CORRECTION_EDITS + 1), TooLarge, "edits"),
    ([EDIT, Edit("delete_section", " ")], InvalidRequest, "edits.1.heading"),
    ([Edit("append_to_section", "## Log", "half \ud83d")], InvalidRequest, "edits.0.content"),
    ([Edit("add_section", "## New", "x", "half \ud83d")], InvalidRequest, "edits.0.after"),
    ([Edit("append_to_section", "## Log", "x" * 500_001)], TooLarge, "edits.0.content"),
]


@each(("edits", "error", "field"), BAD_EDITS, ids=range(len(BAD_EDITS)))
def test_bad_edits_are_refused_and_named_before_anything_is_asked(
    edits: list[Edit], error: type[LiveMemoryError], field: str
):
    world = space_with_a_bank()

    with pytest.raises(error) as refused:
        edit(world, *edits)

    assert [item.field for item in refused.value.fields] == [field]
    assert world.client.counts == {}


@each(("reason", "error"), [("", InvalidRequest), ("\ud83d", InvalidRequest), ("x" * 501, TooLarge)])
def test_a_reason_is_required_and_bounded(reason: str, error: type[LiveMemoryError]):
    world = space_with_a_bank()

    with pytest.raises(error) as refused:
        edit(world, EDIT, reason=reason)

    assert [item.field for item in refused.value.fields] == ["reason"]
    assert world.client.counts == {}


@each(
    ("edits", "field"),
    [
        ([Edit("append_to_section", "## Log", "a\0b")], "edits"),
        ([Edit("append_to_section", "## Log", "x" * 499_999)], "edits"),
        ([Edit("delete_section", "# Log")], "edits"),
    ],
)
def test_a_file_that_no_bank_may_hold_is_refused(edits: list[Edit], field: str):
    world = space_with_a_bank()

    with pytest.raises(InvalidRequest) as refused:
        edit(world, *edits)

    assert [item.field for item in refused.value.fields] == [field]
    assert world.bank() == {"log.md": LOG}
    assert lease.look(world.process, places.of_space("demo")) is None


def test_edits_that_change_nothing_are_a_conflict_and_a_missing_file_is_not_found():
    world = space_with_a_bank()

    with pytest.raises(Conflict):
        edit(world, Edit("replace_section", "## Log", "- one"))
    with pytest.raises(NotFound):
        edit(world, EDIT, path="missing.md")
    with pytest.raises(InvalidName):
        edit(world, EDIT, path="_rules.md")

    assert lease.look(world.process, places.of_space("demo")) is None
    assert heads.load(world.process, "demo").meta.changes == 1


def test_a_person_may_shrink_a_file_without_further_questions():
    world = space_with_a_bank()
    edit(world, Edit("append_to_section", "## Log", "- more\n" * 1_000))

    edit(world, EDIT)

    assert world.bank() == {"log.md": "# Log\n\n## Log\n\n- One.\n"}
