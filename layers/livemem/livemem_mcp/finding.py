"""Core tools that look into all of the memory. They load the packages of a search, so `core` imports this module when
one is called.
"""

from typing import Any

from livemem.ask import question_work
from livemem.ask.question import AskRequest
from livemem.errors import InvalidRequest
from livemem.memories import storing
from livemem.memories.memory import MemoryDraft
from livemem.recall import context as contexts
from livemem.recall import message_context
from livemem.recall import search as searching
from livemem.recall.search_request import SearchRequest
from livemem_http import metrics
from livemem_http.views.memories import Written
from livemem_http.views.recall import MessageContextView, message_context_as_markdown
from livemem_http.views.search import (
    ContextView,
    SearchAnswer,
    as_markdown,
    context_as_markdown,
)
from livemem_mcp import telling
from livemem_mcp.session import McpSession
from livemem_mcp.tool import ToolAnswer

LIMIT_MOST = 50
NOTHING = "Nothing is known of it.\n"


def search(session: McpSession, space_id: str, q: str, scope: str, limit: int) -> ToolAnswer:
    """The results, the best first."""
    if not 1 <= limit <= LIMIT_MOST:
        raise InvalidRequest.of("limit", f"must be from 1 to {LIMIT_MOST}")
    found = searching.search(session.process, space_id, SearchRequest.of(q, scope=scope, limit=limit))
    view = SearchAnswer.of(found, explain=False)
    # A model has a tool that takes the id, and no use for the route.
    ids = {hit.document.id: message_context.reading_id(hit.document) for hit in found.hits}
    return ToolAnswer(as_markdown(view, where=lambda hit: ids[hit.id]), telling.as_json(view))


def context(session: McpSession, space_id: str, q: str, **wanted: Any) -> ToolAnswer:
    """The context for a message."""
    view = MessageContextView.of(message_context.context(session.process, space_id, q, **wanted))
    return ToolAnswer(message_context_as_markdown(view), telling.as_json(view))


def context_of_conversation(session: McpSession, space_id: str, q: str, conversation_id: str) -> ToolAnswer:
    """The context that a conversation needs before its next call."""
    wanted = contexts.ContextRequest.of(q)
    view = ContextView.of(contexts.context(session.process, space_id, conversation_id, wanted))
    return ToolAnswer(context_as_markdown(view) or NOTHING, telling.as_json(view))


def remember(session: McpSession, space_id: str, draft: MemoryDraft) -> ToolAnswer:
    """The memory as it stands now."""
    stored = storing.store(session.process, space_id, session.principal.name, draft, until=session.until)
    view = Written.of_stored(stored)
    return ToolAnswer(_kept(view), telling.as_json(view))


def _kept(view: Written) -> str:
    if view.merged_into is None:
        return f"Remembered: {view.memory_id}\n"
    if view.kept == "former":
        return f"Known already, as {view.memory_id}: {view.content}\n"
    return f"Remembered as {view.memory_id}, in the place of: {view.former}\n"


def ask(session: McpSession, space_id: str, wanted: AskRequest) -> ToolAnswer:
    """The answer, or a handle. In the toolset `read` nothing is stored or kept, even if the token may write."""
    worked = question_work.ask(
        session.process,
        space_id,
        session.principal.name,
        wanted,
        may_write=session.toolset != "read" and "write" in session.principal.permissions,
        until=session.until,
        pause=session.pause,
    )
    metrics.report_question("questions", worked)
    assert worked.job
    return telling.of_question(space_id, worked.job)
