"""Long work of every kind in one form: found by its id, and listed with that of its space."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from livemem.access.principal import Principal
from livemem.copies import catalog, export, provisioning, restore
from livemem.erasure import erasure
from livemem.errors import Forbidden, InvalidName, InvalidRequest, NotFound
from livemem.jobs.describable import KIND_NAMES, Description, job_id
from livemem.llm.client import LlmError
from livemem.rooms import digest_reading as digests
from livemem.rooms import digest_work
from livemem.spaces import lifecycle
from livemem.store import presigned
from livemem.upkeep import job_lookup, packages
from livemem.upkeep.job_lookup import After, JobFilter
from tests.support.agent import responds
from tests.support.asking import Asking
from tests.support.chatter import Chatter
from tests.support.counting import Killed
from tests.support.talk import Talk
from tests.support.world import EVERYONE, INVOCATION, World

READER = Principal("rex", frozenset({"read"}), frozenset())
READER_OF_DEMO = Principal("rex", frozenset({"read"}), frozenset({"demo"}))


def found(world: World, space_id: str, kind: Any, name: str, caller: Principal = EVERYONE) -> Description:
    return job_lookup.find(world.process, caller, job_id(space_id, kind, name))


def listed(world: World, caller: Principal = EVERYONE, *, limit: int = 3, **wanted: Any) -> list[Description]:
    """All pages."""
    return listed_in(world, "demo", caller, limit, JobFilter(**wanted))


def listed_in(
    world: World, space_id: str | None, caller: Principal, limit: int, filter_by: JobFilter
) -> list[Description]:
    items, after = job_lookup.page(world.process, caller, space_id, limit=limit, filter_by=filter_by)
    while after:
        after = After.parse(after.text())
        more, after = job_lookup.page(world.process, caller, space_id, limit=limit, after=after, filter_by=filter_by)
        assert len(more) <= limit
        items += more
    return items


def dies_over_a_copy(_: int, verb: str) -> None:
    if verb == "COPY":
        raise Killed


@pytest.fixture
def world() -> World:
    """A space in which a run, a backup, an export and an erasure have ended."""
    world = World()
    world.create_space()
    for content in ("The ferry leaves at nine.", "Her number is 555 0199."):
        world.note(content)
        world.clock.move(5)
    world.consolidate()
    world.clock.move(5)
    world.back_up(description="before")
    world.clock.move(5)
    note_id = world.note("Not for long.").note_id
    world.clock.move(5)
    erasure.erase(world.process, EVERYONE, "demo", [note_id], world.clock() + INVOCATION)
    world.clock.move(5)
    export.export(world.process, EVERYONE, "demo", world.clock() + INVOCATION)
    return world


def test_there_is_a_package_for_each_kind():
    assert set(packages.JOBS) == set(KIND_NAMES)


def test_all_work_of_a_space_is_listed_newest_first_and_each_is_found_by_its_id(world):
    jobs = listed(world)

    assert [one.kind for one in jobs] == ["export", "backup", "erasure", "backup", "consolidation"]
    assert {one.status for one in jobs} == {"done"}
    assert [one.created_at for one in jobs] == sorted((one.created_at for one in jobs), reverse=True)
    assert all(one.ended_at and one.ended_at >= one.created_at for one in jobs)
    assert jobs[-1].usage.calls == 1
    assert 0 < jobs[0].progress.done == jobs[0].progress.total == jobs[1].progress.done
    for job in jobs:
        assert replace(job_lookup.find(world.process, EVERYONE, job.job_id), result=job.result) == job
        assert listed(world, limit=1, kind=job.kind) == [one for one in jobs if one.kind == job.kind]
    for limit in (1, 2, 4, 5, 100):
        assert listed(world, limit=limit) == jobs


def test_a_page_costs_one_listing_of_each_kind_and_reads_what_it_shows(world):
    process = world.new_process()
    jobs, _ = job_lookup.page(process, EVERYONE, "demo", limit=2)

    assert [one.kind for one in jobs] == ["export", "backup"]
    # The head, which digest is next, the export's job, and a manifest.
    assert world.client.counts == {"LIST": 6, "GET": 4}


def test_a_list_signs_no_urls_of_archives(world, monkeypatch):
    signed: list[str] = []
    monkeypatch.setattr(presigned, "get_url", lambda _, key, __: signed.append(key) or key)

    (job,) = listed(world, kind="export")

    assert (job.status, job.result, signed) == ("done", None, [])
    assert [one.url for one in found(world, "demo", "export", job.name).result.archives] == signed != []


def test_what_a_caller_may_not_see_by_its_own_route_is_no_job_for_it_either(world):
    jobs = listed(world)
    (erased,) = listed(world, kind="erasure")

    assert listed(world, READER) == [one for one in jobs if one != erased]
    with pytest.raises(NotFound, match="no job"):
        job_lookup.find(world.process, READER, erased.job_id)
    other = Principal("ann", frozenset({"read", "admin"}), frozenset({"other"}))
    for job in (*jobs, Description("nowhere", "backup", "x", "done", "")):
        with pytest.raises(Forbidden):
            job_lookup.find(world.process, other, job.job_id)


def test_an_id_that_names_nothing_is_not_found_and_one_of_no_form_is_refused(world):
    ulid, backup = "01ARZ3NDEKTSV4RRFFQ69G5FAV", "2020-02-20T02-00-00"
    for kind in KIND_NAMES:
        for name in (ulid, backup, "20200220T140000", f"{ulid}.{ulid}", "x", "..", "-", "2020-99-99T99-99-99"):
            for space_id in ("demo", "nowhere"):
                with pytest.raises(NotFound) as caught:
                    found(world, space_id, kind, name)
                assert caught.value.code == "job_not_found"
    with pytest.raises(NotFound):
        found(world, "demo", "nothing", ulid)
    for wrong in ("", "demo", "demo.backup", "demo.backup.", ".backup.x", "de/mo.backup.x", f"demo.backup.{'x' * 81}"):
        with pytest.raises(InvalidName):
            job_lookup.find(world.process, EVERYONE, wrong)
    for wrong in (
        "",
        "/",
        "d.e",
        "demo/",
        "demo/1",
        "demo/x.backup.y",
        "demo/1.backup",
        f"demo/{'9' * 16}.backup.y",
        "/1.a.b",
    ):
        with pytest.raises(ValueError, match="place"):
            After.parse(wrong)


def test_what_can_be_listed_is_refused_by_name(world):
    every: list[dict[str, Any]] = [{"kind": "nothing"}, {"kind": "summaries"}]
    for wanted in every:
        with pytest.raises(InvalidRequest):
            listed(world, **wanted)
    with pytest.raises(NotFound) as caught:
        job_lookup.page(world.process, EVERYONE, "nowhere", limit=1)
    assert caught.value.code == "space_not_found"


def test_the_job_that_brings_a_space_is_there_before_the_space_is(world):
    backup_id = world.back_up().job_id
    head = restore.order(world.process, EVERYONE, "demo", backup_id, "copy")
    name = head.meta.provisioning.provisioning_id

    begun = found(world, "copy", "restore", name)
    assert (begun.status, begun.subject, begun.ended_at) == ("running", backup_id, None)
    assert job_lookup.page(world.process, EVERYONE, "copy", limit=9) == ([begun], None)
    with pytest.raises(NotFound):
        found(world, "copy", "fork", name)

    provisioning.carry_on(world.process, head, world.clock() + INVOCATION)
    ended = found(world, "copy", "restore", name)
    assert (ended.status, ended.progress.done) == ("done", ended.progress.total)
    assert ended in job_lookup.page(world.process, EVERYONE, "copy", limit=99)[0]


def test_a_backup_that_was_left_is_running_until_nobody_can_come_any_more_and_outlives_its_space(world):
    world.client.before = dies_over_a_copy
    with pytest.raises(Killed):
        world.back_up(description="left")
    world.new_process()
    backup_id = catalog.ids(world.process, "demo")[-1]
    assert found(world, "demo", "backup", backup_id).status == "running"

    world.clock.move(catalog.NOBODY_COMES.total_seconds() + 1)
    lost = found(world, "demo", "backup", backup_id)
    assert (lost.status, lost.error.code) == ("failed", "interrupted")

    kept = next(one for one in listed(world, kind="backup") if one.status == "done")
    lifecycle.delete(world.process, "demo", "demo")
    assert job_lookup.find(world.process, EVERYONE, kept.job_id) == kept
    namesake = Principal("ann", frozenset({"read"}), frozenset({"demo"}))
    with pytest.raises(NotFound):
        job_lookup.find(world.process, namesake, kept.job_id)


def test_a_run_says_in_five_words_how_it_stands(world):
    run = world.order()
    assert found(world, "demo", "consolidation", run.job_id).status == "queued"
    world.work()
    # It had no notes: it has done what there was.
    assert found(world, "demo", "consolidation", run.job_id).status == "done"

    world.note("x")
    world.llm.queue.append(LlmError("llm_refused_request", "400"))
    failed = found(world, "demo", "consolidation", world.consolidate().job_id)
    assert (failed.status, failed.error.code) == ("failed", "llm_refused_request")
    assert failed.ended_at


def test_a_private_question_is_a_job_for_its_author_alone():
    asking = Asking()
    asking.script(responds("Ines."), responds("Ines."))
    shared, own = asking.ask(author="ann"), asking.ask(author="rex", may_write=False)
    world = asking.world

    for caller, seen in ((READER, {shared.job_id, own.job_id}), (EVERYONE, {shared.job_id})):
        assert {one.name for one in listed(world, caller, kind="question")} == seen
    job = found(world, "demo", "question", own.job_id, READER)
    assert (job.status, job.usage.calls, job.ended_at) == ("done", 1, own.ended_at)
    with pytest.raises(NotFound) as caught:
        found(world, "demo", "question", own.job_id)
    assert caught.value.code == "job_not_found"


def test_jobs_that_make_summaries_are_listed_by_their_conversation():
    talk = Talk()
    talk.said(700, 700, 700)
    talk.update()
    jobs = listed(talk.world, kind="summaries", subject=talk.id)

    assert [(one.status, one.subject) for one in jobs] == [("done", talk.id)]
    assert jobs[0].usage.calls == jobs[0].progress.done == jobs[0].progress.total
    assert found(talk.world, "demo", "summaries", jobs[0].name) == jobs[0]
    assert listed(talk.world) == []


def test_a_digest_waits_in_the_queue_after_a_failure_and_says_so():
    chatter = Chatter()
    chatter.say("Ines looks after the ferry.")
    slot = digest_work.start(chatter.process, "demo")
    assert found(chatter.world, "demo", "digest", slot).status == "queued"
    chatter.llm.queue.append(LlmError("llm_unreachable", "No connection."))
    chatter.world.work()
    waits = found(chatter.world, "demo", "digest", slot)
    assert (waits.status, waits.error.code, waits.ended_at) == ("queued", "llm_unreachable", None)

    chatter.world.pass_time(timedelta(hours=2).total_seconds())
    chatter.digest(by_hand=True)
    done = found(chatter.world, "demo", "digest", slot)
    assert (done.status, done.progress.done, done.error) == ("done", 1, None)
    assert done.usage == digests.load(chatter.process, "demo", slot).done.usage
    assert replace(done, result=None) in [replace(one, result=None) for one in listed(chatter.world)]


def test_a_list_has_the_jobs_of_a_state_or_on_a_subject_however_many_others_are_newer(world, monkeypatch):
    monkeypatch.setattr(job_lookup, "LOOKS", 2)
    backup = next(job for job in listed(world) if job.kind == "backup")

    assert listed(world, status="done") == listed(world)
    assert listed(world, status="running") == []
    same = [job for job in listed(world) if job.subject == backup.subject]
    assert listed(world, subject=backup.subject, limit=1) == same
    # The first page looks at two jobs, and says that there may be more.
    items, after = job_lookup.page(world.process, EVERYONE, "demo", limit=2, filter_by=JobFilter(status="failed"))
    assert (items, bool(after)) == ([], True)


def test_without_a_space_there_is_one_space_after_the_other_that_the_token_may_read(world, monkeypatch):
    world.create_space("another")
    world.note("x", space_id="another")
    world.consolidate("another")
    world.create_space("quiet")
    both = Principal("ann", frozenset({"read"}), frozenset({"demo", "quiet"}))
    expected = [job for space_id in ("another", "demo") for job in listed_in(world, space_id, EVERYONE, 9, JobFilter())]

    for spaces in (1, 2, 20):
        monkeypatch.setattr(job_lookup, "SPACES", spaces)
        for limit in (1, 2, 5, 100):
            assert listed_in(world, None, EVERYONE, limit, JobFilter()) == expected
            seen = [(job.space_id, job.kind) for job in listed_in(world, None, both, limit, JobFilter())]
            assert seen == [("demo", job.kind) for job in listed(world, both)]
    consolidations = [job for job in expected if job.kind == "consolidation"]
    assert listed_in(world, None, EVERYONE, 2, JobFilter("consolidation")) == consolidations
    process = world.new_process()
    job_lookup.page(process, EVERYONE, None, limit=9, filter_by=JobFilter("backup"))
    # The spaces, the head of each, the backups of each, and two manifests.
    assert world.client.counts == {"LIST": 1 + 3, "GET": 3 + 2}
    elsewhere = After("another", (1, "backup", "x"))
    with pytest.raises(Forbidden):
        job_lookup.page(world.process, both, None, limit=1, after=elsewhere)


def test_a_plan_that_waits_is_on_the_first_page_however_much_has_ended_in_other_spaces(world, monkeypatch):
    monkeypatch.setattr(job_lookup, "LOOKS", 2)
    world.create_space("zoo", threshold=1, mode="review")
    world.note("x", space_id="zoo")
    world.count("zoo")
    run = world.work()
    process = world.new_process()

    for kind in (None, "consolidation"):
        waiting, after = job_lookup.page(process, EVERYONE, None, limit=9, filter_by=JobFilter(kind, "waiting"))
        assert ([(job.name, job.status) for job in waiting], after) == ([(run.job_id, "waiting")], None)
    # Of each page the spaces, their two heads, and the run.
    assert world.client.counts == {"LIST": 2, "GET": 2 * (2 + 1)}
    assert listed_in(world, "zoo", EVERYONE, 9, JobFilter(status="waiting")) == waiting
    assert listed(world, status="waiting") == listed_in(world, None, EVERYONE, 9, JobFilter("backup", "waiting")) == []


def test_a_page_of_all_spaces_reads_no_more_jobs_than_one_of_a_single_space(world, monkeypatch):
    monkeypatch.setattr(job_lookup, "LOOKS", 3)
    looks: list[str] = []
    one = job_lookup._one

    def look(*arguments: Any) -> Any:
        looks.append(arguments[2])
        return one(*arguments)

    monkeypatch.setattr(job_lookup, "_one", look)
    for space_id in ("x", "y", "z"):
        world.create_space(space_id)
        for _ in range(2):
            world.consolidate(space_id)
    failed = JobFilter(status="failed")

    first, after = job_lookup.page(world.process, EVERYONE, None, limit=2, filter_by=failed, after=After("demo"))
    assert (first, looks, after.space_id) == ([], ["x", "x", "y"], "y")
    looks.clear()
    rest, end = job_lookup.page(world.process, EVERYONE, None, limit=2, filter_by=failed, after=after)
    assert (rest, looks, end) == ([], ["y", "z", "z"], None)


def test_what_brings_a_space_or_failed_to_is_in_the_list_of_all_spaces_and_what_is_deleted_is_not(world):
    backup_id = world.back_up().job_id
    for space_id in ("copy", "lost"):
        head = restore.order(world.process, EVERYONE, "demo", backup_id, space_id)
    catalog_key = next(key for key in world.keys("_backups/demo/") if backup_id in key and "manifest" in key)
    world.inner.delete_object(Bucket="b", Key=catalog_key)
    with pytest.raises(NotFound):
        provisioning.carry_on(world.process, head, world.clock() + INVOCATION)
    world.create_space("gone")
    world.consolidate("gone")
    lifecycle.delete(world.process, "gone", "gone")

    found_everywhere = listed_in(world, None, EVERYONE, 2, JobFilter())
    brought = [(job.space_id, job.status) for job in found_everywhere if job.kind == "restore"]
    assert brought == [("copy", "running"), ("lost", "failed")]
    assert {job.space_id for job in found_everywhere} == {"copy", "demo", "lost"}
    assert listed_in(world, None, READER_OF_DEMO, 9, JobFilter("restore")) == []
