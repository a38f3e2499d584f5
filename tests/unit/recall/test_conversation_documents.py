"""Conversations in searches: what they are documents of, and what following a part of them costs."""

import pytest

from livemem.bank import corrections
from livemem.conversations import conversation as conversations
from livemem.conversations import log, orders, reading, removal, turn_import
from livemem.conversations.turn import Draft, ToolCall
from livemem.errors import InvalidName, InvalidRequest, NotFound
from livemem.recall import context, conversation_documents, message_context, search
from livemem.recall.search_request import SearchRequest
from livemem.search.documents import TURN
from livemem.search.vectors import decode
from livemem.store import bucket
from livemem.store.bucket import CONVERSATION, IN_CONVERSATION, SEARCH_LEASE, SUMMARY, SUMMARY_VERSIONS
from livemem.store.vector_file import name_of
from livemem_http import transcripts
from livemem_http.views.turns import TurnPage
from tests.support import items
from tests.support.searching import find, holdings, ids, run_indexer, searching_world
from tests.support.talk import Talk, frank


def searched(talked, text, **asked):
    return search.search(talked.process, "demo", SearchRequest.of(text, **asked, conversation_id=talked.id))


def names_of(answer, talked):
    return [name.removeprefix(f"{talked.id}/") for name in ids(answer)]


def about(talked, text="store", **asked):
    return sorted(names_of(searched(talked, text, limit=50, **asked), talked))


def lists(talked):
    """What was listed, and how many objects were read."""
    folder = f"demo/conversations/{talked.id}/"
    requests = talked.world.client.requests
    return [key.removeprefix(folder) for verb, key in requests if verb == "LIST"], talked.world.client.counts["GET"]


def three_turns(**parameters):
    talked = Talk(**parameters)
    talked.say("Which store do we keep?", "The store is S3.")
    talked.say("Is there another store?", "", tool_calls=[ToolCall(name="grep", arguments={"pattern": "store"})])
    talked.say("", "No other store.")
    return talked


def test_summaries_change_no_score_of_a_turn_by_words_or_by_meaning():
    world, embedder = searching_world()
    talked = Talk(world=world)
    talked.llm.default = frank
    for one in ("store", "parser", "kitchen", "garden", "violin", "harbour"):
        talked.say(f"Which {one} do we keep?", f"The {one} is near the {one[:3]} house.")

    def scores():
        run_indexer(world)
        # A process that has searched before would keep its lens.
        world.process = world.with_parts(embed=embedder)
        answer = searched(talked, "keep the automobile near the store", limit=50)
        assert (answer.ranking, answer.unembedded) == ("hybrid", 0)
        return {hit.document.id: hit.score for hit in answer.hits if hit.document.kind == TURN}

    before = scores()
    assert len(before) == 12
    talked.update()
    assert len(holdings(talked.process)) > 12
    assert scores() == pytest.approx(before, abs=1e-3)


def test_each_side_of_a_turn_and_its_tools_are_documents_in_the_order_in_which_they_were_said():
    talked = three_turns()
    long = "x" * 600
    talked.say("now", "look", tool_calls=[ToolCall(name="read_file", arguments={"path": "a.py"}, result=long)])
    told = holdings(talked.process)

    assert [name.removeprefix(f"{talked.id}/") for name in told] == [
        *("1/user", "1/assistant", "2/user", "3/assistant", "4/user", "4/assistant", "2/tool", "4/tool")
    ]
    kind, text, title, time, author, _, _, source = told[f"{talked.id}/2/tool"]
    assert (kind, text, title, author) == ("turn", 'grep {"pattern": "store"}', "grep", "ann")
    assert time == "2026-02-20T14:00:02Z"
    assert source == {"conversation_id": talked.id, "turn_index": "2"}
    assert (
        told[f"{talked.id}/4/tool"][1]
        == ('read_file {"path": "a.py"} ' + long)[: conversation_documents.TOOL_CHARACTERS]
    )


def test_a_lone_message_keeps_its_role():
    talked = Talk()
    talked.say("Be brief about the store.", role="system")
    (hit,) = searched(talked, "store").hits

    assert (hit.document.id, hit.document.role) == (f"{talked.id}/1/user", "system")


def test_summaries_that_count_are_documents_with_what_they_cover():
    talked = Talk(group_raw_chars=500)
    for number in range(4):
        talked.say(f"store {number} " * 20, f"answer {number} " * 20)
    talked.update()
    told = {name: one for name, one in holdings(talked.process).items() if one[0] == "summary"}

    assert f"{talked.id}/l1/1" in told
    _, text, _, time, *_, source = told[f"{talked.id}/l2/1"]
    assert source["covers"] == "1-2"
    assert source["children"] == "1-2"
    assert time == "2026-02-20T14:00:02Z"
    assert "\n" in text
    assert set(about(talked, levels="1")) == {f"l1/{number}" for number in (1, 2, 3, 4)}
    assert about(talked, levels="2") == ["l2/1", "l2/2"]


def test_a_summary_that_was_made_anew_takes_the_place_of_the_first_one_and_so_do_those_above_it():
    talked = Talk(group_raw_chars=500)
    for number in range(4):
        talked.say(f"store {number} " * 20, f"answer {number} " * 20)
    talked.update()
    warm = talked.world.with_parts()
    assert search.search(warm, "demo", SearchRequest.of("store", conversation_id=talked.id)).hits
    talked.llm.default = lambda messages: '{"summary": "Another tale of the store.", "key_findings": ["anew"]}'
    before = len(talked.names("v1/summaries/"))
    redo(talked, 1, 1)

    assert len(talked.names("v1/summaries/")) > before
    talked.world.clock.move(61)
    fresh = holdings(talked.world.with_parts())
    assert fresh[f"{talked.id}/l1/1"][1].startswith("Another tale")
    assert fresh[f"{talked.id}/l2/1"][1].startswith("Another tale")
    assert not fresh[f"{talked.id}/l1/2"][1].startswith("Another tale")
    found = search.search(warm, "demo", SearchRequest.of("tale", levels="1,2", conversation_id=talked.id))
    assert names_of(found, talked)[:2] in (["l1/1", "l2/1"], ["l2/1", "l1/1"])
    assert holdings(warm) == fresh


def redo(talked, level, number):
    talked.world.clock.move(5)
    orders.redo(talked.process, "demo", talked.id, level, number)
    talked.world.settle()


def test_a_search_of_notes_and_bank_pays_nothing_for_conversations():
    talked = three_turns()
    find(talked.process, "store", scope="live,bank")
    talked.world.client.reset()

    assert not find(talked.process, "store", scope="live,bank").hits
    assert lists(talked) == (["demo/live/", "demo/bank/", "demo/_consolidations/"], 0)


def test_a_search_in_a_conversation_lists_what_is_new_of_it_alone():
    talked = three_turns()
    other = Talk(world=talked.world)
    other.say("Another store.")
    talked.world.note("The store.")
    assert about(talked) == ["1/assistant", "1/user", "2/user", "3/assistant"]
    talked.update()
    assert "l1/1" in about(talked, levels="1,2,3")
    talked.world.client.reset()

    assert "1/user" in about(talked)
    tails = [f"v1/summaries/l{level}/" for level in (1, 2, 3)]
    # Beside the listings whether it is there still, and which version counts.
    assert lists(talked) == (["turns/", *tails], 2)

    talked.say("One more store.")
    talked.world.client.reset()
    assert "4/user" in about(talked)
    assert lists(talked) == (["turns/", *tails], 3)
    talked.world.client.reset()
    about(talked, levels="0")
    assert lists(talked) == (["turns/"], 2)


def test_the_requests_do_not_grow_with_the_conversation():
    talked = Talk()
    talked.said(*[20] * 60)
    about(talked, "u" * 20, levels="0")
    talked.say("the store")
    talked.world.client.reset()

    assert about(talked, levels="0") == ["61/user"]
    assert lists(talked) == (["turns/"], 3)
    talked.said(*[20] * 55)
    talked.world.client.reset()
    assert about(talked, "store", levels="0") == ["61/user"]
    # Of more than 50 new ones the second listing has all.
    assert lists(talked) == (["turns/"] * 2, 57)


def test_searches_of_all_conversations_and_of_one_know_the_same():
    talked = three_turns()
    about(talked)
    talked.world.client.reset()

    found = find(talked.process, "store", scope="conversations")
    assert len(found.hits) == 4
    assert lists(talked) == (["demo/conversations/"], 0)
    talked.say("One more store.")
    assert len(find(talked.process, "store", scope="all").hits) == 5
    talked.world.client.reset()
    assert len(about(talked)) == 5
    assert lists(talked)[1] == 2


def test_a_conversation_is_a_filter_too():
    talked = three_turns()
    other = Talk(world=talked.world)
    other.say("Another store.")
    talked.world.note("The store.")

    assert len(find(talked.process, "store", scope="all", limit=20).hits) == 6
    assert ids(find(talked.process, "store", conversation_id=other.id)) == [f"{other.id}/1/user"]
    assert ids(find(talked.process, "store", scope="all", conversation_id=other.id)) == [f"{other.id}/1/user"]
    with pytest.raises(InvalidRequest):
        find(talked.process, "store", scope="live", conversation_id=other.id)
    with pytest.raises(NotFound):
        find(talked.process, "store", conversation_id="01ARZ3NDEKTSV4RRFFQ69G5FAV")
    with pytest.raises(InvalidName):
        find(talked.process, "store", conversation_id="x")


def test_the_conversations_of_a_folder_are_searched_alone():
    talked = three_turns()
    world = talked.world
    inside = [Talk(world=world, cwd="/shop", host=host) for host in ("a", "a", "b")]
    for number, one in enumerate(inside):
        one.say(f"store {number}")

    def which(**where):
        asked = SearchRequest.of("store", scope="conversations", limit=50, **where)
        return sorted(ids(search.search(talked.process, "demo", asked)))

    assert which(cwd="/shop") == sorted(f"{one.id}/1/user" for one in inside)
    assert which(cwd="/shop/", host="b") == [f"{inside[2].id}/1/user"]
    assert which(cwd="/nowhere") == []
    assert len(which()) == 7
    with pytest.raises(InvalidRequest):
        which(host="b")


@pytest.mark.parametrize("many", [True, False])
def test_of_many_conversations_all_are_listed_at_once(monkeypatch, many):
    monkeypatch.setattr("livemem.recall.search.ONE_BY_ONE", 1 if many else 8)
    world = Talk().world
    inside = [Talk(world=world, cwd="/shop") for _ in range(2)]
    for one in inside:
        one.say("a store")
    Talk(world=world).say("a store")
    world.client.reset()

    asked = SearchRequest.of("store", levels="0", cwd="/shop")
    assert len(search.search(world.process, "demo", asked).hits) == 2
    assert ("LIST", "demo/conversations/") in world.client.requests or not many


def test_levels_and_turns_are_left_out_as_asked():
    talked = three_turns()
    talked.update()

    assert all(name.startswith("l1/") for name in about(talked, levels="1,2,3"))
    assert all("l1/" not in name for name in about(talked, levels="0"))
    assert sorted(
        ids(
            search.search(
                talked.process, "demo", SearchRequest.of("store", levels="1", limit=50, scope="conversations")
            )
        )
    ) == [f"{talked.id}/{name}" for name in about(talked, levels="1")]
    for bad in ({"levels": "4"}, {"levels": ""}, {"limit": 0}, {"limit": 101}, {"min_score": 1.1}):
        with pytest.raises(InvalidRequest) as caught:
            SearchRequest.of("store", **bad)
        assert [error.field for error in caught.value.fields] == [*bad]


def test_relevance_is_the_cosine_and_the_least_one_holds_for_what_has_any():
    world, embedder = searching_world()
    talked = Talk(world=world)
    for text in ("car", "the car is red and old", "bread"):
        talked.say(text)
    found = searched(talked, "automobile")
    told = {hit.document.id.split("/")[1]: hit.relevance for hit in found.hits}

    assert told["1"] == pytest.approx(1, abs=0.01)
    assert 0 < told["2"] < 1
    assert len(searched(talked, "automobile", min_score=told["2"] - 0.01).hits) == 2
    assert not searched(talked, "nothing of that", min_score=1).hits
    world.process = world.with_parts()
    assert [hit.relevance for hit in searched(talked, "bread", min_score=1).hits] == [None]
    del embedder


def test_a_deleted_conversation_vanishes_and_is_not_found():
    talked = three_turns()
    talked.update()
    other = Talk(world=talked.world)
    other.say("Another store.")
    assert len(find(talked.process, "store", scope="conversations").hits) == 5
    warm = talked.world.with_parts()
    assert search.search(warm, "demo", SearchRequest.of("store", conversation_id=talked.id)).hits
    removal.delete(talked.process, "demo", talked.id)

    assert ids(find(talked.process, "store", scope="conversations")) == [f"{other.id}/1/user"]
    with pytest.raises(NotFound):
        searched(talked, "store")
    with pytest.raises(NotFound):
        find(warm, "store", conversation_id=talked.id)
    assert holdings(warm) == holdings(talked.world.with_parts())


def test_what_a_deletion_left_behind_is_found_no_more():
    talked = three_turns()
    find(talked.process, "store", scope="conversations")
    talked.world.store.delete(CONVERSATION.key("demo", talked.id))

    assert not find(talked.process, "store", scope="conversations").hits


def test_what_a_tombstone_stands_for_is_found_no_more_though_what_was_said_is_still_there():
    talked = three_turns()
    find(talked.process, "store", scope="conversations")
    conversations.bury(talked.process, "demo", talked.conversation)
    assert talked.names("turns/")

    assert not find(talked.process, "store", scope="conversations").hits
    with pytest.raises(NotFound):
        searched(talked, "store")


def test_what_comes_late_beside_a_tombstone_is_found_by_nobody():
    talked = three_turns()
    talked.update()
    warm = talked.world.with_parts()
    find(warm, "store", scope="conversations")
    store, folder = talked.world.inner, IN_CONVERSATION.prefix("demo", talked.id)
    before = {key: stored.body for key, stored in store.objects.items() if key.startswith(folder)}
    removal.delete(talked.process, "demo", talked.id)
    talked.world.pass_time(60)
    for key, body in before.items():
        # A worker that died before it could look, or a write that the client sent once more.
        if key != CONVERSATION.key("demo", talked.id):
            store.put_object(Bucket="", Key=key, Body=body)

    for process in (warm, talked.process, talked.world.with_parts()):
        assert not find(process, "store", scope="conversations").hits
        assert not holdings(process)


def test_a_damaged_object_is_no_document_and_no_error():
    talked = three_turns()
    talked.update()
    talked.world.store.put(bucket.TURN.key("demo", talked.id, 9), b"{")
    talked.world.store.put(SUMMARY.key("demo", talked.id, 1, 1, 2, "0" * 64), b"\xff")
    talked.world.store.put(f"demo/conversations/{talked.id}/turns/readme.txt", b"x")
    talked.world.store.put(f"demo/conversations/{talked.id}/v1/summaries/l1/x", b"x")

    assert "1/user" in about(talked)
    assert holdings(talked.world.with_parts())
    talked.world.store.put(SUMMARY_VERSIONS.key("demo", talked.id), b"{")
    process = talked.world.with_parts()
    assert not search.search(process, "demo", SearchRequest.of("store", levels="1", conversation_id=talked.id)).hits
    assert find(process, "store", scope="conversations").hits


def test_only_the_generation_that_counts_is_found():
    talked = three_turns()
    talked.update()
    about(talked)
    warm = talked.world.with_parts()
    find(warm, "store", scope="conversations")
    first = set(talked.names("v1/summaries/"))
    talked.llm.default = lambda messages: '{"summary": "Rebuilt store.", "key_findings": ["x"]}'
    orders.rebuild(talked.process, "demo", talked.id, None, {"ratio": 0.2})
    talked.world.settle()

    assert talked.names("v2/summaries/")
    assert first <= set(talked.names("v1/summaries/"))
    fresh = holdings(talked.world.with_parts())
    assert {one[1] for one in fresh.values() if one[0] == "summary"} == {"Rebuilt store.\nx"}
    assert names_of(searched(talked, "rebuilt", levels="1"), talked)
    assert holdings(talked.process) == fresh
    assert find(warm, "rebuilt", scope="conversations").hits
    assert holdings(warm) == fresh


def test_a_view_of_a_snapshot_follows_a_conversation_from_there():
    talked = three_turns()
    talked.update()
    corrections.write_file(talked.process, "bob", "demo", "a.md", "# A\n", None)
    run_indexer(talked.world)
    assert talked.world.keys("demo/_search/")
    before = holdings(talked.world.with_parts())
    process = talked.world.new_process()
    talked.say("One more store.")

    assert len(search.search(process, "demo", SearchRequest.of("store", limit=50, conversation_id=talked.id)).hits) >= 5
    assert holdings(process).keys() - before.keys() == {f"{talked.id}/4/user"}


def without(world, *texts):
    """The objects that hold one of these texts, or the vector of one."""
    names = [name_of(text, "") for text in texts]
    wanted = [text.encode() for text in texts]
    return [
        key
        for key, stored in world.inner.objects.items()
        if any(one in stored.body for one in wanted)
        or (key.endswith(".vec") and {*names} & {*decode(stored.body, 64)[0]})
    ]


def test_after_a_deletion_and_a_run_of_the_indexer_nothing_holds_what_was_said(monkeypatch):
    monkeypatch.setattr("livemem.recall.conversation_documents.GROWN", 2)
    world, _ = searching_world()
    talked = Talk(world=world)
    secret, answer = "Her number is zyx5550199.", "Noted, zyx5550199 it is."
    talked.say(secret, answer, tool_calls=[ToolCall(name="dial", arguments={"number": "zyx5550199"})])
    talked.update()
    other = Talk(world=world)
    other.say("A store.", "S3.")
    done = run_indexer(world)
    assert done["snapshot"]
    kinds = {key.split("/")[1] for key in without(world, secret, answer, "zyx5550199")}
    assert {"_search", "_vectors", "conversations"} <= kinds

    removal.delete(world.process, "demo", talked.id)
    assert world.keys("demo/_search/forget/")
    assert world.reindexed[-1] == "demo"
    done = run_indexer(world, world.with_parts(embed=world.process.embed))

    assert done["forgotten"] == 1
    assert not world.keys("demo/_search/forget/")
    assert without(world, secret, answer, "zyx5550199") == []
    assert without(world, "A store.")
    assert decode(world.store.get(world.keys("demo/_vectors/")[0]).body, 64)[0]
    assert run_indexer(world).get("embedded") == 0


def test_a_run_that_began_before_a_deletion_orders_anew_that_it_is_forgotten(monkeypatch):
    monkeypatch.setattr("livemem.recall.conversation_documents.GROWN", 2)
    world, embedder = searching_world()
    talked = Talk(world=world)
    talked.say("Her number is zyx5550199.", "Noted.")
    talked.update()
    deleted = []

    def delete_first(texts, query):
        if not deleted:
            deleted.append(True)
            removal.delete(world.with_parts(), "demo", talked.id)
            # The lease of the first one has run out.
            world.store.delete(SEARCH_LEASE.key("demo"))
            assert run_indexer(world, world.with_parts())["forgotten"] == 1

    embedder.fails = delete_first
    assert run_indexer(world)["forgotten"] == 1

    assert without(world, "zyx5550199", "Her number is zyx5550199.") == []
    assert not world.keys("demo/_search/forget/")


def test_what_the_indexer_had_no_time_for_stays_ordered(monkeypatch):
    world, _ = searching_world()
    talked = Talk(world=world)
    talked.say("a store")
    run_indexer(world)
    removal.delete(world.process, "demo", talked.id)
    monkeypatch.setattr("livemem.search.segments.purge", lambda *_: False)

    assert run_indexer(world)["status"] == "unfinished"
    assert world.keys("demo/_search/forget/")


def test_the_daily_look_asks_for_the_indexer_where_something_is_to_be_forgotten():
    talked = three_turns()
    talked.world.sweep_all()
    assert talked.world.reindexed == []
    removal.forget(talked.process, "demo", talked.world.ids())
    talked.world.reindexed.clear()
    talked.world.sweep_all()

    assert "demo" in talked.world.reindexed


def test_a_long_conversation_is_in_a_snapshot_though_it_changes_nothing(monkeypatch):
    monkeypatch.setattr("livemem.recall.conversation_documents.GROWN", 5)
    talked = Talk()
    talked.said(*[10] * 5)
    assert not run_indexer(talked.world)["snapshot"]
    talked.say("u" * 10)
    assert run_indexer(talked.world)["snapshot"]
    assert not run_indexer(talked.world)["snapshot"]
    told = holdings(talked.process)
    process = talked.world.new_process()
    about_all = search.search(process, "demo", SearchRequest.of("u" * 10, limit=50, levels="0", scope="conversations"))

    assert len(about_all.hits) == 6
    assert talked.world.client.counts["GET"] == 2
    assert holdings(process) == told
    talked.said(*[10] * 6)
    assert run_indexer(talked.world)["snapshot"]
    assert len(talked.world.keys("demo/_search/")) == 2


def test_a_cold_search_that_read_much_asks_for_the_indexer(monkeypatch):
    monkeypatch.setattr("livemem.recall.conversation_documents.GROWN", 5)
    talked = Talk()
    talked.said(*[10] * 6)
    process = talked.world.new_process()
    search.search(process, "demo", SearchRequest.of("u", conversation_id=talked.id))
    talked.world.do_background()

    assert talked.world.reindexed == ["demo"]


def test_a_generation_that_has_no_summaries_yet_leaves_none_of_the_former_one():
    conversation_documents = Talk()
    conversation_documents.say("Which store?", "S3.", message_id="m")
    conversation_documents.update()
    assert about(conversation_documents, levels="1")
    orders.rebuild(conversation_documents.process, "demo", conversation_documents.id, "windows", {})
    conversation_documents.world.settle()
    for _ in range(2):
        assert about(conversation_documents, levels="1") == []


def test_what_was_said_elsewhere_is_found_with_its_own_time_and_who_said_it():
    talked = Talk()
    exported = [
        ("m1", "user", "I painted a boat", "Caroline", "2023-05-08T13:56:00Z"),
        ("m2", "assistant", "My boat is blue", "Melanie", "2023-05-09T13:57:00Z"),
    ]
    said = [
        dict(zip(("message_id", "role", "content", "author", "client_timestamp"), one, strict=True)) for one in exported
    ]
    turn_import.take_in(talked.process, "demo", talked.id, "importer", items.drafts(said))

    hits = sorted(searched(talked, "boat", limit=9).hits, key=lambda hit: hit.document.id)
    shown = context.of_conversation(talked.process, "demo", talked.id, context.TalkContextRequest("boat"))

    assert [(hit.document.author, hit.document.time) for hit in hits] == [
        ("Caroline", "2023-05-08T13:56:00Z"),
        ("Melanie", "2023-05-09T13:57:00Z"),
    ]
    assert "[Turn 1] 2023-05-08 13:56 UTC, said by importer for Caroline\nI painted a boat\n" in shown.markdown
    assert "[Turn 2] 2023-05-09 13:57 UTC, said by importer for Melanie\nMy boat is blue\n" in shown.markdown
    told = transcripts.turns(TurnPage.of(reading.turns(talked.process, "demo", talked.id, limit=9), None))
    assert "- [Turn 1, 2023-05-08T13:56:00Z, said by importer for Caroline]\n  Caroline: I painted a boat" in told
    (first, _) = reading.turns(talked.process, "demo", talked.id, limit=9, order="oldest").turns
    assert (first.author, first.written_by, first.timestamp[:10]) == ("Caroline", "importer", "2026-02-20")


def test_two_people_in_whole_turns_are_two_people_and_the_answer_is_the_others():
    talked = Talk()
    line = {
        "message_id": "t1",
        "user_message": "Did you paint the boat?",
        "assistant_message": "My boat is blue",
        "user": "Caroline",
        "author": "Melanie",
        "client_timestamp": "2023-05-08T13:56:00Z",
    }
    drafts = items.drafts([line])
    turn_import.take_in(talked.process, "demo", talked.id, "importer", drafts)
    assert turn_import.take_in(talked.process, "demo", talked.id, "importer", drafts).repeated == 1

    hits = {hit.document.author: hit.document for hit in searched(talked, "boat", limit=9).hits}
    assert {name: one.role for name, one in hits.items()} == {"Caroline": "user", "Melanie": "user"}
    shown = context.of_conversation(talked.process, "demo", talked.id, context.TalkContextRequest("boat")).markdown
    who = "said by importer for Caroline, Melanie"
    assert f"2023-05-08 13:56 UTC, {who}\nUser: Did you paint the boat?\nAssistant: My boat is blue" in shown
    page = TurnPage.of(reading.turns(talked.process, "demo", talked.id, limit=9), None)
    assert "  Caroline: Did you paint the boat?\n  Melanie: My boat is blue" in transcripts.turns(page)
    known = message_context.context(talked.process, "demo", "blue boat").items
    assert [one.text for one in known] == ["Caroline: Did you paint the boat?\nMelanie: My boat is blue"]


def test_a_summary_fills_the_room_that_turns_leave_and_never_takes_the_place_of_one():
    talked = Talk(verbatim_chars=10_000, profile="windows")
    talked.say("Which store do we keep?", "The store is S3.")
    talked.say("Is there another store?", "No other store.")
    log.close(talked.process, "demo", talked.id)
    talked.update()

    assert about(talked)[0] == "1/assistant"
    assert "l1/1" in about(talked)
    four = names_of(searched(talked, "store", limit=4), talked)
    assert sorted(four) == ["1/assistant", "1/user", "2/assistant", "2/user"]
    assert names_of(searched(talked, "store", limit=4, levels="1"), talked) == ["l1/1"]


def test_the_summary_of_one_turn_is_not_found_beside_it():
    talked = three_turns()
    talked.update()
    found = search.search(talked.process, "demo", SearchRequest.of("store", scope="all", limit=50))
    assert {hit.document.kind for hit in found.hits} == {"turn"}
    alone = SearchRequest.of("store", conversation_id=talked.id, levels="1,2,3")
    assert {hit.document.kind for hit in search.search(talked.process, "demo", alone).hits} == {"summary"}


def test_calls_of_tools_are_found_where_they_are_asked_for_and_have_no_vectors():
    world, embedder = searching_world()
    talked = Talk(world=world)
    talked.say("Is there a store?", "No.", tool_calls=[ToolCall(name="grep", arguments={"pattern": "warehouse"})])
    run_indexer(world)

    assert not find(world.process, "grep warehouse", scope="all").hits or ids(
        find(world.process, "grep warehouse", scope="all")
    ) != [f"{talked.id}/1/tool"]
    assert ids(find(world.process, "warehouse", scope="tools")) == [f"{talked.id}/1/tool"]
    assert ids(find(world.process, "warehouse", scope="tools", conversation_id=talked.id)) == [f"{talked.id}/1/tool"]
    assert find(world.process, "warehouse", scope="tools").ranking == "bm25"
    assert not any("warehouse" in text for called, query in embedder.calls if not query for text in called)
    for scope in ("tools,live", "all,questions", "tools,questions"):
        with pytest.raises(InvalidRequest, match="searched alone"):
            find(world.process, "warehouse", scope=scope)


def test_many_questions_to_the_memory_move_no_search_result():
    world, _ = searching_world()
    world.create_space()
    for name in ("parser", "backup", "ledger", "harbour", "oven"):
        world.note(f"The {name} needs oil before the winter, said the {name} team.")
    told = Talk(world=world)
    told.say("Which store do we keep?", "The store of the ledger is S3.")
    asked = ["What does the parser need?", "Who keeps the store of the ledger?", "oil before the winter", "harbour"]

    def found():
        run_indexer(world)
        answers = [find(world.process, text, scope=scope, limit=20) for text in asked for scope in ("live", "all")]
        known = [message_context.context(world.process, "demo", text).markdown for text in asked]
        return [[(hit.document.id, hit.score) for hit in one.hits] for one in answers], known

    before = found()
    for _ in range(2):
        session = Talk(world=world)
        for number in range(10):
            draft = Draft(asked[number % 4], f"The {number} needs oil, as the note on the parser says.", asked=True)
            session.append(draft)
        session.update()

    assert found() == before
    again = find(world.process, "What does the parser need?", scope="questions", limit=100).hits
    assert len(again) > 20
    assert {hit.document.kind for hit in again} == {"turn"}


def test_what_has_no_word_to_look_for_is_not_found_and_stays_in_its_exchange():
    world, _ = searching_world()
    talked = Talk(world=world)
    talked.say("hi", "The parser drops tabs.")
    talked.say("ok, do it", "👍")
    corrections.write_file(world.process, "bob", "demo", "empty.md", "# Parser\n\n## Tabs\n\n## Hi\n", None)
    run_indexer(world)

    found = ids(find(world.process, "hi parser tabs ok", scope="all", limit=50))
    assert found == [f"{talked.id}/1/assistant"]
    (known,) = message_context.context(world.process, "demo", "Which parser drops tabs?").items
    assert known.text == "User: hi\nAssistant: The parser drops tabs."
