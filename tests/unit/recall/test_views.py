"""A view follows the bucket: whatever happened in between, and whatever it was made of, it holds what is there."""

import random
from contextlib import suppress
from errno import ENOSPC
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from livemem.bank import corrections
from livemem.changes.records import Record
from livemem.erasure import erasure
from livemem.errors import LiveMemoryError, SearchNotReady, StoreUnavailable
from livemem.recall import search
from livemem.recall.document_sources import sources
from livemem.search import database
from livemem.search.view import Views
from livemem.spaces import head as heads
from livemem.store.bucket import RECORD
from livemem.store.objects import Store
from tests.support.cases import each
from tests.support.part import part
from tests.support.searching import find, holdings, ids, run_indexer, searching_world, texts
from tests.support.world import EVERYONE, INVOCATION, World, forked


@forked
def in_use() -> World:
    world = World()
    world.create_space()
    for text in ("The parser drops tabs.", "We keep S3 as the only store."):
        world.note(text)
        world.clock.move(60)
    world.consolidate()
    world.note("The nightly backup took four minutes.")
    world.clock.move(60)
    return world


def expected(world: World) -> dict[str, str]:
    """The notes of the space by their ids, with how the service tells of them."""
    live = dict.fromkeys(world.live_ids(), "note")
    held: dict[str, str] = {}
    for key in world.keys("demo/_consolidations/"):
        record = Record.from_bytes(world.store.get(key).body)
        for source in record.notes:
            held.pop(source.note_id, None)
            if record.kind != "undo":
                held[source.note_id] = "archive"
    return {**live, **held}


def notes_of(found):
    return {name: told[0] for name, told in found.items() if told[0] != "bank"}


def test_live_notes_sections_and_consolidated_notes_are_found():
    world = in_use()

    for scope in ("bank", "archive"):
        assert [hit.document.kind for hit in find(world.process, "store", scope=scope).hits] == [scope]
    assert texts(find(world.process, "nightly backup")) == ["The nightly backup took four minutes."]
    assert ids(find(world.process, "parser")) == ["log.md > # Log > ## Log"]


def test_a_search_costs_a_listing_of_each_prefix_and_reads_only_what_is_new():
    world = in_use()
    find(world.process, "store", scope="live,bank")
    world.client.reset()

    find(world.process, "store", scope="live,bank")
    assert [verb for verb, _ in world.client.requests] == ["LIST"] * 3

    world.note("One more.")
    world.client.reset()
    assert texts(find(world.process, "more", scope="live,bank")) == ["One more."]
    assert [verb for verb, _ in world.client.requests] == ["LIST"] * 3 + ["GET"]


def test_a_consolidated_note_is_not_read_again_for_its_words_and_never_found_twice():
    world = in_use()
    find(world.process, "backup")
    run = world.consolidate()
    world.client.reset()

    found = find(world.process, "nightly", scope="archive").hits

    assert run.state == "done"
    assert [hit.document.source["consolidation"] for hit in found] == ["2"]
    # The section that it was folded into says the same.
    assert [hit.document.kind for hit in find(world.process, "nightly", scope="all").hits] == ["bank"]


LONGER = "# Log\n\nSince the harbour was rebuilt in spring, the port of the ferry is 9090, as Bob wrote to all.\n"


def test_a_consolidated_note_comes_behind_a_section_that_says_what_holds_now():
    world = World()
    world.create_space()
    for text in ("The port of the ferry is 8080.", "The crane needs oil.", "Bread is in the oven."):
        world.note(text)
        world.clock.move(60)
    world.consolidate()
    for path in world.bank():
        corrections.write_file(world.process, "bob", "demo", path, LONGER, None)

    first, second = find(world.process, "port of the ferry", scope="all").hits

    assert [first.document.kind, second.document.kind] == ["bank", "archive"]
    # By its words alone it would be second.
    assert first.parts["current"] > 0
    assert (first.score, sum(first.parts.values())) == (second.score, pytest.approx(second.score))
    # What only the note says is found first.
    assert find(world.process, "ferry port 8080", scope="all").hits[0].document.kind == "archive"


def test_what_an_undo_gives_back_is_live_again():
    world = in_use()
    assert find(world.process, "parser", scope="archive").hits

    world.undo(1)

    assert [hit.document.kind for hit in find(world.process, "parser", scope="all").hits] == ["note"]


def test_words_that_are_erased_are_found_no_more_and_lie_in_nothing_that_was_derived():
    world = in_use()
    note = world.note("Her number is 555 0199.")
    world.consolidate()
    run_indexer(world)
    assert find(world.process, "0199", scope="all").hits
    assert any(b"0199" in stored.body for key, stored in world.inner.objects.items() if "/_search/" in key)

    erasure.erase(world.process, EVERYONE, "demo", [note.note_id], world.clock() + INVOCATION)

    assert not find(world.process, "0199", scope="all").hits
    assert not any(b"0199" in stored.body for stored in world.inner.objects.values())
    assert not world.keys("demo/_search/")


@pytest.mark.parametrize("answer_is_lost", [False, True])
def test_a_snapshot_made_while_words_were_erased_is_taken_back(answer_is_lost):
    world = in_use()
    note = world.note("Her number is 555 0199.")
    world.consolidate()
    calls = []

    def erase_first(index, verb):
        if verb == "PUT" and not calls:
            calls.append(index)
            other = world.with_parts()
            erasure.erase(other, EVERYONE, "demo", [note.note_id], world.clock() + INVOCATION)

    def once_more(request):
        answer = request.send(world.inner)
        # The store's client sends again what it got no answer to, and is told that something is there already.
        return request.send(world.inner) if request.verb == "PUT" and "/_search/" in request.key else answer

    world.client.before = erase_first
    if answer_is_lost:
        world.client.carry = once_more
    run_indexer(world)
    world.client.before = lambda index, verb: None

    assert calls
    assert not any(b"0199" in stored.body for stored in world.inner.objects.values())


def test_a_cold_process_reads_the_newest_snapshot_and_then_what_came_since():
    world = indexed()
    world.note("After the snapshot.")
    world.clock.move(60)
    cold = world.new_process()

    answer = find(cold, "snapshot")

    assert answer.cold
    assert texts(answer) == ["After the snapshot."]
    log = world.client.requests
    assert [key for verb, key in log if verb == "GET"][1] == f"demo/_search/{database.SCHEMA}-000001.sqlite"
    # The head, the snapshot, and the one note: no record, no bank file.
    assert sum(verb == "GET" for verb, _ in log) == 3
    assert holdings(world.process) == holdings(world.with_parts())


def test_a_view_of_a_snapshot_holds_what_one_made_of_the_bucket_holds():
    world = in_use()
    built = holdings(world.process)
    run_indexer(world)

    assert holdings(world.new_process()) == built
    assert world.keys("demo/_search/")


@forked
def indexed() -> World:
    world = in_use()
    run_indexer(world)
    return world


@each("damage", [b"", "cut", "flipped", "schema", "uid"])
def test_a_damaged_snapshot_is_left_aside_and_made_anew(damage):
    world = indexed()
    (key,) = world.keys("demo/_search/")
    found = world.store.get(key)
    body, told = found.body, dict(found.metadata)
    if damage == "uid":
        told["uid"] = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
    elif damage == "cut":
        body = body[: len(body) // 2]
    elif damage == "flipped":
        body = body[:5000] + bytes([body[5000] ^ 255]) + body[5001:]
    elif damage == "schema":
        key = f"demo/_search/{database.SCHEMA}-000001.sqlite"
        body = body.replace(b"schema", b"schemo")
    else:
        body = damage
    world.store.put(key, body, metadata=told)
    cold = world.new_process()

    assert find(cold, "store").hits
    world.do_background()
    assert world.reindexed[-1] == "demo"
    world.new_process()
    assert run_indexer(world)["snapshot"]

    world.new_process()
    find(world.process, "store")
    assert not [key for verb, key in world.client.requests if verb == "GET" and "/_consolidations/" in key]


def test_only_the_two_newest_snapshots_are_kept():
    world = in_use()
    for number in range(2):
        run_indexer(world)
        world.note(f"Note {number}.")
        world.clock.move(60)
        world.consolidate()
    run_indexer(world)

    assert world.keys("demo/_search/") == [f"demo/_search/{database.SCHEMA}-{number:06d}.sqlite" for number in (2, 3)]


def test_snapshots_of_a_later_schema_are_left_to_who_wrote_them():
    world = in_use()
    later = f"demo/_search/{database.SCHEMA + 1}-000001.sqlite"
    earlier = "demo/_search/0-000001.sqlite"
    world.store.put(later, b"not ours")
    world.store.put(earlier, b"ours once")

    run_indexer(world)

    assert later in world.keys("demo/_search/")
    assert earlier not in world.keys("demo/_search/")


def test_a_space_of_the_same_name_shares_nothing_with_the_one_before():
    world = in_use()
    assert find(world.process, "parser").hits
    head = heads.load(world.process, "demo")
    for key in world.keys("demo/"):
        world.inner.delete_object(Bucket="b", Key=key)
    world.clock.move(3_600)
    world.create_space()

    assert heads.load(world.process, "demo").meta.uid != head.meta.uid
    assert not find(world.process, "parser", scope="all").hits


def test_the_view_in_use_is_kept_however_large_it_is_and_the_others_make_room(monkeypatch):
    monkeypatch.setattr("livemem.search.view.FILES_BYTES", 0)
    world = in_use()
    world.create_space("other")
    find(world.process, "parser", "other", scope="live,bank")
    find(world.process, "parser", scope="live,bank")
    world.client.reset()

    find(world.process, "parser", scope="live,bank")
    assert [verb for verb, _ in world.client.requests] == ["LIST"] * 3
    assert list(world.process.cache(Views)._views) == ["demo"]


def test_views_whose_vectors_take_too_much_memory_make_room_too(monkeypatch):
    world, _ = searching_world()
    for name in ("one", "other", "third"):
        world.create_space(name)
        world.note("The parser reads Latin-1.", space_id=name)
        run_indexer(world, world.process, name)
    monkeypatch.setattr("livemem.search.view.VECTOR_BYTES", 1)
    process = world.with_parts(embed=world.process.embed)

    kept = []
    for name in ("one", "other", "third"):
        find(process, "parser", name)
        kept.append(list(process.cache(Views)._views))

    assert kept == [["one"], ["other"], ["third"]]


def test_what_must_be_read_once_more_is_so_though_time_ran_out_in_between(monkeypatch):
    # An undo gives two notes back, whose own objects were read before; the time is over before they are read again.
    monkeypatch.setattr("livemem.search.view.READ_AT_ONCE", 1)
    world = in_use()
    holdings(world.process)
    world.undo(1)
    meta = heads.load(world.process, "demo").meta
    for looks in range(1, 6):
        left = iter([True] * looks)
        with suppress(SearchNotReady), search.viewing(world.process, meta) as view:
            view.follow(world.store, sources(world.process, "demo"), partial(next, left, False))

    assert holdings(world.process) == holdings(world.with_parts())


def test_what_could_not_be_taken_in_is_read_again(monkeypatch):
    world = in_use()
    with monkeypatch.context() as broken:
        broken.setattr("livemem.search.index.Index.update", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            find(world.process, "parser")

    assert holdings(world.process) == holdings(world.with_parts())


@pytest.mark.parametrize("gone", [(2,), (1, 2)])
def test_what_a_record_told_of_is_told_of_by_the_others_when_it_is_gone(gone):
    world = in_use()
    world.undo(1)
    holdings(world.process)
    world.store.delete_many([world.keys("demo/_consolidations/")[number - 1] for number in gone])

    assert holdings(world.process) == holdings(world.with_parts())


@pytest.mark.parametrize(
    ("fault", "told"), [(StoreUnavailable("no"), StoreUnavailable), (OSError(ENOSPC, "full"), SearchNotReady)]
)
def test_a_snapshot_that_breaks_off_leaves_no_file_behind(monkeypatch, fault, told):
    world = indexed()
    world.new_process()

    def break_off(*_):
        yield b"half"
        raise fault

    monkeypatch.setattr("livemem.store.large._chunks", break_off)
    with pytest.raises(told):
        find(world.process, "parser")

    folder = world.process.cache(Views)._folder
    assert folder is not None
    assert list(Path(folder.name).iterdir()) == []


def test_no_copy_of_the_memory_outlives_the_process():
    views = Views()
    path = views._path()
    path.touch()

    del views

    assert not path.parent.exists()


def test_what_takes_too_long_to_read_is_gone_on_with_by_the_next_search():
    world = in_use()
    meta = heads.load(world.process, "demo").meta
    with search.viewing(world.process, meta) as view, pytest.raises(SearchNotReady):
        view.follow(world.store, sources(world.process, "demo"), lambda: False)

    assert find(world.process, "parser").hits


def test_a_view_whose_file_was_damaged_under_way_is_thrown_away_and_made_anew():
    world = in_use()
    find(world.process, "parser")
    with search.viewing(world.process, heads.load(world.process, "demo").meta) as view:
        path, size = view.index.path, view.index.size()
    path.write_bytes(b"\0" * size)
    world.note("Something is new.")

    with pytest.raises(SearchNotReady):
        find(world.process, "parser")
    assert find(world.process, "parser").hits


def test_a_note_that_moves_while_it_is_looked_for_is_not_missed():
    # Its record is written before the note is removed: who lists the records first and the notes last sees neither.
    world = in_use()
    find(world.process, "backup")
    lists = []
    inner: Any = world.client

    class Racing:
        def __getattr__(self, name):
            return getattr(inner, name)

        def list_objects_v2(self, **arguments):
            if arguments["Prefix"] == "demo/live/" and not lists:
                # All other prefixes were listed before; now the consolidation happens, and then the notes are listed.
                lists.append(True)
                other = world.process
                world.process = world.with_parts()
                world.consolidate()
                world.process = other
            return inner.list_objects_v2(**arguments)

    process = world.process
    order = sources(process, "demo")
    meta = heads.load(process, "demo").meta
    with search.viewing(process, meta) as view:
        racing: Any = Racing()
        racing = Store("bucket", racing, racing, threads=1, capability_checked=world.capability_checked)
        # The records first, then the live notes.
        view.follow(racing, order[::-1], lambda: True)
        told = view.index.columns()
        found = [
            view.index.document(number).text
            for number, kind in zip(told.numbers, told.kinds, strict=True)
            if kind == "archive"
        ]

    assert lists
    assert "The nightly backup took four minutes." in found
    assert "note" not in told.kinds


class History:
    """A space in which anything happens, and processes that look at it now and then."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.world = World()
        self.world.create_space()
        self.followers = [self.world.with_parts(), self.world.with_parts()]
        self.deeds = [
            *[self.note] * 3,
            self.world.consolidate,
            self.correct,
            self.undo,
            self.erase,
            lambda: run_indexer(self.world, self.world.with_parts()),
        ]

    def note(self):
        self.world.note(self.chance.choice(["alpha", "beta", "L'été", "x" * 900]) + str(self.chance.random()))

    def correct(self):
        path = self.chance.choice(["a.md", "b/c.md"])
        text = self.chance.choice(["# A\n\none\n", "# A\n\n## B\n\ntwo\n\n## B\n\nthree\n", "plain\n"])
        corrections.write_file(self.world.process, "bob", "demo", path, text, None)

    def undo(self):
        meta = heads.load(self.world.process, "demo").meta
        if meta.changes:
            self.world.undo(meta.changes)

    def erase(self):
        known = list(expected(self.world))
        if known:
            until = self.world.clock() + INVOCATION
            erasure.erase(self.world.process, EVERYONE, "demo", [self.chance.choice(known)], until)

    def go_on(self):
        with suppress(LiveMemoryError):
            self.chance.choice(self.deeds)()
        self.world.clock.move(self.chance.choice([1, 60]))
        if self.chance.random() < 0.4:
            holdings(self.chance.choice(self.followers))


@pytest.mark.slow
@each("seed", part(range(6), 3))
def test_views_of_any_history_converge(seed):
    history = History(seed)
    for _ in range(25):
        history.go_on()

    fresh = history.world.with_parts()
    told = holdings(fresh)
    assert notes_of(told) == expected(history.world)
    assert [holdings(follower) for follower in history.followers] == [told, told]
    # Their words find the same as those of a new view.
    for word in ("alpha", "été", "one"):
        answers = [find(process, word, scope="all", limit=100) for process in (fresh, *history.followers)]
        assert len({tuple(sorted(ids(answer))) for answer in answers}) == 1


def test_keys_that_are_none_of_ours_are_no_documents():
    world = in_use()
    for key in ("demo/live/readme.txt", "demo/bank/picture.png", "demo/_consolidations/x.json"):
        world.store.put(key, b"\xff\x00")
    before = holdings(world.with_parts())

    assert before == holdings(world.process)
    assert RECORD.last("demo/_consolidations/x.json") is None


def test_a_record_that_cannot_be_read_hides_nothing_else():
    world = in_use()
    world.store.put("demo/_consolidations/000009_20260220T140000_20260220T140000.json", b"{")

    assert find(world.process, "parser", scope="all").hits


def test_any_text_with_a_word_is_a_query():
    world = in_use()
    for text in ("a\0b parser", '"open parser', "a*", "NEAR(a b)", "a AND OR NOT b", "é" * 4_000, "a:b ^c"):
        find(world.process, text)
