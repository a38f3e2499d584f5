"""A search that finds many new objects reads a bounded number of them, the newest, and says how many are left."""

from functools import cache

import pytest

from livemem.ask import tools
from livemem.ask.arguments import Looking
from livemem.ask.question import Question
from livemem.ask.tools import Hand
from livemem.conversations import turn_import
from livemem.conversations.turn import Draft
from livemem.errors import StoreUnavailable
from livemem.memories import forgetting
from livemem.notes import appending
from livemem.notes.appending import NoteDraft
from livemem.recall import context, message_context, search, start
from livemem.recall.context import ContextRequest
from livemem.recall.search_request import SearchRequest
from livemem.recall.start import StartRequest
from livemem.rooms import posting
from livemem.rooms.message import MessageDraft
from livemem.search import view as views
from livemem.store.bucket import TURN
from livemem_http.views.recall import ContextView, context_as_markdown
from livemem_http.views.search import SearchAnswer, as_markdown
from livemem_http.views.start import StartView
from tests.support.bucket import error
from tests.support.memories import store
from tests.support.searching import Embedder, find, run_indexer, searching_world, texts
from tests.support.talk import Talk
from tests.support.world import INVOCATION, ScriptedLlm, World

TURNS, MOST, GROWN = 20, 6, 4


@cache
def imported() -> Talk:
    talked = Talk(world=searching_world()[0])
    bring_in(talked, 0, TURNS)
    return talked


@pytest.fixture
def talked(monkeypatch) -> Talk:
    """An imported conversation whose first turn alone is about a violin."""
    monkeypatch.setattr(views, "READ_MOST", MOST)
    monkeypatch.setattr("livemem.recall.conversation_documents.GROWN", GROWN)
    talked = imported().fork()
    talked.world.process = talked.world.with_parts(embed=Embedder())
    return talked


def bring_in(talked: Talk, first: int, end: int) -> None:
    for number in range(first, end):
        about = "violin" if number == 0 else "parser"
        draft = Draft(f"What of the {about} {number}?", "It is fine.", message_id=f"m{number}")
        turn_import.take_in(talked.world.with_parts(embed=None), "demo", talked.id, "ann", [draft])
        talked.world.clock.move(1)


def about(talked: Talk, text: str, **asked):
    return find(talked.world.process, text, scope="conversations", **asked)


def reads(world: World) -> int:
    return sum(verb == "GET" and "/turns/" in key for verb, key in world.client.requests)


def test_the_first_search_reads_the_newest_and_says_how_many_are_left_and_the_next_ones_read_on(talked):
    world = talked.world
    first = about(talked, "parser 19")
    assert reads(world) == MOST
    assert first.unread == TURNS - MOST
    assert "What of the parser 19?" in texts(first)
    assert not [text for text in texts(first) if "violin" in text]

    world.do_background()
    assert world.reindexed == ["demo"]
    old = about(talked, "violin")
    answer = SearchAnswer.of(old, explain=False)
    assert answer.nothing == "unread"
    assert as_markdown(answer) == "Nothing was found.\nNot read yet: 8 new objects. Ask again in a few seconds.\n"
    left = [old.unread, *(about(talked, "violin").unread for _ in range(3))]

    assert left == [8, 2, 0, 0]
    assert texts(about(talked, "violin"))[0] == "What of the violin 0?"
    assert reads(world) == TURNS


@pytest.mark.parametrize("one", [False, True])
def test_a_search_reads_no_further_step_of_what_is_new_when_its_time_is_over_and_the_next_ones_read_on(
    talked, monkeypatch, one
):
    monkeypatch.setattr(views, "READ_MOST", TURNS)
    monkeypatch.setattr(views, "READ_STEP", 4)
    world = talked.world

    def search_it(text):
        if one:
            return search.search(world.process, "demo", SearchRequest.of(text, conversation_id=talked.id))
        return about(talked, text)

    def slow(index, verb):
        if verb == "GET" and "/turns/" in world.client.requests[index][1]:
            world.clock.move(views.READ_SECONDS / 2)

    world.client.before = slow
    first = search_it("parser 19")
    assert (reads(world), first.unread) == (4, TURNS - 4)
    assert "What of the parser 19?" in texts(first)
    bring_in(talked, TURNS, TURNS + 1)
    assert [search_it("violin").unread for _ in range(5)] == [13, 9, 5, 1, 0]
    assert texts(search_it("violin"))[0] == "What of the violin 0?"
    assert reads(world) == TURNS + 1


def test_what_was_not_read_before_a_search_failed_is_read_by_the_next_one(talked, monkeypatch):
    monkeypatch.setattr(views, "READ_MOST", TURNS)
    monkeypatch.setattr(views, "READ_STEP", 4)
    world = talked.world

    def search_it(text):
        return search.search(world.process, "demo", SearchRequest.of(text, conversation_id=talked.id))

    def fail(index, verb):
        if verb == "GET" and reads(world) > 10:
            raise error("InternalError", 500, verb)

    world.client.before = fail
    with pytest.raises(StoreUnavailable):
        search_it("parser 19")
    world.client.before = lambda index, verb: None

    assert search_it("violin").unread == 0
    assert texts(search_it("violin"))[0] == "What of the violin 0?"


def test_a_search_of_one_conversation_misses_nothing_in_the_end_although_it_knows_the_newest_turn(talked):
    def search_it():
        asked = SearchRequest.of("violin", conversation_id=talked.id)
        return search.search(talked.world.process, "demo", asked)

    assert [search_it().unread for _ in range(4)] == [14, 8, 2, 0]
    assert [hit.document.source["turn_index"] for hit in search_it().hits][:1] == ["1"]
    talked.world.client.reset()
    assert search_it().unread == 0
    assert reads(talked.world) == 0


def test_the_indexer_reads_all_and_the_next_search_takes_its_snapshot_and_not_one_turn_after_the_other(talked):
    world = talked.world
    before = about(talked, "violin")
    assert run_indexer(world, world.with_parts(embed=None))["snapshot"]
    world.client.reset()
    after = about(talked, "violin")

    assert (before.unread, after.unread) == (TURNS - MOST, 0)
    assert texts(after)[0] == "What of the violin 0?"
    assert reads(world) == 0


def test_a_snapshot_that_knows_less_than_the_view_is_not_taken(talked):
    world = talked.world
    run_indexer(world, world.with_parts(embed=None))
    about(talked, "violin")
    bring_in(talked, TURNS, TURNS + MOST + 2)
    world.client.reset()

    assert [about(talked, "violin").unread for _ in range(3)] == [2, 0, 0]
    assert reads(world) == MOST + 2


def test_a_context_is_bounded_alike(talked):
    found = message_context.context(talked.world.process, "demo", "What of the parser 19?")

    assert reads(talked.world) == MOST
    assert found.unread == TURNS - MOST
    assert "parser 19" in found.markdown
    told = context_as_markdown(ContextView.of(found))
    assert told == f"{found.markdown}Not read yet: {TURNS - MOST} new objects. Ask again in a few seconds.\n"


def test_a_context_of_a_conversation_and_what_the_tools_of_ask_are_told_say_how_many_are_left(talked):
    process, line = talked.world.process, "new objects. Ask again in a few seconds.\n"
    found = context.context(process, "demo", ContextRequest("What of the parser 19?", talked.id))
    assert context_as_markdown(ContextView.of(found)).endswith(f"Not read yet: {TURNS - MOST} {line}")

    question = Question(
        job_id="01KHXE5Q2V8R0M4T6W9YBNCD3F",
        space_id="demo",
        requested_by="ann",
        created_at="2026-02-20T14:00:00Z",
        may_write=False,
        user="ann",
        message="parser 19",
    )
    hand = Hand(process, "demo", question, [], "x", process.clock() + INVOCATION)
    told = [tools.OFFERS["search_conversations"].act(hand, Looking(query="parser 19")).told for _ in range(3)]
    assert [one.get("not_read_yet") for one in told] == [
        "8 new objects: search again to find what is in them.",
        "2 new objects: search again to find what is in them.",
        None,
    ]


def test_a_start_and_the_context_of_rooms_say_how_many_are_left_and_nothing_when_none_is(monkeypatch):
    monkeypatch.setattr(views, "READ_MOST", 2)
    world, _ = searching_world()
    world.create_space()
    for number in range(5):
        appending.append(world.process, "demo", "ann", NoteDraft("insight", f"The parser {number} is fine."))
        posting.post(world.process, "demo", "harbour", MessageDraft("Zoé", f"The parser {number} is fine."))
    process = world.with_parts(embed=None)

    started = [start.start(process, "demo", StartRequest(q="parser")) for _ in range(4)]
    rooms = [context.context(process, "demo", ContextRequest("parser 4", room="harbour")) for _ in range(4)]

    assert [one.unread for one in started] == [3, 1, 0, 0]
    assert "\nNot read yet for the question: 3 new objects. Ask again in a few seconds.\n" in started[0].markdown
    assert "Not read" not in started[2].markdown
    assert [StartView.of(one).model_dump().get("unread") for one in started][1:3] == [1, None]
    assert [one.unread for one in rooms] == [3, 1, 0, 0]
    told = context_as_markdown(ContextView.of(rooms[0]))
    assert told == f"{rooms[0].markdown}Not read yet: 3 new objects. Ask again in a few seconds.\n"


def test_many_live_notes_that_no_consolidation_has_taken_come_into_a_snapshot(talked):
    world = talked.world
    world.create_space("notes")
    for number in range(TURNS):
        world.note(f"The oven is {number} degrees.", space_id="notes")
        world.clock.move(1)
    first = find(world.with_parts(embed=None), "oven", space_id="notes")
    assert run_indexer(world, world.with_parts(embed=None), "notes")["snapshot"]
    world.client.reset()
    then = find(world.with_parts(embed=None), "oven", space_id="notes", limit=30)

    assert (first.unread, then.unread, len(then.hits)) == (TURNS - MOST, 0, TURNS)
    assert world.client.counts["GET"] == 2
    # Nothing new was read since.
    assert not run_indexer(world, world.with_parts(embed=None), "notes")["snapshot"]


def test_what_a_search_could_not_read_it_does_not_lose(talked, monkeypatch):
    world = talked.world
    monkeypatch.setattr(views, "READ_AT_ONCE", 2)
    asked = SearchRequest.of("violin", conversation_id=talked.id)
    seen: list[str] = []

    def refuse(index: int, verb: str) -> None:
        key = world.client.requests[-1][1]
        seen.extend([key] * (verb == "GET" and "/turns/" in key))
        if len(seen) == 4:
            raise StoreUnavailable("Not now.")

    world.client.before = refuse
    with pytest.raises(StoreUnavailable):
        search.search(world.process, "demo", asked)
    world.client.before = lambda index, verb: None
    found = [search.search(world.process, "demo", asked) for _ in range(4)]

    assert found[-1].unread == 0
    assert found[-1].hits[0].document.source["turn_index"] == "1"


def test_an_import_of_many_turns_asks_for_the_indexer_and_one_of_few_does_not(talked, monkeypatch):
    monkeypatch.setattr(turn_import, "MANY", 3)
    world = talked.world
    for count, asked in ((2, []), (3, ["demo"])):
        drafts = [Draft(f"{count} {one}", "Yes.", message_id=f"{count}-{one}") for one in range(count)]
        turn_import.take_in(world.process, "demo", talked.id, "ann", drafts)
        assert world.reindexed == asked
        # Those that are there already are no reason.
        turn_import.take_in(world.process, "demo", talked.id, "ann", drafts)
        assert world.reindexed == asked


def test_while_a_backlog_is_embedded_the_indexer_looks_again_and_makes_snapshots_of_what_came(talked, monkeypatch):
    monkeypatch.setattr("livemem.recall.indexing.TEXTS", 2)
    monkeypatch.setattr("livemem.recall.indexing.LOOK_TEXTS", 4)
    world = talked.world
    embed = world.process.embed
    assert embed is not None
    unread: list[int] = []

    def meanwhile(texts, query):
        if len(embed.calls) == 3:
            bring_in(talked, TURNS, TURNS + 2 * MOST)
        if len(embed.calls) == 8:
            unread.append(find(world.with_parts(embed=None), "violin", scope="conversations").unread)

    embed.fails = meanwhile
    done = run_indexer(world)

    assert done["status"] == "done"
    assert done["embedded"] == TURNS + 2 * MOST
    assert unread == [0]


def test_what_was_erased_or_deleted_is_not_found_although_much_else_is_new(talked):
    world = talked.world
    kept = store(world.with_parts(embed=None), "The violin is in the attic.").memory
    process = world.process
    for _ in range(5):
        find(process, "violin", scope="all")
    known = texts(find(process, "violin", scope="all"))
    assert {"What of the violin 0?", kept.content} <= {*known}
    forgetting.delete(world.with_parts(embed=None), "demo", "ann", kept.memory_id, "It is sold.")
    key = TURN.key("demo", talked.id, 1)
    item = world.store.get(key)
    assert item
    world.store.put(key, item.body.replace(b"violin", b"------"), if_match=item.etag)
    world.clock.move(1)
    bring_in(talked, TURNS, TURNS + 2 * MOST)

    found = find(process, "violin", scope="all")
    assert found.unread == MOST + 1
    assert not [text for text in texts(found) if "violin" in text]
    assert texts(find(process, "parser", scope="all"))


def test_a_note_that_was_consolidated_is_not_missed_although_much_else_is_new(talked):
    world = talked.world
    process = world.process
    world.process = world.with_parts(embed=None)
    world.llm = ScriptedLlm()
    world.note("The cello is in the cellar.")
    for _ in range(5):
        find(process, "cello", scope="all")
    world.consolidate()
    world.clock.move(1)
    bring_in(talked, TURNS, TURNS + 2 * MOST)

    found = find(process, "cello", scope="live,archive,conversations")
    assert found.unread
    assert ("archive", "The cello is in the cellar.") in [(hit.document.kind, hit.document.text) for hit in found.hits]
