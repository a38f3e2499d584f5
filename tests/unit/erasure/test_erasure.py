"""Erasing notes from a space that has everything: what goes, what stays, and what the receipt says."""

import gzip
import json
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256

import pytest

from livemem.access.principal import Principal
from livemem.bank import corrections, history
from livemem.changes import late_write_repair
from livemem.copies import catalog, taking
from livemem.copies import manifest as manifests
from livemem.erasure import erasure, occurrences
from livemem.erasure import receipts as kept_receipts
from livemem.errors import Busy, InvalidName, InvalidRequest, NotFound
from livemem.jobs import job as jobs
from livemem.jobs import lease as leases
from livemem.jobs import places, worker
from livemem.jobs.receipt import Receipt
from livemem.notes import pages
from livemem.notes.appending import NoteDraft, append
from livemem.notes.idempotency import append_once
from livemem.notes.note import CopiedFrom
from livemem.spaces import due_index, lifecycle
from livemem.spaces import head as heads
from livemem.spaces.head_fields import Erasing
from livemem.store import keys
from livemem.store.bucket import BACKUP_MANIFEST, BACKUP_OBJECT, DISPLACED, ERASURE, EXPORT, EXPORT_STATE, LEASE, NOTE
from livemem.upkeep import job_lookup
from livemem.upkeep.job_lookup import JobFilter
from tests.support.archives import export_now
from tests.support.audit import audit, records_of
from tests.support.bucket import error
from tests.support.erased import come_to_end, damaged_backups, left_of, receipts
from tests.support.world import EVERYONE, INVOCATION, World

SECRET = "Alice lives in Paris with her two cats"
TAG = "alice-from-paris"
OTHERS = "Build 4711 is green again"


@pytest.fixture
def world() -> World:
    found = World()
    found.inner.versioned = True
    found.create_space()
    return found


def erase(world: World, note_id: str, **parts):
    deadline = world.clock() + parts.pop("within", INVOCATION)
    return erasure.erase(world.process, parts.pop("by", EVERYONE), "demo", [note_id], deadline)


def erase_agent(world: World, agent: str):
    return erasure.erase(world.process, EVERYONE, "demo", [], world.clock() + INVOCATION, agent=agent)


def note(world: World, content: str, agent: str = "ann", tags: tuple[str, ...] = ()) -> str:
    world.clock.move(1)
    return append(world.process, "demo", agent, NoteDraft("progress", content, tags)).note_id


def passed_on(world: World, source: str) -> str:
    """A note of another space that passes this one on."""
    world.create_space("team")
    draft = NoteDraft("progress", "She has moved.", source=CopiedFrom("demo", source))
    return append(world.process, "team", "bob", draft).note_id


def receipt_for(world: World, receipt: Receipt, caller: Principal) -> Receipt:
    return kept_receipts.described(world.process, caller, "demo", receipt.job_id).result


def everything(world: World) -> tuple[str, str]:
    """A space with every kind of object that can hold a note's text; the note's id and another one's."""
    first, _ = append_once(world.process, "demo", "ann", NoteDraft("progress", f"{SECRET}.", (TAG,)), "key")
    other = note(world, OTHERS, "bob")
    world.back_up()
    world.clock.move(60)
    world.consolidate(dry_run=True)
    content = f"# Log\n\n- {SECRET}.\n"
    file = {"filename": "log.md", "action": "created", "content": content, "notes": [1, 2]}
    world.llm.queue += 2 * [json.dumps({"bank_files": [file], "synthesis": f"It is said: {SECRET}."})]
    world.consolidate()
    world.clock.move(60)
    world.back_up()
    world.undo(1)
    world.consolidate()
    corrections.write_file(world.process, "admin", "demo", "people.md", f"# People\n\n{SECRET}.\n", "she said so")
    world.store.put(DISPLACED.key("demo", "0" * 26, "log.md"), f"old: {SECRET}".encode())
    world.store.put("demo/conversations/c1/turns.json", json.dumps({"turns": [{"text": SECRET}]}).encode())
    world.store.put("demo/photo.bin", b"\xff\xfe" + SECRET.encode() + b"\xff")
    world.clock.move(60)
    world.back_up()
    world.inner.put_object(
        Bucket="", Key=EXPORT.key("demo", "2026-02-20T14-00-02", 1), Body=gzip.compress(SECRET.encode())
    )
    world.clock.move(3_000)
    return first.note_id, other


def test_nothing_of_an_erased_note_is_left_in_a_space_that_has_everything(world):
    note_id, other = everything(world)
    assert len(list(left_of(world, SECRET))) > 20

    receipt = erase(world, note_id)

    assert receipt.status == "done"
    for text in (SECRET, TAG):
        assert list(left_of(world, text)) == []
    assert not world.keys("_exports/")
    assert not world.keys("demo/_idempotency/")
    world.store.delete(DISPLACED.key("demo", "0" * 26, "log.md"))
    assert audit(world.inner.objects, "demo", [note_id, other]).clean()


def test_the_receipt_tells_what_was_erased_and_nothing_of_what_it_said(world):
    note_id, _ = everything(world)
    quoting = note(world, f"Bob says: {SECRET}!", "bob")

    receipt = erase(world, note_id)

    assert receipt.counts["versions"] > 10
    assert {kind: number for kind, number in receipt.counts.items() if kind != "versions"} == {
        "archives": 1,
        "backups": 3,
        "bank_files": 3,
        "idempotency": 1,
        "other": 2,
        "records": 4,
        "runs": 2,
    }
    assert receipt.files == ["_synthesis.md", "log.md", "people.md"]
    assert receipt.quoted_in == [quoting]
    assert [(section.path, section.heading) for section in receipt.sections] == [("log.md", "# Log")]
    assert receipt.versions == "removed"
    stored = world.text(ERASURE.key("demo", receipt.job_id))
    assert not any(text in stored for text in (SECRET, TAG))
    assert kept_receipts.view(world.process, "demo", receipt.job_id) == receipt


def test_what_others_wrote_stays_byte_for_byte(world):
    note_id, _ = everything(world)
    quoting = note(world, f"Bob says: {SECRET}!", "bob")
    before = world.text(NOTE.key("demo", quoting))
    sources = [source for record in records_of(world.inner.objects, "demo") for source in record.notes]

    erase(world, note_id)

    after = [source for record in records_of(world.inner.objects, "demo") for source in record.notes]
    assert world.text(NOTE.key("demo", quoting)) == before
    assert [source for source in after if source.note_id != note_id] == [
        source for source in sources if source.note_id != note_id
    ]


def test_history_undo_and_time_travel_go_on_after_an_erasure(world):
    note_id, other = everything(world)

    erase(world, note_id)
    past = history.bank(world.process, "demo", at="1", content=True)
    world.undo(4)
    world.undo(3)

    assert [file.content for file in past] == ["# Log\n\n- [erased].\n"]
    assert set(world.live_ids()) == {note_id, other}
    assert "Erased on 2026-02-20." in world.text(NOTE.key("demo", note_id))
    read = history.read(world.process, "demo", 1)
    assert {source.content for source in read.sources} == {"Erased on 2026-02-20.", OTHERS}
    world.store.delete(DISPLACED.key("demo", "0" * 26, "log.md"))
    assert audit(world.inner.objects, "demo", [note_id, other]).clean()
    assert list(left_of(world, SECRET)) == []


def test_each_backup_is_whole_afterwards_and_can_be_restored(world):
    note_id, other = everything(world)
    backups = list(world.store.folders("_backups/demo/"))

    erase(world, note_id)

    assert list(damaged_backups(world)) == []
    for number, backup_id in enumerate(backups):
        assert world.restore("demo", backup_id, f"again-{number}")
        saved = manifests.load(world.process, "demo", backup_id)
        sizes = [item.size for item in saved.value.items or ()]
        assert (saved.value.objects_count, saved.value.bytes) == (len(sizes), sum(sizes))
        assert sum(saved.value.counts.values()) == len(sizes)
    assert world.live_ids("again-0") == [other]
    assert pages.get(world.process, "again-1", note_id).content == "Erased on 2026-02-20."
    assert list(left_of(world, SECRET)) == []


def test_a_live_note_is_gone_and_a_consolidated_one_is_a_stub_without_its_tags(world):
    folded = note(world, SECRET, tags=(TAG,))
    world.consolidate()
    live = note(world, "Bob has moved to Rome.", tags=(TAG,))

    erase(world, folded)
    erase(world, live)

    read = pages.get(world.process, "demo", folded)
    assert (read.content, read.tags, read.status) == ("Erased on 2026-02-20.", (), "consolidated")
    assert (read.agent, read.category, read.malformed) == ("ann", "progress", False)
    with pytest.raises(NotFound):
        pages.get(world.process, "demo", live)


def test_a_note_too_short_to_be_looked_for_goes_with_its_versions_and_leaves_other_texts(world):
    short = note(world, "Ann")
    note(world, "Ann and Bob", "bob")
    world.consolidate()
    world.back_up()
    bank = world.bank()

    receipt = erase(world, short)

    assert world.bank() == bank
    assert receipt.counts == {"records": 1, "backups": 1, "versions": 4}
    raws = [source.raw for record in records_of(world.inner.objects, "demo") for source in record.notes]
    assert [raw.rpartition("\n")[2] for raw in raws] == ["Erased on 2026-02-20.", "Ann and Bob"]


def test_a_note_that_only_a_backup_holds_is_erased_there(world):
    kept = note(world, SECRET)
    note(world, OTHERS, "bob")
    backup = world.back_up()
    world.store.delete(NOTE.key("demo", kept))

    receipt = erase(world, kept)

    assert receipt.counts["backups"] == 1
    assert list(left_of(world, SECRET)) == []
    assert list(damaged_backups(world)) == []
    assert manifests.load(world.process, "demo", backup.job_id).value.counts["notes"] == 1


def test_an_unfinished_backup_is_removed(world):
    kept = note(world, SECRET)
    backup = world.back_up()
    saved = manifests.load(world.process, "demo", backup.job_id)
    jobs.change(world.process, saved, status="running", items=())

    erase(world, kept)

    # What is left says that it was removed.
    assert world.keys("_backups/") == [BACKUP_MANIFEST.key("demo", backup.job_id)]
    assert list(left_of(world, SECRET)) == []


def test_all_notes_of_an_agent_go_and_those_of_one_whose_name_begins_alike_stay(world):
    one = note(world, "Ann was in Paris yesterday.")
    like = note(world, "Ann the second was there too.", "ann-2")
    world.consolidate()
    two = note(world, "Ann will be in Rome tomorrow.")

    receipt = erase_agent(world, "ann")

    assert (receipt.agent, receipt.note_ids, receipt.status) == ("ann", [one, two], "done")
    assert [list(left_of(world, f"Ann {words}")) for words in ("was in", "will be")] == [[], []]
    assert pages.get(world.process, "demo", like).content == "Ann the second was there too."
    assert "Ann the second was there too." in world.bank()["log.md"]


@pytest.mark.parametrize("note_id", ["20260220T140000_ann_progress_ffffffff", "20200101T000000_ann_todo_00000000"])
def test_an_unknown_note_is_not_found_and_nothing_is_begun(world, note_id):
    note(world, SECRET)

    with pytest.raises(NotFound) as refused:
        erase(world, note_id)

    assert refused.value.code == "note_not_found"
    assert not world.keys("demo/_erasures/")
    assert heads.load(world.process, "demo").meta.erasing is None
    assert not world.keys("demo/_lease.json")


def test_an_agent_without_notes_is_not_found(world):
    note(world, SECRET, "ann-2")

    with pytest.raises(NotFound) as refused:
        erase_agent(world, "ann")

    assert refused.value.code == "note_not_found"


@pytest.mark.parametrize("bad", ["x", "../demo", "20260220T140000_ann_progress"])
def test_a_bad_name_is_refused(world, bad):
    with pytest.raises(InvalidRequest):
        erase(world, bad)
    with pytest.raises(InvalidName):
        erase_agent(world, "a_b")


def test_the_same_request_again_gives_the_receipt_of_the_first(world):
    live = note(world, SECRET)

    first = erase(world, live)

    assert erase(world, live) == first
    assert len(world.keys("demo/_erasures/")) == 1


def test_an_erasure_that_runs_out_of_time_goes_on_in_invocations_of_its_own(world):
    note_id, _ = everything(world)

    receipt = erase(world, note_id, within=timedelta(seconds=4))

    assert receipt.status == "running"
    assert kept_receipts.view(world.process, "demo", receipt.job_id).status == "running"
    with pytest.raises(Busy):
        world.back_up(description="wanted")
    with pytest.raises(Busy):
        lifecycle.delete(world.process, "demo", "demo")
    with pytest.raises(Busy):
        erase_agent(world, "bob")
    world.settle()
    assert kept_receipts.view(world.process, "demo", receipt.job_id).status == "done"
    assert list(left_of(world, SECRET)) == []


def test_all_notes_of_an_agent_are_found_later_where_there_is_no_time_to_look_for_them(world):
    one, two = note(world, SECRET), note(world, "Bob has moved to Rome.")

    soon = world.clock() + timedelta(seconds=4)
    receipt = erasure.erase(world.process, EVERYONE, "demo", [], soon, agent="ann")
    world.settle()

    assert (receipt.status, receipt.note_ids) == ("running", [])
    ended = kept_receipts.view(world.process, "demo", receipt.job_id)
    assert (ended.status, ended.note_ids) == ("done", [one, two])
    assert world.live_ids() == []


@pytest.mark.parametrize("agent", [None, "ann"])
def test_a_receipt_names_the_notes_that_pass_on_what_is_found_later(world, agent):
    source = note(world, SECRET)
    copy = passed_on(world, source)

    soon = world.clock() + timedelta(seconds=1)
    ids = [] if agent else [source]
    receipt = erasure.erase(world.process, EVERYONE, "demo", ids, soon, agent=agent)
    world.settle()

    assert receipt.status == "running"
    assert copy in " ".join(receipt_for(world, receipt, EVERYONE).not_reached)


def test_each_reader_of_a_receipt_sees_the_copies_in_spaces_that_it_may_see(world):
    source = note(world, SECRET)
    copy = passed_on(world, source)
    world.restore("demo", world.back_up().job_id, "branch")
    limited = Principal("x", frozenset({"admin"}), frozenset({"demo"}))

    receipt = erase(world, source, by=limited)

    for of in (receipt, receipt_for(world, receipt, limited), receipts(world)[0]):
        assert not any(copy in text or "'branch'" in text for text in of.not_reached)
    told = receipt_for(world, receipt, EVERYONE).not_reached
    assert any(copy in text for text in told)
    assert any("'branch'" in text for text in told)


def test_no_copy_of_a_space_holds_what_a_receipt_says_of_other_spaces(world):
    source = note(world, SECRET)
    copy = passed_on(world, source)
    world.restore("demo", world.back_up().job_id, "branch")
    assert erase(world, source).not_reached != list(kept_receipts.NOT_REACHED)
    world.clock.move(3_000)

    backup = world.back_up()

    objects = world.inner.objects
    for key in [*world.keys(BACKUP_OBJECT.prefix("demo", backup.job_id)), *world.keys("demo/_erasures/")]:
        assert not any(word in key.encode() + objects[key].body for word in (b"branch", b"team", copy.encode()))


def test_no_backup_is_restored_while_its_space_is_erased(world):
    live = note(world, SECRET)
    backup = world.back_up()
    erase(world, live, within=timedelta(seconds=4))

    with pytest.raises(Busy):
        world.restore("demo", backup.job_id, "other")

    world.settle()
    assert world.restore("demo", backup.job_id, "other")
    assert world.live_ids("other") == []


def test_a_busy_space_is_not_begun_with(world):
    live = note(world, SECRET)
    leases.acquire(world.process, places.of_space("demo"), world.ids(), "backup", by_hand=True)

    with pytest.raises(Busy):
        erase(world, live)

    assert SECRET in world.text(NOTE.key("demo", live))


def test_an_erased_note_that_comes_back_is_removed_when_the_watch_ends(world):
    live = note(world, SECRET)
    body = world.store.get(NOTE.key("demo", live)).body
    receipt = erase(world, live)
    world.store.put(NOTE.key("demo", live), body)
    world.consolidate()

    world.clock.move(late_write_repair.WATCHED_FOR.total_seconds() + 60)
    world.sweep()
    world.work()

    again = kept_receipts.view(world.process, "demo", receipt.job_id)
    assert (again.status, again.files) == ("done", ["_synthesis.md", "log.md"][1:])
    assert list(left_of(world, SECRET)) == []
    assert come_to_end(world, []) == []


def test_after_the_watch_an_archive_of_later_stays_and_that_of_a_worker_without_its_job_goes(world):
    live = note(world, SECRET)
    erase(world, live)
    world.clock.move(60)
    later = export_now(world).value.job_id
    for number in (1, 2):
        world.store.put(EXPORT.key("demo", "2026-02-20T13-00-00", number), b"written late")

    assert come_to_end(world, []) == []

    assert world.keys("_exports/") == [EXPORT_STATE.key("demo", later), EXPORT.key("demo", later, 1)]


def test_what_is_only_watched_costs_the_sweep_no_request(world):
    note(world, SECRET)
    world.new_process()
    world.sweep_all()
    before = world.client.counts
    heads.update(world.process, "demo", lambda _: {"erasing": Erasing(watched={"x": "2026-02-20T15:00:00Z"})})
    world.new_process()

    world.sweep_all()

    # The space is entered again.
    assert world.client.counts == before + Counter(PUT=1)
    assert not world.queued


def test_an_erasure_without_a_receipt_is_dropped(world):
    live = note(world, SECRET)
    heads.update(world.process, "demo", lambda _: {"erasing": Erasing(at_work=world.ids())})
    due_index.leave(world.process, "demo")

    world.sweep()
    world.settle()

    assert heads.load(world.process, "demo").meta.erasing is None
    assert world.live_ids() == [live]


def test_an_erasure_is_never_given_up_and_waits_for_no_failure_of_the_llm(world):
    receipt = erase(world, note(world, SECRET), within=timedelta(seconds=4))
    found = kept_receipts.find(world.process, "demo", receipt.job_id)
    assert found
    jobs.change(world.process, found, attempt=worker.MOST_ATTEMPTS + 1)
    held = leases.acquire(world.process, places.of_space("demo"), world.ids(), "consolidation")
    leases.back_off(world.process, held, "llm_unreachable")

    assert world.work() == {"status": "done"}


def test_a_run_that_was_due_meanwhile_is_started_when_an_erasure_has_ended(world):
    heads.update(world.process, "demo", lambda _: {"consolidation_threshold": 1})
    live = note(world, SECRET)
    note(world, OTHERS)
    erase(world, live, within=timedelta(seconds=4))
    (going_on,) = [one for one in world.queued if one["kind"] == "erasure"]
    world.store.delete(LEASE.key("demo"))
    world.queued.clear()

    world.work(going_on)

    assert [one["kind"] for one in world.queued] == ["consolidation"]


def test_an_erasure_whose_worker_died_just_after_its_end_is_watched_and_not_looked_at_yet(world):
    receipt = erase(world, note(world, SECRET))
    heads.update(world.process, "demo", lambda _: {"erasing": Erasing(at_work=receipt.job_id)})
    world.client.reset()

    world.work({"kind": "erasure", "space_id": "demo", "job_id": receipt.job_id})

    assert not world.client.counts["LIST versions"]
    watched = heads.load(world.process, "demo").meta.erasing
    assert watched
    assert (watched.at_work, list(watched.watched)) == (None, [receipt.job_id])
    # So does the same request, should it come first.
    heads.update(world.process, "demo", lambda _: {"erasing": Erasing(at_work=receipt.job_id)})
    assert erase(world, receipt.note_ids[0]) == receipt
    assert heads.load(world.process, "demo").meta.erasing == watched


def test_an_erasure_that_never_began_is_not_carried_out(world):
    live = note(world, SECRET)
    done = erase(world, note(world, "Bob has moved to Rome."))
    stray = done.model_copy(update={"job_id": world.ids(), "status": "running", "note_ids": [live]})
    world.store.put(ERASURE.key("demo", stray.job_id), stray.to_bytes())

    assert world.work({"kind": "erasure", "space_id": "demo", "job_id": stray.job_id}) == {"status": "gone"}

    assert world.live_ids() == [live]
    assert heads.load(world.process, "demo").meta.erasing_now() is None


def test_a_request_begins_where_the_receipt_of_the_erasure_before_is_gone(world):
    live = note(world, SECRET)
    heads.update(world.process, "demo", lambda _: {"erasing": Erasing(at_work=world.ids())})

    assert erase(world, live).status == "done"
    assert list(left_of(world, SECRET)) == []


def test_a_receipt_of_what_never_began_is_not_shown(world):
    live = note(world, SECRET)
    receipt = erase(world, live)
    stray = receipt.model_copy(update={"job_id": world.ids(), "status": "running"})
    world.store.put(ERASURE.key("demo", stray.job_id), stray.to_bytes())

    with pytest.raises(NotFound):
        kept_receipts.view(world.process, "demo", stray.job_id)
    assert [shown.job_id for shown in receipts(world)] == [receipt.job_id]


def test_receipts_are_listed_newest_first(world):
    ids = [note(world, f"{SECRET} {number}") for number in range(3)]

    erased = [erase(world, note_id) for note_id in ids]

    assert [shown.job_id for shown in receipts(world)] == [receipt.job_id for receipt in erased[::-1]]


def test_a_list_counts_what_receipts_name_by_id(world):
    for _ in range(2):
        note(world, f"{SECRET}.")
    note(world, f"Bob says: {SECRET}.", "bob")

    receipt = erase_agent(world, "ann")
    ((listed,), _) = job_lookup.page(world.process, EVERYONE, "demo", limit=10, filter_by=JobFilter("erasure"))

    assert (listed.progress.done, listed.progress.total) == (2, 2)
    assert len(receipt.ids) == 2
    assert len(receipt.quoted_in) == 1
    assert not any(one in repr(listed.result) for one in (*receipt.ids, *receipt.quoted_in))
    found = kept_receipts.described(world.process, EVERYONE, "demo", receipt.job_id)
    assert (found.result, found.progress) == (receipt, listed.progress)


def test_the_receipt_names_spaces_that_came_from_this_one_to_those_who_may_see_them(world):
    live, other = note(world, SECRET), note(world, "Bob has moved to Rome.")
    backup = world.back_up()
    world.restore("demo", backup.job_id, "copy")

    told = erase(world, live).not_reached
    hidden = erase(world, other, by=Principal("x", frozenset({"admin"}), frozenset({"demo"}))).not_reached

    assert [text for text in told if "'copy'" in text] != []
    assert [text for text in hidden if "'copy'" in text] == []


def test_a_bucket_that_keeps_no_versions_and_one_that_does_not_let_them_be_seen_are_told_apart(world):
    world.inner.versioned = False
    plain = erase(world, note(world, SECRET))
    live = note(world, SECRET)

    def refuse(index: int, verb: str) -> None:
        if verb == "LIST versions":
            raise error("AccessDenied", 403, verb)

    world.client.before = refuse
    refused = erase(world, live)

    assert plain.versions == "not_kept"
    assert (refused.status, refused.versions) == ("done", "not_reachable")
    assert any("Former versions" in text for text in refused.not_reached)


def test_a_backup_that_is_damaged_already_is_not_made_whole_by_an_erasure(world):
    live = note(world, SECRET)
    note(world, OTHERS, "bob")
    backup = world.back_up()
    rules = BACKUP_OBJECT.key("demo", backup.job_id, "_rules.md")
    world.store.put(rules, b"Somebody else's.")

    erase(world, live)

    assert list(damaged_backups(world)) == [f"{rules} is not what the manifest says"]


def test_what_a_late_copy_brings_into_a_removed_backup_goes_as_well(world):
    live = note(world, SECRET)
    removed = world.back_up()
    catalog.remove(world.process, "demo", removed.job_id)

    def copy(index: int, verb: str) -> None:
        if verb == "LIST versions":
            world.client.before = lambda index, verb: None
            world.inner.put_object(
                Bucket="", Key=BACKUP_OBJECT.key("demo", removed.job_id, "bank/log.md"), Body=SECRET.encode()
            )

    world.inner.versioned = False
    world.client.before = copy
    erase(world, live)

    assert list(left_of(world, SECRET)) == []


def _sum(world: World, key: str) -> str:
    return sha256(world.text(key).encode()).hexdigest()


def test_a_manifest_tells_the_checksum_of_what_an_erasure_wrote(world):
    note(world, SECRET)
    other = note(world, OTHERS, "bob")
    world.consolidate()
    backup = world.back_up()
    saved = manifests.load(world.process, "demo", backup.job_id)
    prefix = BACKUP_OBJECT.prefix("demo", backup.job_id)
    sums = {item.name: _sum(world, prefix + item.name) for item in saved.value.items}
    items = tuple(replace(item, sha256=sums[item.name]) for item in saved.value.items)
    jobs.change(world.process, saved, items=items)

    erase_agent(world, "ann")

    told = manifests.load(world.process, "demo", backup.job_id).value.items
    now = {item.name: item.sha256 for item in told or ()}
    assert now == {name: _sum(world, prefix + name) for name in now}
    assert now != sums
    assert other not in world.live_ids()


def test_notes_that_became_enough_meanwhile_start_a_run():
    world = World()
    world.create_space(threshold=2)
    live = note(world, SECRET)
    note(world, OTHERS, "bob")
    note(world, OTHERS, "bob")

    erase(world, live)

    assert [waiting["space_id"] for waiting in world.queued] == ["demo"]


def test_a_backup_under_way_ends_where_an_erasure_begins(world):
    note(world, SECRET)
    head = heads.load(world.process, "demo")
    heads.update(world.process, "demo", lambda _: {"erasing": Erasing(at_work=world.ids())})

    with pytest.raises(Busy):
        taking.take(world.process, "demo", taking.BackupRequest("api"), deadline=world.clock() + INVOCATION)

    assert head.meta.erasing is None
    assert not world.keys("_backups/")


def test_what_a_space_and_its_backups_have_in_common_is_read_once(world):
    for number in range(10):
        note(world, f"note {number}", "bob")
    live = note(world, SECRET)
    for _ in range(4):
        world.back_up(description="kept")
        world.clock.move(1)
    world.new_process()

    erase(world, live)

    read = [key for verb, key in world.client.requests if verb == "GET" and "_bob_" in key]
    assert len(read) == 10


def test_notes_are_wanted_by_their_ids_and_times():
    wanted = occurrences.ErasureTarget(frozenset({"20260220T140000_ann_progress_00000001"}))

    covering = [
        wanted.may_be_in(keys.RecordName(1, first, last))
        for first, last in (
            ("20260220T130000", "20260220T135959"),
            ("20260220T130000", "20260220T140000"),
            ("20260220T140001", "20260220T150000"),
        )
    ]

    assert covering == [False, True, False]


def test_nothing_of_a_note_stays_in_the_record_of_the_tidy_run_that_took_its_line_out(world: World):
    long = f"{SECRET}, " + "and each of them has a name of its own, " * 20 + "so she says"
    noted = note(world, long)
    note(world, OTHERS)
    world.consolidate()
    heads.update(world.process, "demo", lambda _: {"bank_chars": 20})
    world.consolidate(tidy=True)
    assert long in records_of(world.inner.objects, "demo")[-1].removed[0].line

    erase(world, noted)

    assert [*left_of(world, SECRET)] == []
