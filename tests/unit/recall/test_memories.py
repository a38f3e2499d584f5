"""Memories in a search: each once, as it stands now, and never after it was deleted, erased or has expired."""

import pytest

from livemem.erasure import erasure
from livemem.memories import correcting, forgetting, log, memory_expiry, operation, splitting
from livemem.memories.correcting import Correction
from livemem.process import Process
from livemem.recall import search
from livemem.recall.search_request import SearchRequest
from livemem.search import database
from livemem.search.vectors import decode
from livemem.store.bucket import OPERATION
from livemem.store.keys import MEMORY_KINDS, MemoryKind
from livemem.store.vector_file import name_of
from tests.support.memories import store
from tests.support.searching import find, holdings, ids, run_indexer, searching_world, texts
from tests.support.talk import Talk
from tests.support.world import EVERYONE, INVOCATION, World

DEMO = "demo"


@pytest.fixture
def world():
    found = World()
    found.create_space()
    found.client.reset()
    return found


def about(process: Process, text: str, **asked):
    return find(process, text, scope="memories", **asked)


def erase(world: World, number: int, kind: MemoryKind = "fact") -> None:
    """Rewrite an operation as an erasure does: nothing is left of what it said."""
    key = OPERATION.key(DEMO, kind, number)
    item = world.store.get(key)
    assert item
    told = operation.read(world.process, item)
    gone = told.memory.model_copy(update={"content": "", "history": [], "subjects": [], "category": None})
    world.store.put(key, told.model_copy(update={"memory": gone, "vector": None}).to_bytes(), if_match=item.etag)


def test_a_memory_is_found_with_what_there_is_to_know_of_it(world):
    kept = store(world.process, "The port is 8080.", "bob", category="network", subjects=["shop"], ttl="7d").memory
    (hit,) = about(world.process, "port").hits

    document = hit.document
    assert (document.id, document.kind, document.text) == (kept.memory_id, "memory", "The port is 8080.")
    assert (document.author, document.category, document.tags) == ("bob", "network", ("shop",))
    assert document.source == {"memory_id": kept.memory_id, "kind": "fact"}
    assert document.time == "2026-02-20T14:00:00Z"
    assert document.more == {"expires_at": kept.expires_at}


def test_memories_of_all_kinds_are_found_by_author_subject_and_time(world):
    for kind, author in (("fact", "ann"), ("self", "bob"), ("goal", "bob")):
        store(world.process, f"A {kind} about the store.", author, kind=kind, subjects=[kind])
        world.clock.move(3_600)

    def which(**asked):
        return {hit.document.source["kind"] for hit in about(world.process, "store", **asked).hits}

    assert which() == {"fact", "self", "goal"}
    assert which(author="bob") == {"self", "goal"}
    assert which(tag="goal") == {"goal"}
    assert which(since="2026-02-20T15:00:00Z", until="2026-02-20T15:00:00Z") == {"self"}


def test_a_search_costs_one_listing_for_each_kind_and_reads_only_new_operations(world):
    for number in range(5):
        store(world.process, f"Fact {number} {'abcde'[number] * 30}")
    world.client.reset()
    about(world.process, "fact")
    assert world.client.counts == {"GET": 5, "LIST": 2}

    world.client.reset()
    assert len(about(world.process, "fact").hits) == 5
    assert world.client.requests == [("LIST", OPERATION.prefix(DEMO, kind)) for kind in MEMORY_KINDS]

    store(world.process, "Something else altogether", kind="goal")
    world.client.reset()
    assert len(about(world.process, "altogether").hits) == 1
    assert world.client.counts == {"LIST": 3, "GET": 1}


def test_other_scopes_list_nothing_of_memories(world):
    store(world.process, "The port is 8080.")
    world.client.reset()
    for scope in ("live", "bank", "archive", "conversations", "live,bank"):
        assert find(world.process, "port", scope=scope).hits == []
    assert not [key for _, key in world.client.requests if "/memories/" in key]


def test_a_merged_memory_is_found_once_and_by_what_it_says_now_and_both_when_they_are_split(world):
    world.llm.judge = lambda new, there: "same"
    first = store(world.process, "Notes are kept in the bucket.").memory
    about(world.process, "bucket")
    again = store(world.process, "Notes are kept in the bucket eu-data.", replace=True)
    assert not again.fresh

    for process in (world.process, world.with_parts()):
        assert texts(about(process, "notes bucket")) == ["Notes are kept in the bucket eu-data."]
    splitting.split(world.process, DEMO, "ann", first.memory_id)
    for process in (world.process, world.with_parts()):
        both = ["Notes are kept in the bucket eu-data.", "Notes are kept in the bucket."]
        assert sorted(texts(about(process, "notes bucket"))) == both


def test_a_corrected_memory_is_found_by_its_new_words_alone(world):
    kept = store(world.process, "The port is 8080.").memory
    about(world.process, "port")
    correcting.correct(world.process, DEMO, "ann", kept.memory_id, Correction(content="The socket is at 9090."))

    for process in (world.process, world.with_parts()):
        assert ids(about(process, "socket")) == [kept.memory_id]
        assert about(process, "port").hits == []


def test_what_is_deleted_is_found_no_more_until_it_is_brought_back(world):
    kept = store(world.process, "The port is 8080.").memory
    other = store(world.process, "An oven stands in the kitchen.").memory
    warm = world.with_parts()
    about(warm, "port")

    forgetting.delete(world.process, DEMO, "ann", kept.memory_id, "Wrong.")
    for process in (warm, world.with_parts()):
        assert about(process, "port").hits == []
        assert ids(about(process, "oven")) == [other.memory_id]

    forgetting.restore(world.process, DEMO, "ann", kept.memory_id)
    for process in (warm, world.with_parts()):
        assert ids(about(process, "port")) == [kept.memory_id]


def test_what_has_expired_is_never_found_before_nor_after_the_sweep(world):
    kept = store(world.process, "The port is 8080.", ttl="1h").memory
    warm = world.with_parts()
    world.clock.move(3_599)
    assert ids(about(warm, "port")) == [kept.memory_id]

    world.clock.move(1)
    for process in (warm, world.with_parts()):
        assert about(process, "port").hits == []
        assert find(process, "port", scope="all").hits == []
    assert memory_expiry.delete_expired(world.process, DEMO, "fact") == 1
    for process in (warm, world.with_parts()):
        assert about(process, "port").hits == []


def test_expired_memories_take_no_place_among_the_best(world):
    for number in range(8):
        store(world.process, f"store store store {'abcdefgh'[number] * 30}", ttl="1h")
    store(world.process, "There was something about a store, among a lot of other things that were said.")
    assert len(about(world.process, "store").hits) == 9

    world.clock.move(3_600)
    assert texts(about(world.process, "store", limit=1)) == [
        "There was something about a store, among a lot of other things that were said."
    ]


def test_a_refreshed_memory_lives_on(world):
    store(world.process, "The port is 8080.", ttl="1h")
    about(world.process, "port")
    world.clock.move(1_800)
    store(world.process, "The port is 8080.", ttl="1d")
    world.clock.move(1_800)

    assert texts(about(world.process, "port")) == ["The port is 8080."]


def test_an_erased_memory_is_read_anew_and_nothing_of_it_is_found(world):
    store(world.process, "Her number is zyx5550199.")
    warm = world.with_parts()
    assert about(warm, "zyx5550199").hits
    erase(world, 1)

    world.clock.move(60)
    for process in (warm, world.with_parts()):
        assert about(process, "zyx5550199").hits == []
        assert about(process, "number").hits == []


def test_an_operation_that_somebody_broke_is_left_out_and_the_rest_is_found(world):
    store(world.process, "The port is 8080.")
    other = store(world.process, "An oven stands in the kitchen.").memory
    world.store.put(OPERATION.key(DEMO, "fact", 1), b"{")

    assert ids(about(world.process, "port oven")) == [other.memory_id]


def test_a_log_that_was_put_back_is_followed(world):
    """As after a restore: an earlier log, with other operations under the same numbers."""
    store(world.process, "The port is 8080.")
    store(world.process, "An oven stands in the kitchen.")
    warm = world.with_parts()
    about(warm, "port")
    world.store.delete_many(world.keys("demo/memories/"))
    store(world.with_parts(), "A violin hangs on the wall.")
    world.clock.move(60)

    assert about(warm, "port oven").hits == []
    assert holdings(warm) == holdings(world.with_parts())


def test_whatever_was_done_a_warm_view_a_cold_one_and_one_of_a_snapshot_hold_the_same(monkeypatch):
    monkeypatch.setattr("livemem.recall.conversation_documents.GROWN", 3)
    world = World()
    world.create_space()
    warm = world.with_parts()
    first = store(world.process, "The port is 8080.", ttl="2h").memory
    steps = [
        lambda: store(world.process, "An oven stands in the kitchen.", kind="self", category="context"),
        lambda: store(world.process, "The port is 8080, and 8443 with TLS."),
        lambda: forgetting.delete(world.process, DEMO, "ann", first.memory_id, "Wrong."),
        lambda: run_indexer(world),
        lambda: forgetting.restore(world.process, DEMO, "ann", first.memory_id),
        lambda: store(world.process, "To learn the violin.", kind="goal", ttl="1h"),
        lambda: run_indexer(world),
        lambda: world.clock.move(3_600),
        lambda: memory_expiry.delete_expired(world.process, DEMO, "goal"),
    ]
    for step in steps:
        step()
        there = {
            memory.memory_id: memory.content
            for kind in MEMORY_KINDS
            for memory in log.load(world.process, DEMO, kind).memories.values()
        }
        for process in (warm, world.with_parts()):
            assert {name: told[1] for name, told in holdings(process).items()} == there
    assert world.keys(f"demo/_search/{database.SCHEMA}-")


def test_many_memories_are_in_a_snapshot_though_they_change_nothing(world, monkeypatch):
    monkeypatch.setattr("livemem.recall.conversation_documents.GROWN", 5)
    for number in range(5):
        store(world.process, f"Fact {number} {'abcde'[number] * 30}")
    assert not run_indexer(world)["snapshot"]
    store(world.process, "One more fact.")
    assert run_indexer(world)["snapshot"]
    assert not run_indexer(world)["snapshot"]
    process = world.new_process()

    assert len(about(process, "fact", limit=50).hits) == 6
    assert [key for verb, key in world.client.requests if verb == "GET" and "/memories/" in key] == []


def test_what_was_erased_while_it_was_indexed_is_ordered_anew_to_be_forgotten(monkeypatch):
    monkeypatch.setattr("livemem.recall.conversation_documents.GROWN", 0)
    world, embedder = searching_world()
    world.create_space()
    plain = world.with_parts(embed=None)
    store(plain, "Her number is zyx5550199.")
    erased = []

    def erase_first(texts, query):
        if not erased:
            erased.append(True)
            erase(world, 1)

    embedder.fails = erase_first
    done = run_indexer(world)

    assert (done["snapshot"], done["forgotten"]) == (True, 1)
    assert not world.keys("demo/_search/forget/")
    assert not any(b"zyx5550199" in stored.body for stored in world.inner.objects.values())


@pytest.mark.parametrize("cold", [False, True])
def test_after_an_erasure_nothing_that_was_derived_holds_what_a_memory_said(monkeypatch, cold):
    monkeypatch.setattr("livemem.recall.conversation_documents.GROWN", 0)
    world, _ = searching_world()
    world.create_space()
    plain = world.with_parts(embed=None)
    kept = store(plain, "Her number is zyx5550199.").memory
    correcting.correct(plain, DEMO, "ann", kept.memory_id, Correction(content="Her number is zyx5550200."))
    other = store(plain, "An oven stands in the kitchen.").memory
    assert run_indexer(world)["snapshot"]
    assert any(b"zyx5550200" in stored.body for key, stored in world.inner.objects.items() if "/_search/" in key)

    erasure.erase(plain, EVERYONE, DEMO, [kept.memory_id], world.clock() + INVOCATION)
    process = world.with_parts(embed=world.process.embed) if cold else world.process
    # The other one shares two words, so that all that is there may be found.
    assert ids(find(process, "number zyx5550199 zyx5550200 oven kitchen", scope="all")) == [other.memory_id]
    run_indexer(world, process)
    assert not any(b"zyx55" in stored.body for key, stored in world.inner.objects.items())
    (segment,) = world.keys("demo/_vectors/")
    assert decode(world.store.get(segment).body, 64)[0] == [name_of("An oven stands in the kitchen.", "")]


def test_a_memory_is_found_by_its_meaning():
    world, _ = searching_world()
    world.create_space()
    plain = world.with_parts(embed=None)
    store(plain, "The automobile needs oil.")
    store(plain, "Bread is in the oven.")

    answer = about(world.process, "car")
    assert answer.ranking == "hybrid"
    assert texts(answer)[0] == "The automobile needs oil."


def test_one_search_finds_notes_the_bank_what_was_said_and_memories():
    world = World()
    world.create_space()
    world.note("The store of notes is S3.")
    world.clock.move(60)
    world.consolidate()
    world.note("The store of logs is CloudWatch.")
    talked = Talk(world=world)
    talked.say("Which store do we keep?", "S3 is the store.")
    talked.update()
    store(world.process, "The store of memories is S3 too.")

    found = search.search(world.process, DEMO, SearchRequest.of("store", scope="all", limit=50))
    kinds = {hit.document.kind for hit in found.hits}
    assert kinds == {"note", "bank", "turn", "memory"}
