"""Health: every problem of a space turns it to degraded and is told to those who may see the space."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from livemem.access.principal import Principal
from livemem.jobs import lease
from livemem.llm import client, last_call
from livemem.llm.client import LlmError
from livemem.settings import Settings
from livemem.spaces import head as heads
from livemem.spaces.head_fields import Tidied
from livemem.store import timing
from livemem.store.bucket import CAPABILITY_CHECK, LAST_CALL
from livemem.store.objects import Store
from livemem.upkeep import health
from livemem.upkeep.health import Health
from tests.support.bucket import FakeS3, error
from tests.support.cases import each
from tests.support.llm_server import LlmServer, answer, serving, unused_url
from tests.support.world import BOOTSTRAP_KEY, World
from tests.unit.jobs.test_counter import IgnoringS3
from tests.unit.jobs.test_runs import killed_after_the_commit, killed_while_asking

ADMIN = Principal("admin", frozenset(("read", "write", "admin")), frozenset())
INVOCATION = timing.DEAD_AFTER.total_seconds()
DAY = 86_400


@pytest.fixture(name="llm_server", scope="module")
def _llm_server() -> Iterator[LlmServer]:
    with serving() as server:
        yield server


KEY = "secret-key-of-the-llm"


def settings(url: str | None, **changes: Any) -> Settings:
    return Settings(**{"admin_bootstrap_key": BOOTSTRAP_KEY, "llmaas_api_url": url} | changes)


def look(world: World, server: LlmServer, principal: Principal = ADMIN, **changes: Any) -> Health:
    return health.deep(world.with_parts(settings=settings(server.url, **changes)), principal)


def problems(found: Health) -> list[tuple[str, str]]:
    return [(problem.space_id, problem.code) for problem in found.problems]


def healthy() -> World:
    world = World()
    world.create_space(threshold=5)
    world.note("fresh")
    return world


def test_a_healthy_service_is_ok_and_tells_the_age_of_the_oldest_pending_note(llm_server: LlmServer):
    world = healthy()
    world.clock.move(90)

    found = look(world, llm_server)

    assert found == Health(
        "ok",
        {
            "store": "ok",
            "conditional_writes": "ok",
            "llm": "ok",
            "llm_last_call": "none",
            "embeddings": "not_configured",
            "memories_compared_by": "lexical",
            "memory_merge": "model",
            "oldest_pending_note_seconds": 90.0,
            "llm_model": "qwen3-2507:235b",
        },
    )


@each("token", [True, False])
def test_a_full_disk_of_a_store_of_ones_own_is_told_until_there_is_space_again(token: bool):
    world = healthy()
    own = world.with_parts(settings=settings(None, s3_endpoint_url="http://127.0.0.1:9000"))

    def checks() -> tuple[str, object]:
        found = health.deep(own, ADMIN) if token else health.shallow(own)
        return found.status, found.checks["store"]

    # The store was asked before, as by any change.
    checks()
    world.client.before = lambda index, verb: full(verb)
    assert checks() == ("error", "full")

    world.client.before = lambda index, verb: None
    assert checks() == ("degraded", "ok")


def full(verb: str) -> None:
    if verb == "PUT":
        raise error("InsufficientStorage", 507, verb)


def test_without_a_token_only_the_parts_are_told_and_nobody_is_called():
    found = health.shallow(healthy().with_parts(settings=settings(unused_url())))

    parts = {"store": "ok", "conditional_writes": "ok", "llm": "configured", "embeddings": "not_configured"}
    assert found == Health("ok", {**parts, "memories_compared_by": "lexical", "memory_merge": "model"})


@each("key", ["", "short", "x" * 64, "changeme" * 8])
def test_a_weak_bootstrap_key_is_an_error_that_tells_nothing_else(key: str):
    found = health.shallow(healthy().with_parts(settings=settings(None, admin_bootstrap_key=key)))

    assert (found.status, found.problems) == ("error", [])
    assert found.checks["configuration"] == "bootstrap_key_refused"
    assert "ADMIN_BOOTSTRAP_KEY" in str(found.checks["configuration_detail"])
    assert not key or key not in str(found.checks["configuration_detail"])


def test_the_offline_llm_is_named_as_such(llm_server: LlmServer):
    found = look(healthy(), llm_server, llmaas_model="offline-rules")

    assert (found.status, found.checks["llm"]) == ("ok", "offline")
    assert "No language model: fixed rules. `livemem serve --llm claude`" in str(found.checks["llm_detail"])


def test_an_llm_that_is_not_configured_degrades():
    world = healthy()

    process = world.with_parts(settings=settings(None))

    for found in (health.deep(process, ADMIN), health.shallow(process)):
        assert (found.status, found.checks["llm"]) == ("degraded", "not_configured")


def test_an_llm_that_does_not_answer_degrades(llm_server: LlmServer):
    world = healthy()

    found = health.deep(world.with_parts(settings=settings(unused_url())), ADMIN)
    assert (found.status, found.checks["llm"]) == ("degraded", "unreachable")

    llm_server.script.append(answer(b"", 503))
    assert look(world, llm_server).checks["llm"] == "unreachable"


def test_an_llm_that_refuses_degrades_and_its_words_are_told_without_the_key(llm_server: LlmServer):
    llm_server.script.append(answer({"error": {"message": f"Incorrect API key provided: {KEY}"}}, 401))

    found = look(healthy(), llm_server, llmaas_api_key=KEY)

    assert llm_server.asked[-1].headers["authorization"] == f"Bearer {KEY}"
    assert (found.status, found.checks["llm"]) == ("degraded", "refused")
    assert "status 401" in str(found.checks["llm_detail"])
    assert "Incorrect API key provided: [removed]" in str(found.checks["llm_detail"])
    assert KEY not in str(found)


def test_a_model_that_is_not_listed_is_told_and_degrades_nothing(llm_server: LlmServer):
    llm_server.script.append(answer({"data": [{"id": "another"}]}))

    found = look(healthy(), llm_server)

    assert (found.status, found.checks["llm"]) == ("ok", "ok")
    assert "does not list the model 'qwen3-2507:235b'" in str(found.checks["llm_detail"])


def test_a_model_that_is_not_listed_is_not_told_once_a_call_by_its_name_succeeded(llm_server: LlmServer):
    world = healthy()
    ask(world, llm_server, watching(world))

    def detail(**changes: Any) -> object:
        llm_server.script.append(answer({"data": [{"id": "/models/weights.gguf"}]}))
        return look(world, llm_server, **changes).checks.get("llm_detail")

    assert detail() is None
    assert "does not list the model 'other'" in str(detail(llmaas_model="other"))
    # A call that failed by now says nothing for the name.
    llm_server.script.append(answer({"error": {"message": "overloaded"}}, 500))
    ask(world, llm_server, watching(world))
    assert "failed: llm_unavailable" in str(detail())


def ask(world: World, server: LlmServer, watch: last_call.Watch) -> None:
    """One real call, through the door that every function has; what is noted beside it is written at once."""
    with suppress(LlmError):
        watch.over(client.connect(settings(server.url)))([{"role": "user", "content": "x"}], None, 5)
    world.do_background()


def watching(world: World) -> last_call.Watch:
    parts = world.process
    model = settings(None).llmaas_model
    return last_call.Watch(parts.store, model, timer=parts.timer, in_background=parts.in_background)


def test_an_llm_that_lists_its_models_and_fails_at_every_call_is_failing_until_one_succeeds(llm_server: LlmServer):
    world = healthy()
    watch = watching(world)
    for _ in range(3):
        llm_server.script.append(answer({"error": {"message": "overloaded"}}, 500))
        ask(world, llm_server, watch)
    asked = len(llm_server.asked)
    world.clock.move(180)

    found = look(world, llm_server)

    assert (found.status, found.checks["llm"]) == ("degraded", "failing")
    assert found.checks["llm_last_call"] == "llm_unavailable"
    assert "3 min ago" in str(found.checks["llm_detail"])
    # Nothing that costs was asked for it.
    assert [one.path for one in llm_server.asked[asked:]] == ["/v1/models"]
    # Who is told without a token is not told more than what is set.
    assert health.shallow(world.with_parts(settings=settings(llm_server.url))).checks["llm"] == "configured"

    ask(world, llm_server, watch)
    found = look(world, llm_server)
    assert (found.status, found.checks["llm"], found.checks["llm_last_call"]) == ("ok", "ok", "ok")


def test_how_calls_end_is_noted_when_it_changes_and_else_once_a_minute(llm_server: LlmServer):
    world = healthy()
    watch = watching(world)

    def noted(*steps: int, seconds: float = 0) -> int:
        before = world.client.counts["PUT"]
        for status in steps:
            llm_server.script.append(answer(None if status == 200 else {"error": {}}, status))
            ask(world, llm_server, watch)
        world.clock.move(seconds)
        return world.client.counts["PUT"] - before

    assert noted(200, 200, 200, seconds=59) == 1
    assert noted(200, seconds=1) == 0
    assert noted(200, 200) == 1
    assert noted(500, 500, 429, 200) == 3


@pytest.mark.parametrize("last", [b"{", b"[]", b'{"error": 7}'])
def test_a_note_of_the_last_call_that_can_not_be_read_is_none(llm_server: LlmServer, last: bytes):
    world = healthy()
    world.inner.put_object(Bucket="b", Key=LAST_CALL, Body=last)

    found = look(world, llm_server)

    assert (found.status, found.checks["llm"], found.checks["llm_last_call"]) == ("ok", "ok", "none")


def test_a_failure_of_more_than_a_day_ago_says_nothing_of_today(llm_server: LlmServer):
    world = healthy()
    llm_server.script.append(answer({"error": {}}, 500))
    ask(world, llm_server, watching(world))
    world.clock.move(DAY + 60)

    found = look(world, llm_server, pending_note_limit=10 * DAY)

    assert (found.checks["llm"], found.checks["llm_last_call"]) == ("ok", "llm_unavailable")


def test_an_embedding_model_that_answers_is_told_with_its_name(llm_server: LlmServer):
    found = look(healthy(), llm_server, embeddings_api_url=llm_server.url, embeddings_model="small")

    assert (found.status, found.checks["embeddings"], found.checks["embeddings_model"]) == ("ok", "ok", "small")
    assert found.checks["memories_compared_by"] == "vector"


def test_the_offline_embedding_model_is_named_as_such(llm_server: LlmServer):
    found = look(healthy(), llm_server, embeddings_api_url=llm_server.url, embeddings_model="offline-fuse")

    assert found.checks["embeddings"] == "offline"


def test_without_a_token_the_embedding_model_is_told_and_not_called():
    process = healthy().with_parts(settings=settings(unused_url(), embeddings_api_url=unused_url()))

    found = health.shallow(process)

    assert (found.status, found.checks["embeddings"]) == ("ok", "configured")


def test_an_embedding_model_that_is_set_and_does_not_answer_degrades(llm_server: LlmServer):
    found = look(healthy(), llm_server, embeddings_api_url=unused_url())

    assert (found.status, found.checks["llm"], found.checks["embeddings"]) == ("degraded", "ok", "unreachable")
    assert "could not be reached. Nothing listens at EMBEDDINGS_API_URL" in str(found.checks["embeddings_detail"])


@pytest.mark.parametrize("key", ["two\nlines", KEY])
def test_an_embedding_model_whose_key_is_none_or_refused_degrades(llm_server: LlmServer, key: str):
    with serving(answer({"error": {"message": f"Incorrect API key provided: {KEY}"}}, 401)) as server:
        found = look(healthy(), llm_server, embeddings_api_url=server.url, embeddings_api_key=key)

    assert (found.status, found.checks["embeddings"]) == ("degraded", "refused")
    assert "key" in str(found.checks["embeddings_detail"])
    assert KEY not in str(found)


def test_an_offline_llm_that_does_not_answer_is_told_like_any_other():
    world = healthy()

    found = health.deep(world.with_parts(settings=settings(unused_url(), llmaas_model="offline-rules")), ADMIN)

    assert (found.status, found.checks["llm"]) == ("degraded", "unreachable")


def test_a_key_that_can_not_be_one_degrades(llm_server: LlmServer):
    found = look(healthy(), llm_server, llmaas_api_key="two\nlines")

    assert (found.status, found.checks["llm"]) == ("degraded", "not_configured")
    assert "key" in str(found.checks["llm_detail"])


class BrokenS3(FakeS3):
    def list_objects_v2(self, **arguments: Any) -> dict[str, Any]:
        raise error("InternalError", 500, "ListObjectsV2")


def test_a_store_that_does_not_answer_is_an_error(llm_server: LlmServer):
    broken = BrokenS3()
    store = Store("bucket", broken, broken, threads=1)  # type: ignore[arg-type]
    process = World().with_parts(store=store, settings=settings(llm_server.url))

    for found in (health.shallow(process), health.deep(process, ADMIN)):
        assert found.status == "error"
        assert (found.checks["store"], found.checks["conditional_writes"]) == ("unreachable", "unknown")


def test_a_store_without_conditional_writes_degrades(llm_server: LlmServer):
    ignoring = IgnoringS3()
    store = Store("bucket", ignoring, ignoring, threads=1)  # type: ignore[arg-type]

    found = health.shallow(World().with_parts(store=store, settings=settings(llm_server.url)))

    assert (found.status, found.checks["conditional_writes"]) == ("degraded", "unsupported")


def test_a_failed_last_run_degrades_until_one_succeeds(llm_server: LlmServer):
    world = healthy()
    world.llm.queue.extend(["prose", "prose"])
    world.consolidate()

    found = look(world, llm_server)

    assert (found.status, problems(found)) == ("degraded", [("demo", "last_run_failed")])
    assert "llm_contract" in found.problems[0].detail
    world.clock.move(3_600)
    assert problems(look(world, llm_server)) == [("demo", "last_run_failed")]
    assert world.consolidate().state == "done"
    assert look(world, llm_server).status == "ok"


def test_a_run_that_died_degrades_once_its_lease_ran_out_and_until_the_sweep(llm_server: LlmServer):
    world, _ = killed_while_asking()
    assert look(world, llm_server).status == "ok"
    world.clock.move(lease.LIFE.total_seconds() - 1)
    found = look(world, llm_server)
    assert (found.status, problems(found)) == ("degraded", [("demo", "blocked")])
    assert "silent for 89 s; the space is free at 2026-02-20T14:01:" in found.problems[0].detail
    world.clock.move(1)

    found = look(world, llm_server)

    assert (found.status, problems(found)) == ("degraded", [("demo", "run_died")])
    world.sweep()
    assert look(world, llm_server).status == "ok"


def test_an_unfinished_commit_degrades_at_once_and_until_the_sweep(llm_server: LlmServer):
    world, _ = killed_after_the_commit()
    for _ in range(2):
        found = look(world, llm_server)
        assert found.status == "degraded"
        assert ("demo", "commit_unfinished") in problems(found)
        world.clock.move(INVOCATION)
    world.sweep()
    assert look(world, llm_server).status == "ok"


@pytest.mark.parametrize(("seconds", "late"), [(DAY, False), (DAY + 1, True)])
def test_a_note_that_waits_too_long_degrades(llm_server: LlmServer, seconds: int, late: bool):
    world = healthy()
    world.clock.move(seconds)

    found = look(world, llm_server)

    assert found.status == ("degraded" if late else "ok")
    assert problems(found) == ([("demo", "notes_pending")] if late else [])
    assert look(world, llm_server, pending_note_limit=2 * DAY).status == "ok"


def test_notes_of_a_space_that_is_consolidated_by_hand_may_wait(llm_server: LlmServer):
    world = World()
    world.create_space(threshold=0)
    world.note("old")
    world.clock.move(100 * DAY)

    found = look(world, llm_server)

    assert (found.status, found.checks["oldest_pending_note_seconds"]) == ("ok", 0.0)


def test_a_pause_is_shown_and_degrades_nothing(llm_server: LlmServer):
    world = healthy()
    world.consolidate()
    world.undo(1)
    world.clock.move(100 * DAY)

    found = look(world, llm_server)

    assert (found.status, problems(found)) == ("ok", [("demo", "auto_paused")])
    assert found.problems[0].detail.startswith("Automatic consolidation is paused: change 1 was undone. ")
    assert "`livemem space set demo --resume`" in found.problems[0].detail


def lengths(world: World, **fields: Any) -> None:
    tidied = Tidied(run_id=world.process.new_id(), at="2026-02-20T14:00:00Z", chars=fields.pop("tidied"))
    heads.update(world.process, "demo", lambda _: {"bank_chars": 2_000, "tidied": tidied, **fields})


def test_a_bank_that_no_tidy_run_could_shorten_enough_is_shown_and_degrades_nothing(llm_server: LlmServer):
    world = healthy()
    lengths(world, tidied=2_301, bank_length=3_000)

    found = look(world, llm_server)

    assert (found.status, problems(found)) == ("ok", [("demo", "bank_too_long")])
    assert found.problems[0].detail.startswith("The bank has 3,000 characters and should have 2,000, and a tidy run ")
    assert "`livemem space set demo --bank-chars N`" in found.problems[0].detail


@each(
    "fields",
    [
        {"tidied": 2_300, "bank_length": 9_000},
        {"tidied": 9_000, "bank_length": 2_300},
        {"tidied": 9_000, "bank_length": None},
        {"tidied": 9_000, "bank_length": 9_000, "bank_chars": 0},
        {"tidied": 9_000, "bank_length": 9_000, "bank_chars": 0, "tidy_paused": True},
    ],
)
def test_a_bank_that_can_be_tidied_again_or_may_have_any_length_is_no_problem(llm_server: LlmServer, fields):
    world = healthy()
    lengths(world, **fields)

    assert problems(look(world, llm_server)) == []


def test_a_pause_of_tidy_runs_is_shown_and_says_how_it_ends(llm_server: LlmServer):
    world = healthy()
    lengths(world, tidied=9_000, bank_length=9_000, tidy_paused=True)

    found = look(world, llm_server)

    assert (found.status, problems(found)) == ("ok", [("demo", "tidy_paused")])
    assert "`livemem space set demo --resume-tidy`" in found.problems[0].detail


def test_a_space_whose_head_can_not_be_read_degrades_and_does_not_hide_the_others(llm_server: LlmServer):
    world = healthy()
    world.inner.put_object(Bucket="b", Key="broken/_meta.json", Body=b"{")
    world.clock.move(2 * DAY)

    found = look(world, llm_server)

    assert found.status == "degraded"
    assert problems(found) == [("broken", "space_broken"), ("demo", "notes_pending")]


def test_who_may_not_see_a_space_is_not_told_of_it(llm_server: LlmServer):
    world = healthy()
    world.create_space("other", threshold=5)
    world.clock.move(2 * DAY)
    stranger = Principal("bob", frozenset(("read",)), frozenset(("other",)))

    found = look(world, llm_server, stranger)

    assert found.status == "ok"
    assert found.problems == []
    assert found.checks["oldest_pending_note_seconds"] == 0.0
    assert look(world, llm_server).status == "degraded"


def test_a_space_that_is_being_deleted_is_no_problem(llm_server: LlmServer):
    world = healthy()
    heads.update(world.process, "demo", lambda meta: {"deleted_at": "2026-02-20T14:00:00Z"})
    world.clock.move(2 * DAY)

    assert look(world, llm_server).status == "ok"


def test_health_writes_nothing(llm_server: LlmServer):
    world = healthy()
    before = dict(world.inner.objects)

    look(world, llm_server)

    assert world.inner.objects == before
    assert CAPABILITY_CHECK in before


def test_a_prompt_that_the_provider_cut_is_named_until_one_was_read_whole(llm_server: LlmServer):
    world = healthy()
    scripted = world.llm
    world.llm = lambda *asked: replace(scripted(*asked), cut=True)  # type: ignore[assignment]
    run = world.consolidate()

    assert run.metrics["llm_prompts_cut"] == 1
    assert problems(look(world, llm_server)) == [("demo", "prompt_cut")]

    world.llm = scripted
    world.note("another")
    world.consolidate()
    assert look(world, llm_server).status == "ok"
