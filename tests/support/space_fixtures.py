"""Whole spaces: one with every kind of object, what lies in one, and how a space that was brought differs from it."""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from livemem.bank import corrections
from livemem.changes import rules_change
from livemem.changes.rules_change import NewRules
from livemem.notes import idempotency
from livemem.notes.appending import NoteDraft
from livemem.store import keys
from livemem.store.bucket import IN_SPACE
from tests.support.world import World

BINARY = b"---\ntimestamp: \xff\xfe"
MALFORMED = b"no front matter, but a line\nspace_id: demo\n"
RECEIPT = (
    b'{"kind": "erasure", "job_id": "01KHXNKFM80000000000000005", "space_id": "demo",'
    b' "uid": "1", "requested_by": "admin", "status": "done", "created_at": "2026-02-20T14:00:00Z"}'
)
FOREIGN = {
    "conversations/c1/transcript.jsonl": ("application/x-ndjson", b'{"space_id": "demo"}\n'),
    "conversations/_by_cwd/x": ("text/plain", b"c1"),
    "memories/m1.md": ("text/markdown", b"Likes tea.\n"),
    "rooms/r1/state.json": ("application/json", b"{}"),
    "bank/picture.png": ("image/png", b"\x89PNG"),
    "_erasures/01KHXNKFM80000000000000005.json": (
        "application/json",
        RECEIPT,
    ),
    "_runs/01KHXNKFM80000000000000005.displaced/log.md": ("text/markdown", b"# Mine\n"),
}
"""What the service does not write itself in these tests."""
DERIVED = (
    "conversations/01KHXNKFM80000000000000005/claims/summaries.json",
    "_search/index",
    "_vectors/1",
    "_runs/by_hand.json",
)
"""What is no part of a backup."""


@dataclass(frozen=True)
class Kept:
    """An object, as far as anybody can tell."""

    body: bytes
    metadata: Mapping[str, str]
    content_type: str


def objects(world: World, space_id: str) -> dict[str, Kept]:
    """All objects of a space by name."""
    prefix = IN_SPACE.prefix(space_id)
    found = {entry.key: world.store.get(entry.key) for entry in world.store.scan(prefix)}
    return {
        key.removeprefix(prefix): Kept(item.body, dict(item.metadata), item.content_type)
        for key, item in found.items()
        if item
    }


def put(world: World, name: str, body: bytes, content_type: str, space_id: str = "demo") -> None:
    """Put an object into a space behind the service's back."""
    world.inner.put_object(Bucket="bucket", Key=f"{space_id}/{name}", Body=body, ContentType=content_type)


def raw_note(world: World, body: bytes, space_id: str = "demo") -> str:
    """Put a note of this body; its id."""
    note_id = f"{keys.compact_time(world.clock())}_ann_issue_{world.ids.suffix()}"
    put(world, f"live/{note_id}.md", body, "text/markdown", space_id)
    return note_id


def fill(world: World) -> None:
    """Make the space `demo` with every kind of object that there is."""
    world.create_space(threshold=0)
    world.note("first")
    idempotency.append_once(world.process, "demo", "bob", NoteDraft("todo", "once", ("a",)), "key-1")
    raw_note(world, MALFORMED)
    raw_note(world, BINARY)
    world.clock.move(2)
    world.consolidate()
    world.clock.move(2)
    corrections.write_file(world.process, "ann", "demo", "people/team/ann.md", "# Ann\n\nLeads.\n", None)
    world.clock.move(2)
    rules_change.change(world.process, "ann", "demo", NewRules("Keep a log and a list."))
    world.clock.move(2)
    world.note("second")
    world.clock.move(2)
    world.consolidate()
    world.undo(4)
    world.clock.move(2)
    world.note('third\n---\nspace_id: "demo"')
    raw_note(world, MALFORMED)
    raw_note(world, BINARY)
    idempotency.append_once(world.process, "demo", "bob", NoteDraft("todo", "twice"), "key-2")
    for name, (content_type, body) in FOREIGN.items():
        put(world, name, body, content_type)
    for name in DERIVED:
        put(world, name, b"x", "text/plain")
    world.clock.move(2)


def differences(before: Mapping[str, Kept], after: Mapping[str, Kept], source: str, target: str) -> list[str]:
    """What is otherwise in a restored space than it should be; the head is looked at elsewhere."""
    expected = {
        name: _moved(name, kept, source, target)
        for name, kept in before.items()
        if name not in (*DERIVED, "_lease.json", keys.META)
    }
    moved = source != target
    actual = {name: _comparable(name, kept, moved=moved) for name, kept in after.items() if name != keys.META}
    missing = [f"{name} is missing" for name in expected if name not in actual]
    surplus = [f"{name} is too much" for name in actual if name not in expected]
    other = [
        f"{name}: {actual[name]} is not {kept}" for name, kept in expected.items() if actual.get(name, kept) != kept
    ]
    return sorted([*missing, *surplus, *other])


def _moved(name: str, kept: Kept, source: str, target: str) -> Any:
    if name.startswith("_runs/") and name.count(".") == 1 and name not in DERIVED:
        run = json.loads(kept.body)
        return {**run, "space_id": target, "uid": None}, kept.metadata, kept.content_type
    if source != target and name.startswith("_consolidations/"):
        record = json.loads(kept.body)
        for note in record["notes"]:
            body = base64.b64decode(note["raw"]) if note["encoding"] == "base64" else note["raw"].encode()
            moved = _renamed(body, source, target)
            note["raw"] = base64.b64encode(moved).decode() if note["encoding"] == "base64" else moved.decode()
        return record, kept.metadata, kept.content_type
    if source != target and name.startswith("live/") and name.endswith(".md"):
        return Kept(_renamed(kept.body, source, target), kept.metadata, kept.content_type)
    return kept


def _renamed(body: bytes, source: str, target: str) -> bytes:
    """A note as the service writes it begins with its fields, the last of which is the space."""
    line = f'\nspace_id: "{source}"\n---\n'.encode()
    head, found, rest = body.partition(line)
    return head + line.replace(source.encode(), target.encode()) + rest if found and b"---\n" not in head[4:] else body


def _comparable(name: str, kept: Kept, *, moved: bool) -> Any:
    if moved and name.startswith("_consolidations/"):
        return json.loads(kept.body), kept.metadata, kept.content_type
    if name.startswith("_runs/") and name.count(".") == 1:
        return {**json.loads(kept.body), "uid": None}, kept.metadata, kept.content_type
    return kept
