"""A copy of a bucket of chrlesur/live-memory: each of its spaces becomes an archive, as if it were exported here.

Notes keep their names, times, agents, categories and tags. The bank begins with one entry in the history, that of a
change by hand. Tokens are never taken: not `_system/tokens.json`, and not the one that a space may have in its head.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import IO, Any

from live_memory.cli.imports import chats, files, heads, oldnotes, untaken
from live_memory.cli.imports.detection import META, Source
from live_memory.cli.imports.members import File
from live_memory.cli.imports.oldnotes import OldNote
from live_memory.cli.imports.packing import Packer
from live_memory.cli.imports.reports import SpaceReport
from live_memory.cli.imports.unfit import BadPart, BadSource, shown

SPACE_ID = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_-]{0,63}")
META_BYTES = 1 << 20
FILE_BYTES = 4 << 20
"""Bytes of any file, which is read as a whole."""
BANK_FILE_BYTES = 500_000
BANK_BYTES = 16 << 20
"""Bytes of all bank files together: they are in memory, and a second time in the record."""
BANK_FILES = 1_000
TEXT_BYTES = 50_000
"""Bytes of the rules, and of the synthesis."""
DESCRIPTION_BYTES = 500
OWNER_BYTES = 200
OBJECTS = 49_000
"""Objects of a space: an archive has at most 50,000 members."""
REASON = "Imported."
RULES = "Keep the present files of the bank and their structure, and keep their content up to date.\n"
THRESHOLD = 30
"""Number of notes at which a space consolidates by itself: the service's own default."""
_TAKEN = ("space_id", "description", "owner", "created_at", "last_consolidation", "graph_memory")
_DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_OURS = ("_consolidations/", "_runs/", "memories/", "conversations/", "rooms/")


@dataclass
class OldSpace:
    """A space of such a bucket: the parts that are needed as a whole. Its notes are packed one by one."""

    folder: str
    meta: Mapping[str, Any]
    bank: dict[str, str] = field(default_factory=dict)
    bank_names: dict[str, str] = field(default_factory=dict)
    rules: str = ""
    synthesis: str = ""
    agents: Counter[str] = field(default_factory=Counter)
    taken: set[str] = field(default_factory=set)
    oldest: datetime | None = None


def spaces(source: Source) -> list[OldSpace]:
    """The spaces of a bucket by their heads. Raises BadSource."""
    folders = source.spaces()
    if "" in folders and len(folders) > 1:
        raise BadSource(
            "The folder is a space and contains other spaces. Name the folder of one space, or the folder above them."
        )
    found = []
    for file in files.files(source.path):
        folder = file.path.removesuffix(META).rstrip("/")
        if file.path.endswith(META) and folder in folders and file.path == _below(folder, META):
            found.append(OldSpace(folder, _meta(file)))
    return sorted(found, key=lambda space: space.folder)


def outside(source: Source) -> int:
    """The number of files that belong to no space: tokens, backups and what else is in a bucket."""
    folders = source.spaces()
    return 0 if "" in folders else sum(path.partition("/")[0] not in folders for path in source.sizes)


def _below(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def _meta(file: File) -> Mapping[str, Any]:
    try:
        meta = json.loads(files.read(file, META_BYTES).decode())
    except (ValueError, RecursionError):
        meta = None
    if not isinstance(meta, dict):
        raise BadSource(f"{shown(file.path)} is not a valid space record: it is not a JSON object.")
    if "uid" in meta and "rev" in meta:
        raise BadSource(
            f"{shown(file.path)} is from this service. A copy of its bucket is not an export: export the space "
            "with `livemem export`."
        )
    return meta


def name_of(space: OldSpace, wanted: str | None) -> str:
    """The id that the space gets. Raises BadSource."""
    space_id = wanted or space.folder or chats.text_of(space.meta.get("space_id"))
    if not SPACE_ID.fullmatch(space_id):
        raise BadSource(f"The space {shown(space_id)} needs another id: name it with --space.")
    return space_id


def pack(source: Source, space: OldSpace, space_id: str, target: IO[bytes], author: str, threshold: int) -> SpaceReport:
    """Write the space as an archive, and describe it in the report. Raises BadSource."""
    report = SpaceReport(space_id, source=space.folder or source.path.name, notes=0)
    packer = Packer(target, space_id)
    try:
        for file in files.files(source.path):
            name = file.path.removeprefix(f"{space.folder}/") if space.folder else file.path
            if space.folder and name == file.path:
                continue
            _take(packer, space, name, file, report)
            if packer.count > OBJECTS:
                raise BadSource(f"The space {shown(space_id)} has more than {OBJECTS} notes.")
        _finish(packer, space, report, author, threshold)
        packer.end()
    finally:
        packer.close()
    return report


def _take(packer: Packer, space: OldSpace, name: str, file: File, report: SpaceReport) -> None:
    if name == META:
        return
    if name.startswith(_OURS):
        raise BadSource(f"{shown(file.path)} is from this service. A copy of its bucket is not an export.")
    try:
        if name.startswith("live/") and name.endswith(".md"):
            _take_note(packer, space, name, file, report)
        elif name.startswith("bank/") and name.endswith(".md"):
            _take_bank_file(space, name.removeprefix("bank/"), _text(file, BANK_FILE_BYTES), report)
        elif name == "_rules.md":
            space.rules = _text(file, TEXT_BYTES)
        elif name == "_synthesis.md":
            space.synthesis = _text(file, TEXT_BYTES)
        else:
            report.not_taken["other files"] += 1
    except BadPart as error:
        report.left_out.append(f"{shown(name)} {error}.")


def _text(file: File, limit: int) -> str:
    try:
        text = _read(file).decode()
    except UnicodeDecodeError:
        raise BadPart("is not UTF-8") from None
    if file.size > limit:
        raise BadPart(f"has {file.size} bytes, but at most {limit} are allowed")
    if "\0" in text:
        raise BadPart("has a NUL character")
    return text


def _read(file: File) -> bytes:
    if file.size > FILE_BYTES:
        raise BadPart(f"has {file.size} bytes, but at most {FILE_BYTES} are read")
    return files.read(file, FILE_BYTES)


def _take_note(packer: Packer, space: OldSpace, name: str, file: File, report: SpaceReport) -> None:
    note = oldnotes.read(name.removeprefix("live/").removesuffix(".md"), _read(file))
    untaken.count_fields(report.not_taken, "notes", note.others, ())
    for part in note.parts():
        added = _free(part, space.taken)
        space.taken.add(added.note_id)
        packer.add(f"live/{added.note_id}.md", added.body(report.space_id))
        report.notes = (report.notes or 0) + 1
        report.changed += [f"{shown(name)} {what}." for what in part.changed]
    space.agents[note.agent] += 1
    space.oldest = min(space.oldest or note.moment, note.moment)


def _free(note: OldNote, taken: set[str]) -> OldNote:
    while note.note_id in taken:
        note = note.later()
    return note


def _take_bank_file(space: OldSpace, path: str, text: str, report: SpaceReport) -> None:
    if not text.strip():
        raise BadPart("is empty")
    name = oldnotes.bank_path(path, space.bank_names)
    if len(space.bank) >= BANK_FILES or sum(map(len, space.bank.values())) + len(text) > BANK_BYTES:
        raise BadPart(f"exceeds the limit: a bank has at most {BANK_FILES} files and {BANK_BYTES >> 20} MiB here")
    if name != path:
        report.changed.append(f"{shown(f'bank/{path}')} was renamed to {name}.")
    text, change = heads.as_bank_file(text.removeprefix("\ufeff"))
    if change:
        report.changed.append(f"{name} {change}.")
    space.bank_names[name] = path
    space.bank[name] = text


def _finish(packer: Packer, space: OldSpace, report: SpaceReport, author: str, threshold: int) -> None:
    """Add the objects made of the whole space: rules, bank, synthesis, the record of the import, and the head."""
    created = _created(space)
    record = _record(space, report.space_id, author, created)
    metadata = {"consolidation": "1", "record": record["name"]} if record else None
    if not space.rules.strip():
        report.changed.append("The space had no rules, so it got short ones.")
    packer.add("_rules.md", (space.rules if space.rules.strip() else RULES).encode())
    packer.add("live/.keep", b"")
    packer.add("bank/.keep", b"")
    for path, text in space.bank.items():
        packer.add(f"bank/{path}", text.encode(), metadata)
    if space.synthesis.strip():
        packer.add("_synthesis.md", space.synthesis.encode(), metadata)
    if record:
        packer.add(f"_consolidations/{record['name']}.json", _json(record["body"]))
    packer.add(META, _json(_head(space, report, created, record["body"]["run_id"] if record else None, threshold)))
    report.agents = sorted(space.agents)
    report.bank_files, report.rules, report.synthesis = (
        len(space.bank),
        bool(space.rules.strip()),
        bool(space.synthesis.strip()),
    )
    report.objects = packer.count
    if space.meta.get("graph_memory"):
        report.not_taken["connections to a graph memory, with their tokens"] += 1
    untaken.count_fields(report.not_taken, "the space", space.meta, _TAKEN)


def _created(space: OldSpace) -> str:
    told = chats.moment(space.meta.get("created_at"))
    found = datetime.fromisoformat(told) if told else space.oldest or datetime(1970, 1, 1, tzinfo=UTC)
    return _seconds(found) if found.year >= 1970 else "1970-01-01T00:00:00Z"


def _seconds(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _record(space: OldSpace, space_id: str, author: str, moment: str) -> dict[str, Any] | None:
    """The record of the change that adds bank and synthesis. None if there is neither."""
    if not space.bank and not space.synthesis.strip():
        return None
    changes: list[dict[str, Any]] = [
        {
            "path": path,
            "action": "created",
            "before": None,
            "after": text,
            "reason": REASON,
            "sources": {"notes": {}, "sections": []},
        }
        for path, text in space.bank.items()
    ]
    last = chats.moment(space.meta.get("last_consolidation"))
    when = _seconds(datetime.fromisoformat(last)) if last and last >= moment else moment
    body = {
        "number": 1,
        "run_id": _ulid(when, [space_id, changes, space.synthesis]),
        "uid": _ulid(when, [space_id]),
        "kind": "manual",
        "trigger": "api",
        "started_at": when,
        "committed_at": when,
        "author": author,
        "files": changes,
        "synthesis": {"before": None, "after": space.synthesis} if space.synthesis.strip() else None,
    }
    compact = when.replace("-", "").replace(":", "").removesuffix("Z")
    return {"name": f"000001_{compact}_{compact}", "body": body}


def _head(space: OldSpace, report: SpaceReport, created: str, run_id: str | None, threshold: int) -> dict[str, Any]:
    owner = _fitting(space.meta.get("owner"), OWNER_BYTES, "owner", report)
    last = chats.moment(space.meta.get("last_consolidation"))
    return {
        "space_id": report.space_id,
        "description": _fitting(space.meta.get("description"), DESCRIPTION_BYTES, "description", report),
        "owner": owner or None,
        "created_at": created,
        "last_consolidation": _seconds(datetime.fromisoformat(last)) if last and run_id else None,
        "uid": _ulid(created, [report.space_id]),
        "consolidation_threshold": threshold,
        "changes": 1 if run_id else 0,
        "last_run": run_id,
        "folded_until": "",
        "undone": [],
    }


def _fitting(value: object, limit: int, name: str, report: SpaceReport) -> str:
    text = chats.text_of(value)
    cut = text.encode()[:limit].decode(errors="ignore")
    if cut != text:
        report.changed.append(f"The {name} is cut to {limit} bytes.")
    return cut


def _ulid(moment: str, content: object) -> str:
    """An id of a moment, made from the content: a repeat gets the same id."""
    milliseconds = int(datetime.fromisoformat(moment).timestamp() * 1_000)
    digest = hashlib.sha256(_json(content)).digest()[:10]
    number = int.from_bytes(milliseconds.to_bytes(6, "big") + digest, "big")
    return "".join(_DIGITS[number >> shift & 31] for shift in range(125, -1, -5))


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()
