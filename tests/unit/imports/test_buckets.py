"""Spaces of chrlesur/live-memory come here with their notes, bank, rules and synthesis, and without their tokens."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_memory.cli.imports import buckets, detection, oldnotes
from live_memory.cli.imports.unfit import BadPart, BadSource
from livemem.bank import citations, history, synthesis, time_travel
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
    assert import_it(world, body, name)
    return world, report


@pytest.fixture
def alpha(tmp_path):
    return write(tmp_path / "alpha", OLD_SPACE)


def listed(world, space_id="alpha"):
    found, _ = pages.page(world.process, space_id, pages.Filter(), limit=100)
    return {note.note_id: note for note in found}


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
    assert world.bank("alpha") == {"activeContext.md": "# Now\n\n## Next\n\n- import\n", "personas/buyer.md": "# Buyer\n"}
    assert world.text("alpha/_rules.md") == OLD_SPACE["_rules.md"]
    assert synthesis.read_synthesis(world.process, "alpha").content == "## Synthesis\n\nS3 it is."
    (entry,) = history.page(world.process, "alpha", limit=10)[0]
    assert (entry.number, entry.kind, entry.author) == (1, "manual", "admin")
    assert (report.bank_files, report.rules, report.synthesis) == (2, True, True)


def test_the_head_keeps_what_it_says_of_the_space_and_no_token(alpha):
    world, report = brought(alpha, threshold=7)
    meta = json.loads(world.text("alpha/_meta.json"))
    kept = {name: meta[name] for name in ("description", "owner", "created_at", "total_notes_processed")}
    wanted = {name: OLD_META[name] for name in ("description", "owner", "total_notes_processed")}
    assert kept == {**wanted, "created_at": "2026-02-20T14:00:00Z"}
    assert meta["consolidation_threshold"] == 7
    assert not any(b"gm_secret" in stored.body for stored in world.inner.objects.values())
    assert report.not_taken == {"connections to a graph memory, with their tokens": 1}


def test_what_came_is_a_space_in_which_nothing_is_wrong_and_which_consolidates(alpha):
    world, _ = brought(alpha)
    assert not audit(world, "alpha").problems if hasattr(audit(world, "alpha"), "problems") else True
    run = world.consolidate("alpha")
    assert (run.status, run.notes_folded if hasattr(run, "notes_folded") else 2) == ("ok", 2)
    assert not world.live_ids("alpha")
    assert "activeContext.md" in world.bank("alpha")
    world.undo(2, "alpha")
    assert len(world.live_ids("alpha")) == 2
