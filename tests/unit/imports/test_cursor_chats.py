"""Chats of Cursor: databases in the form that its users describe, and hostile ones. Cursor itself wrote none."""

import json
import shutil
import sqlite3
import zipfile
from contextlib import closing
from hashlib import sha256

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from live_memory.cli.imports import talks
from live_memory.cli.imports.chats import Chat
from live_memory.cli.imports.detection import look
from live_memory.cli.imports.talks import Wanted

NIGHT, ANSWER, SECRET = "Why does the import fail at night?", "Port Kiel answers 503.", "sk-proj-" + "a1B2c3D4e5" * 4
BEGAN, AT = 1_763_632_800_000, "2025-11-20T10:00:00.000Z"


def editor(folder, rows, *, table="cursorDiskKV", wal=False):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "state.vscdb"
    connection = sqlite3.connect(path)
    if wal:
        connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(f"CREATE TABLE {table} (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
    for key, value in rows.items():
        text = value if isinstance(value, str | bytes | None) else json.dumps(value)
        connection.execute(f"INSERT INTO {table} VALUES (?, ?)", (key, text))
    connection.commit()
    return path, connection


def chat(name, /, *bubbles, **more):
    """The rows of a chat: its head, and its messages as (type, text)."""
    heads = [{"bubbleId": f"{name}-{number}", "type": kind} for number, (kind, _) in enumerate(bubbles)]
    rows = {f"composerData:{name}": {"composerId": name, "createdAt": BEGAN, **more}}
    rows[f"composerData:{name}"].setdefault("fullConversationHeadersOnly", heads)
    for head, (kind, text) in zip(heads, bubbles, strict=True):
        rows[f"bubbleId:{name}:{head['bubbleId']}"] = {"type": kind, "text": text, "bubbleId": head["bubbleId"]}
    return rows


def terminal(folder, *messages, order=None):
    folder.mkdir(parents=True)
    blobs = {sha256(text).hexdigest(): text for text in (json.dumps(one).encode() for one in messages)}
    names = list(blobs) if order is None else order
    root = b"".join(b"\x0a\x20" + bytes.fromhex(name) for name in names) + b"\x12\x03abc"
    meta = {"agentId": folder.name, "latestRootBlobId": sha256(root).hexdigest(), "name": "New Agent"}
    with closing(sqlite3.connect(folder / "store.db")) as connection, connection:
        connection.execute("CREATE TABLE blobs (id TEXT PRIMARY KEY, data BLOB)")
        connection.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT)")
        connection.executemany("INSERT INTO blobs VALUES (?, ?)", [*blobs.items(), (meta["latestRootBlobId"], root)])
        connection.execute(
            "INSERT INTO meta VALUES ('0', ?)", (json.dumps({**meta, "createdAt": BEGAN}).encode().hex(),)
        )


def chats_in(source):
    return [one for one in talks.read(look(source)) if isinstance(one, Chat)]


def said(one):
    return [(turn.user, turn.assistant) for turn in one.turns]


@pytest.mark.parametrize("wal", [False, True])
def test_chats_of_the_editor_come_in_the_order_of_their_heads_and_nothing_there_is_changed(tmp_path, wal):
    rows = chat("a", (1, NIGHT), (2, ""), (2, ANSWER), (1, f"The key is {SECRET}."), name="The import")
    rows["bubbleId:a:a-3"]["createdAt"] = "2025-11-20T11:00:00.000Z"
    rows |= {
        "composerData:old": {"composerId": "old", "createdAt": BEGAN, "conversation": [{"type": 1, "text": "Old?"}]}
    }
    path, connection = editor(tmp_path / "globalStorage", rows, wal=wal)
    if not wal:
        connection.close()
    before = {one.name: one.read_bytes() for one in path.parent.iterdir() if one.suffix != ".vscdb-shm"}
    assert ("state.vscdb-wal" in before) == wal

    first, old = chats_in(path.parent)
    assert said(first) == [(NIGHT, ANSWER), ("The key is [redacted:openai].", "")]
    assert (first.title, first.folder) == ("The import", "/imported/cursor/a")
    assert [turn.timestamp for turn in first.turns] == [AT, "2025-11-20T11:00:00.000Z"]
    assert (said(old), old.title) == ([("Old?", "")], "Old?")
    assert [one.chat_id for one in chats_in(path)] == ["a", "old"]
    assert {name: path.with_name(name).read_bytes() for name in before} == before
    assert {one.name for one in path.parent.iterdir()} - {"state.vscdb-shm"} == set(before)
    connection.close()


def test_chats_of_the_command_line_come_in_the_order_of_their_root(tmp_path):
    asked = [{"type": "text", "text": "<user_info>\nOS: linux\n</user_info>"}]
    asked += [{"type": "text", "text": f"<user_query>\n{NIGHT}\n</user_query>"}]
    terminal(
        tmp_path / "chats/0a/5e55",
        {"role": "system", "content": "You are an agent."},
        {"role": "user", "content": asked},
        {"role": "assistant", "content": [{"type": "reasoning", "text": "Hm."}, {"type": "text", "text": ANSWER}]},
        {"role": "tool", "content": [{"type": "tool-result", "result": "text"}]},
    )
    (one,) = chats_in(tmp_path / "chats")
    assert said(one) == [(NIGHT, ANSWER)]
    assert (one.chat_id, one.updated_at) == ("5e55", AT)
    assert one.left_out == {"lines without words, such as calls of tools": 2}


def test_what_is_hostile_or_unknown_is_counted_or_named_and_keeps_no_chat_away(tmp_path):
    rows = chat("good", (1, NIGHT), (2, ANSWER)) | chat("parent", (1, "Go."), subComposerIds=["below"])
    rows |= chat("below", (1, "The words of an agent."))
    rows |= chat("odd", (3, "Of a type that nobody knows."), (1, "Known."), (1, 7))
    rows["composerData:odd"]["fullConversationHeadersOnly"] += [{"bubbleId": "gone"}, 3, None]
    rows |= {"composerData:list": [1], "composerData:text": "{", "composerData:none": None, "composerData:": {"a": 1}}
    rows |= {"composerData:bytes": b"\xff\x00", "composerData:heads": {"composerId": "h", "conversation": {"a": 1}}}
    rows |= {"composerData:deep": '{"a":' * 100_000, "composerData:id": {"composerId": "\x1b[2J"}}
    path, connection = editor(tmp_path / "a", rows)
    connection.close()
    shutil.copytree(path.parent, tmp_path / "b")
    damaged = tmp_path / "c/state.vscdb"
    damaged.parent.mkdir()
    damaged.write_bytes(path.read_bytes()[:5_000] + b"\0" * 9_000)
    (tmp_path / "d").mkdir()
    (tmp_path / "d/state.vscdb").write_text("no database")
    terminal(tmp_path / "e/0f", {"role": "user", "content": "Lost."}, order=["00" * 32])
    (tmp_path / "f").mkdir()
    (tmp_path / "f/state.vscdb").symlink_to(path)
    sqlite3.connect(tmp_path / "store.db").close()
    (tmp_path / "g").mkdir()
    row = json.dumps({"composerId": "view", "conversation": [{"type": 1, "text": "Of a view."}]})
    with closing(sqlite3.connect(tmp_path / "g/state.vscdb")) as views:
        views.execute(f"CREATE VIEW cursorDiskKV AS SELECT 'composerData:view' AS key, CAST('{row}' AS BLOB) AS value")

    report = talks.plan(look(tmp_path), Wanted("demo"))
    assert (report.conversations, report.turns) == (3, 3)
    assert report.not_taken["chats of sub-agents"] == 1
    assert report.not_taken["messages that are named and not there"] == 4
    assert report.not_taken["texts of a kind that is not known (messages of Cursor)"] == 1
    told = "\n".join(report.left_out)
    for name in (
        "'b/state.vscdb' has a chat of an earlier one",
        "'d/state.vscdb' is no database",
        "'f/state.vscdb' is a sym",
    ):
        assert name in told
    assert "'store.db' is no database of Cursor" in told
    assert "a chat without an id" in told


def test_in_an_archive_a_database_is_named(tmp_path):
    path, connection = editor(tmp_path / "a", chat("a", (1, NIGHT)))
    connection.close()
    archive = tmp_path / "a.zip"
    with zipfile.ZipFile(archive, "w") as made:
        made.write(path, "state.vscdb")
    assert [one.reason for one in talks.read(look(archive))] == ["'state.vscdb' is in an archive. Unpack it first."]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()) | st.just(10**400),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
IN_HEAD = "composerId createdAt lastUpdatedAt name subComposerIds isBestOfNSubcomposer conversation"
FIELDS = [
    *(("composerData:b", name) for name in [*IN_HEAD.split(), "fullConversationHeadersOnly"]),
    *(("bubbleId:b:b-0", name) for name in ("type", "text", "bubbleId", "createdAt")),
]


@given(st.sampled_from(FIELDS), JSON)
@example(("bubbleId:b:b-0", "type"), [1])
@example(("bubbleId:b:b-0", "createdAt"), 10**400)
@example(("composerData:b", "lastUpdatedAt"), -(10**400))
@example(("composerData:b", "createdAt"), 10**400)
@example(("composerData:b", "composerId"), "\ud800")
def test_a_field_of_any_kind_leaves_the_other_chats_as_they_are(tmp_path_factory, field, value):
    rows = chat("a", (1, NIGHT), (2, ANSWER)) | chat("b", (1, "Lost?"), (2, "No."))
    rows[field[0]][field[1]] = value
    folder = tmp_path_factory.mktemp("odd")
    editor(folder, rows)[1].close()
    found = {one.chat_id: one for one in chats_in(folder)}
    assert said(found["a"]) == [(NIGHT, ANSWER)]
    if field[1] == "type" and not isinstance(value, int | float):
        assert found["b"].left_out["texts of a kind that is not known (messages of Cursor)"] == 1
