"""Writing: a note or many, and single facts."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from live_memory.cli import reading, texts
from live_memory.cli.code_version import WorkTree
from live_memory.cli.exits import Refused
from live_memory.cli.options import Json, Space
from live_memory.cli.session import Session, opened
from live_memory.operations import OPERATIONS

CATEGORIES = OPERATIONS["append_note"].body["category"].choices
Kind = Literal["fact", "self", "goal"]
AT_ONCE = 100
"""Notes of one request."""


def note(
    ctx: typer.Context,
    text: Annotated[str | None, typer.Argument(help="The text of the note; `-` or nothing reads stdin.")] = None,
    category: Annotated[str, typer.Option("--category", "-c", help=f"One of {', '.join(CATEGORIES)}.")] = "observation",
    tag: Annotated[
        list[str] | None,
        typer.Option("--tag", "-t", help="A word by which the note can be found. Repeat the option for more."),
    ] = None,
    batch: Annotated[
        bool, typer.Option("--batch", help="Read notes from stdin, one a line: JSON with content, category and tags.")
    ] = False,
    key: Annotated[
        str | None, typer.Option("--idempotency-key", help="A repeat with the same key returns the first notes.")
    ] = None,
    source: Annotated[
        str | None, typer.Option(metavar="SPACE/ID", help="The note or fact of another space that it passes on.")
    ] = None,
    personal: Annotated[bool, typer.Option("--personal", help="Write it to your personal space.")] = False,
    space: Space = None,
    json: Json = False,
) -> None:
    """Write a note; with --batch many."""
    with opened(ctx, json=json, space=space) as in_project:
        session = in_project.personal() if personal else in_project
        code = {} if personal else WorkTree(Path.cwd()).version()
        if personal:
            session.out.say(f"Personal space: {session.space}")
        if batch:
            if source:
                raise Refused("With --batch there is no --source: pass such notes on one by one.")
            _batch(session, text, category, tag or [], key, code)
            return
        content = reading.text(session.program, text, "The note")
        made = session.here(
            "append_note",
            category=category,
            content=content,
            tags=tag or None,
            source=_source(source) if source else None,
            idempotency_key=key,
            **code,
        )
        session.out.result(made, lambda: session.out.text(made["note_id"]))
        _tell_redacted(session, made)


def _source(text: str) -> dict[str, str]:
    space_id, slash, source_id = text.partition("/")
    if not slash:
        raise Refused("The source: a space and an id, such as team/20260220T140000_ann_decision_1a2b3c4d.")
    return {"space_id": space_id, "id": source_id}


def _tell_redacted(session: Session, made: dict[str, Any]) -> None:
    if found := made.get("redacted"):
        session.out.say(f"Replaced as secrets: {', '.join(f'{count} {kind}' for kind, count in found.items())}.")


def _batch(
    session: Session, text: str | None, category: str, tags: list[str], key: str | None, code: dict[str, str]
) -> None:
    """The notes of stdin, 100 a request. All lines are looked at before the first is sent. Each request has a key of
    its own, so a repeat of the whole batch writes what is missing.
    """
    if text not in {None, "-"}:
        raise Refused("With --batch the notes are read from stdin, one JSON object a line.")
    lines = list(reading.json_lines(reading.stdin("The notes"), "The notes"))
    if not lines:
        raise Refused("The notes: stdin was empty.")
    drafts = [_draft(number, fields, category, tags) | code for number, fields in lines]
    for begin in range(0, len(drafts), AT_ONCE):
        of_part = f"{key}/{begin}" if key else None
        try:
            items = drafts[begin : begin + AT_ONCE]
            written = session.here("append_note", items=items, idempotency_key=of_part)["items"]
        except Exception:
            if begin:
                line, last = lines[begin][0], texts.count(begin, "note")
                session.out.say(f"{last} are written. Continue from line {line}, where this request began.")
            raise
        for made in written:
            if session.out.json:
                session.out.record(made)
            else:
                session.out.text(made["note_id"])


def _draft(number: int, fields: dict[str, Any], category: str, tags: list[str]) -> dict[str, Any]:
    unknown = sorted(set(fields) - {"content", "category", "tags"})
    if unknown:
        raise Refused(
            f"The notes, line {number}: {', '.join(unknown)}: unknown field. A note has only content, "
            "category and tags."
        )
    if not isinstance(fields.get("content"), str):
        raise Refused(f"The notes, line {number}: content must be a text.")
    own = fields.get("tags") or []
    return {**fields, "category": fields.get("category", category), "tags": [*own, *tags] if tags else own}


def remember(
    ctx: typer.Context,
    text: Annotated[
        str | None, typer.Argument(help="One fact, readable by itself; `-` or nothing reads stdin.")
    ] = None,
    kind: Annotated[Kind, typer.Option(help="A fact, a fact about the agent itself, or a goal of the agent.")] = "fact",
    category: Annotated[str | None, typer.Option("--category", "-c", help="The category of the fact.")] = None,
    subject: Annotated[
        list[str] | None, typer.Option("--subject", help="A subject of the fact. Repeat the option for more.")
    ] = None,
    ttl: Annotated[str | None, typer.Option(help="How long the fact is valid, such as 30d. Default: for ever.")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace the fact that says the same.")] = False,
    key: Annotated[
        str | None, typer.Option("--idempotency-key", help="A repeat with the same key returns the first answer.")
    ] = None,
    space: Space = None,
    json: Json = False,
) -> None:
    """Store a fact. The same fact is kept only once."""
    with opened(ctx, json=json, space=space) as session:
        made = session.here(
            "store_memory",
            content=reading.text(session.program, text, "The fact"),
            kind=kind,
            category=category,
            subjects=subject or None,
            ttl=ttl,
            replace=replace or None,
            idempotency_key=key,
        )
        session.out.result(made, lambda: session.out.text(made["memory_id"]))
        _tell_redacted(session, made)
        if made.get("merged_into"):
            session.out.say(f"The fact was known already. Its text is now: {made['content']}")
