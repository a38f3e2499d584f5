"""What is said in rooms in a search: as long as it waits for a digest, if it says anything, and is relevant."""

import pytest

from livemem import clock
from livemem.errors import InvalidName, InvalidRequest, NotFound
from livemem.recall import indexing, search
from livemem.recall.search_request import SearchRequest
from livemem.rooms import posting
from livemem.rooms.message import MessageDraft
from livemem.spaces import head as heads
from livemem.store.bucket import ROOM_MESSAGE
from livemem.store.vector_file import name_of
from tests.support.cases import each
from tests.support.memories import store
from tests.support.searching import find, holdings, ids, refuse, run_indexer, searching_world, texts
from tests.support.talk import Talk
from tests.support.world import World


@pytest.fixture
def world():
    found = World()
    found.create_space()
    return found


def say(world, content, *, room="salon", author="Ann", after=60, **more):
    """Post a message; returns its key."""
    posted = posting.post(world.with_parts(embed=None), "demo", room, MessageDraft(author, content, **more)).message
    world.clock.move(after)
    said = ROOM_MESSAGE.key("demo", room, clock.parse(posted.timestamp), posted.message_id)
    assert world.store.get(said)
    return said


def about(process, text, **asked):
    return search.search(process, "demo", SearchRequest.of(text, scope="rooms", **asked))


def test_a_message_is_found_with_what_there_is_to_know_of_it(world):
    key = say(world, "The oven is on.", author="Ann Smith", message_id="m 1")
    (hit,) = about(world.process, "oven").hits

    document = hit.document
    assert (document.kind, document.text, document.author) == ("message", "The oven is on.", "Ann Smith")
    assert (document.time, document.more) == ("2026-02-20T14:00:00Z", {"timestamp": "2026-02-20T14:00:00.000Z"})
    assert document.source == {"room": "salon", "message_id": "m 1"}
    assert key == f"demo/rooms/{document.id}.json"


def test_a_room_that_is_named_is_looked_at_alone(world):
    for room in ("salon", "kitchen", "salon-2"):
        say(world, f"The oven of {room}.", room=room)

    assert len(about(world.process, "oven").hits) == 3
    assert texts(about(world.process, "oven", room="salon")) == ["The oven of salon."]
    assert about(world.process, "oven", room="nowhere").hits == []

    process = world.new_process()
    assert texts(about(process, "oven", room="kitchen")) == ["The oven of kitchen."]
    assert not [key for verb, key in world.client.requests if "/salon" in key]
    assert len(about(process, "oven").hits) == 3
    assert texts(about(process, "oven", room="salon-2")) == ["The oven of salon-2."]


def test_a_search_lists_the_rooms_and_reads_only_what_is_new(world):
    for number in range(4):
        say(world, f"Oven {number}", after=1)
    world.client.reset()
    about(world.process, "oven")
    assert world.client.counts["GET"] == 4 + 1

    world.client.reset()
    assert len(about(world.process, "oven").hits) == 4
    assert world.client.requests == [("LIST", "demo/rooms/")]

    world.client.reset()
    about(world.process, "oven", room="salon")
    assert world.client.requests == [("LIST", "demo/rooms/salon/")]

    say(world, "Oven 5", room="kitchen", after=1)
    world.client.reset()
    assert len(about(world.process, "oven").hits) == 5
    assert world.client.counts == {"LIST": 1, "GET": 1}


def test_other_scopes_list_nothing_of_rooms(world):
    say(world, "The oven is on.")
    world.client.reset()
    for scope in ("live", "bank", "archive", "conversations", "memories", "live,bank"):
        assert find(world.process, "oven", scope=scope).hits == []
    assert not [key for _, key in world.client.requests if "/rooms/" in key]


def test_what_a_digest_has_taken_away_is_found_no_more(world):
    gone, stays = say(world, "The oven is on."), say(world, "The oven is off.")
    warm = world.with_parts()
    assert len(about(warm, "oven").hits) == 2
    world.store.delete_many([gone])

    for process in (warm, world.with_parts()):
        assert [f"demo/rooms/{one}.json" for one in ids(about(process, "oven"))] == [stays]


def test_what_says_too_little_is_neither_found_nor_embedded():
    world, embedder = searching_world()
    world.create_space()
    for content in ("ok", " k ", "👍", "yes, do it", "CI"):
        say(world, content)

    run_indexer(world)
    found = about(world.process, "ok yes k CI")
    embedded = {one for called, query in embedder.calls if not query for one in called}
    assert embedded - {indexing.PROBE} == {"CI"}
    assert texts(found) == ["CI"]


def test_what_is_not_relevant_enough_is_left_out_but_not_what_has_no_vector_yet():
    world, embedder = searching_world(room_min_relevance=0.5)
    world.create_space()
    say(world, "The automobile needs oil.")
    say(world, "Oil was painted on the wall, said somebody at the other end of the garden.")
    run_indexer(world)

    def relevant():
        return texts(about(world.process, "car oil"))

    assert relevant() == ["The automobile needs oil."]
    assert len(find(world.process, "car oil", scope="rooms,live").hits) == 2

    say(world, "Whoever wants oil may ask for it in the kitchen, behind the oven.")
    embedder.fails = lambda asked, query: None if query else refuse()(asked, query)
    assert sorted(relevant()) == [
        "The automobile needs oil.",
        "Whoever wants oil may ask for it in the kitchen, behind the oven.",
    ]
    embedder.fails = refuse()
    assert len(about(world.process, "oil").hits) == 3


def test_the_indexer_embeds_what_was_said():
    world, _ = searching_world()
    world.create_space()
    say(world, "The automobile needs oil.")
    find(world.process, "car", scope="rooms")
    world.do_background()
    assert world.reindexed == ["demo"]
    assert run_indexer(world)["embedded"] == 1

    process = world.with_parts(embed=world.process.embed)
    with search.viewing(process, heads.load(process, "demo").meta) as view:
        view.segments.follow(process.store)
        assert name_of("The automobile needs oil.", "") in view.segments.stored(64)


@each(
    ("asked", "error", "field"),
    [
        ({"text": "?!"}, InvalidRequest, "q"),
        ({"text": "a", "limit": 0}, InvalidRequest, "limit"),
        ({"text": "a", "limit": 101}, InvalidRequest, "limit"),
        ({"text": "a", "room": "a/b"}, InvalidName, "room"),
        ({"text": "a", "room": ""}, InvalidName, "room"),
    ],
)
def test_what_can_not_be_asked_is_refused_by_name(asked, error, field):
    with pytest.raises(error) as caught:
        SearchRequest.of(**{"scope": "rooms", **asked})

    assert [one.field for one in caught.value.fields] == [field]


def test_a_space_that_is_not_there_is_told(world):
    with pytest.raises(NotFound):
        search.search(world.process, "nowhere", SearchRequest.of("oven", scope="rooms"))


def test_what_is_no_message_is_ignored_and_what_is_no_json_is_taken_for_its_text(world):
    world.store.put("demo/rooms/salon/readme.txt", b"oven")
    world.store.put("demo/rooms/salon/20260220T140000_0123456789abcdef.json", b"An oven, says somebody.")

    assert texts(about(world.process, "oven")) == ["An oven, says somebody."]


def test_one_search_finds_everything_that_a_space_holds(monkeypatch):
    monkeypatch.setattr("livemem.recall.conversation_documents.GROWN", 0)
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
    say(world, "Does somebody go to the store?")

    def kinds(process):
        found = find(process, "store", scope="all", limit=50)
        return {hit.document.kind for hit in found.hits}

    every = {"note", "bank", "turn", "memory", "message"}
    assert kinds(world.process) == every
    assert run_indexer(world)["snapshot"]
    process = world.new_process()
    assert kinds(process) == every
    assert holdings(process) == holdings(world.with_parts())
    assert {hit.document.kind for hit in find(process, "store", scope="memories,rooms").hits} == {"memory", "message"}
