"""Spaces of chrlesur/live-memory come here with their notes, bank, rules and synthesis, and without their tokens."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_memory.cli.imports import buckets, detection, oldnotes, running
from live_memory.cli.imports.running import Order
from live_memory.cli.imports.unfit import BadPart, BadSource
from livemem.bank import citations, files, history, paths, synthesis, time_travel
from livemem.notes import note as notes
from livemem.notes import pages
from livemem.store import keys
from tests.support.archives import import_it, tar, targz
from tests.support.audit import audit
from tests.support.sources import OLD_META, OLD_SPACE, old_bucket, old_note, write
from tests.support.world import World


def packed(path, name=None, *, threshold=30):
    """The archives of all spaces of a source, by id, with their reports."""
    source = detection.look(path)
    assert source.kind == "bucket"
    made = {}
    for space in buckets.spaces(source):
        space_id = buckets.name_of(space, name)
        target = io.BytesIO()
        report = buckets.pack(source, space, space_id, target, "admin", threshold)
        made[space_id] = (target.getvalue(), report)
    return made


def brought(path, name="alpha", **options):
    """A world with the one space of a source, and the report."""
    world = World()
    body, report = packed(path, name, **options)[name]
    assert import_it(world, body, space_id=name)
    return world, report


@pytest.fixture
def alpha(tmp_path):
    return write(tmp_path / "alpha", OLD_SPACE)


def listed(world, space_id="alpha"):
    found = pages.page(world.process, space_id, pages.NotesFilter(), limit=100)
    return {note.note_id: note for note in found.items}


def test_notes_keep_their_names_times_categories_tags_and_words(alpha):
    world, report = brought(alpha)
    first = listed(world)["20260220T140000_cline-dev_decision_a1b2c3d4"]
    assert (first.agent, first.category, first.tags) == ("cline-dev", "decision", ("auth", 'a "quoted" one'))
    assert (first.timestamp[:19], first.content) == ("2026-02-20T14:00:00", "We take S3.")
    assert not first.malformed
    assert report.notes == 2


def test_an_agent_with_an_underscore_gets_a_hyphen(alpha):
    world, report = brought(alpha)
    assert listed(world)["20260220T140130_claude-code_todo_e5f6a7b8"].content == "Write tests.\n\n---\n\nSoon."
    assert report.agents == ["claude-code", "cline-dev"]


def test_bank_rules_and_synthesis_come_and_the_history_begins_with_them(alpha):
    world, report = brought(alpha)
    assert world.bank("alpha") == {
        "activeContext.md": "# Now\n\n## Next\n\n- import\n",
        "personas/buyer.md": "# Buyer\n",
    }
    assert world.text("alpha/_rules.md") == OLD_SPACE["_rules.md"]
    assert synthesis.read_synthesis(world.process, "alpha").content == "## Synthesis\n\nS3."
    (entry,) = history.page(world.process, "alpha", limit=10, before=None)[0]
    assert (entry.number, entry.kind, entry.author) == (1, "manual", "admin")
    assert (report.bank_files, report.rules, report.synthesis) == (2, True, True)


def test_the_head_keeps_what_it_says_of_the_space_and_no_token(alpha):
    world, report = brought(alpha, threshold=7)
    meta = json.loads(world.text("alpha/_meta.json"))
    kept = {name: meta[name] for name in ("description", "owner", "created_at", "last_consolidation")}
    wanted = {name: OLD_META[name] for name in ("description", "owner")}
    times = {"created_at": "2026-02-20T14:00:00Z", "last_consolidation": "2026-02-21T16:00:00Z"}
    assert kept == {**wanted, **times}
    assert (meta["consolidation_threshold"], meta["folded_until"], meta["changes"]) == (7, "", 1)
    assert not any(b"gm_secret" in stored.body for stored in world.inner.objects.values())
    assert report.not_taken == {
        "connections to a graph memory, with their tokens": 1,
        "fields of the space: consolidation_count": 1,
        "fields of the space: total_notes_processed": 1,
        "fields of the space: version": 1,
    }


def test_what_came_is_a_space_in_which_nothing_is_wrong_and_which_consolidates(alpha):
    world, _ = brought(alpha)
    notes_of = set(world.live_ids("alpha"))
    assert world.consolidate("alpha").status == "done"
    assert not world.live_ids("alpha")
    world.undo(2, "alpha")
    assert set(world.live_ids("alpha")) == notes_of
    world.settle()
    assert str(audit(world.inner.objects, "alpha", notes_of)) == "clean"


def test_the_bank_of_then_can_be_read_and_what_is_new_in_it_is_traced(alpha):
    world, _ = brought(alpha)
    world.consolidate("alpha")
    then = time_travel.bank_at(world.process, "alpha", time_travel.then(world.process, "alpha", "1"), content=True)
    assert {file.path: file.content for file in then}["activeContext.md"] == "# Now\n\n## Next\n\n- import\n"
    # Without sources of its own, later changes of these files would have none either.
    (key,) = world.keys("alpha/_consolidations/000001")
    assert all(change.get("sources") is not None for change in json.loads(world.text(key))["files"])
    bank = {file.path: file for file in files.listing(world.process, "alpha", content=True)}
    cited = [citations.citations(world.process, "alpha", file) for file in bank.values()]
    assert {source.note_id for one in cited for section in one.sections for source in section.sources}


def test_each_space_of_a_bucket_becomes_one_and_nothing_else_of_it_is_read(tmp_path):
    bucket = old_bucket(tmp_path / "bucket")
    (bucket / "_system" / "tokens.json").chmod(0)
    made = packed(bucket)
    assert sorted(made) == ["alpha", "beta"]
    assert [made[name][1].notes for name in ("alpha", "beta")] == [2, 0]
    world = World()
    for name, (body, _) in made.items():
        assert import_it(world, body, space_id=name)
    assert world.bank("beta") == {}
    assert json.loads(world.text("beta/_meta.json"))["changes"] == 0


@pytest.mark.parametrize("above", ["alpha/", ""])
@pytest.mark.parametrize("pack", [tar, targz])
def test_its_own_export_comes_the_same_way(tmp_path, pack, above):
    path = tmp_path / "export.tar.gz"
    path.write_bytes(pack([(above + name, text.encode()) for name, text in reversed(OLD_SPACE.items())]))
    world, report = brought(path, "renamed")
    assert (report.notes, len(world.live_ids("renamed"))) == (2, 2)
    assert {note.space_id for note in listed(world, "renamed").values()} == {"renamed"}
    assert b'space_id: "renamed"' in world.text(f"renamed/live/{world.live_ids('renamed')[0]}.md").encode()


def test_the_same_bucket_makes_the_same_archives(tmp_path):
    bucket = old_bucket(tmp_path / "bucket")
    assert [body for body, _ in packed(bucket).values()] == [body for body, _ in packed(bucket).values()]


def test_notes_whose_names_would_be_the_same_are_kept_apart(alpha):
    for agent in ("a_b", "a.b", "a b"):
        write(alpha, {f"live/20260220T140000_{agent}_todo_a1b2c3d4.md": old_note(agent, "todo", agent)})
    world, _ = brought(alpha)
    assert {note.content for note in listed(world).values()} >= {"a_b", "a.b", "a b"}


def test_a_bank_file_with_front_matter_keeps_it_as_a_block_of_code(alpha):
    write(alpha, {"bank/a.md": "---\ntitle: A\n---\n# A\n", "bank/b.md": "---\n# B\n"})
    world, report = brought(alpha)
    assert world.bank("alpha")["a.md"] == "```yaml\ntitle: A\n```\n\n# A\n"
    assert world.bank("alpha")["b.md"] == "\n---\n# B\n"
    assert report.changed[-2:] == [
        "a.md has its front matter as a block of code.",
        "b.md got an empty first line, because it begins with `---`.",
    ]


def test_a_note_that_is_too_large_becomes_several_that_hold_all_of_it(alpha):
    content = "".join(f"{number:07} é\n" for number in range(30_000))
    write(alpha, {"live/20260220T150000_cline_insight_ffffffff.md": old_note("cline", "insight", content)})
    world, report = brought(alpha)
    parts = sorted((n for n in listed(world).values() if n.agent == "cline"), key=lambda note: note.content)
    assert "".join(note.content for note in parts) == content
    assert all(note.size <= oldnotes.NOTE_BYTES for note in parts)
    assert any("several notes" in line for line in report.changed)


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("live/20260220T140000_x_todo_a1b2c3d4.md", "", "is empty"),
        ("live/whenever.md", "Said some time.", "when it was written"),
        ("bank/big.md", "x" * 500_001, "at most 500000"),
        ("bank/nul.md", "a\0b", "NUL"),
        ("bank/latin.md", "\xe9".encode("latin-1"), "UTF-8"),
        ("bank/.md/x.md", "x", "x.md"),
        ("_synthesis.md", "x" * 50_001, "at most 50000"),
        ("_rules.md", "x" * 50_001, "at most 50000"),
    ],
)
def test_what_is_unfit_is_told_and_left_out_and_the_rest_comes(alpha, name, text, told):
    write(alpha, {name: text})
    world, report = brought(alpha)
    whole = " ".join(report.left_out + report.changed)
    assert told in whole or name.startswith("bank/.md")
    assert "activeContext.md" in world.bank("alpha")


@pytest.mark.parametrize("meta", ["", "[]", "[" * 100_000, '"x"', "{", "\0", '{"a": 1' + "0" * 10_000 + "}"])
def test_a_head_that_is_none_is_refused(tmp_path, meta):
    with pytest.raises(BadSource, match="not a valid space record"):
        packed(write(tmp_path, {"alpha/_meta.json": meta}))


@given(
    st.dictionaries(
        st.sampled_from(
            ["space_id", "description", "owner", "created_at", "last_consolidation", "total_notes_processed"]
        ),
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats()
        | st.text(max_size=700)
        | st.lists(st.text(), max_size=2),
    )
)
def test_a_head_may_say_what_it_likes_and_the_service_takes_what_is_made_of_it(tmp_path_factory, meta):
    path = write(tmp_path_factory.mktemp("bucket"), {"alpha/_meta.json": json.dumps(meta), "alpha/bank/a.md": "# A\n"})
    world, _ = brought(path)
    assert world.bank("alpha") == {"a.md": "# A\n"}


@pytest.mark.parametrize(("name", "count"), [("", 2), ("alpha", 0)])
def test_files_that_belong_to_no_space_are_counted_once(tmp_path, name, count):
    order = Order(old_bucket(tmp_path / "bucket") / name)
    with running.packed(running.look(order), order) as parcels:
        counted = [parcel.report.not_taken["files outside of spaces"] for parcel in parcels]
    assert counted == [count, *[0] * (len(parcels) - 1)]


def test_a_copy_of_a_bucket_of_this_service_is_no_such_bucket(tmp_path):
    world = World()
    world.create_space("demo")
    world.note("one")
    for key, stored in world.inner.objects.items():
        write(tmp_path, {key: stored.body})
    with pytest.raises(BadSource, match="export the space"):
        packed(tmp_path)


TEXTS = st.text(max_size=80)


@given(agent=TEXTS, tags=st.lists(TEXTS, max_size=30), content=TEXTS.filter(str.strip), category=TEXTS)
def test_whatever_a_note_says_the_service_reads_it_as_a_whole_note(agent, tags, content, category):
    raw = old_note(agent.replace('"', ""), category.replace('"', ""), content, tags).encode("utf-8", "replace")
    try:
        made = oldnotes.read("20260220T140000_x_todo_a1b2c3d4", raw)
    except BadPart:
        return
    name = keys.parse_note_id(made.note_id)
    found = notes.parse_note("alpha", name, made.body("alpha"))
    assert not found.malformed
    assert (found.agent, list(found.tags), found.content) == (made.agent, list(made.tags), made.content)


@given(st.binary(max_size=300), st.text(max_size=60))
def test_whatever_a_file_holds_it_is_a_note_or_told_to_be_none(raw, name):
    try:
        made = oldnotes.read(name, raw)
    except BadPart:
        return
    assert keys.parse_note_id(made.note_id).note_id == made.note_id
    assert not notes.parse_note("alpha", keys.parse_note_id(made.note_id), made.body("alpha")).malformed


@given(st.text(max_size=60) | st.from_regex(r"[a-z_./\-]{0,20}\.md", fullmatch=True))
def test_a_bank_file_gets_a_name_that_the_service_takes(path):
    try:
        name = oldnotes.bank_path(path, {})
    except BadPart:
        return
    paths.check_bank_path(name)
