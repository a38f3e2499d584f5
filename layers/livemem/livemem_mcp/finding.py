"""Core tools that look into all of the memory. They load the packages of a search, so `core` imports this module when
one is called.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from livemem.ask import question_work
from livemem.ask.question import AskRequest
from livemem.errors import InvalidRequest
from livemem.memories import storing
from livemem.memories.memory import MemoryDraft
from livemem.recall import by_id
from livemem.recall import context as contexts
from livemem.recall import search as searching
from livemem.recall.context import ContextRequest
from livemem.recall.search import SpaceHits
from livemem.recall.search_request import SearchRequest
from livemem.store import cursors
from livemem_http import metrics
from livemem_http.views.memories import Written
from livemem_http.views.recall import ContextView, context_as_markdown
from livemem_http.views.search import SearchAnswer, as_markdown
from livemem_mcp import hit_lines, telling
from livemem_mcp.session import McpSession
from livemem_mcp.tool import ToolAnswer

ALL_SPACES = "all"


def search(
    session: McpSession,
    q: str,
    *,
    space_id: str | None,
    spaces: str | None = None,
    cursor: str | None = None,
    limit: int,
    conversation_id: str | None = None,
    cwd: str | None = None,
    room: str | None = None,
    explain: bool = False,
    why_not: str | None = None,
    **wanted: Any,
) -> ToolAnswer:
    """The results in one space or in several, in all or in a part of it, the best first. `wanted`: other arguments of
    `SearchRequest.of`.
    """
    space = session.enter("read", space_id) if spaces is None else ""
    if space and conversation_id is not None:
        conversation_id = by_id.conversation_id(session.process, space, conversation_id)
    asked = SearchRequest.of(q, limit=limit, conversation_id=conversation_id, cwd=cwd, room=room, **wanted)
    asked = replace(asked.asking_why_not(why_not), reader=session.code)
    if spaces is not None:
        if any(one is not None for one in (space_id, conversation_id, cwd, room, why_not)):
            raise InvalidRequest.of("spaces", "goes with no space_id, and with nothing that is in one space alone")
        return _in_several(session, spaces, cursor, asked, limit, explain=explain)
    asked = asked.from_rank(cursors.decode_number(cursor))
    if asked.why_not:
        asked = asked.asking_why_not(by_id.full_id(session.process, space, asked.why_not))
    found = searching.search(session.process, space, asked)
    return _hits(SearchAnswer.of(found, explain=explain, floor=asked.floor), [found])


def _in_several(
    session: McpSession, spaces: str, cursor: str | None, asked: SearchRequest, limit: int, *, explain: bool
) -> ToolAnswer:
    named = None if spaces == ALL_SPACES else spaces
    after = cursors.decode_name(cursor)
    found = searching.several(session.process, session.enter_any("read"), named, asked, after)
    return _hits(SearchAnswer.of_several(found, limit, explain=explain, floor=asked.floor), found.answers)


def _hits(view: SearchAnswer, answers: Sequence[SpaceHits]) -> ToolAnswer:
    kept = {(one.space_id, hit.document.id): hit.document for one in answers for hit in one.hits}
    # A hit names its space only where several were searched.
    found = [(hit, kept[hit.space_id or answers[0].space_id, hit.id]) for hit in view.items]
    return ToolAnswer(as_markdown(view, lines=hit_lines.of_hits(found)), telling.as_json(view))


def context(session: McpSession, space_id: str, q: str | None, **wanted: Any) -> ToolAnswer:
    """The context for a message: of a conversation where one is named, of a room where one is, else over all kinds."""
    if wanted.get("conversation_id") is not None:
        wanted["conversation_id"] = by_id.conversation_id(session.process, space_id, wanted["conversation_id"])
    found = contexts.context(
        session.process,
        space_id,
        ContextRequest(q, **wanted),
        lang=session.language(None),
        item_form=hit_lines.of_known,
        talk_form=hit_lines.OF_TALK,
        reader=session.code,
    )
    view = ContextView.of(found)
    return ToolAnswer(context_as_markdown(view), telling.as_json(view))


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
    return telling.of_question(worked.job)
