"""The core tool `read`: one thing of the memory by its id, whole or in pages. Its kinds load the packages that they
need, so `core` imports it when it is called.

An id is what start_session, search and context give: `bank/{path}`, `bank/{path}#{headings joined by " > "}`,
`notes/{note_id}`, `memories/{memory_id}`, `conversations/{id}/turns/{n}`, `conversations/{id}/summaries/{level}/{n}`,
`rules`, `synthesis`, `bank` (the list of its files). Notes, memories, turns and sections are also found by the ids that
the JSON of a search has, and by their routes.
"""

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass

from livemem.bank import history
from livemem.conversations import reading as conversations
from livemem.errors import InvalidName, InvalidRequest, NotFound
from livemem.memories import reading as memories
from livemem.notes import pages
from livemem.process import Process
from livemem.recall import section_ids, start_material
from livemem.spaces import rules
from livemem.store import conversation_keys, cursors, keys, memory_keys
from livemem.text.invisible import visible
from livemem_http import markdown, remembered, transcripts
from livemem_http.views import FileList, FileView, NoteView
from livemem_http.views.memories import MemoryDetail
from livemem_http.views.summaries import SummaryPage, SummaryView
from livemem_http.views.turns import TurnPage
from livemem_mcp.session import McpSession
from livemem_mcp.tool import ToolAnswer

CHARS_LEAST, CHARS_MOST = 500, 100_000
NOTICE = "\n\n[{left} characters more: cursor {cursor}]\n"
NOTICE_CHARS = 120
LONGEST = 1_000_000
"""Characters of an id: a heading may be as long as its file."""
_OF_TALK = re.compile(r"(?:conversations/)?(?P<conversation>[^/]+)/(?P<rest>.+)")
_TURN = re.compile(r"(?:turns/)?(?P<index>\d+)(?:/\w+)?")
_SUMMARY = re.compile(r"(?:summaries/|l)(?P<level>\d)/(?P<number>\d+)")
_AGAIN = re.compile(r" \(\d+\)$")

CONFIRMED = "\n[confirmed {day}]\n"


@dataclass(frozen=True)
class _Shown:
    """A text, and when the section or memory was last confirmed."""

    text: str
    verified_at: str | None = None


Look = Callable[[Process, str], _Shown]


@dataclass(frozen=True)
class _Place:
    """How far a text was read: so many characters of the one with this hash."""

    offset: int
    text: str

    @classmethod
    def parse(cls, cursor: str) -> "_Place":
        offset, _, text = cursor.partition("/")
        if not (offset.isascii() and offset.isdecimal() and len(offset) <= len(str(LONGEST)) and len(text) == 16):
            raise ValueError("no place in a text")
        return cls(int(offset), text)


def read(session: McpSession, space_id: str, reference: str, max_chars: int, cursor: str | None) -> ToolAnswer:
    """The text with this id, from its beginning or from the end of the page before. Raises InvalidRequest, NotFound,
    and the errors of reading.
    """
    if not CHARS_LEAST <= max_chars <= CHARS_MOST:
        raise InvalidRequest.of("max_chars", f"must be from {CHARS_LEAST} to {CHARS_MOST}")
    place = cursors.decode_with(_Place.parse, cursor)
    look = _look(reference.strip().removeprefix(f"/v1/spaces/{space_id}/"))
    shown = look(session.process, space_id)
    whole = visible(shown.text).strip("\n") + "\n"
    name = hashlib.sha256(whole.encode()).hexdigest()[:16]
    if place and (place.text != name or place.offset >= len(whole)):
        raise InvalidRequest.of("cursor", "is of a text that was changed since: read it again from its beginning")
    start = place.offset if place else 0
    end = _end(whole, start, max_chars)
    following = cursors.encode(f"{end}/{name}") if end < len(whole) else None
    text = whole[start:end]
    behind = CONFIRMED.format(day=shown.verified_at[:10]) if shown.verified_at else ""
    page = text.rstrip("\n") + NOTICE.format(left=len(whole) - end, cursor=following) if following else text + behind
    told = {"id": reference, "text": text, "chars": len(whole), "next_cursor": following}
    return ToolAnswer(page, told | ({"verified_at": shown.verified_at} if shown.verified_at else {}))


def _end(text: str, start: int, most: int) -> int:
    """Where a page ends: behind a line if one ends in its second half."""
    if len(text) - start <= most:
        return len(text)
    last = start + most - NOTICE_CHARS
    line = text.rfind("\n", start + most // 2, last) + 1
    return line or last


def _look(name: str) -> Look:
    if name in _FIXED:
        return _FIXED[name]
    if name.startswith(section_ids.BANK) or ".md" in name:
        return lambda process, space_id: _of_bank(process, space_id, name)
    for look in (_note, _memory, _of_talk):
        try:
            return look(name)
        except InvalidName:
            continue
    raise InvalidRequest.of("id", "must be an id from start_session, search or context")


def _rules(process: Process, space_id: str) -> _Shown:
    return _Shown(rules.read(process, space_id))


def _synthesis(process: Process, space_id: str) -> _Shown:
    return _Shown(history.synthesis(process, space_id, at=None).content)


def _bank(process: Process, space_id: str) -> _Shown:
    found = history.bank(process, space_id, at=None, content=False)
    return _Shown(markdown.bank(FileList(items=[FileView.of(file) for file in found])))


def _of_bank(process: Process, space_id: str, name: str) -> _Shown:
    # As searches tell it, the path and the headings stand side by side.
    path, headings = section_ids.split(name if ".md#" in name else name.replace(".md > ", ".md#", 1))
    file = history.read_file(process, space_id, path, at=None, sources=False)[0]
    content = file.content or ""
    if headings is None:
        return _Shown(content)
    for wanted in (headings, _AGAIN.sub("", headings)):
        found = section_ids.find(content, wanted)
        if found is not None:
            return _Shown(found, start_material.verified_at(process, space_id, file, wanted))
    raise NotFound("section", headings[:200])


def _note(name: str) -> Look:
    note_id = keys.parse_note_id(name.removeprefix("notes/")).note_id
    return lambda process, space_id: _Shown(markdown.note(NoteView.of(pages.get(process, space_id, note_id))))


def _memory(name: str) -> Look:
    memory_id = memory_keys.check_memory_id(name.removeprefix("memories/"))

    def look(process: Process, space_id: str) -> _Shown:
        detail = MemoryDetail.of(memories.load(process, space_id, memory_id))
        return _Shown(remembered.memory(detail), detail.updated_at)

    return look


def _of_talk(name: str) -> Look:
    found = _OF_TALK.fullmatch(name)
    if not found:
        raise InvalidName("id", "is not the id of a part of a conversation")
    conversation_id = conversation_keys.check_conversation_id(found["conversation"])
    turn, summary = _TURN.fullmatch(found["rest"]), _SUMMARY.fullmatch(found["rest"])
    if turn:
        index = conversation_keys.check_index(turn["index"])
        return lambda process, space_id: _turn(process, space_id, conversation_id, index)
    if summary:
        level = conversation_keys.check_level(summary["level"])
        number = conversation_keys.check_number(summary["number"])
        return lambda process, space_id: _summary(process, space_id, conversation_id, level, number)
    raise InvalidName("id", "is not the id of a turn or a summary")


def _turn(process: Process, space_id: str, conversation_id: str, index: int) -> _Shown:
    """The turn, with the one before and the one behind it."""
    first = max(1, index - 1)
    page = conversations.turns(
        process, space_id, conversation_id, limit=index + 2 - first, after=first - 1, order="oldest"
    )
    if index not in {turn.turn_index for turn in page.turns}:
        raise NotFound("turn", str(index))
    return _Shown(transcripts.turns(TurnPage.of(page, None)))


def _summary(process: Process, space_id: str, conversation_id: str, level: int, number: int) -> _Shown:
    # A page has the newest first: it begins below the number that is one higher.
    found, _ = conversations.summary_page(
        process, space_id, conversation_id, level=level, state="sealed", limit=1, after=(level, number + 1)
    )
    if [one.number for one in found] != [number]:
        raise NotFound("summary", f"{level}/{number}")
    return _Shown(transcripts.summaries(SummaryPage(items=[SummaryView.of(found[0])], next_cursor=None)))


_FIXED: dict[str, Look] = {"rules": _rules, "synthesis": _synthesis, "bank": _bank}
