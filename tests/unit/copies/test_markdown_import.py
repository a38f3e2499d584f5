"""A folder of Markdown files, as other tools keep it, becomes a space with a bank and a history."""

import tarfile

import pytest

from livemem import limits
from livemem.bank import citations, files, history, time_travel
from livemem.copies import importing, inspection, new_space, provisioning
from livemem.copies.new_space import SpaceCopy
from livemem.errors import InvalidArchive, LiveMemoryError, TooLarge
from livemem.spaces import rules
from livemem.spaces.head_fields import ProvisioningState
from tests.support.archives import import_it, objects, odd, tar, targz, upload
from tests.support.audit import audit
from tests.support.cases import each
from tests.support.world import EVERYONE, INVOCATION, World

CLINE = {
    "memory-bank/projectbrief.md": b"# Brief\n\nWhat we build.\n",
    "memory-bank/activeContext.md": b"# Now\n\n## Next\n\n- import\n",
    "memory-bank/features/login.md": b"# Login\n",
}
BANK = {path.removeprefix("memory-bank/"): body.decode() for path, body in CLINE.items()}


@pytest.fixture
def world():
    return World()


def objects_but_uploads(world: World) -> set[str]:
    return {key for key in world.inner.objects if not key.startswith("_uploads/")}


def refusal(world: World, members: dict[str, bytes]) -> LiveMemoryError:
    there = objects_but_uploads(world)
    with pytest.raises(LiveMemoryError) as caught:
        import_it(world, targz(members.items()))
    assert objects_but_uploads(world) == there
    return caught.value


@pytest.mark.parametrize("pack", [tar, targz])
@pytest.mark.parametrize("above", ["memory-bank/", "", "./memory-bank/", "./"])
def test_the_files_become_the_bank_with_or_without_a_folder_around_them(world, pack, above):
    folders = [odd("memory-bank/", tarfile.DIRTYPE), odd("./", tarfile.DIRTYPE)] if above else []
    members = [(path.replace("memory-bank/", above), body) for path, body in CLINE.items()]
    meta = import_it(world, pack([*folders, *members]), description="Of Cline.")
    assert world.bank("copy") == BANK
    assert (meta.description, meta.changes, meta.consolidation_count, meta.provisioning.objects) == (
        "Of Cline.",
        1,
        0,
        8,
    )
    assert world.text("copy/_rules.md") == rules.template("standard")


def test_a_bank_that_is_longer_than_a_new_one_should_be_is_not_to_be_shortened(world):
    length = world.settings.bank_chars
    taken = {
        chars: import_it(world, targz([("a.md", b"x" * (chars - 2) + "é\n".encode())]), space_id=f"of-{chars}")
        for chars in (length, length + 1)
    }

    assert {chars: meta.bank_chars for chars, meta in taken.items()} == {length: length, length + 1: 0}


def test_rules_may_be_chosen_as_for_a_new_space(world):
    import_it(world, targz(CLINE.items()), space_id="one", rules="Keep it short.")
    import_it(world, targz(CLINE.items()), space_id="two", rules_template="journal")
    assert world.text("one/_rules.md") == "Keep it short."
    assert world.text("two/_rules.md") == rules.template("journal")


def test_history_time_travel_citations_and_undo_know_the_import(world):
    import_it(world, targz(CLINE.items()))
    ((shown,), _) = history.page(world.process, "copy", limit=10, before=None)
    assert (shown.number, shown.kind) == (1, "manual")
    world.note("a decision", space_id="copy")
    world.consolidate("copy")
    then = time_travel.then(world.process, "copy", "1")
    assert (then.record.kind, then.record.author, then.record.trigger) == ("manual", "admin", "api")
    assert {file.path for file in time_travel.bank_at(world.process, "copy", then)} == set(BANK)
    assert then.record.sources_of("activeContext.md").sections[0].corrections == [1]
    cited = citations.citations(world.process, "copy", files.read(world.process, "copy", "activeContext.md"))
    assert [(section.heading, section.corrections) for section in cited.sections] == [("# Now", []), ("## Next", [1])]
    world.undo(2, "copy")
    world.undo(1, "copy")
    assert world.bank("copy") == {}
    assert audit(world.inner.objects, "copy", world.live_ids("copy")).clean()


def test_a_file_of_the_import_says_which_change_wrote_it(world):
    import_it(world, targz(CLINE.items()))
    file = files.read(world.process, "copy", "projectbrief.md")
    assert file.consolidation == 1
    assert file.record.startswith("000001_")


def test_what_systems_leave_in_folders_is_ignored(world):
    junk = {
        "memory-bank/.DS_Store": b"\0",
        "memory-bank/._projectbrief.md": b"\0\xff",
        "__MACOSX/memory-bank/x.md": b"\0",
        "memory-bank/.gitkeep": b"",
    }
    import_it(world, targz({**junk, **CLINE}.items()))
    assert world.bank("copy") == BANK


def test_names_are_made_those_of_bank_files(world):
    import_it(world, targz([("memory-bank/a\u2011b.md", b"# A\n"), ("memory-bank/bank/c.md", b"# C\n")]))
    assert set(world.bank("copy")) == {"a-b.md", "c.md"}


def test_front_matter_is_left_out_and_so_are_empty_files_and_the_record_says_so(world):
    files = {"a.md": b'---\ntitle: "A"\n---\n\n# A\n', "b.md": b" \n", "c.md": "\ufeff---\nx: 1\n---\n# C\n".encode()}
    import_it(world, targz(files.items()))
    assert world.bank("copy") == {"a.md": "# A\n", "c.md": "# C\n"}
    warnings = time_travel.then(world.process, "copy", "1").record.warnings
    assert {warning.kind for warning in warnings} == {"import"}
    assert [warning.text for warning in warnings] == [
        "The front matter of a.md was left out: bank files are plain Markdown.",
        "b.md was left out: it is empty.",
        "The front matter of c.md was left out: bank files are plain Markdown.",
    ]


@each(
    ("members", "reason"),
    [
        ({"m/a.md": b"x", "m/logo.png": b"\x89PNG"}, r"'m/logo\.png' is not a Markdown"),
        ({"m/a.MD": b"x"}, "no space and no Markdown"),
        ({"m/active context.md": b"x"}, "only A-Z"),
        ({"m/_a.md": b"x", "b.md": b"y"}, r"'m/_a\.md'|b\.md"),
        ({"a-b.md": b"x", "a\u2011b.md": b"y"}, r"same name in the bank as 'a-b\.md'"),
        ({"a.md": b"\xff"}, "not UTF-8"),
        ({"a.md": b"a\0b"}, "NUL"),
        ({"a.md": b"---\nno front matter\n"}, "begins with `---`"),
        ({"a.md": b"---\na: 1\n---\n---\nb: 1\n"}, "begins with `---`"),
        ({"a.md": b"---\na: &x [1]\nb: *x\n---\n# A\n"}, "begins with `---`"),
        ({"a.md": b" ", "b.md": b""}, "All Markdown files of the archive are empty"),
    ],
)
def test_what_can_not_be_a_bank_is_refused_by_name(world, members, reason):
    if "m/_a.md" in members:
        members = {"m/x/a.md": b"x", "m/_a.md": b"x"}
    error = refusal(world, members)
    assert isinstance(error, InvalidArchive)
    with pytest.raises(InvalidArchive, match=reason):
        raise error


def test_a_bank_has_its_limits(world, monkeypatch):
    assert isinstance(refusal(world, {"a.md": b"x" * (limits.BANK_FILE_BYTES + 1)}), TooLarge)
    monkeypatch.setattr(importing, "FILES", 2)
    assert isinstance(refusal(world, CLINE), TooLarge)
    monkeypatch.setattr(inspection, "TEXT_BYTES", 30)
    assert isinstance(refusal(world, dict(list(CLINE.items())[:2])), TooLarge)


def test_whoever_goes_on_with_it_writes_the_same(world):
    wanted = SpaceCopy("copy", upload_ids=[upload(world, targz(CLINE.items()))])
    head = importing.order(world.process, EVERYONE, wanted, world.clock() + INVOCATION)
    brought = importing.provision(world.process, head, world.clock() + INVOCATION)
    first = objects(world, "copy")
    world.clock.move(3_600)
    world.new_process()
    assert importing.provision(world.process, head, world.clock() + INVOCATION) == brought
    assert objects(world, "copy") == first
    assert provisioning.carry_on(world.process, head, world.clock() + INVOCATION)
    state = new_space.load(world.process, "copy").provisioning
    assert isinstance(state, ProvisioningState)
    assert state.ended()
