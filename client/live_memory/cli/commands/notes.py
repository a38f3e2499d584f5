"""Writing: a note or many, single facts, and copies of both in other spaces."""

from typing import Annotated, Any, Literal

import typer

from live_memory.cli import reading, texts
from live_memory.cli.exits import Refused
from live_memory.cli.options import Json, Space
from live_memory.cli.session import Session, opened

Category = Literal["observation", "decision", "todo", "insight", "question", "progress", "issue"]
Kind = Literal["fact", "self", "goal"]
AT_ONCE = 100
"""Notes of one request."""


def note(
    ctx: typer.Context,
    text: Annotated[str | None, typer.Argument(help="The text of the note; `-` or nothing reads stdin.")] = None,
    category: Annotated[Category, typer.Option("--category", "-c", help="The category of the note.")] = "observation",
    tag: Annotated[
        list[str] | None,
        typer.Option("--tag", "-t", help="A word by which the note can be found. Repeat the option for more."),
    ] = None,
    batch: Annotated[
        bool,
        typer.Option(
            "--batch", help="Read notes from stdin, one a line: a JSON object with content, category and tags."
        ),
    ] = False,
    key: Annotated[
        str | None, typer.Option("--idempotency-key", help="A repeat with the same key returns the first note.")
    ] = None,
    space: Space = None,
    json: Json = False,
) -> None:
    """Write a note; with --batch many."""
    with opened(ctx, json=json, space=space) as session:
        if batch:
            _batch(session, text, category, tag or [])
            return
        content = reading.text(session.program, text, "The note")
        arguments = {"category": category, "content": content, "tags": tag or None, "idempotency_key": key}
        made = session.here("append_note", **arguments)
        session.out.result(made, lambda: session.out.text(made["note_id"]))
        _tell_redacted(session, made)


def _tell_redacted(session: Session, made: dict[str, Any]) -> None:
    if found := made.get("redacted"):
        session.out.say(f"Replaced as secrets: {', '.join(f'{count} {kind}' for kind, count in found.items())}.")


def _batch(session: Session, text: str | None, category: str, tags: list[str]) -> None:
    """The notes of stdin, 100 a request. All lines are looked at before the first is sent."""
    if text not in {None, "-"}:
        raise Refused("With --batch the notes are read from stdin, one JSON object a line.")
    lines = list(reading.json_lines(reading.stdin("The notes"), "The notes"))
    if not lines:
        raise Refused("The notes: stdin was empty.")
    drafts = [_draft(number, fields, category, tags) for number, fields in lines]
    for begin in range(0, len(drafts), AT_ONCE):
        try:
            written = session.here("append_notes", notes=drafts[begin : begin + AT_ONCE])["items"]
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


def promote(
    ctx: typer.Context,
    name: Annotated[
        str, typer.Argument(metavar="ID", help="A note or a fact of the space; with --undo the promotion.")
    ],
    to: Annotated[str | None, typer.Option("--to", metavar="SPACE", help="The space that gets the copy.")] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Take a promotion into that space back.")] = False,
    space: Space = None,
    json: Json = False,
) -> None:
    """Copy a note or a fact into another space; with --undo take that back."""
    with opened(ctx, json=json, space=space) as session:
        if undo:
            session.call("take_back_promotion", space_id=to or session.space, promotion_id=name)
            session.out.result({"promotion_id": name}, lambda: session.out.say("The promotion was taken back."))
            return
        if not to:
            raise Refused("Name the space that gets the copy, with --to.")
        made = session.here("create_promotion", id=name, target_space_id=to)
        session.out.result(made, lambda: session.out.text(made["id"]))
        _tell_redacted(session, made)
        if made.get("already_known"):
            session.out.say(f"{to} knew it already.")
        session.out.say(f"Take it back with: livemem promote --undo {made['promotion_id']} --to {to}")
