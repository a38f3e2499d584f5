"""Conversations of Claude and ChatGPT: what was said, in turns, with the ids and times of the export."""

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_memory.cli.imports import chatgpt, chats, claude
from live_memory.cli.imports.chats import Chat, Message, Turn
from live_memory.cli.imports.unfit import BadPart
from livemem import clock
from livemem.conversations.turn import check
from tests.support import items
from tests.support.cases import each
from tests.support.sources import chatgpt_chat, claude_chat, claude_message, node


def said(chat: Chat) -> list[tuple[str, str]]:
    return [(turn.user, turn.assistant) for turn in chat.turns]


def drafts(chat: Chat):
    """What the service makes of the items."""
    return items.drafts(item for turn in chat.turns for item in chats.turn_items(turn))


def test_messages_of_claude_become_turns_of_question_and_answer():
    chat = claude.chat(claude_chat())
    assert said(chat) == [
        ("Why does the import fail at night?", "Port Kiel answers 503 between 2 and 3 a.m."),
        ("And by day?", "By day it works."),
    ]
    assert (chat.title, chat.folder) == ("The import", "/imported/claude.ai/c-1")
    assert [(turn.message_id, turn.timestamp) for turn in chat.turns] == [
        ("m-1:m-2", "2026-02-20T14:01:00.123Z"),
        ("m-3:m-4", "2026-02-20T14:03:00.123Z"),
    ]


def test_of_messages_that_were_edited_those_come_that_lead_to_the_newest():
    messages = [
        claude_message(1, "human", "Hello"),
        claude_message(2, "assistant", "Hi"),
        claude_message(3, "human", "A qestion", parent_message_uuid="m-2"),
        claude_message(4, "human", "A question", parent_message_uuid="m-2"),
        claude_message(5, "assistant", "An answer", parent_message_uuid="m-4"),
    ]
    chat = claude.chat(claude_chat("c-1", *messages))
    assert said(chat) == [("Hello", "Hi"), ("A question", "An answer")]
    assert chat.left_out == {"messages that were edited or tried again": 1, "fields of conversations: account": 1}
    chosen = claude.chat(claude_chat("c-1", *messages, current_leaf_message_uuid="m-3"))
    assert said(chosen)[-1] == ("A qestion", "")


def test_where_a_message_between_is_missing_all_that_are_there_come():
    messages = [claude_message(number, "human", str(number)) for number in (1, 2, 4, 5)]
    chat = claude.chat(claude_chat("c-1", *messages))
    assert said(chat) == [("1", ""), ("2", ""), ("4", ""), ("5", "")]


def test_of_messages_of_one_moment_the_last_one_is_the_end():
    messages = [claude_message(number, "human", str(number), created_at="2026-02-20T14:00:00Z") for number in (1, 2, 3)]
    assert [turn.user for turn in claude.chat(claude_chat("c-1", *messages)).turns] == ["1", "2", "3"]


def test_an_export_of_claude_without_parents_comes_in_its_order():
    messages = [
        claude_message(number, sender, str(number)) for number, sender in enumerate(["human", "assistant"] * 2, 1)
    ]
    for message in messages:
        del message["parent_message_uuid"]
    assert said(claude.chat(claude_chat("c-1", *messages))) == [("1", "2"), ("3", "4")]


def test_attached_files_are_named_and_counted():
    message = claude_message(1, "human", "See", attachments=[{"file_name": "a.pdf", "extracted_content": "secret"}])
    chat = claude.chat(
        claude_chat("c-1", message, claude_message(2, "assistant", "Seen", files=[{"file_name": "b.png"}]))
    )
    assert said(chat) == [("See\n\n[attached: a.pdf]", "Seen\n\n[attached: b.png]")]
    assert chat.left_out == {"attached files": 2, "fields of conversations: account": 1}


def test_tools_of_claude_are_calls_of_the_turn():
    parts = [
        {"type": "tool_use", "name": "search", "input": {"q": "kiel"}},
        {"type": "tool_result", "name": "search", "content": [{"type": "text", "text": "503"}]},
        {"type": "text", "text": "It fails."},
    ]
    (turn,) = claude.chat(
        claude_chat("c", claude_message(1, "human", "?"), claude_message(2, "assistant", "", content=parts))
    ).turns
    result = json.dumps(parts[1]["content"])
    assert turn.assistant == "It fails."
    assert turn.calls == [{"name": "search", "arguments": '{"q": "kiel"}', "result": result}]


def test_of_the_tree_of_chatgpt_the_branch_comes_that_the_user_sees():
    chat = chatgpt.chat(chatgpt_chat())
    assert said(chat) == [("What is a lease?", "A lock that ends by itself."), ("Thanks.", "")]
    assert [turn.message_id for turn in chat.turns] == ["n-1:n-3", "n-4"]
    assert (chat.title, chat.turns[0].timestamp) == ("Leases", "2026-02-20T14:00:00.500Z")
    assert chat.left_out == {"messages of other branches": 1}


@each("current", [None, "nowhere", 7])
def test_without_a_current_node_the_newest_one_is_taken(current):
    nodes = (node("a", "root", "user", "Q", time=1.0), node("b", "a", "assistant", "A", time=2.0))
    assert said(chatgpt.chat(chatgpt_chat("g", *nodes, current=current))) == [("Q", "A")]


def test_what_the_user_of_chatgpt_never_saw_is_left_out():
    nodes = (
        node("s", "root", "system", "You are ..."),
        node("h", "s", "user", "profile", metadata={"is_visually_hidden_from_conversation": True}),
        node("e", "h", "user", {"content_type": "user_editable_context", "user_profile": "x"}),
        node("q", "e", "user", "Draw a lease"),
        node("t", "q", "assistant", {"content_type": "thoughts", "thoughts": [{"content": "hm"}]}),
        node("c", "t", "assistant", {"content_type": "code", "text": "draw()"}, recipient="python"),
        node("r", "c", "tool", {"content_type": "execution_output", "text": "ok"}, tool="python"),
        node(
            "i",
            "r",
            "assistant",
            {"content_type": "multimodal_text", "parts": [{"content_type": "image_asset_pointer"}, "Here."]},
        ),
    )
    chat = chatgpt.chat(chatgpt_chat("g", *nodes, current="i"))
    (turn,) = chat.turns
    assert (turn.user, turn.assistant) == ("Draw a lease", "[image]\n\nHere.")
    assert turn.calls == [{"name": "python", "arguments": "draw()", "result": "ok"}]
    assert chat.left_out == {"images, sounds and other media": 1, "messages that are no part of the conversation": 4}


def test_spoken_words_come_as_they_were_written_down():
    parts = [{"content_type": "audio_transcription", "text": "Hello"}, {"content_type": "audio_asset_pointer"}]
    chat = chatgpt.chat(
        chatgpt_chat("g", node("a", "root", "user", {"content_type": "multimodal_text", "parts": parts}), current="a")
    )
    assert said(chat) == [("Hello\n\n[audio]", "")]


def test_halves_of_surrogate_pairs_are_replaced_and_whole_ones_stay():
    chat = claude.chat(claude_chat("c", claude_message(1, "human", "a\ud83db\ud83d\ude00"), name="\udc00 x"))
    assert (said(chat), chat.title) == ([("a\ufffdb\U0001f600", "")], "\ufffd x")


def test_messages_in_a_circle_are_told():
    with pytest.raises(BadPart, match="circle"):
        chatgpt.chat(chatgpt_chat("g", node("a", "b", "user", "x"), node("b", "a", "user", "y"), current="a"))


def test_a_message_that_is_there_twice_is_told():
    with pytest.raises(BadPart, match="twice"):
        claude.chat(claude_chat("c", claude_message(1, "human", "a"), claude_message(1, "human", "b")))


@each("turn", [Turn("m", "q" * 700_000, "a" * 700_000), Turn("m", "\x01" * 400_000), Turn("m", "é😀" * 300_000)])
def test_a_turn_that_no_request_holds_comes_in_parts_without_losing_a_character(turn):
    made = list(chats.turn_items(turn))
    assert all(chats.size(item) <= chats.ITEM_BYTES for item in made)
    for role, text in (("user", turn.user), ("assistant", turn.assistant)):
        assert "".join(part["content"] for part in made if part["role"] == role) == text
    assert len({part["message_id"] for part in made}) == len(made)
    for draft in items.drafts(made[:1]):
        check(draft)


def test_long_results_of_tools_are_cut_and_say_so():
    call = Message("b", "assistant", "x" * 200_000, tool="t")
    (turn,) = chats.turns([Message("a", "user", "q"), call])
    assert turn.calls[0]["arguments"].endswith("[cut: 200000 characters]")


def test_another_answer_to_the_same_question_is_another_turn():
    one = chats.turns([Message("q", "user", "?"), Message("a", "assistant", "1")])
    two = chats.turns([Message("q", "user", "?"), Message("b", "assistant", "2")])
    assert one[0].message_id != two[0].message_id


@each("chat_id", ["../../etc", "a/b", "é", "x" * 170, "a b"])
def test_the_folder_of_a_conversation_is_one_name_whatever_its_id_is(chat_id):
    folder = Chat("claude.ai", chat_id, "", None, []).folder
    assert folder.startswith("/imported/claude.ai/")
    assert folder.count("/") == 3
    assert ".." not in folder


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
SURROGATES = st.text(st.characters(categories=["Cs", "L", "Cc"]), max_size=20)


def changed(value, data):
    """The same value with something else in one place of it."""
    at, steps = value, []
    while isinstance(at, (dict, list)) and at and (not steps or data.draw(st.integers(0, 4))):
        steps.append(at)
        key = data.draw(st.sampled_from(sorted(at))) if isinstance(at, dict) else data.draw(st.integers(0, len(at) - 1))
        last, at = key, at[key]
    if steps:
        steps[-1][last] = data.draw(JSON | SURROGATES)
    return value


@given(st.data())
def test_whatever_is_in_a_conversation_its_lines_are_such_as_the_service_takes_or_it_is_told(data):
    value, read = data.draw(st.sampled_from([(claude_chat(), claude.chat), (chatgpt_chat(), chatgpt.chat)]))
    value = json.loads(json.dumps(value))
    for _ in range(data.draw(st.integers(1, 3))):
        changed(value, data)
    try:
        chat = read(value)
    except BadPart:
        return
    if chat.turns:
        for draft in drafts(chat):
            check(draft)
    chat.title.encode()


@given(JSON)
def test_a_time_is_one_that_the_service_reads_or_none(value):
    found = chats.moment(value)
    assert found is None or clock.parse(found).tzinfo


def test_calls_of_tools_that_no_turn_can_hold_are_counted():
    asked = Message("u", "user", "Look")
    many = [Message(f"c{number}", "assistant", "{}", tool="Read") for number in range(chats.CALLS + 2)]
    left_out: Counter[str] = Counter()
    chats.turns([asked, *many], left_out)
    assert +left_out == {f"calls of tools beyond {chats.CALLS} of a turn": 2}

    long = [Message(f"c{number}", "tool", "x" * chats.RESULT_CHARACTERS, tool="Read") for number in range(10)]
    left_out = Counter()
    (turn,) = chats.turns([asked, *long], left_out)
    assert +left_out == {"inputs and results of tools in turns that are too long": 10}
    assert "result" not in json.dumps([*chats.turn_items(turn)])
