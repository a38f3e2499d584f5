"""What an export of Claude holds beside conversations, and what of an export is counted as not taken."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_memory.cli.imports import chatgpt, claude, claude_notes, detection, untaken
from tests.support.cases import each
from tests.support.cli_harness import CliHarness
from tests.support.sources import chat_zip, chatgpt_chat, claude_chat, claude_message, node, write

SECRET = "sk-proj-" + "a1B2c3D4e5F6g7H8i9J0" * 2
MEMORIES = [
    {
        "conversations_memory": "**Work**\n\nInes runs the timetables of the ferries.",
        "project_memories": {"p-1": "The quay is booked by the hour.", "p-9": "An older project."},
        "account_uuid": "a-1",
    }
]
PROJECTS: list[dict[str, Any]] = [
    {
        "uuid": "p-1",
        "name": "Quay",
        "description": "Berths of the harbour",
        "is_private": True,
        "is_starter_project": False,
        "prompt_template": f"Answer in one sentence. The key is {SECRET}",
        "created_at": "2026-02-01T08:00:00Z",
        "updated_at": "2026-02-02T08:00:00Z",
        "creator": {"uuid": "a-1", "full_name": "Ines"},
        "docs": [
            {
                "uuid": "d-1",
                "filename": "berths.md",
                "content": "# Berths\n\nSix.",
                "created_at": "2026-02-03T08:00:00Z",
            },
            {"uuid": "d-2", "filename": "tides.txt", "content": "High at noon.", "tokens": 3},
            {"uuid": "d-3", "filename": "empty.md", "content": ""},
        ],
    },
    {"uuid": "p-2", "name": "Bare", "prompt_template": "", "docs": []},
]


def export(top: Path, **files: Any) -> Path:
    """A folder with an export of Claude."""
    return write(top / "export", {f"{name}.json": json.dumps(value) for name, value in files.items()})


def found(source: Path) -> Any:
    return claude_notes.found(detection.look(source))


def test_memories_and_projects_of_claude_become_notes_with_their_names_and_times(tmp_path):
    made = found(export(tmp_path, conversations=[claude_chat()], memories=MEMORIES, projects=PROJECTS))

    assert [(one.body()["content"], one.tags, one.said_at, one.author, one.category) for one in made.items] == [
        ("**Work**\n\nInes runs the timetables of the ferries.", [], None, None, "observation"),
        ("# Quay\n\nThe quay is booked by the hour.", ["Quay"], None, None, "observation"),
        ("# p-9\n\nAn older project.", ["p-9"], None, None, "observation"),
        (
            "# Quay\n\nBerths of the harbour\n\nAnswer in one sentence. The key is [redacted:openai]",
            ["Quay"],
            "2026-02-01T08:00:00.000Z",
            "Ines",
            "decision",
        ),
        ("# Berths\n\nSix.", ["Quay"], "2026-02-03T08:00:00.000Z", "Ines", "observation"),
        ("# tides.txt\n\nHigh at noon.", ["Quay"], "2026-02-01T08:00:00.000Z", "Ines", "observation"),
    ]
    assert len({one.key for one in made.items}) == 6
    assert made.left_out == ["document 'empty.md' of the project 'Quay' is empty."]
    assert made.redacted == 1
    assert made.not_taken == {
        "fields of memories: account_uuid": 1,
        "fields of projects: is_private": 1,
        "fields of projects: updated_at": 1,
        "fields of documents: tokens": 1,
    }


@each(
    ("name", "text", "notes", "left_out", "not_taken"),
    [
        ("memories.json", json.dumps(MEMORIES[0]), 3, [], {"fields of memories: account_uuid": 1}),
        ("projects.json", json.dumps(PROJECTS[1:]), 0, [], {}),
        ("memories.json", "\ufeff[]", 0, [], {}),
        ("memories.json", "[", 0, ["'memories.json' is not JSON in UTF-8."], {}),
        ("projects.json", "[" * 100_000, 0, ["'projects.json' is not JSON in UTF-8."], {}),
        ("memories.json", '[{"other": 1}, 7, null]', 0, [], {"entries of another form": 3}),
        ("memories.json", '[{"conversations_memory": 7, "project_memories": ["x"]}]', 0, [], {
            "memories of another form": 2,
        }),
        ("memories.json", '[{"project_memories": {"p": {"text": "x"}, "q": "", "r": null}}]', 0, [], {
            "memories of another form": 1,
        }),
        ("projects.json", '[{"is_starter_project": true, "docs": [{"content": "x"}]}]', 0, [], {
            "projects that Claude wrote for a start": 1,
        }),
        ("projects/7b1e.json", json.dumps({"name": "Pier", "docs": [{"content": "x"}]}), 1, [], {}),
        ("projects.json", '[{"name": 7, "docs": [7, {"content": ["x"]}]}]', 0, [
            "document 'document 1' of the project 'project' is empty.",
            "document 'document 2' of the project 'project' is empty.",
        ], {}),
        ("projects.json", json.dumps([{"docs": [{"filename": "a\x1b\ud800", "content": "x\ud800y"}]}]), 1, [], {}),
    ],
)  # fmt: skip
def test_odd_files_beside_conversations_are_named_or_counted(tmp_path_factory, name, text, notes, left_out, not_taken):
    made = found(write(tmp_path_factory.mktemp("export"), {name: text, "conversations.json": "[]"}))

    assert (len(made.items), made.left_out, made.not_taken) == (notes, left_out, not_taken)
    assert all("\ud800" not in one.content for one in made.items)


@pytest.fixture
def desk(tmp_path) -> CliHarness:
    made = CliHarness(tmp_path / "home")
    made.answers = {
        "append_note": {"note_id": "n"},
        "get_space": {"space_id": "demo", "uid": "01K1"},
        "list_conversations": [{"items": []}, {"items": [{"conversation_id": "01A"}]}],
        "create_conversation": {"conversation_id": "01A"},
        "append_turn": {"imported": 2, "repeated": 0, "last_turn": 2, "left": 0},
        "close_conversation": {"turn_index": 2},
    }
    return made


@pytest.mark.parametrize("packed", [True, False])
def test_an_export_of_claude_brings_conversations_and_notes_with_a_report_of_each(desk, tmp_path, packed):
    beside = {"memories": MEMORIES, "projects": PROJECTS[1:], "users": [{"uuid": "a-1"}]}
    members = {f"{name}.json": json.dumps(value).encode() for name, value in beside.items()}
    source = (
        chat_zip(tmp_path / "export.zip", [claude_chat()], **members)
        if packed
        else export(tmp_path, conversations=[claude_chat()], user={}, **beside)
    )

    planned = desk.say("import", str(source), "--dry-run")
    assert (planned.code, [name for name, _ in desk.asked]) == (0, ["get_space"])
    done = desk.say("import", str(source), "--json")

    assert "1 conversation, 2 turns" in planned.out
    assert "not taken: 2 other files" in planned.out
    assert "not taken: fields of conversations: account (1)" in planned.out
    assert "claude.ai: 3 notes" in planned.out
    assert done.code == 0
    talk, notes = done.json["reports"]
    assert (talk["imported"], notes["imported"]) == (2, 3)
    assert [name for name, _ in desk.asked].count("append_note") == 3


@pytest.mark.parametrize("name", ["memories", "projects"])
def test_what_claude_exports_beside_conversations_comes_alone_too(desk, tmp_path, name):
    value = {"memories": MEMORIES, "projects": PROJECTS}[name]
    folder = export(tmp_path, **{name: value})
    for source in (folder, folder / f"{name}.json"):
        told = desk.say("import", str(source), "--dry-run", "--json")
        assert told.json["reports"][-1]["notes"] == 3


def test_an_export_without_any_of_it_is_refused_as_before(desk, tmp_path):
    told = desk.say("import", str(export(tmp_path, conversations=[], memories=[], projects=[])), "--dry-run")

    assert told.code == 2
    assert "no conversation" in told.err


def test_a_failure_between_conversations_and_notes_says_how_to_continue(desk, tmp_path):
    source = export(tmp_path, conversations=[claude_chat()], memories=MEMORIES)
    notes = desk.answers.pop("append_note")
    failed = desk.say("import", str(source))
    desk.answers |= {"append_note": notes, "list_conversations": {"items": [{"conversation_id": "01A"}]}}
    again = desk.say("import", str(source), "--json")

    assert failed.code not in (0, 1)
    assert "Run the same command again" in failed.err
    assert again.json["reports"][1]["imported"] == 3


def test_every_field_of_a_conversation_of_claude_that_is_not_taken_is_counted():
    parts = [
        {"type": "thinking", "thinking": "Hm."},
        {"type": "text", "text": "At night.", "citations": [{"url": "https://example.org"}], "flags": None},
        {"type": "tool_use", "name": "search", "input": {}, "id": "t-1"},
        {"type": "\x1b[0m"},
        {},
    ]
    said = [claude_message(1, "human", "When?", index=0), claude_message(2, "assistant", "At night.", content=parts)]
    chat = claude.chat(claude_chat("c-1", *said, summary="About the import", model="x", settings={}))

    assert chat.left_out == {
        "fields of conversations: account": 1,
        "fields of conversations: summary": 1,
        "fields of conversations: model": 1,
        "fields of parts of messages: citations": 1,
        "fields of parts of messages: id": 1,
        "parts of messages: thinking": 1,
        "parts of messages: \\x1b[0m": 1,
        "parts of messages: without a type": 1,
    }


def test_every_field_of_a_conversation_of_chatgpt_that_is_not_taken_is_counted():
    nodes = (
        node("n-1", "root", "system", "", weight=0.0),
        node("n-2", "n-1", "system", "Be short."),
        node("n-3", "n-2", "user", "What is a lease?", status="ok", metadata={"attachments": [{"name": "a"}]}),
        node(
            "n-4", "n-3", "assistant", {"content_type": "text", "parts": ["A lock."], "language": "en"}, status="done"
        ),
    )
    nodes[3]["message"]["author"]["metadata"] = {"real_author": "x"}
    chat = chatgpt.chat(chatgpt_chat("g-1", *nodes, gizmo_id="g", plugin_ids=None, is_archived=False))

    assert [turn.user for turn in chat.turns] == ["What is a lease?"]
    assert chat.left_out == {
        "fields of conversations: gizmo_id": 1,
        "messages that are no part of the conversation": 1,
        "fields of messages: status": 2,
        "fields of metadata: attachments": 1,
        "fields of authors: metadata": 1,
        "fields of contents: language": 1,
    }


@given(st.lists(st.dictionaries(st.text(max_size=3), st.integers(1, 3), max_size=9), max_size=60))
def test_no_count_is_lost_however_many_kinds_there_are(made_up):
    counter: Counter[str] = Counter()
    for fields in made_up:
        untaken.add(counter, {f"fields of messages: {name!a}": count for name, count in fields.items()})

    assert counter.total() == sum(sum(fields.values()) for fields in made_up)
    assert len(counter) <= untaken.KINDS + 1
