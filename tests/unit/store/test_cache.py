"""What was read is kept within one bound, in bytes over all kinds, and never shown once the bucket has it no more."""

import gc
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livemem.bank import corrections, files, history, summary
from livemem.changes import records
from livemem.erasure import erasure
from livemem.errors import NotFound
from livemem.notes import pages
from livemem.notes.pages import NotesFilter
from livemem.process import Process
from livemem.store.bucket import BANK_FILE, NOTE, RECORD
from livemem.store.cache import ENTRY_BYTES, MB, ReadCache, TimedCache
from tests.support.part import part
from tests.support.world import EVERYONE, INVOCATION, World, several_files

things = st.tuples(st.integers(0, 40), st.sampled_from(["", "a", "b"]), st.one_of(st.text(), st.binary()))


@given(st.integers(0, 20 * ENTRY_BYTES), st.lists(things, max_size=60))
def test_all_kinds_together_never_take_more_than_the_bound(most: int, kept: list[tuple[int, str, str | bytes]]):
    cache = ReadCache(most)
    for key, etag, value in kept:
        cache.put(str(key), etag, value, [value])
        assert cache.size <= most


@given(st.lists(things, max_size=60))
def test_what_is_found_is_what_was_last_kept_of_this_key_etag_and_kind(kept: list[tuple[int, str, str | bytes]]):
    cache, model = ReadCache(MB), {}
    for key, etag, value in kept:
        cache.put(str(key), etag, value, [value])
        model[type(value), str(key), etag] = value
    for kind in (str, bytes):
        for key in range(41):
            for etag in ("", "a", "b"):
                assert cache.get(kind, str(key), etag) == model.get((kind, str(key), etag))


def test_what_is_used_stays_and_the_rest_goes_first():
    cache = ReadCache(3 * (ENTRY_BYTES + 100))
    for key in ("a", "b", "c"):
        cache.put(key, "1", key, [key])
    cache.get(str, "a", "1")
    cache.put("d", "1", "d", ["d"])

    assert [cache.get(str, key, "1") for key in ("a", "b", "c", "d")] == ["a", None, "c", "d"]


def test_what_is_larger_than_all_there_may_be_is_not_kept_and_pushes_nothing_out():
    cache = ReadCache(2 * ENTRY_BYTES)
    cache.put("a", "1", "a", ["a"])
    large = b"x" * 2 * ENTRY_BYTES
    assert cache.put("b", "1", large, [large]) is large

    assert (cache.get(str, "a", "1"), cache.get(bytes, "b", "1")) == ("a", None)


FRAMES = 40
"""Of a trace, so that the innermost ones are not all that is known of an allocation."""


@pytest.mark.slow
@pytest.mark.parametrize("text", part(["a" * 300, "\u00e9" * 4_000, "\U0001f511" * 4_000], 2), ids=len)
def test_the_size_that_it_reckons_is_at_least_what_notes_take_in_memory(text: str):
    world = World()
    world.create_space()
    for number in range(40):
        world.note(f"{number} {text}")
        world.clock.move(1)
    process = world.new_process()
    pages.page(world.new_process(), "demo", NotesFilter(), limit=40)  # what is made once, and is none of the cache's
    tracemalloc.start(FRAMES)
    try:
        pages.page(process, "demo", NotesFilter(), limit=40)
        # The old objects of all other tests are not looked through.
        gc.collect(1)
        # What other threads do meanwhile, such as servers of other tests, is none of it.
        reading = tracemalloc.Filter(True, pages.__file__, all_frames=True)
        kept = tracemalloc.take_snapshot().filter_traces([reading])
        taken = sum(trace.size for trace in kept.traces)
    finally:
        tracemalloc.stop()

    assert taken <= process.reads.size <= 3 * taken


@pytest.fixture
def world() -> World:
    made = World()
    made.create_space()
    made.llm.default = several_files
    for round_ in range(2):
        for number in range(4):
            made.note(f"note {round_} {number}")
            made.clock.move(1)
        made.consolidate()
        made.clock.move(10)
    made.note("live")
    made.clock.move(10)
    return made


FOLDED = "20260220T140000_ann_progress_00000003"
READS = {
    "a page of notes": (lambda p: pages.page(p, "demo", NotesFilter(), limit=50), {"LIST": 1}),
    "the bank with its contents": (lambda p: files.listing(p, "demo", content=True), {"LIST": 1}),
    # Head, rules and synthesis may have changed without a listing that tells.
    "the summary": (lambda p: summary.summary(p, "demo"), {"GET": 3, "LIST": 2}),
    "the history": (lambda p: history.page(p, "demo", limit=50, before=None), {"GET": 1, "LIST": 1}),
    "one change": (lambda p: history.read(p, "demo", 1), {"GET": 1, "LIST": 1}),
    "the bank of earlier": (lambda p: history.bank(p, "demo", at="1", content=True), {"LIST": 3}),
    "a note that is folded": (lambda p: pages.get(p, "demo", FOLDED), {"GET": 2, "LIST": 1}),
}


@pytest.mark.parametrize(("read", "warm"), READS.values(), ids=READS)
def test_what_was_read_before_costs_listings_alone_and_the_answer_is_the_same(world: World, read, warm):
    process: Process = world.new_process()
    first = read(process)
    world.client.reset()

    assert read(process) == first
    assert dict(world.client.counts) == warm


@pytest.mark.parametrize(("read", "warm"), READS.values(), ids=READS)
def test_with_no_memory_for_it_the_answer_is_the_same(world: World, read, warm):
    kept = read(world.new_process())
    process = world.process_on(world.client, settings=world.settings.model_copy(update={"read_cache_mb": 0}))

    assert read(process) == kept
    assert process.reads.size == 0


def test_a_file_that_came_back_to_earlier_bytes_names_the_change_that_brought_it_back():
    world = World()
    world.create_space()
    seen = []
    for content in ("one\n", "two\n", "one\n", "two\n", "one\n"):
        # All within one second, which is as exact as a store tells times.
        corrections.write_file(world.process, "admin", "demo", "a.md", content, None)
        seen += [(file.content, file.consolidation) for file in files.listing(world.process, "demo", content=True)]

    assert seen == [("one\n", 1), ("two\n", 2), ("one\n", 3), ("two\n", 4), ("one\n", 5)]


def test_what_was_deleted_or_replaced_in_the_bucket_is_not_shown_any_more(world: World):
    process = world.new_process()
    for read, _ in READS.values():
        read(process)
    held = [RECORD.key("demo", name) for name in records.names(process, "demo")]
    live = NOTE.key("demo", world.live_ids()[0])
    for key in (live, BANK_FILE.key("demo", "log.md")):
        world.inner.delete_object(Bucket="b", Key=key)
    body = world.inner.objects[held[0]].body.replace(b"note 0 0", b"........")
    world.inner.put_object(Bucket="b", Key=held[0], Body=body)

    assert pages.page(process, "demo", NotesFilter(), limit=50).items == []
    assert [file.path for file in files.listing(process, "demo", content=True)] == ["people/all.md"]
    assert "note 0 0" not in str(history.read(process, "demo", 1))
    assert "note 0 0" not in str(pages.get(process, "demo", FOLDED))
    assert "live" not in [note.content for note in summary.summary(process, "demo").live.notes]


def test_what_was_erased_is_read_nowhere_any_more_by_who_has_read_it_before(world: World):
    reader = world.process_on(world.client)
    before = [str(read(reader)) for read, _ in READS.values()]
    assert sum("note 0 0" in text for text in before) >= 4

    erasure.erase(world.new_process(), EVERYONE, "demo", [FOLDED], world.clock() + INVOCATION)

    assert [name for name, (read, _) in READS.items() if "note 0 0" in _told(read, reader)] == []


def _told(read, process: Process) -> str:
    try:
        return str(read(process))
    except NotFound:
        return ""


def test_a_value_that_alone_is_too_large_is_given_back_and_leaves_the_others():
    cache = TimedCache[str, str](5, lambda: 0.0, size=len)

    assert [cache.put(name, name) for name in ("ab", "abcdef", "abc")] == ["ab", "abcdef", "abc"]
    assert [cache.get(name) for name in ("ab", "abcdef", "abc")] == ["ab", None, "abc"]
