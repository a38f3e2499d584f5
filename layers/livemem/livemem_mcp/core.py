"""The core tools, which an agent needs all day. Each is one call of the domain.

Their names and descriptions are paid for in every session of every agent, so they are short. Tools that look into all
of the memory are in `finding.py`: an agent's first calls, to load the memory and to note, need not wait for its
packages. The other tools are in `catalog.py`.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

from livemem import limits
from livemem.access import decision
from livemem.ask import question as questions
from livemem.ask.question import AskRequest
from livemem.changes import run_progress
from livemem.errors import InvalidRequest
from livemem.jobs import queue
from livemem.jobs.queue import RunOrder
from livemem.jobs.run import Run
from livemem.memories.memory import MemoryDraft as Fact
from livemem.notes import appending
from livemem.notes.appending import NoteDraft
from livemem.recall import start
from livemem.recall.short_ids import short_id
from livemem.recall.start import StartRequest
from livemem.store import keys
from livemem.store.keys import MEMORY_KINDS
from livemem.text.items import joined
from livemem.text.language import LANGUAGES, Lang
from livemem_http.views import NoteList, NoteView
from livemem_http.views.start import StartView
from livemem_mcp import catalog, elsewhere, telling
from livemem_mcp.session import McpSession, Needs
from livemem_mcp.tool import McpTool, ToolAnswer

POLL_SECONDS = 1.0

CORE: dict[str, McpTool] = {}

_SPACE = {"type": "string"}
_CATEGORY = {"enum": list(keys.CATEGORIES)}
_TAGS = {"type": "array", "items": {"type": "string"}}
_TEXT = {"type": "string"}


def _tool(
    name: str, title: str, needs: Needs, /, *, required: tuple[str, ...] = (), reads: bool = False, **properties: Any
) -> Callable[[Callable[..., ToolAnswer]], Callable[..., ToolAnswer]]:
    """Declare a core tool; its docstring is what the model reads."""

    def declare(call: Callable[..., ToolAnswer]) -> Callable[..., ToolAnswer]:
        handle = "handle" in properties
        schema = {
            "type": "object",
            "properties": properties if handle else {**properties, "space_id": _SPACE},
            "required": [*required] if handle else [*required, "space_id"],
            "additionalProperties": False,
        }

        def run(session: McpSession, arguments: dict[str, Any]) -> ToolAnswer:
            return call(session, **arguments)

        description = " ".join((call.__doc__ or "").split())
        CORE[name] = McpTool(name, title, description, schema, needs, run, reads=reads)
        return call

    return declare


@_tool(
    "start_session",
    "Start a session",
    "read",
    reads=True,
    q=_TEXT,
    max_chars={"type": "integer"},
    lang={"enum": list(LANGUAGES)},
    user=_TEXT,
)
def start_session(
    session: McpSession,
    space_id: str | None = None,
    lang: Lang | None = None,
    user: str | None = None,
    **wanted: Any,
) -> ToolAnswer:
    """Call first, with your task as q: what holds now, what is new, ids of the rest."""
    space = session.enter("read", space_id)
    decision.check_user(session.principal.name, user, may_write=session.may("write"))
    name = session.principal.name if user is None else user
    request = StartRequest(lang=session.language(lang), user=name, reader=session.code, **wanted)
    view = StartView.of(start.start(session.process, space, request))
    text = view.markdown
    for part in view.parts:
        if part.kind == "summary" and part.source:
            text = text.replace(part.source, short_id(part.source))
    return ToolAnswer(text, telling.as_json(view))


@_tool(
    "read",
    "Read one thing",
    "read",
    required=("id",),
    reads=True,
    id={"type": "string"},
    max_chars={"type": "integer"},
    cursor={"type": "string"},
)
def read(
    session: McpSession,
    id: str,  # noqa: A002 - what a model calls it
    max_chars: int = 8_000,
    cursor: str | None = None,
    space_id: str | None = None,
) -> ToolAnswer:
    """A file, section, note, turn, summary or memory, by its id."""
    # They weigh.
    from livemem.recall import by_id  # noqa: PLC0415
    from livemem_http.views.read import ReadView, read_as_markdown  # noqa: PLC0415

    space = session.enter("read", space_id)
    wanted = by_id.ReadRequest.of(id, max_chars=max_chars, cursor=cursor, reader=session.code)
    full = by_id.full_id(session.process, space, wanted.id)
    # Tools that change something take the full id alone.
    told = f"[id {full}]\n" if full != wanted.id else ""
    wanted = replace(wanted, id=full, max_chars=max_chars - len(told))
    view = ReadView.of(wanted, by_id.read(session.process, space, wanted))
    return ToolAnswer(read_as_markdown(view) + told, telling.as_json(view))


@_tool("note", "Write a note", "write", required=("category", "content"), category=_CATEGORY, content=_TEXT, tags=_TAGS)
def note(
    session: McpSession,
    category: str,
    content: str,
    tags: list[str] | None = None,
    space_id: str | None = None,
    **more: Any,
) -> ToolAnswer:
    """Note at once what other agents must know: one fact, readable alone, with names and numbers."""
    space = session.enter("write", space_id)
    if more:
        # Its route looks into the source's space, and keeps keys.
        fields = {"space_id": space, "category": category, "content": content, "tags": tags or [], **more}
        answer = elsewhere.call(session, catalog.operations()["append_note"], fields)
        return ToolAnswer(f"Noted: {answer.data['note_id']}\n", answer.data)
    draft = NoteDraft(category, content, tuple(tags or ()), code=session.code)
    view = NoteView.of(appending.append(session.process, space, session.principal.name, draft))
    return ToolAnswer(f"Noted: {view.note_id}\n", telling.as_json(view))


@_tool(
    "notes",
    "Write several notes",
    "write",
    required=("notes",),
    notes={
        "type": "array",
        "minItems": 1,
        "maxItems": limits.BATCH_NOTES,
        "items": {
            "type": "object",
            "properties": {"category": _CATEGORY, "content": _TEXT, "tags": _TAGS},
            "required": ["category", "content"],
            "additionalProperties": False,
        },
    },
)
def write_notes(session: McpSession, notes: list[dict[str, Any]], space_id: str | None = None) -> ToolAnswer:
    """Write several notes; all or none."""
    space = session.enter("write", space_id)
    drafts = [
        NoteDraft(one["category"], one["content"], tuple(one.get("tags", ())), code=session.code) for one in notes
    ]
    written = appending.append_batch(session.process, space, session.principal.name, drafts, "notes")
    view = NoteList(items=[NoteView.of(one) for one in written])
    return ToolAnswer(joined("Noted:", "\n".join(f"- {one.note_id}" for one in view.items)), telling.as_json(view))


@_tool(
    "search",
    "Search everything",
    "read",
    required=("q",),
    reads=True,
    q={"type": "string", "minLength": 1},
    scope={"type": "string", "description": "all, or some of live,bank,archive,conversations,memories,rooms"},
    limit={"type": "integer"},
)
def search_all(
    session: McpSession, q: str, scope: str | None = None, limit: int = 8, space_id: str | None = None, **part: Any
) -> ToolAnswer:
    """Find evidence by words and meaning."""
    from livemem_mcp import finding  # noqa: PLC0415 - it weighs

    return finding.search(session, q, space_id=space_id, scope=scope, limit=limit, **part)


@_tool(
    "context",
    "Load context",
    "read",
    required=("q",),
    reads=True,
    q=_TEXT,
    conversation_id={"type": "string", "description": "to continue one"},
    kinds={"type": "string", "description": "such as memory,bank; else all"},
)
def context(session: McpSession, q: str | None = None, space_id: str | None = None, **wanted: Any) -> ToolAnswer:
    """All that is known about what the user just said."""
    from livemem_mcp import finding  # noqa: PLC0415 - it weighs

    return finding.context(session, session.enter("read", space_id), q, **wanted)


@_tool(
    "remember",
    "Remember a fact",
    "write",
    required=("content",),
    content=_TEXT,
    kind={"enum": list(MEMORY_KINDS), "description": "self, goal: about you"},
    category={"type": "string"},
    subjects={"type": "array", "items": {"type": "string"}},
    ttl={"type": "string", "description": "such as 30d"},
)
def remember(session: McpSession, content: str, space_id: str | None = None, **fields: Any) -> ToolAnswer:
    """Keep one durable fact, such as a preference. Known ones merge."""
    from livemem_mcp import finding  # noqa: PLC0415 - it weighs

    draft = Fact(content=content, subjects=tuple(fields.pop("subjects", ())), **fields)
    return finding.remember(session, session.enter("write", space_id), draft)


@_tool(
    "ask",
    "Ask the memory",
    "read",
    required=("message",),
    message={"type": "string", "minLength": 1},
    user=_TEXT,
    room=_TEXT,
    session=_TEXT,
)
def ask(session: McpSession, /, message: str, space_id: str | None = None, **of: Any) -> ToolAnswer:
    """An answer from all memory, with sources. Slow; may give a handle to poll."""
    from livemem_mcp import finding  # noqa: PLC0415 - it weighs

    return finding.ask(session, session.enter("read", space_id), AskRequest(message, **of))


@_tool(
    "consolidate",
    "Consolidate",
    "write",
    wait={"type": "boolean", "default": True},
)
def consolidate(session: McpSession, wait: bool = True, space_id: str | None = None) -> ToolAnswer:
    """Fold live notes into the bank, when a job ends."""
    space = session.enter("write", space_id)
    run = queue.order(session.process, session.principal, space, RunOrder("api", requested_by=session.principal.name))
    return _followed(session, space, run, wait=wait)


@_tool("poll", "Poll a handle", "read", required=("handle",), reads=True, handle={"type": "string"})
def poll(session: McpSession, handle: str) -> ToolAnswer:
    """The result of consolidate or ask."""
    space, _, rest = handle.partition(".")
    kind, _, name = rest.partition(".")
    if kind not in ("consolidation", "question") or not space or not name:
        raise InvalidRequest.of("handle", "is not a handle from consolidate or ask")
    space = session.enter("read", space)
    if kind == "consolidation":
        return _followed(session, space, run_progress.view(session.process, space, name), wait=True)
    reader = session.principal.name
    asked = questions.load(session.process, space, name, reader)
    while not asked.ended() and _may_wait(session):
        asked = questions.load(session.process, space, name, reader)
    return telling.of_question(asked)


def _followed(session: McpSession, space: str, run: Run, *, wait: bool) -> ToolAnswer:
    while wait and run.status in telling.GOING_ON and _may_wait(session):
        run = run_progress.view(session.process, space, run.job_id)
    return telling.of_run(run)


def _may_wait(session: McpSession) -> bool:
    """Wait a moment, and return whether there is still time."""
    if session.process.clock() + timedelta(seconds=POLL_SECONDS) >= session.until:
        return False
    session.pause(POLL_SECONDS)
    return True
