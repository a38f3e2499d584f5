"""The core tools: what an agent needs all day, each one call of the domain.

Their names and descriptions are paid for in every session of every agent, so they are short. What the other tools are
is in `catalog.py`.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any, Literal

from livemem import limits
from livemem.ask import question as questions
from livemem.ask import work
from livemem.ask.question import Question, Wanted
from livemem.changes import progress
from livemem.errors import InvalidRequest
from livemem.memories import storing
from livemem.memories.memory import Draft as Fact
from livemem.notes import appending
from livemem.notes.appending import Draft
from livemem.recall import context as contexts
from livemem.recall import memory_context, search, summary
from livemem.recall.asked import Asked
from livemem.runs import queue
from livemem.runs.queue import Order
from livemem.runs.run import Run
from livemem.store import keys, memory_keys
from livemem_http import markdown, metrics
from livemem_http.items import joined
from livemem_http.views import NoteList, NoteView, RunView, SpaceSummary
from livemem_http.views.ask import AskView
from livemem_http.views.memories import Written
from livemem_http.views.recall import MemoryContextView, memory_context_as_markdown
from livemem_http.views.search import ContextView, SearchAnswer, as_markdown, context_as_markdown
from livemem_mcp.session import Needs, Session
from livemem_mcp.tool import Answer, Tool

POLL_SECONDS = 1.0
GOING_ON = ("queued", "running")
LANGUAGES = ("en", "fr")
NOTHING = "Nothing is known of it.\n"

CORE: dict[str, Tool] = {}

_SPACE = {"type": "string"}
_CATEGORY = {"enum": list(keys.CATEGORIES)}
_TAGS = {"type": "array", "items": {"type": "string"}, "maxItems": limits.TAGS}
_CONTENT = {"type": "string", "minLength": 1}


def _tool(
    name: str, title: str, needs: Needs, /, *, required: tuple[str, ...] = (), reads: bool = False, **properties: Any
) -> Callable[[Callable[..., Answer]], Callable[..., Answer]]:
    """Declare a core tool; its docstring is what the model reads."""

    def declare(call: Callable[..., Answer]) -> Callable[..., Answer]:
        handle = "handle" in properties
        schema = {
            "type": "object",
            "properties": properties if handle else {**properties, "space_id": _SPACE},
            "required": [*required] if handle else [*required, "space_id"],
            "additionalProperties": False,
        }

        def run(session: Session, arguments: dict[str, Any]) -> Answer:
            return call(session, **arguments)

        description = " ".join((call.__doc__ or "").split())
        CORE[name] = Tool(name, title, description, schema, needs, run, reads=reads)
        return call

    return declare


@_tool("start_session", "Start a session", "read", reads=True, rules={"type": "boolean", "default": False})
def start_session(session: Session, space_id: str | None = None, rules: bool = False) -> Answer:
    """Call first in every session: the shared memory of the project (synthesis, bank, newest notes)."""
    space = session.enter("read", space_id)
    view = SpaceSummary.of_summary(summary.summary(session.process, space, with_rules=rules))
    return Answer(markdown.summary(view), _json(view))


@_tool(
    "note", "Write a note", "write", required=("category", "content"), category=_CATEGORY, content=_CONTENT, tags=_TAGS
)
def note(
    session: Session, category: str, content: str, tags: list[str] | None = None, space_id: str | None = None
) -> Answer:
    """Write down at once what other agents must know: a decision, finding, todo, problem, progress. One fact a note,
    readable on its own, with names and numbers.
    """
    space = session.enter("write", space_id)
    draft = Draft(category, content, tuple(tags or ()))
    view = NoteView.of(appending.append(session.process, space, session.principal.name, draft))
    return Answer(f"Noted: {view.note_id}\n", _json(view))


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
            "properties": {"category": _CATEGORY, "content": _CONTENT, "tags": _TAGS},
            "required": ["category", "content"],
            "additionalProperties": False,
        },
    },
)
def write_notes(session: Session, notes: list[dict[str, Any]], space_id: str | None = None) -> Answer:
    """Write several notes; all or none."""
    space = session.enter("write", space_id)
    drafts = [Draft(one["category"], one["content"], tuple(one.get("tags", ()))) for one in notes]
    written = appending.append_batch(session.process, space, session.principal.name, drafts)
    view = NoteList(items=[NoteView.of(one) for one in written])
    return Answer(joined("Noted:", "\n".join(f"- {one.note_id}" for one in view.items)), _json(view))


@_tool(
    "search",
    "Search everything",
    "read",
    required=("query",),
    reads=True,
    query={"type": "string", "minLength": 1},
    scope={"type": "string", "default": "all", "description": "some of live,bank,archive,conversations,memories,rooms"},
    limit={"type": "integer", "minimum": 1, "maximum": 50, "default": 8},
)
def search_all(session: Session, query: str, scope: str = "all", limit: int = 8, space_id: str | None = None) -> Answer:
    """Find evidence in notes, bank, history, conversations and memories, by words and meaning. A question works."""
    space = session.enter("read", space_id)
    found = search.search(session.process, space, Asked.of(query, scope=scope, limit=limit))
    view = SearchAnswer.of(found, explain=False)
    return Answer(as_markdown(view), _json(view))


@_tool(
    "context",
    "Load context",
    "read",
    required=("message",),
    reads=True,
    message={"type": "string", "description": "what the user just said"},
    conversation_id={"type": "string", "description": "to continue a stored conversation"},
    language={"enum": list(LANGUAGES), "default": "en"},
)
def context(
    session: Session,
    message: str,
    conversation_id: str | None = None,
    language: Literal["en", "fr"] = "en",
    space_id: str | None = None,
) -> Answer:
    """What is known about a message before you answer it: related facts, and what was said."""
    space = session.enter("read", space_id)
    if conversation_id is not None:
        wanted = contexts.Wanted.of(message)
        told = ContextView.of(contexts.context(session.process, space, conversation_id, wanted))
        return Answer(context_as_markdown(told) or NOTHING, _json(told))
    limit = memory_context.LIMIT_DEFAULT
    found = memory_context.context(session.process, space, message, room=None, lang=language, limit=limit)
    view = MemoryContextView.of(found)
    return Answer(memory_context_as_markdown(view) or NOTHING, _json(view))


@_tool(
    "remember",
    "Remember a fact",
    "write",
    required=("content",),
    content=_CONTENT,
    kind={"enum": list(memory_keys.KINDS), "default": "fact"},
    category={"type": "string"},
    subjects={"type": "array", "items": {"type": "string"}},
    ttl={"type": "string", "description": "such as 30d; default for ever"},
)
def remember(session: Session, content: str, space_id: str | None = None, **fields: Any) -> Answer:
    """Keep one durable fact (a preference, who does what). What is known already is merged, not doubled."""
    space = session.enter("write", space_id)
    subjects = tuple(fields.pop("subjects", ()))
    draft = Fact(content=content, subjects=subjects, **fields)
    stored = storing.store(session.process, space, session.principal.name, draft, until=session.until)
    view = Written.of_stored(stored)
    return Answer(_kept(view), _json(view))


@_tool("ask", "Ask the memory", "read", required=("question",), question={"type": "string", "minLength": 1})
def ask(session: Session, question: str, space_id: str | None = None) -> Answer:
    """Let an agent look through all of the memory and answer with sources. Slower than search; may give a handle to
    poll.
    """
    space = session.enter("read", space_id)
    may_write = session.toolset != "read" and "write" in session.principal.permissions
    outcome = work.ask(
        session.process,
        space,
        session.principal.name,
        Wanted(question),
        may_write=may_write,
        until=session.until,
        pause=session.pause,
    )
    metrics.report_question("questions", outcome)
    return _of_question(space, outcome.told)


@_tool(
    "consolidate",
    "Consolidate",
    "write",
    wait={"type": "boolean", "default": True},
)
def consolidate(session: Session, wait: bool = True, space_id: str | None = None) -> Answer:
    """Fold live notes into the bank now, at the end of a job. It happens by itself when many have gathered. May give a
    handle to poll.
    """
    space = session.enter("write", space_id)
    run = queue.order(session.process, session.principal, space, Order("api", requested_by=session.principal.name))
    return _followed(session, space, run, wait=wait)


@_tool("poll", "Poll a handle", "read", required=("handle",), reads=True, handle={"type": "string"})
def poll(session: Session, handle: str) -> Answer:
    """The result of what consolidate or ask has left going on."""
    kind, _, rest = handle.partition(":")
    space, _, name = rest.partition(":")
    if kind not in ("run", "ask") or not space or not name:
        raise InvalidRequest.of("handle", "is none that consolidate or ask has given")
    space = session.enter("read", space)
    if kind == "run":
        return _followed(session, space, progress.view(session.process, space, name), wait=True)
    asked = questions.load(session.process, space, name)
    while not asked.ended() and _may_wait(session):
        asked = questions.load(session.process, space, name)
    return _of_question(space, asked)


def _followed(session: Session, space: str, run: Run, *, wait: bool) -> Answer:
    while wait and run.status in GOING_ON and _may_wait(session):
        run = progress.view(session.process, space, run.run_id)
    view, handle = RunView.of(run), f"run:{space}:{run.run_id}"
    if run.status in GOING_ON:
        return Answer(_handle(f"The run is {run.status}.", handle), {**_json(view), "handle": handle})
    return Answer(_told(view), _json(view), failed=view.status == "error")


def _of_question(space: str, asked: Question) -> Answer:
    view, handle = AskView.of(asked), f"ask:{space}:{asked.request_id}"
    if not asked.ended():
        return Answer(_handle(f"The question is {view.status}.", handle), {**_json(view), "handle": handle})
    if view.error:
        return Answer(f"No answer ({view.error.code}): {view.error.detail}\n", _json(view), failed=True)
    sources = "\n".join(f"- {one.kind} {one.id}: {one.excerpt}" for one in view.sources or ())
    return Answer(joined(view.message or "", "Sources:" if sources else "", sources), _json(view))


def _may_wait(session: Session) -> bool:
    """Wait a moment, and tell whether there is still time."""
    if session.process.clock() + timedelta(seconds=POLL_SECONDS) >= session.until:
        return False
    session.pause(POLL_SECONDS)
    return True


def _kept(view: Written) -> str:
    if view.merged_into is None:
        return f"Remembered: {view.memory_id}\n"
    if view.kept == "former":
        return f"Known already, as {view.memory_id}: {view.content}\n"
    return f"Remembered as {view.memory_id}, in the place of: {view.former}\n"


def _handle(how: str, handle: str) -> str:
    return f"{how} It goes on; call `poll` with handle `{handle}`.\n"


def _told(run: RunView) -> str:
    if run.error:
        return f"The run failed ({run.error.get('code')}): {run.error.get('detail')} All notes are still there.\n"
    if run.status == "awaiting_approval":
        return f"The plan of run {run.run_id} waits until somebody approves it. Its notes are live until then.\n"
    if run.status != "ok":
        return f"The run ended as {run.status}. {run.message or ''}".rstrip() + "\n"
    told = ", ".join(f"{name.replace('_', ' ')} {run.metrics[name]}" for name in _METRICS if run.metrics.get(name))
    return f"Consolidation {run.consolidation} is done: {told}.\n"


_METRICS = (
    *("notes_processed", "notes_remaining", "notes_discarded", "bank_files_created", "bank_files_updated"),
    *("edits_applied", "llm_tokens_used"),
)


def _json(view: Any) -> dict[str, Any]:
    found: dict[str, Any] = view.model_dump(mode="json")
    return found
