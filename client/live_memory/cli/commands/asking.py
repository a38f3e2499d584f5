"""Reading the memory: `start`, `read`, `show`, `bank`, `search`, `context`, `ask`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from live_memory.cli import gone_paths, reading, texts, waiting
from live_memory.cli.code_version import WorkTree
from live_memory.cli.exits import FAILED, Refused
from live_memory.cli.options import Json, Limit, MaybeSpace, Space, named
from live_memory.cli.output import Output
from live_memory.cli.session import Session, given, opened

Lang = Annotated[
    str | None, typer.Option("--lang", help="The language of the headings: en or fr. Default: that of the space.")
]
At = Annotated[int | None, typer.Option("--at", min=0, help="Show the state after this change of the history.")]


def start(
    ctx: typer.Context,
    q: Annotated[
        str | None, typer.Argument(help="The subject of the session. Parts that match it are included.")
    ] = None,
    max_chars: Annotated[
        int | None, typer.Option(help="The maximum number of characters, 2000 to 100000. Default: 9500.")
    ] = None,
    lang: Lang = None,
    user: Annotated[str | None, typer.Option(help="Whom the agent works with; else the name of the token.")] = None,
    at: At = None,
    space: Space = None,
    json: Json = False,
) -> None:
    """Show the context for an agent's start: the current sections, new notes, and the names of all other sections."""
    with opened(ctx, json=json, space=space, **_of_code(json)) as session:
        wanted: dict[str, Any] = {"q": q, "lang": lang, "user": user}
        beside = session.beside() if at is None else None
        if not beside:
            _markdown(session, "get_start", {"space_id": session.space, "max_chars": max_chars, "at": at, **wanted})
            return

        def ask(chars: int) -> dict[str, Any]:
            answer: dict[str, Any] = session.here("get_start", max_chars=chars, **wanted)
            return answer

        answer, own = beside.start(ask, lambda answer: str(answer["markdown"]), max_chars, **wanted)
        _both(session, answer, own)


def _both(session: Session, answer: dict[str, Any], own: str) -> None:
    """An answer with Markdown, and the text of the personal space behind it."""
    session.out.result({**answer, "personal": own}, lambda: _text(session, answer["markdown"] + own))


def read(
    ctx: typer.Context,
    id: Annotated[  # noqa: A002 - the name in the usage
        str,
        typer.Argument(help="The id of a file, section, note, turn, summary or memory, as start and search show it."),
    ],
    max_chars: Annotated[
        int | None, typer.Option(help="The maximum number of characters, 500 to 100000. Default: 8000.")
    ] = None,
    cursor: Annotated[str | None, typer.Option(help="The cursor at the end of the page before.")] = None,
    space: Space = None,
    json: Json = False,
) -> None:
    """Show one thing by its id, whole or in pages."""
    with opened(ctx, json=json, space=space, **_of_code(json)) as session:
        _markdown(
            session, "read_by_id", {"space_id": session.space, "id": id, "max_chars": max_chars, "cursor": cursor}
        )


def show(
    ctx: typer.Context,
    space_id: MaybeSpace = None,
    at: At = None,
    no_rules: Annotated[bool, typer.Option("--no-rules", help="Leave the rules out.")] = False,
    space: Space = None,
    json: Json = False,
) -> None:
    """Show all of a space: rules, synthesis, bank, newest notes."""
    with opened(ctx, json=json, space=named(space_id, space)) as session:
        _markdown(session, "get_summary", {"space_id": session.space, "at": at, "rules": False if no_rules else None})


def _markdown(session: Session, operation: str, arguments: dict[str, Any]) -> None:
    """An operation's Markdown, or with --json its JSON."""
    if session.out.json:
        session.out.document(session.call(operation, **arguments))
    else:
        _text(session, session.client.markdown(operation, given(arguments)))


def _text(session: Session, text: str) -> None:
    session.out.text(gone_paths.marked(text, Path.cwd()))


def _of_code(json: bool) -> dict[str, Any]:
    """The option for a connection that names the version of the code here. JSON stays as the service gives it."""
    return {} if json else {"headers": WorkTree(Path.cwd()).headers()}


def bank(
    ctx: typer.Context,
    path: Annotated[str | None, typer.Argument(help="The path of a file. Default: the list of the files.")] = None,
    at: At = None,
    sources: Annotated[bool, typer.Option("--sources", help="Show the notes that each section rests on.")] = False,
    space: Space = None,
    json: Json = False,
) -> None:
    """List the files of the bank, or show one."""
    with opened(ctx, json=json, space=space) as session:
        if path is None:
            found = session.here("list_bank", at=at)
            session.out.result(found, lambda: _files(session.out, found["items"]))
            if not (found["items"] or at or json):
                waits = session.here("get_space")["waiting"]
                notes, wait = (
                    texts.count(waits["notes_count"], "note"),
                    "waits" if waits["notes_count"] == 1 else "wait",
                )
                when = texts.next_run(waits["next_run"])
                session.out.say(f"The bank is empty. {notes} {wait} to be folded: {when}.")
        elif sources:
            file = session.here("get_bank_file", path=path, at=at, sources=True)
            session.out.result(file, lambda: _sections(session.out, file))
        else:
            _markdown(session, "get_bank_file", {"space_id": session.space, "path": path, "at": at})


def _files(out: Output, found: list[dict[str, Any]]) -> None:
    out.table(
        ["file", "size", "changed", "change"],
        [[one["path"], one["size"], texts.moment(one["last_modified"]), one.get("consolidation")] for one in found],
    )


def _sections(out: Output, file: dict[str, Any]) -> None:
    lines = []
    for section in file.get("sections") or []:
        lines.append((section["heading"] or "(beginning)", "bold"))
        lines += [(f"  {one['note_id']}  change {one['consolidation']}", "") for one in section["sources"]]
        lines += [(f"  corrected by hand: change {number}", "") for number in section["corrections"]]
        if section.get("omitted"):
            lines.append((f"  and {texts.count(section['omitted'], 'older note')}", "dim"))
    out.lines(lines or [("No section rests on a note.", "")])


def search(
    ctx: typer.Context,
    q: Annotated[str, typer.Argument(help="Words, or a question.")],
    everywhere: Annotated[bool, typer.Option("--all", "-a", help="Search all spaces that you may read.")] = False,
    scope: Annotated[
        str | None,
        typer.Option(help="live, archive, bank, conversations, memories, rooms, or all. Separate several with commas."),
    ] = None,
    limit: Limit = None,
    author: Annotated[str | None, typer.Option(help="Only documents of this author.")] = None,
    category: Annotated[str | None, typer.Option("--category", "-c", help="Only notes of this category.")] = None,
    tag: Annotated[str | None, typer.Option("--tag", "-t", help="Only notes with this tag.")] = None,
    since: Annotated[
        str | None, typer.Option(help="Only documents of this time or later: 2026-02-20T14:00:00Z, or a day.")
    ] = None,
    until: Annotated[
        str | None, typer.Option(help="Only documents of this time or earlier, or up to the end of a day.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--everything", help="Show what is nearest even if it does not answer the question.")
    ] = False,
    why_not: Annotated[
        str | None, typer.Option(help="The id of a document: also tell why it was not found. Not with --all.")
    ] = None,
    cursor: Annotated[
        str | None, typer.Option(help="The next page, or with --all the next spaces, as the last search names it.")
    ] = None,
    space: Space = None,
    json: Json = False,
) -> None:
    """Search everything, by words and by meaning. Exit code 7: nothing was found. With --all a space that
    can't be searched is named, and the others answer.
    """
    with opened(ctx, json=json, space=space, **_of_code(json)) as session:
        filters = {"author": author, "category": category, "tag": tag, "since": since, "until": until}
        arguments: dict[str, Any] = {"q": q, "scope": scope, "limit": limit, **filters}
        if everything:
            arguments["everything"] = True
        if why_not is not None:
            if everywhere:
                raise Refused("--why-not goes with one space: leave --all out.")
            arguments["why_not"] = why_not
        if cursor is not None:
            arguments["cursor"] = cursor
        operation = "search_spaces" if everywhere else "search_space"
        beside = None if everywhere or cursor or why_not else session.beside()
        own = ""
        if beside:
            found, own = beside.search(lambda: session.here(operation, **arguments), **arguments)
            found |= {"personal": own, "nothing": found.get("nothing") and not own.startswith("\n#")}
        else:
            found = session.call(operation, **arguments) if everywhere else session.here(operation, **arguments)
        session.out.result(found, lambda: _hits(session, found["items"], own, everywhere=everywhere))
        if why := found.get("why_not"):
            session.out.say(_why_not(why))
        for one in found.get("failed_spaces") or []:
            session.out.say(f"Not searched: {one['space_id']} ({one['code']}). {texts.one_line(one['detail'])}")
        if further := found.get("next_spaces"):
            session.out.say(f"Not all spaces were searched. The next ones: --all --cursor {further}")
        if more := found.get("next_cursor"):
            session.out.say(f"{found['total']} match. The next ones: --cursor {more}")
        session.end_if_nothing(found)


def _why_not(why: dict[str, Any]) -> str:
    parts = [
        why["reason"],
        f"rank {why['rank']}" if why.get("rank") else "",
        f"copy of {why['copy_of']}" if why.get("copy_of") else "",
        f"behind {', '.join(why['behind'])}" if why.get("behind") else "",
    ]
    return texts.one_line(f"Why not {why['id']}: {', '.join(filter(None, parts))}")


def _hits(session: Session, hits: list[dict[str, Any]], own: str, *, everywhere: bool) -> None:
    lines = []
    marked = gone_paths.marked("\0".join(hit["snippet"] for hit in hits), Path.cwd()).split("\0")
    for hit, snippet in zip(hits, marked, strict=False):
        where = [hit.get("space_id")] if everywhere else []
        head = [*where, hit["kind"], hit["id"], texts.moment(hit["time"]), hit.get("author"), hit.get("category")]
        lines += [("  ".join(texts.one_line(str(word)) for word in head if word), "bold")]
        lines += [(f"  {texts.one_line(snippet, 400)}", ""), ("", "")]
    if lines:
        session.out.lines(lines[:-1])
    if own:
        _text(session, own)


def context(
    ctx: typer.Context,
    q: Annotated[
        str | None,
        typer.Argument(help="The subject, such as the user's message. Not needed with --conversation or --room."),
    ] = None,
    kinds: Annotated[
        str | None,
        typer.Option(help="note, archive, bank, turn, summary, memory, message; several with commas. Default: all."),
    ] = None,
    conversation: Annotated[str | None, typer.Option(help="Of this conversation: recent and relevant turns.")] = None,
    room: Annotated[str | None, typer.Option(help="Of this room: messages about the same subject, and facts.")] = None,
    lang: Lang = None,
    limit: Limit = None,
    max_chars: Annotated[int | None, typer.Option(help="Characters at most.")] = None,
    space: Space = None,
    json: Json = False,
) -> None:
    """Show what an agent should know before it answers, of all kinds; or what a conversation or a room needs."""
    with opened(ctx, json=json, space=space, **_of_code(json)) as session:
        part = {"kinds": kinds, "conversation_id": conversation, "room": room, "lang": lang, "limit": limit}
        arguments = {"q": q, **part, "max_chars": max_chars}
        beside = None if conversation or room or not q else session.beside()
        if not beside:
            _markdown(session, "load_context", {"space_id": session.space, **arguments})
            return
        answer, own = beside.context(lambda: session.here("load_context", **arguments), q=q, kinds=kinds)
        _both(session, answer, own)


def ask(
    ctx: typer.Context,
    message: Annotated[str | None, typer.Argument(help="The question; `-` or nothing reads stdin.")] = None,
    user: Annotated[str | None, typer.Option(help="The person who asks. Default: the name of the token.")] = None,
    chat: Annotated[
        str | None, typer.Option("--session", help="Continue this session with its earlier questions.")
    ] = None,
    room: Annotated[str | None, typer.Option(help="The room in which the question is asked.")] = None,
    space: Space = None,
    json: Json = False,
) -> None:
    """Ask the memory; it answers and names its sources."""
    with opened(ctx, json=json, space=space) as session:
        text = reading.text(session.program, message, "The question")
        first = session.here("ask_question", message=text, user=user, session=chat, room=room)
        answer = waiting.job(session, first["job"], first=first)
        session.out.result(answer, lambda: _answer(session.out, answer))
        if answer["status"] == "failed":
            raise typer.Exit(FAILED)


def _answer(out: Output, answer: dict[str, Any]) -> None:
    if answer["status"] == "failed":
        error = answer.get("error") or {}
        out.say(f"No answer: {error.get('detail') or error.get('code')}")
        return
    result = answer["result"]
    out.text(result.get("message") or "")
    if found := result.get("sources"):
        lines = [("", ""), ("Sources", "bold")]
        lines += [(f"  {one['kind']}  {one['id']}  {texts.one_line(one['excerpt'], 100)}", "dim") for one in found]
        out.lines(lines)
    if result.get("session"):
        out.say(f"Continue with: --session {result['session']}")
