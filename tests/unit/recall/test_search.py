"""One search: filters before ranking, meaning beside words, and what it says of itself when something is missing."""

import json
import threading
import unicodedata
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

import pytest

from livemem import clock
from livemem.access.principal import Principal
from livemem.bank import folded_notes
from livemem.conversations import removal
from livemem.conversations.turn import ToolCall
from livemem.errors import Forbidden, InvalidRequest, NotFound, SearchNotReady, StoreUnavailable
from livemem.jobs import lease
from livemem.jobs.lease import LeaseTaken
from livemem.llm.embeddings import EmbeddingError
from livemem.memories import reading
from livemem.notes import appending, pages
from livemem.notes.appending import NoteDraft
from livemem.process import Process
from livemem.recall import by_id, indexing, message_context, search, start
from livemem.recall.search_request import SearchRequest
from livemem.recall.start import StartRequest
from livemem.rooms import posting
from livemem.rooms.message import MessageDraft
from livemem.search.segments import Segments
from livemem.search.vectors import decode, encode
from livemem.spaces import head as heads
from livemem.store.bucket import NOTE, SEARCH_LEASE, SEARCH_ORDER, SEGMENT
from tests.support.cases import each
from tests.support.counting import Killed
from tests.support.memories import store
from tests.support.searching import MODEL, find, ids, refuse, run_indexer, searching_world, texts
from tests.support.talk import Talk
from tests.support.world import EVERYONE, START, World, forked

INVOCATION_END = START + timedelta(days=1)
PREFIX = f"demo/_vectors/{MODEL}-64/"


def garage(**parts):
    """A space whose notes an embedding model knows to be about the same, in other words."""
    world, embedder = searching_world(**parts)
    world.create_space()
    for text in ("The automobile needs oil.", "Bread is in the oven.", "The kitchen is red."):
        world.note(text)
        world.clock.move(60)
    return world, embedder


def test_filters_are_applied_before_ranking_so_that_they_never_starve_the_result():
    world = World()
    world.create_space()
    for number in range(60):
        world.note(f"store store store {number}", agent="loud")
        world.clock.move(1)
    world.note("There was something about a store, among a lot of other things that were said.", agent="quiet")

    assert [hit.document.author for hit in find(world.process, "store", author="quiet", limit=5).hits] == ["quiet"]


def test_every_filter_admits_what_it_says():
    world = World()
    world.create_space()
    for category, tags, agent in (("todo", ("a",), "ann"), ("issue", ("a", "b"), "bob"), ("todo", (), "bob")):
        appending.append(world.process, "demo", agent, appending.NoteDraft(category, "thing", tags))
        world.clock.move(3_600)
    order = sorted(ids(find(world.process, "thing")))

    def which(**asked):
        return [order.index(found) for found in sorted(ids(find(world.process, "thing", **asked)))]

    assert which() == [0, 1, 2]
    assert which(category="todo") == [0, 2]
    assert which(tag="b") == [1]
    assert which(author="bob") == [1, 2]
    assert which(author="bob", category="todo") == [2]
    assert which(since="2026-02-20T15:00:00Z") == [1, 2]
    assert which(until="2026-02-20T15:00:00Z") == [0, 1]
    assert which(since="2026-02-20T15:00:01Z", until="2026-02-20T15:59:59Z") == []
    assert which(scope="bank") == []
    assert which(scope="live,archive") == [0, 1, 2]
    assert which(scope="Live, ARCHIVE") == [0, 1, 2]
    assert len(which(limit=2)) == 2


@each(
    ("asked", "field"),
    [
        ({"text": ""}, "q"),
        ({"text": "?!"}, "q"),
        ({"text": "-store"}, "q"),
        ({"text": "x" * 4_001}, "q"),
        ({"text": "a", "scope": "live,"}, "scope"),
        ({"text": "a", "scope": "memory"}, "scope"),
        ({"text": "a", "scope": "all,live"}, "scope"),
        ({"text": "a", "category": "joke"}, "category"),
        ({"text": "a", "author": "a\nb"}, "author"),
        ({"text": "a", "since": "yesterday"}, "since"),
    ],
)
def test_what_can_not_be_asked_is_refused_by_name(asked, field):
    with pytest.raises(InvalidRequest) as caught:
        SearchRequest.of(**asked)

    assert [error.field for error in caught.value.fields] == [field]


def test_a_prefix_finds_words_of_any_script():
    world = World()
    world.create_space()
    world.note("The parser. Une solution naïve. Привет, καλημέρα! 안녕하세요 tokenBudget")
    world.note("Nothing of that.")

    for beginning in ("pars", "naïv", "прив", "καλη", "안녕하세", "tokenB"):
        assert len(find(world.process, f"{beginning}*").hits) == 1, beginning


def test_phrases_must_be_there_and_excluded_words_must_not():
    world = World()
    world.create_space()
    for text in ("the only store", "only one store", "a store"):
        world.note(text)

    assert texts(find(world.process, '"only store"')) == ["the only store"]
    assert sorted(texts(find(world.process, "store -only"))) == ["a store"]
    assert len(texts(find(world.process, "sto*"))) == 3


def test_meaning_finds_what_words_do_not():
    world, _ = garage()

    answer = find(world.process, "car")

    assert answer.ranking == "hybrid"
    assert texts(answer)[0] == "The automobile needs oil."
    assert not find(world.with_parts(), "car").hits


def test_a_search_embeds_the_question_and_what_is_new_and_asks_for_the_indexer_once_a_minute():
    world, embedder = garage()
    find(world.process, "car")
    assert [(len(texts), query) for texts, query in embedder.calls] == [(1, True), (3, False)]

    embedder.calls.clear()
    answer = find(world.process, "oil")
    assert embedder.calls == [(["oil"], True)]
    assert answer.unembedded == 0

    world.do_background()
    assert world.reindexed == ["demo"]
    world.note("Something new.")
    find(world.process, "new")
    world.do_background()
    assert world.reindexed == ["demo"]
    world.clock.move(61)
    world.note("Something newer.")
    find(world.process, "newer")
    world.do_background()
    assert world.reindexed == ["demo", "demo"]


def test_what_the_indexer_has_embedded_is_read_and_not_asked_for_again():
    world, embedder = garage()
    assert run_indexer(world)["embedded"] == 3
    embedder.calls.clear()
    world.process = world.with_parts(embed=embedder)

    answer = find(world.process, "car")

    assert embedder.calls == [(["car"], True)]
    assert texts(answer)[0] == "The automobile needs oil."
    assert run_indexer(world)["embedded"] == 0


def test_only_so_many_texts_are_embedded_by_a_search_and_it_says_how_many_are_left():
    world, embedder = garage()
    for number in range(40):
        world.note(f"Note number {number}.")
    embedder.calls.clear()

    answer = find(world.process, "car")

    assert [len(texts) for texts, _ in embedder.calls] == [1, 32]
    assert answer.unembedded == 11
    assert answer.ranking == "hybrid"


def test_without_the_model_words_go_on_and_the_answer_says_so():
    world, embedder = garage()
    run_indexer(world)
    embedder.fails = refuse("embedding_unavailable")

    answer = find(world.process, "oven")

    assert (answer.ranking, answer.failure) == ("bm25", "embedding_unavailable")
    # All of it was embedded before: there is nothing for an indexer to do.
    assert answer.unembedded == 0
    world.do_background()
    assert world.reindexed == []
    assert texts(answer) == ["Bread is in the oven."]

    # It is not waited for by each search.
    embedder.calls.clear()
    assert find(world.process, "oil").failure == "embedding_unavailable"
    assert embedder.calls == []
    embedder.fails = lambda texts, query: None
    world.clock.move(31)
    assert find(world.process, "oil").ranking == "hybrid"


def test_texts_that_the_model_refuses_are_found_by_their_words_and_counted():
    world, embedder = garage()

    def fail(texts, query):
        if not query:
            refuse("embedding_malformed")(texts, query)

    embedder.fails = fail
    answer = find(world.process, "oven")

    assert (answer.ranking, answer.failure, answer.unembedded) == ("hybrid", "embedding_malformed", 3)
    assert texts(answer)[0] == "Bread is in the oven."


def test_a_model_of_another_length_meets_no_vector_of_the_one_before():
    world, embedder = garage()
    run_indexer(world)
    embedder.dimensions = 32
    world.process = world.with_parts(embed=embedder)

    answer = find(world.process, "car oil")
    assert answer.ranking == "hybrid"
    assert texts(answer)[0] == "The automobile needs oil."

    assert run_indexer(world)["embedded"] == 3
    assert len(world.keys("demo/_vectors/")) == 2


def test_vectors_of_another_model_in_the_bucket_are_neither_read_nor_removed():
    world, embedder = garage()
    run_indexer(world)
    own = f"{PREFIX}00000001.vec"
    others = own.replace(MODEL, "another-model")
    # Under its names, each vector means something else.
    names, vectors = decode(world.store.get(own).body, 64)
    world.store.put(others, encode(dict(zip(names, -vectors, strict=True))))
    embedder.calls.clear()
    world.process = world.with_parts(embed=embedder)

    answer = find(world.process, "car")
    assert (answer.ranking, answer.unembedded, texts(answer)[0]) == ("hybrid", 0, "The automobile needs oil.")
    assert embedder.calls == [(["car"], True)]
    assert run_indexer(world)["embedded"] == 0
    assert set(world.keys("demo/_vectors/")) == {own, others}


def test_nothing_wrong_is_ever_stored_in_a_segment():
    world, embedder = garage()
    embedder.fails = refuse("embedding_wrong_dimension")

    assert run_indexer(world)["error"] == "embedding_wrong_dimension"
    assert not world.keys("demo/_vectors/")


def test_a_segment_holds_hashes_and_vectors_and_nothing_else():
    world, _ = garage()
    run_indexer(world)

    assert world.keys("demo/_vectors/") == [f"{PREFIX}00000001.vec"]
    names, vectors = decode(world.store.get(f"{PREFIX}00000001.vec").body, 64)
    assert (len(set(names)), vectors.shape) == (3, (3, 64))
    assert b"oven" not in world.store.get(f"{PREFIX}00000001.vec").body


@pytest.mark.parametrize("body", [b"", b"x" * 1_000])
def test_a_damaged_segment_is_left_aside_and_made_anew(body):
    world, embedder = garage()
    run_indexer(world)
    world.store.put(f"{PREFIX}00000001.vec", body)
    world.process = world.with_parts(embed=embedder)

    assert texts(find(world.process, "car"))[0] == "The automobile needs oil."
    world.process = world.with_parts(embed=embedder)
    assert run_indexer(world)["embedded"] == 3

    embedder.calls.clear()
    world.process = world.with_parts(embed=embedder)
    find(world.process, "car")
    assert embedder.calls == [(["car"], True)]
    assert len(world.keys(PREFIX)) == 1


def test_many_small_segments_become_one_of_what_is_still_there():
    world, embedder = garage()
    for number in range(17):
        world.note(f"Note number {number}.")
        run_indexer(world)
        world.clock.move(60)
        if number == 2:
            world.inner.delete_object(Bucket="b", Key=f"demo/live/{world.live_ids()[0]}.md")
    [segment] = world.keys(PREFIX)
    names, _ = decode(world.store.get(segment).body, 64)
    assert len(names) == len(world.live_ids()) == 19

    embedder.calls.clear()
    world.process = world.with_parts(embed=embedder)
    assert find(world.process, "car").unembedded == 0
    assert embedder.calls == [(["car"], True)]


def test_a_reader_that_meets_a_segment_that_was_just_merged_lists_again():
    world, embedder = garage()
    run_indexer(world)
    body = world.store.get(f"{PREFIX}00000001.vec").body
    reader = world.with_parts(embed=embedder)
    gone = []

    def merge(index, verb):
        if verb == "GET" and not gone and any(key.startswith(PREFIX) for _, key in world.client.requests[-1:]):
            gone.append(index)
            world.inner.put_object(Bucket="b", Key=f"{PREFIX}00000002.vec", Body=body)
            world.inner.delete_object(Bucket="b", Key=f"{PREFIX}00000001.vec")

    world.client.requests.clear()
    world.client.before = merge
    embedder.calls.clear()
    answer = find(reader, "car")
    world.client.before = lambda index, verb: None

    assert answer.unembedded == 0
    assert embedder.calls == [(["car"], True)]


def test_a_space_of_the_same_name_has_vectors_of_its_own_under_the_same_names():
    world, embedder = garage()
    run_indexer(world)
    reader = world.with_parts(embed=embedder)
    find(reader, "car")
    for key in world.keys("demo/"):
        world.inner.delete_object(Bucket="b", Key=key)
    world.clock.move(3_600)
    world.create_space()
    world.note("A truck is an automobile too.")
    run_indexer(world, world.with_parts(embed=embedder))
    assert world.keys("demo/_vectors/") == [f"{PREFIX}00000001.vec"]

    embedder.calls.clear()
    find(reader, "car")
    assert embedder.calls == [(["car"], True)]


def test_vectors_that_somebody_removed_are_made_anew_though_this_process_still_has_them():
    world, _ = garage()
    run_indexer(world)
    world.inner.delete_object(Bucket="b", Key=f"{PREFIX}00000001.vec")

    assert run_indexer(world)["embedded"] == 3
    assert len(world.keys(PREFIX)) == 1


def test_an_indexer_that_finds_another_one_at_work_leaves_all_to_it_and_that_one_looks_again():
    world, embedder = garage()
    told = []

    def others(texts, query):
        if not told:
            told.append({})
            world.note("A car that came late.")
            told.extend(run_indexer(world, world.with_parts(embed=embedder)) for _ in range(14))

    embedder.fails = others
    done = run_indexer(world)
    documents = [text for texts, query in embedder.calls if not query for text in texts if text != indexing.PROBE]

    assert told[1:] == [{"status": "busy"}] * 14
    assert (done["status"], done["embedded"]) == ("done", 4)
    assert len(documents) == len(set(documents)) == 4
    assert SEARCH_LEASE.key("demo") not in world.keys("demo/_search/")
    assert run_indexer(world)["embedded"] == 0


def index_while(world: World, other: Process, act: Callable[[], object]) -> None:
    """Run the indexer. While it gives its lease back, something is done, and another indexer is sent away."""
    told: list[dict[str, Any]] = []

    def late(index: int, verb: str) -> None:
        if verb == "DELETE" and not told:
            told.append({})
            act()
            world.reindexed.clear()
            told.append(run_indexer(world, other))

    world.client.before = late
    run_indexer(world)
    world.client.before = lambda index, verb: None
    assert told[1:] == [{"status": "busy"}]


def test_an_order_that_comes_after_an_indexers_last_look_is_not_left_to_the_sweep():
    world, embedder = garage()
    other = world.with_parts(embed=embedder)

    index_while(world, other, lambda: removal.forget(other, "demo", "late"))

    assert world.reindexed == ["demo"]
    run_indexer(world)
    assert not world.keys(SEARCH_ORDER.prefix("demo"))
    assert world.reindexed == ["demo"]


def test_a_consolidation_that_comes_after_an_indexers_last_look_is_not_left_to_the_next_search():
    world, embedder = garage()
    other = world.with_parts(embed=embedder)

    def consolidate() -> None:
        world.process, mine = other, world.process
        world.consolidate()
        world.process = mine

    index_while(world, other, consolidate)

    assert world.reindexed == ["demo"]
    assert run_indexer(world)["embedded"] > 0
    assert world.reindexed == ["demo"]


def test_words_of_a_text_are_forgotten_in_however_many_segments_they_are(monkeypatch):
    monkeypatch.setattr(indexing, "TEXTS", 2)
    world, embedder = garage()
    for number in range(15):
        world.note(f"Note number {number}.")
    run_indexer(world)
    assert len(world.keys(PREFIX)) == 9
    for key in [one for one in world.keys("demo/live/") if NOTE.parse(one)][:9]:
        world.inner.delete_object(Bucket="b", Key=key)
    removal.forget(world.process, "demo", "late")

    assert run_indexer(world, world.with_parts(embed=embedder))["forgotten"] == 1
    assert not world.keys(SEARCH_ORDER.prefix("demo"))
    kept = [name for key in world.keys(PREFIX) for name in decode(world.store.get(key).body, 64)[0]]
    assert len(kept) == len(set(kept)) == 9


def test_writers_of_vectors_that_collide_all_find_a_number():
    world, _ = garage()
    writers = [Segments("demo", MODEL) for _ in range(14)]
    for place, writer in enumerate(writers):
        # None of them knows of the others.
        writer.put(world.store, 64, encode({bytes([place]) * 16: [1.0, *[0.0] * 63]}), [bytes([place]) * 16])

    assert len(world.keys(PREFIX)) == 14


def test_a_segment_that_took_the_number_of_a_removed_one_is_read():
    """Neither the names of the old one count as known, nor are any of the new one missed."""
    world, _ = garage()
    reader, old, new = Segments("demo", MODEL), b"o" * 16, b"n" * 16

    def write(name: bytes) -> Segments:
        writer = Segments("demo", MODEL)
        writer.put(world.store, 64, encode({name: [1.0, *[0.0] * 63]}), [name])
        return writer

    writer = write(old)
    reader.follow(world.store)
    (key,) = world.keys(PREFIX)
    world.client.reset()
    for one in (writer, reader, writer):
        one.follow(world.store)
    assert world.client.counts["GET"] == 0
    world.inner.delete_object(Bucket="b", Key=key)
    write(new)
    assert world.keys(PREFIX) == [key]

    def fail(index: int, verb: str) -> None:
        if verb == "GET":
            raise Killed

    world.client.before = fail
    with suppress(Killed):
        reader.follow(world.store)
    assert reader.stored(64) == set()
    world.client.before = lambda index, verb: None
    reader.follow(world.store)
    assert reader.stored(64) == {new}
    assert (reader.pools[64].rows_of([new]) >= 0).all()


def test_a_try_of_an_invocation_waits_for_the_lease_of_the_one_that_died():
    world, embedder = garage()
    deadline = world.clock() + timedelta(minutes=15)

    def die(texts, query):
        # No request is sent any more, not that by which it would give its lease back either.
        world.client.kill_at(len(world.client.requests), done=False)
        raise Killed

    embedder.fails = die
    with suppress(Killed):
        indexing.index(world.process, "demo", deadline, "one")
    world.client.before = lambda index, verb: None
    embedder.fails = lambda texts, query: None
    assert SEARCH_LEASE.key("demo") in world.keys("demo/_search/")

    process = world.with_parts(embed=embedder)
    with pytest.raises(LeaseTaken):
        indexing.index(process, "demo", deadline, "one")
    world.clock.move(lease.LIFE.total_seconds())
    assert indexing.index(process, "demo", deadline, "one")["status"] == "done"


def test_two_indexers_at_once_do_no_harm():
    world, embedder = garage()
    other = world.with_parts(embed=embedder)
    done = []

    def second(index, verb):
        if verb == "PUT" and SEARCH_LEASE.key("demo") in world.keys("demo/_search/") and not done:
            done.append(index)
            # The lease of the first one has run out.
            world.inner.delete_object(Bucket="b", Key=SEARCH_LEASE.key("demo"))
            run_indexer(world, other)

    world.client.before = second
    run_indexer(world)
    world.client.before = lambda index, verb: None

    assert done
    assert len(world.keys(PREFIX)) == 2
    embedder.calls.clear()
    world.process = world.with_parts(embed=embedder)
    assert find(world.process, "car").unembedded == 0
    assert embedder.calls == [(["car"], True)]


def test_an_indexer_that_has_no_time_at_all_does_not_go_on_for_ever():
    world, _ = garage()

    found = indexing.index(world.process, "demo", world.clock() + timedelta(seconds=10))

    assert found["status"] == "unfinished"
    assert world.reindexed == []


def test_what_one_invocation_could_not_read_or_embed_the_next_one_goes_on_with(monkeypatch):
    monkeypatch.setattr("livemem.search.view.READ_AT_ONCE", 4)
    monkeypatch.setattr(indexing, "TEXTS", 4)
    world, embedder = garage()
    for number in range(12):
        world.note(f"Note number {number}.")
    told = []
    while not told or world.reindexed:
        world.reindexed.clear()
        # Another environment each time, which has time for two looks at the clock.
        moments = iter([world.clock()] * 3)
        process = world.with_parts(embed=embedder, clock=lambda moments=moments: next(moments, INVOCATION_END))
        told.append(indexing.index(process, "demo", world.clock() + timedelta(minutes=15)))
        assert len(told) < 40

    assert told[-1]["status"] == "done"
    assert len(told) > 4
    embedder.calls.clear()
    answer = find(world.with_parts(embed=embedder), "car")
    assert (answer.documents, answer.unembedded) == (15, 0)
    assert embedder.calls == [(["car"], True)]


def test_the_indexer_of_a_deleted_space_does_nothing():
    world = World()

    assert run_indexer(world, space_id="gone") == {"status": "gone"}


def test_a_search_answers_though_nobody_takes_the_order_of_an_indexer():
    world, embedder = garage()

    def refuse_order(function, payload):
        raise StoreUnavailable("no")

    world.process = world.with_parts(embed=embedder, enqueue=refuse_order)
    assert find(world.process, "oven").hits
    world.do_background()


def test_each_consolidation_asks_for_the_indexer_and_goes_well_without_it():
    world, _ = garage()
    world.consolidate()
    assert world.reindexed == ["demo"]

    def refuse_order(function, payload):
        if function == "indexer":
            raise StoreUnavailable("no")
        world.enqueue(function, payload)

    world.note("Another one.")
    world.process = world.with_parts(enqueue=refuse_order)
    assert world.consolidate().state == "done"


def test_the_daily_sweep_asks_for_a_snapshot_that_nobody_made():
    world, _ = garage()
    world.consolidate()
    world.reindexed.clear()

    world.sweep_all()
    assert world.reindexed == ["demo"]
    run_indexer(world)
    world.sweep_all()
    assert world.reindexed == ["demo"]


def test_another_prefix_of_texts_makes_other_vectors():
    world, embedder = garage()
    run_indexer(world)
    settings = world.settings.model_copy(update={"embeddings_text_prefix": "passage: "})
    world.process = world.with_parts(embed=embedder, settings=settings)

    assert run_indexer(world)["embedded"] == 3


@forked
def _three_spaces():
    world = World()
    for name in ("one", "two", "three"):
        world.create_space(name)
        world.note(f"The store of {name}.", space_id=name)
        world.note(f"Another store of {name}, a second one.", space_id=name)
    return world


class TestSeveral:
    def spaces(self):
        return _three_spaces()

    def ask(self, world, named, principal=EVERYONE, **asked):
        found = search.several(world.process, principal, named, SearchRequest.of("store", **asked))
        assert (found.failed, found.more) == ([], None)
        return [(space_id, hit.document.text) for space_id, hit in search.merged(found.answers, asked.get("limit", 10))]

    def test_the_best_of_each_come_first_then_the_second_ones(self):
        found = self.ask(self.spaces(), "two,one")

        assert [space_id for space_id, _ in found] == ["two", "one", "two", "one"]

    def test_without_names_all_that_the_token_may_see(self):
        world = self.spaces()

        assert {space_id for space_id, _ in self.ask(world, None)} == {"one", "two", "three"}
        limited = Principal("ann", frozenset({"read"}), frozenset({"one", "gone"}))
        assert {space_id for space_id, _ in self.ask(world, None, limited)} == {"one"}

    def test_a_space_that_the_token_may_not_see_is_refused_and_one_that_is_not_there_is_not_found(self):
        world = self.spaces()
        limited = Principal("ann", frozenset({"read"}), frozenset({"one", "gone"}))

        with pytest.raises(Forbidden):
            self.ask(world, "one,two", limited)
        with pytest.raises(NotFound):
            self.ask(world, "one,gone", limited)

    @pytest.mark.parametrize("named", ["", "one,", ",".join(f"s{number}" for number in range(21)), "a/b"])
    def test_names_that_are_none_or_too_many_are_refused(self, named):
        with pytest.raises(InvalidRequest) as caught:
            self.ask(self.spaces(), named)
        assert [error.field for error in caught.value.fields] == ["spaces"]

    def test_more_spaces_than_one_answer_has_are_searched_in_further_ones_each_once(self, monkeypatch):
        monkeypatch.setattr(search, "SPACES", 4)
        world, names = World(), [f"s{number}" for number in range(9)]
        for name in names:
            world.create_space(name)
        inside = search._answer

        def one(process, meta, asked, embedded):
            if meta.space_id < names[4]:
                raise StoreUnavailable("The store did not answer.")
            return inside(process, meta, asked, embedded)

        monkeypatch.setattr(search, "_answer", one)
        asked, after, seen = SearchRequest.of("store"), None, []
        while not seen or after:
            found = search.several(world.process, EVERYONE, None, asked, after)
            seen.append([answer.space_id for answer in found.answers])
            after = found.more

        # The first answer is none of an error, though all of its spaces failed: there are others.
        assert seen == [[], names[4:8], names[8:]]

    def test_a_cursor_goes_with_no_names(self):
        with pytest.raises(InvalidRequest) as caught:
            search.several(self.spaces().process, EVERYONE, "one", SearchRequest.of("store"), "one")
        assert caught.value.fields[0].field == "cursor"

    @pytest.mark.parametrize("named", ["one,two,three", None])
    def test_a_space_that_can_not_be_searched_is_named_and_the_others_answer(self, named, monkeypatch):
        world = self.spaces()
        inside = search._answer

        def one(process, meta, asked, embedded):
            if meta.space_id == "one":
                raise StoreUnavailable("The store did not answer.")
            if meta.space_id == "two":
                raise OverflowError("Python int too large to convert to SQLite INTEGER")
            return inside(process, meta, asked, embedded)

        monkeypatch.setattr(search, "_answer", one)
        found = search.several(world.process, EVERYONE, named, SearchRequest.of("store"))

        failed = found.failed
        assert [answer.space_id for answer in found.answers] == ["three"]
        assert [(one.space_id, one.code) for one in failed] == [("one", "store_unavailable"), ("two", "space_broken")]
        assert "SQLite" not in failed[1].detail

    def test_where_no_space_can_be_searched_the_error_is_told(self, monkeypatch):
        world = self.spaces()
        monkeypatch.setattr(search, "_answer", lambda *_: (_ for _ in ()).throw(SearchNotReady("Not yet.")))
        with pytest.raises(SearchNotReady):
            search.several(world.process, EVERYONE, "one,two", SearchRequest.of("store"))

    @pytest.mark.parametrize("number", [10**30, -5, 7])
    def test_a_record_with_absurd_numbers_is_passed_over(self, number):
        world = self.spaces()
        world.consolidate("one")
        (key,) = world.keys("one/_consolidations/")
        record = json.loads(world.text(key)) | {"number": number}
        world.inner.put_object(Bucket="bucket", Key=key, Body=json.dumps(record).encode())
        wild = key.replace("/000001_", f"/{10**30}_")
        world.inner.put_object(Bucket="bucket", Key=wild, Body=json.dumps(record | {"number": 10**30}).encode())

        found = search.several(world.process, EVERYONE, "one,two", SearchRequest.of("store", scope="all"))

        assert [answer.space_id for answer in found.answers] == ["one", "two"]
        assert found.failed == []
        assert [hit.document.kind for hit in found.answers[0].hits] == ["bank"]

    def test_one_call_of_the_model_answers_for_all(self):
        world, embedder = searching_world()
        for name in ("one", "two"):
            world.create_space(name)
            world.note("The automobile needs oil.", space_id=name)
            run_indexer(world, space_id=name)
        embedder.calls.clear()

        found = search.several(world.process, EVERYONE, "one,two", SearchRequest.of("car"))

        assert [answer.ranking for answer in found.answers] == ["hybrid", "hybrid"]
        assert embedder.calls == [(["car"], True)]


def test_keys_of_segments_parse_back():
    key = SEGMENT.key("demo", "a-384", 512, 7)

    assert key == "demo/_vectors/a-384-512/00000007.vec"
    assert SEGMENT.parse(key) == ("demo", "a-384", 512, 7)
    assert SEGMENT.parse("demo/_vectors/a-384-512/7.vec") is None


def test_the_first_note_of_a_space_that_was_searched_while_it_was_empty_is_found_by_its_meaning():
    world, _ = searching_world()
    world.create_space()
    for text in ("", "We keep the car in the hall."):
        if text:
            world.note(text)
        # Twice: what a view knows of vectors is kept from one search to the next.
        for _ in range(2):
            found = find(world.process, "automobile")
    assert [hit.document.text for hit in found.hits] == ["We keep the car in the hall."]


def test_a_note_is_found_by_when_and_by_whom_it_was_said():
    world, _ = searching_world()
    world.create_space()
    for author, said_at in (("Caroline", "2023-05-08T13:56:00Z"), ("Melanie", "2024-06-09T10:00:00Z")):
        draft = NoteDraft("observation", "I painted a boat", said_at=said_at, author=author)
        appending.append(world.process, "demo", "importer", draft)
    world.note("Nobody paints.")

    def first(text):
        document = find(world.process, text, limit=5).hits[0].document
        return document.author, document.time[:10]

    assert first("What did Melanie paint?") == ("Melanie", "2024-06-09")
    assert first("What was painted in May 2023?") == ("Caroline", "2023-05-08")
    since = find(world.process, "boat", since="2024-01-01T00:00:00Z", limit=5).hits
    assert "Caroline" not in [hit.document.author for hit in since]


def test_what_shares_neither_words_nor_meaning_is_no_answer():
    world, _ = garage()
    run_indexer(world)

    answer = find(world.process, "blorf quintazzle vrenk")
    assert (answer.ranking, answer.hits, answer.below_floor) == ("hybrid", [], True)

    # One hit that passes keeps its neighbours in the order, whatever is asked for.
    first = find(world.process, "automobile oil", limit=1)
    assert texts(first) == texts(find(world.process, "automobile oil"))[:1] == ["The automobile needs oil."]
    assert not first.below_floor


def test_one_word_of_many_is_chance_by_words_alone_too():
    world = World()
    world.create_space()
    world.note("The oven saves time.")

    assert find(world.process, "does the flight from Lisbon land on time today").below_floor
    assert texts(find(world.process, "oven time")) == ["The oven saves time."]
    # One word of three is chance too. One of two is not, nor keywords of which several notes hold one each.
    assert find(world.process, "harpsichord tuning time").below_floor
    assert texts(find(world.process, "harpsichord time")) == ["The oven saves time."]
    world.note("The violin is fine.")
    assert sorted(texts(find(world.process, "violin garden time"))) == ["The oven saves time.", "The violin is fine."]


def test_a_query_that_says_itself_what_must_be_there_has_no_floor():
    world, _ = garage()
    run_indexer(world)

    for query in ('"oven"', "oven* lisbon flight harbour crane", "flight lisbon harbour crane -bread"):
        assert find(world.process, query).hits
    # And one of words that say little asks for these.
    assert "Bread is in the oven." in texts(find(world.process, "is it in the"))
    # With a filter it asks for what passes.
    assert find(world.process, "what was it").hits == []
    assert len(find(world.process, "what was it", since="2026-01-01T00:00:00Z").hits) == 3


def test_each_memory_has_to_pass_the_floor():
    world, _ = searching_world()
    world.create_space()
    near = store(world.process, "Bob repairs the ferry engine.").memory
    store(world.process, "Zoe paints landscapes.")
    run_indexer(world)

    assert ids(find(world.process, "ferry engine", scope="memories")) == [near.memory_id]


def test_a_search_ends_where_memories_no_longer_answer_and_notes_stay():
    world, _ = searching_world()
    world.create_space()
    for environment, port in (("staging", 8080), ("production", 9443), ("demo", 7070)):
        store(world.process, f"The port of {environment} is {port}.", subjects=[environment])
    for number in range(8):
        store(world.process, f"Ferry {number} carries cargo {number * 7} to Kiel.")
    store(world.process, "The port of preview was 5050. Historical record only.")
    run_indexer(world)

    assert texts(find(world.process, "port of staging", scope="memories")) == ["The port of staging is 8080."]
    assert texts(find(world.process, "preview port", scope="memories", limit=1)) == []
    assert find(world.process, "preview", scope="memories").below_floor
    assert len(texts(find(world.process, "what was the port of preview before", scope="memories"))) == 1
    # As many as are asked for change nothing of what answers.
    for limit in (1, 5, 50):
        found = find(world.process, "staging port", scope="memories", limit=limit)
        assert texts(found) == ["The port of staging is 8080."]
    world.note("The crane of staging needs oil.")
    assert "The crane of staging needs oil." in texts(find(world.process, "port of staging", scope="all"))


@pytest.mark.parametrize("by_meaning", [False, True])
def test_a_note_or_a_memory_of_small_words_is_found_by_them(by_meaning):
    world = searching_world()[0] if by_meaning else World()
    world.create_space()
    small = ("The good one is well.", "It is all right now.", "Nous y sommes tous.", "OK, go on!")
    for text in (*small, "The crane needs oil."):
        world.note(text)
    for text in small:
        store(world.process, text)
    run_indexer(world)

    for text, scope in product(small, ("all", "live", "memories")):
        assert text in texts(find(world.process, text, scope=scope))
    world.consolidate()
    for text in small:
        assert text in texts(find(world.process, text, scope="archive"))
    assert not find(world.process, "blorf quintazzle vrenk", scope="all").hits


def test_a_note_that_shares_nothing_and_fits_worse_than_the_average_is_no_answer_however_few_there_are():
    world, _ = searching_world()
    world.create_space()
    for text in ("We ship on Friday.", "The kitchen is red."):
        world.note(text)
    run_indexer(world)

    found = find(world.process, "Friday")
    assert (texts(found), found.total) == (["We ship on Friday."], 1)
    assert texts(find(world.process, "Friday", limit=1)) == ["We ship on Friday."]
    # What is near in meaning shares no word.
    world.note("The automobile is red.")
    world.note("An auto came.")
    assert {*texts(find(world.process, "car"))} == {"The automobile is red.", "An auto came."}


def test_a_day_is_the_whole_day_in_the_time_zone_of_the_space():
    world = World(default_timezone="UTC")
    world.create_space()
    heads.patch(world.process, "demo", timezone="America/New_York")
    world.process = world.new_process()
    # The 28th of November there: from 05:00 UTC of that day to 05:00 of the next one.
    for moment in ("2026-11-28T04:59:59Z", "2026-11-28T05:00:00Z", "2026-11-29T04:59:59Z", "2026-11-29T05:00:00Z"):
        world.clock.moment = clock.parse(moment)
        world.note(f"The crane of {moment} needs oil.")

    def found(**asked):
        return sorted(text[13:33] for text in texts(find(world.process, "crane", **asked)))

    def listed(**asked):
        wanted = pages.NotesFilter.of(**{"category": None, "agent": None, "tag": None, "since": None, **asked})
        return sorted(note.content[13:33] for note in pages.page(world.process, "demo", wanted, limit=9).items)

    for which in (found, listed):
        day = ["2026-11-28T05:00:00Z", "2026-11-29T04:59:59Z"]
        assert which(since="2026-11-28", until="2026-11-28") == day
        assert len(which(until="2026-11-28")) == 3
        assert which(until="2026-11-28T00:00:00Z") == []
        # With an offset it is a moment, as before.
        assert which(since="2026-11-29", until=None) == ["2026-11-29T05:00:00Z"]
        assert len(which(since="0001-01-01", until="9999-12-31")) == 4
    world.consolidate()
    wanted = pages.NotesFilter.of(category=None, agent=None, tag=None, since="2026-11-28", until="2026-11-28")
    assert len(folded_notes.page(world.process, "demo", wanted, limit=9).items) == 2


def test_authors_and_tags_are_equal_in_any_case_and_any_form_of_their_letters():
    world = World()
    world.create_space()
    draft = NoteDraft("todo", "The crane needs oil.", ("Café  Öl",), author="Zoé Martin")
    appending.append(world.process, "demo", "Ann", draft)
    store(world.process, "The crane is red.", subjects=["café öl"])

    for tag in ("Café  Öl", "café öl", "CAFÉ ÖL", unicodedata.normalize("NFD", "café öl")):
        assert len(find(world.process, "crane", tag=tag, scope="all").hits) == 2, tag
        wanted = pages.NotesFilter.of(category=None, agent="ann", tag=tag, since=None, until=None)
        assert len(pages.page(world.process, "demo", wanted, limit=9).items) == 1, tag
        assert len(reading.recent(world.process, "demo", subject=tag)) == 1, tag
    for author in ("Zoé Martin", "zoé martin", unicodedata.normalize("NFD", "ZOÉ MARTIN")):
        assert len(find(world.process, "crane", author=author).hits) == 1, author
    assert not find(world.process, "crane", author="Zoe Martin").hits
    assert not find(world.process, "crane", tag="cafe").hits


def test_one_scope_is_searched_where_none_is_named_and_it_is_everything():
    world, _ = garage()
    talked = Talk(world=world)
    talked.say("Does the crane need oil?", "The crane needs none.")
    store(world.process, "The crane is red.")
    world.note("The crane is old.")
    run_indexer(world)

    assert SearchRequest.of("crane").kinds == SearchRequest.of("crane").kinds is None
    assert {hit.document.kind for hit in find(world.process, "crane").hits} == {"note", "turn", "memory"}
    # A start with a question finds them too, and each can be read.
    began = start.start(world.process, "demo", StartRequest(q="Does the crane need oil?"))
    said = [part for part in began.parts if part.kind == "turn"]
    assert {(part.why, part.source) for part in said} == {("question", f"conversations/{talked.id}/turns/1")}
    assert "user] Does the crane need oil?" in began.markdown
    assert by_id.read(world.process, "demo", by_id.ReadRequest.of(said[0].source or "")).kind == "turn"


@pytest.mark.parametrize("by_meaning", [False, True])
def test_a_context_forgives_a_wrong_letter(by_meaning):
    world = searching_world()[0] if by_meaning else World()
    world.create_space()
    world.note("The exporter drops tabs and nobody knows why.")
    for number in range(5):
        world.note(f"Ferry {number} carries cargo {number * 7} to Kiel.")
    run_indexer(world)

    for message in ("Which exportr tabs of the billing team fail?", "Quels tabs exporetr ?"):
        items = message_context.context(world.process, "demo", message).items
        assert [item.text for item in items] == ["The exporter drops tabs and nobody knows why."]


def test_last_week_is_a_time():
    world = World()
    world.create_space()
    # A Wednesday; last week begins on the 9th of February.
    for day in (3, 10, 12, 17, 18):
        world.clock.moment = datetime(2026, 2, day, 12, tzinfo=UTC)
        world.note(f"The crane of pier {day} is red.")
        for number in range(3):
            store(world.process, f"Ferry {number * day} goes to Kiel.")
    run_indexer(world)

    for asked in ("What happened last week?", "Que s'est-il passé la semaine dernière ?"):
        found = texts(find(world.process, asked, scope="live"))
        assert set(found[:2]) == {"The crane of pier 10 is red.", "The crane of pier 12 is red."}


def test_the_floor_can_be_lifted_in_every_search():
    world, _ = garage()
    talked = Talk(world=world)
    talked.say("The crane is red.", "The pier is long.")
    posting.post(world.process, "demo", "salon", MessageDraft("Ann", "The ferry is late."))
    store(world.process, "The gate is open.")
    run_indexer(world)
    query, process = "blorf quintazzle vrenk", world.process

    def everywhere(**asked):
        return [
            find(process, query, scope="all", **asked),
            *search.several(process, EVERYONE, "demo", SearchRequest.of(query, scope="all", **asked)).answers,
            search.search(process, "demo", SearchRequest.of(query, **asked, conversation_id=talked.id)),
            search.search(process, "demo", SearchRequest.of(query, **asked, scope="conversations")),
            search.search(process, "demo", SearchRequest.of(query, scope="rooms", **asked)),
            search.search(process, "demo", SearchRequest.of(query, kind="fact", **asked)),
        ]

    assert [len(one.hits) for one in everywhere()] == [0] * 6
    for lifted in ({"min_score": 0.0}, {"everything": True}):
        assert [len(one.hits) for one in everywhere(**lifted)] == [7, 7, 2, 2, 1, 1]


@pytest.mark.parametrize("by_meaning", [False, True])
def test_a_question_with_two_subjects_finds_both(by_meaning):
    world = searching_world()[0] if by_meaning else World()
    world.create_space()
    both = ["Billing belongs to Zoe of the finance team.", "Version three of the logo is green."]
    for text in both:
        store(world.process, text)
    for number in range(6):
        store(world.process, f"Ferry {number} carries cargo {number * 7} to Kiel.")
    run_indexer(world)
    questions = (
        "Who owns billing, and what about the logo?",
        "Who owns billing and what about the logo?",
        "Who owns billing? What about the logo?",
        "À qui est le billing et où est le logo ?",
    )

    for question in questions:
        assert sorted(texts(find(world.process, question, scope="memories"))) == both
        assert sorted(one.memory.content for one in reading.answers(world.process, "demo", question).found) == both
    for text in both:
        world.note(text)
    run_indexer(world)
    for question in questions[1:3]:
        assert {*both} <= {*texts(find(world.process, question))}
        items = message_context.context(world.process, "demo", question).items
        assert {*both} <= {item.text for item in items}


def test_a_long_wish_that_joins_a_question_without_its_mark_finds_the_answer():
    world, _ = searching_world()
    world.create_space()
    for number in range(12):
        world.note(f"Ferry {number} carries cargo {number * 7} to Kiel.")
    world.note("Billing belongs to Zoe of the finance team.")
    run_indexer(world)
    wish = "Please prepare coffee, chairs, speeches, invitations, music and flowers for the summer reception"

    assert not find(world.process, wish).hits
    assert "Zoe" in texts(find(world.process, f"{wish}, and who owns billing"))[0]


def test_a_search_that_finds_nothing_names_the_scopes_that_hold_the_words():
    world, _ = garage()
    talked = Talk(world=world)
    call = ToolCall(name="grep", arguments={"pattern": "zeitgeist"}, result="zeitgeist in mushroom.py")
    talked.say("Look for it.", "Done.", tool_calls=[call])
    run_indexer(world)

    def elsewhere(query, **asked):
        before = len(world.client.requests)
        found = find(world.process, query, **asked)
        assert not found.hits
        assert len(world.client.requests) - before <= 8
        return found.elsewhere

    find(world.process, "oil", scope="all")
    assert elsewhere("zeitgeist mushroom", scope="all") == ("tools",)
    assert elsewhere("zeitgeist", scope="bank") == ("tools",)
    assert elsewhere("bread oven", scope="conversations") == ("live",)
    assert elsewhere("bread oven", scope="tools") == ("live",)
    assert elsewhere("blorf quintazzle", scope="all") == ()
    # A filter is what leaves them out.
    assert elsewhere("bread oven", scope="all", author="nobody") == ()


def test_a_search_tells_why_a_document_was_not_found():
    world, _ = garage()
    run_indexer(world)
    by_text = {hit.document.text: hit.document.id for hit in find(world.process, "automobile bread oven oil").hits}
    oil, bread = by_text["The automobile needs oil."], by_text["Bread is in the oven."]
    world.note(":-)")
    small = max(world.keys("demo/live/")).removeprefix("demo/live/").removesuffix(".md")
    find(world.process, "oil")

    def why(query, name, **asked):
        before = len(world.client.requests)
        plain = search.search(world.process, "demo", SearchRequest.of(query, **asked))
        requests = len(world.client.requests) - before
        asking = SearchRequest.of(query, **asked).asking_why_not(name)
        told = search.search(world.process, "demo", asking)
        assert len(world.client.requests) - before <= 2 * requests
        assert ids(told) == ids(plain)
        return told.why_not

    assert why("automobile oil", oil).reason == "found"
    ranked = why("automobile oil oven", bread, limit=1)
    assert (ranked.reason, ranked.rank >= 2, oil in ranked.behind) == ("rank", True, True)
    assert why("automobile oil", "nobody").reason == "unknown"
    # By the ids that `read` takes too.
    assert why("automobile oil", f"notes/{oil}").reason == "found"
    assert why("automobile oil oven", f"notes/{bread}", limit=1) == ranked
    assert why("automobile oil", bread).reason == "below_floor"
    assert why("automobile oil", "notes/20260101T120000_eva_todo_00000000").reason == "unknown"
    assert why("automobile oil", small).reason == "no_words"
    assert why("automobile oil", bread, scope="bank").reason == "scope"
    assert why("automobile oil", bread, author="somebody").reason == "filtered"
    assert why('"automobile needs"', bread).reason == "filtered"
    assert why("blorf quintazzle vrenk", bread).reason == "below_floor"

    world.process = world.with_parts(embed=None)
    assert why("automobile oil", bread).reason == "no_match"


@pytest.mark.parametrize("name", ["", "x" * 4_001])
def test_an_id_that_can_be_none_is_refused(name):
    with pytest.raises(InvalidRequest):
        SearchRequest.of("oil").asking_why_not(name)


def test_a_model_that_was_late_is_waited_for_less_until_it_answers_in_time_again():
    world, embedder = garage()
    waited: list[float] = []
    late = [True]

    def embed(texts, *, query, timeout):
        waited.append(timeout)
        if late[0]:
            raise EmbeddingError("embedding_timeout", "It did not answer in time.")
        return embedder(texts, query=query, timeout=timeout)

    run_indexer(world)
    world.process = world.with_parts(embed=embed)
    rankings = [find(world.process, "car").ranking for _ in range(2)]
    late[0] = False
    rankings += [find(world.process, "car").ranking for _ in range(2)]

    assert rankings == ["bm25", "bm25", "hybrid", "hybrid"]
    assert waited == [search.QUERY_SECONDS, search.LATE_SECONDS, search.LATE_SECONDS, search.QUERY_SECONDS]


def test_searches_of_one_space_do_not_wait_for_each_others_vectors():
    world, embedder = garage()
    run_indexer(world)
    find(world.process, "car")
    both = threading.Barrier(2)

    def embed(texts, *, query, timeout):
        both.wait(10)
        return embedder(texts, query=query, timeout=timeout)

    process = world.with_parts(embed=embed)
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda text: find(process, text), ["car", "oven"]))

    assert [(texts(answer)[0], answer.ranking) for answer in answers] == [
        ("The automobile needs oil.", "hybrid"),
        ("Bread is in the oven.", "hybrid"),
    ]


def test_a_search_does_not_wait_for_ever_for_a_view_that_others_use(monkeypatch):
    world, _ = garage()
    monkeypatch.setattr("livemem.search.view.WAIT_SECONDS", 0.01)
    with search.viewing(world.process, heads.load(world.process, "demo").meta), pytest.raises(SearchNotReady):
        find(world.process, "car")

    assert find(world.process, "car").hits


def test_a_model_that_fails_otherwise_is_left_alone_for_a_while():
    world, embedder = garage()
    run_indexer(world)
    embedder.calls.clear()
    embedder.fails = refuse("embedding_throttled")
    world.process = world.with_parts(embed=embedder)

    assert [find(world.process, "car").failure for _ in range(3)] == ["embedding_throttled"] * 3
    assert len(embedder.calls) == 1


def test_texts_that_could_not_be_embedded_in_one_space_are_not_tried_again_and_others_are():
    world, embedder = garage()
    world.create_space("other")
    world.note("An automobile stands here.", space_id="other")
    embedder.fails = lambda texts, query: None if query or "stands" in texts[0] else refuse()(texts, query)
    world.process = world.with_parts(embed=embedder)

    first = [find(world.process, "car") for _ in range(3)]
    documents = [texts for texts, query in embedder.calls if not query]
    other = find(world.process, "car", space_id="other")

    assert [(one.ranking, one.failure, one.unembedded) for one in first] == [("hybrid", "embedding_timeout", 3)] * 3
    assert len(documents) == 1
    assert (other.ranking, other.failure, other.unembedded) == ("hybrid", None, 0)


def test_what_two_notes_say_in_the_same_words_is_found_once_and_the_other_is_called_a_copy():
    world = World()
    world.create_space()
    said = ("The rate limit of the API is 60.", "Rate limit of the API: 60.", "The rate limit of the API is 600.")
    notes = {world.note(text).note_id for text in said}

    found = find(world.process, "rate limit of the API", scope="all")
    assert len(found.hits) == 2
    (copy,) = notes.difference(ids(found))
    asked = SearchRequest.of("rate limit of the API", scope="all").asking_why_not(copy)
    told = search.search(world.process, "demo", asked).why_not
    assert told
    assert told.reason == "copy"
    assert told.copy_of in ids(found)
