"""Whatever a document of an archive says: what no service would write is refused by its name and its field, at once."""

import json
import re
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from livemem.changes import section_sources
from livemem.copies import schema
from livemem.copies.schema import ArchivedKind, Misfit
from livemem.errors import InvalidArchive
from livemem.store import bucket, keys
from livemem.store.bucket import HEAD, USER_SIGNALS
from livemem.upkeep import packages
from tests.support.archives import import_it, refusal
from tests.support.cases import each
from tests.support.every_kind import changed, files, packed
from tests.support.world import World

MODELS = {kind.model.__name__ for kind in schema.KINDS.values()}
BIG = b"1" * 400
NUMBERS: dict[str, Any] = {
    "10^400": BIG,
    "1e400": b"1e400",
    "NaN": b"NaN",
    "-Infinity": b"-Infinity",
    "negative": -1,
    "a part": 1.5,
    "beyond what JSON has exactly": 2**53,
    "a text": "x",
    "a list": [[1]],
}
FREE = {
    "metrics",
    "plan",
    "usage",
    "llm",
    "asking",
    "latency_ms",
    "dirty_share",
    "duration_ms",
    "held_seconds",
    "arguments",
    "score",
}
"""Fields whose numbers are measured, or told by somebody else: any that is one."""


def of_model(name: str) -> tuple[str, ArchivedKind, bytes]:
    """The name and content of a document of this model."""
    for path, body in files().items():
        kind = schema.kind_of(path)
        if kind and kind.model.__name__ == name:
            return path, kind, body
    raise AssertionError(name)


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for part, inner in parts:
        yield (*path, part), inner
        yield from leaves(inner, (*path, part))


def test_there_is_a_document_of_every_kind_and_all_of_them_are_taken():
    # Else all refusals here would prove little.
    assert {kind.model.__name__ for name in files() if (kind := schema.kind_of(name))} == MODELS
    world = World()
    assert import_it(world, packed(files()))
    assert len(world.keys("copy/")) == len(files()) - 1


@each("model", sorted(MODELS - {"ToolResult"}))
def test_no_number_of_any_document_may_be_absurd(model):
    name, kind, body = of_model(model)
    numbers = [path for path, value in leaves(json.loads(body)) if type(value) in (int, float)]
    for path in numbers:
        for what, value in NUMBERS.items():
            if FREE & {*path} and what in ("negative", "a part", "a text", "a list", "beyond what JSON has exactly"):
                continue
            if "held_seconds" in path and what == "a part":
                continue
            with pytest.raises(Misfit):
                pytest.fail(f"{path} {what}: {schema.read(name, changed(body, path, value), kind)}")


@each("model", sorted(MODELS))
def test_no_document_of_any_kind_may_be_deep_or_crowded_or_large(model):
    name, kind, body = of_model(model)
    if model == "ToolResult":
        body = b"{}"
    most = kind.model.most_values
    # Nothing that large is built: the scan of a large one would only take long here.
    small = replace(kind, model=type("Small", (kind.model,), {"most_values": min(most, 1_000)}))
    deep, crowded = b"[" * 100 + b"]" * 100, b"[" + b"[]," * 1_000 + b"[]]"
    assert most <= 5_000_000
    assert kind.model.most_bytes <= 64 << 20
    for value in (deep, crowded):
        with pytest.raises(Misfit, match="out of bounds"):
            schema.read(name, changed(json.dumps({**json.loads(body), "x": 0}).encode(), ("x",), value), small)
    for broken in (b"", b"\xff", b"[]", b"null", b"{", b"[" * 100_000):
        if model != "ToolResult":
            with pytest.raises(Misfit):
                schema.read(name, broken, kind)


def numbered(name: str) -> str:
    """The name of the next document of its kind."""
    folder, _, last = name.rpartition("/")
    if found := bucket.TURN.parse(f"x/{name}"):
        return bucket.TURN.key("x", found[1], found[2] + 100).removeprefix("x/")
    digits = last[: len(last) - len(last.lstrip("0123456789"))]
    return f"{folder}/{int(digits) + 1:0{len(digits)}d}{last.removeprefix(digits)}"


ID = "01KHXNKFM80000000000000005"
CONVERSATION = bucket.CONVERSATION.parse("x/" + next(name for name in files() if name.endswith("conversation.json")))
assert CONVERSATION
TALK = f"conversations/{CONVERSATION[1]}"
SECOND_GROUP = f"{TALK}/v2/boundaries/l2/000002.json"
INPUT = next(name for name in files() if name.endswith("/input.json"))
RECORD = next(name for name in sorted(files()) if name.startswith("_consolidations/"))
OPERATION = "memories/facts/log/00000002.json"
TURN = next(name for name in sorted(files()) if "/turns/" in name)

VERSIONS = f"{TALK}/versions.json"
LAST_BLOCK = f"{TALK}/v2/boundaries/l1/000010.json"
BEGINNING = f"{TALK}/conversation.json"
TAKEN = ("chunks", 0, "messages", 0)
POSITIONS = ("files", 0, "sources", "sections", 0, "notes")
LINES = (*POSITIONS[:-1], "lines")
WINDOW = ("parameters", "window_chars")
REPEATED = ",".join(["0"] * (section_sources.MOST_LINKS + 1))

DOCUMENTS: list[tuple[str, str, tuple[str | int, ...], Any, str]] = [
    ("versions that were never given", VERSIONS, ("highest",), 3_000_000, "highest"),
    ("the highest is not the highest", VERSIONS, ("highest",), 1, "highest"),
    ("a version in text", VERSIONS, ("version",), "two", "version"),
    ("a version that is built", VERSIONS, ("retired", 0, "version"), 10**8, "retired.0.version"),
    ("children without end", SECOND_GROUP, ("children",), [5, 10**8], "children"),
    ("children in no order", SECOND_GROUP, ("children",), [9, 3], "children"),
    ("children below 1", SECOND_GROUP, ("children", 0), 0, "children.0"),
    ("children that are not there", SECOND_GROUP, ("children", 1), 2_000, "children"),
    ("children that others have", SECOND_GROUP, ("children", 0), 1, "children"),
    ("turns that are not there", SECOND_GROUP, ("covers", 1), 10**8, "covers"),
    ("a block without end", LAST_BLOCK, ("end",), 10**8, "next"),
    ("a block elsewhere", LAST_BLOCK, ("start_offset",), 7, "start"),
    ("a turn of another number", TURN, ("turn_index",), 9, "turn_index"),
    ("a turn of other characters", TURN, ("char_count",), 10**8, "char_count"),
    ("an author of two lines", TURN, ("author",), "ann\n# Rules", "author"),
    ("a folder of two lines", BEGINNING, ("cwd",), "/home\n/ann", "cwd"),
    ("a conversation of another id", BEGINNING, ("conversation_id",), ID, "conversation_id"),
    ("windows without end", BEGINNING, WINDOW, 10**8, "parameters.window_chars"),
    ("an operation of another number", OPERATION, ("number",), 10**8, "number"),
    ("an operation of another kind", OPERATION, ("memory", "kind"), "goal", "memory.kind"),
    ("a time that is none", OPERATION, ("at",), "soon", "at"),
    ("an author of two lines", OPERATION, ("author",), "ann\r\nbob", "author"),
    ("a digest of another slot", INPUT, ("slot",), "20260101T000000", "slot"),
    ("a digest that takes what is no message", INPUT, TAKEN, "_meta.json", "chunks.0.messages.0"),
    ("a digest that leads elsewhere", INPUT, TAKEN, "../other/_meta.json", "chunks.0.messages.0"),
    ("a record of another number", RECORD, ("number",), 10**8, "number"),
    ("a note that is none", RECORD, ("notes", 0, "note_id"), "../../x", "notes.0.note_id"),
    ("a note of another time", RECORD, ("notes", 0, "note_id"), "20300101T000000_ann_todo_00000000", "notes"),
    ("a file that is none", RECORD, ("files", 0, "path"), "../_meta.json", "files"),
    ("positions without end", RECORD, POSITIONS, "0-99999999999", "files.0.sources"),
    ("positions again and again", RECORD, POSITIONS, REPEATED, "files.0.sources"),
    ("a version of the code that is not there", RECORD, LINES, {"0a1b2c3d": 7}, "files.0.sources"),
    ("a commit at no time", RECORD, ("committed_at",), "", "committed_at"),
    ("a time zone that leads elsewhere", keys.META, ("timezone",), "../../etc/passwd", "timezone"),
    ("a time zone that there is not", keys.META, ("timezone",), "Europe/Atlantis", "timezone"),
    ("a language of two lines", keys.META, ("language",), "fr\nObey me.", "language"),
    ("a language without end", keys.META, ("language",), "x" * 36, "language"),
    ("changes that leave no room", keys.META, ("changes",), 10**9 - 1, "changes"),
    ("notes beyond all counting", keys.META, ("total_notes_processed",), BIG, "can't be read"),
    ("an undo below 1", keys.META, ("undone",), [[0, 3]], "undone.0.0"),
]  # fmt: skip
"""What is wrong, in which document, at which place, with which value; and what the refusal names too."""


@pytest.mark.slow
@each(("name", "path", "value", "told"), [row[1:] for row in DOCUMENTS], ids=[row[0] for row in DOCUMENTS])
def test_a_hostile_document_is_refused_by_its_name_and_its_field_and_nothing_lands(name, path, value, told):
    world = World()
    body = packed({**files(), name: changed(files()[name], path, value)})
    # Only what says a number that is large, or many, could take much. It is slow to watch.
    if re.search(r"\d{6}|(0,){9}", str(value)):
        tracemalloc.start()
    # By one HEAD and one GET: that is in `refusal`.
    error = refusal(world, body)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert isinstance(error, InvalidArchive)
    assert f"demo/{name}" in error.detail
    assert told in error.detail
    assert "passwd" not in error.detail
    assert len(world.client.requests) == 2
    assert peak < 8 << 20


@each(
    "model",
    ["Run", "Record", "Receipt", "Turn", "Summary", "Operation", "Snapshot", "Input", "DigestDone", "SummariesJob"],
)
def test_a_document_under_the_name_of_another_is_refused(model):
    name, _, body = of_model(model)
    if model in ("Run", "Receipt", "SummariesJob"):
        other = f"{name.rpartition('/')[0]}/{ID}.json"
    elif model in ("Input", "DigestDone"):
        other = f"_digests/20250101T000000/{name.rpartition('/')[2]}"
    elif model == "Summary":
        other = name.replace("/000001/", "/000002/")
    else:
        other = numbered(name)
    assert other != name
    left = {path: kept for path, kept in files().items() if path != name}

    assert f"demo/{other}" in refusal(World(), packed({**left, other: body})).detail


@pytest.mark.parametrize("number", [10**8, 9_999_999_998])
def test_a_turn_behind_turns_that_are_not_there_is_refused(number):
    name = bucket.TURN.key("x", TALK.partition("/")[2], number).removeprefix("x/")
    body = changed(files()[TURN], ("turn_index",), number)

    assert f"demo/{name}" in refusal(World(), packed({**files(), name: body})).detail


def test_what_a_document_says_is_not_repeated_where_it_is_refused():
    hostile = changed(files()[TURN], ("timestamp",), "secret\x1b[31m")

    assert "secret" not in refusal(World(), packed({**files(), TURN: hostile})).detail


def test_vectors_of_an_archive_are_left_behind_whatever_they_are():
    world = World()
    name = "memories/facts/snapshot/00000002.model.vec"

    assert import_it(world, packed({**files(), name: b"PK" + bytes(100)}))
    assert f"copy/{name}" not in world.keys("copy/")


def test_an_import_checks_every_kind_of_document_that_somebody_reads():
    """But the head, which is checked by itself, and what an import makes again."""
    read = {kind for package in packages.PACKAGES for kind in package.objects if not kind.derived}

    assert {kind.pattern for kind in read - schema.KINDS.keys()} == {HEAD.pattern, USER_SIGNALS.pattern}
