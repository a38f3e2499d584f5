"""The documents of conversations: each side of each turn, and the current summaries."""

import json
import logging
import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Generic, TypeVar

from livemem import clock
from livemem.conversations import conversation as conversations
from livemem.conversations import names
from livemem.conversations.summaries import ENTITIES, Summary
from livemem.conversations.summary_versions import FIRST, SummaryVersions
from livemem.conversations.turn import ToolCall, Turn
from livemem.errors import ConversationBroken
from livemem.process import Process
from livemem.search import view as views
from livemem.search.documents import QUESTIONS, SUMMARY, TOOLS, TURN, WORDLESS, Document, Reading, storable
from livemem.search.view import NEWEST, DocumentSource, SearchView, Tail, held
from livemem.store import bucket, keys
from livemem.store.bucket import IN_CONVERSATION, IN_VERSION, SUMMARIES_FOLDER, SUMMARY_VERSIONS, SummaryKey
from livemem.store.objects import Entry, Object
from livemem.text.code_version import FIELDS
from livemem.text.items import folded

logger = logging.getLogger(__name__)

T = TypeVar("T")

LEVELS = (0, *keys.LEVELS)
"""Level 0 are the turns themselves."""
SIDES = USER, ASSISTANT, TOOL = "user", "assistant", "tool"
GROWN = 250
"""About so many objects of conversations are read one by one before a new snapshot is worth it."""
TOOL_CHARACTERS = 500
"""Of a tool call that are searched: its name, its arguments, and the beginning of its result."""
_CONVERSATION, _DELETED, _VERSION = "/conversation.json", "/deleted", "/versions.json"
_NONE = 0
"""The version in use if the current one is unknown: no summaries are found then."""
_ORDER_BITS = 33
"""Of a rank, below the version: for a count, or for seconds since 1970."""


def group(conversation_id: str, level: int = 0) -> str:
    """The group of a conversation's documents of a level."""
    return f"conversations/{conversation_id}{f'/l{level}' if level else ''}"


def groups(conversation_ids: Iterable[str], levels: Collection[int] = LEVELS) -> tuple[str, ...]:
    """Those of several conversations and levels."""
    return tuple(group(conversation_id, level) for conversation_id in conversation_ids for level in sorted(levels))


def all_of(process: Process, space_id: str) -> DocumentSource:
    """The source of the documents of all conversations of a space: 1 LIST per 1,000 objects of any kind below them, and
    1 GET for each conversation that was built again.
    """
    prefix = bucket.TURN.prefix(space_id)
    return DocumentSource(
        prefix,
        lambda entries: _chosen(process, entries),
        _read,
        newest_first=True,
    )


class Looks:
    """The requests about one conversation, shared by all readers at the same time: each is made once."""

    def __init__(self, process: Process, space_id: str, conversation_id: str) -> None:
        """No request is made yet."""
        turns = bucket.TURN.prefix(space_id, conversation_id)
        self.conversation = Once(lambda: conversations.find(process, space_id, conversation_id))
        self.version = Once(lambda: process.store.get(SUMMARY_VERSIONS.key(space_id, conversation_id)))
        self.newest = Once(lambda: list(process.store.scan(turns, limit=NEWEST)))

    def standing(self, process: Process) -> tuple[int, Sequence[int]] | None:
        """The current version of summaries, and the numbers of the turns that were erased. None if there is no such
        conversation.
        """
        erased, item = process.store.concurrently(self._erased, self.version)
        if erased is None:
            return None
        versions = _versions(item) if item else None
        return versions.version if versions else _NONE if item else FIRST, erased

    def _erased(self) -> Sequence[int] | None:
        try:
            result = self.conversation()
        except ConversationBroken:
            # The turns can still be read.
            return ()
        return result.erased_turns if result else None


class Once(Generic[T]):
    """A read of the store that several callers share: the first one does it."""

    def __init__(self, look: Callable[[], T]) -> None:
        """Not done yet."""
        self._look = look
        self._lock = threading.Lock()
        self._found: list[T] = []

    def __call__(self) -> T:
        with self._lock:
            if not self._found:
                self._found.append(self._look())
            return self._found[0]


def of_one(
    space_id: str,
    conversation_id: str,
    version: int,
    levels: Collection[int] = LEVELS,
    looks: Looks | None = None,
) -> list[DocumentSource]:
    """The sources of one conversation's documents: 1 LIST for new turns, 3 for new summaries. Once a minute 1 LIST per
    1,000 summaries instead, because one that is made again is not behind the last one.
    """
    turns = bucket.TURN.prefix(space_id, conversation_id)
    summaries = bucket.SUMMARY.prefix(space_id, conversation_id, version)
    result = []
    if 0 in levels:
        result.append(
            DocumentSource(
                turns,
                held(bucket.TURN.parse),
                _read,
                newest_first=True,
                grows=True,
                newest=looks.newest if looks else None,
            )
        )
    if any(levels):
        result.append(
            DocumentSource(
                # Documents of other versions count no more.
                IN_VERSION.prefix(space_id, conversation_id),
                _current,
                _read,
                below=summaries,
                tails=lambda known: _tails(summaries, known),
            )
        )
    return result


def _tails(prefix: str, folders: Iterable[str]) -> list[Tail]:
    """The key from which to list the summaries of each level: the parent of the newest known one. The worker that makes
    the next one may still rewrite it.
    """
    result = []
    for level in keys.LEVELS:
        below = f"{prefix}l{level}/"
        last = max((key for key in folders if key.startswith(below)), default="")
        result.append((below, last.rpartition("/")[0]))
    return result


def follow(
    process: Process,
    view: SearchView,
    space_id: str,
    conversation_ids: Sequence[str],
    levels: Collection[int],
    in_time: Callable[[], bool],
    looks: Looks | None = None,
) -> list[str]:
    """Bring the view up to the present state of some conversations. Returns the conversations that exist.

    2 GETs for each, beside the listings. Conversations of another version than the view knows are listed once more.
    `looks` are the shared requests about the only conversation.
    """

    def look(sources: list[DocumentSource]) -> None:
        view.follow(process.store, sources, in_time, most=views.READ_MOST)

    def standing_of(conversation_id: str) -> tuple[int, Sequence[int]] | None:
        return (looks or Looks(process, space_id, conversation_id)).standing(process)

    guessed = {conversation_id: _known_version(view, space_id, conversation_id) for conversation_id in conversation_ids}
    results, _ = process.store.concurrently(
        lambda: process.store.map(standing_of, conversation_ids),
        lambda: look([part for item in guessed.items() for part in of_one(space_id, *item, levels, looks)]),
    )
    existing: dict[str, int] = {}
    for conversation, standing in zip(conversation_ids, results, strict=True):
        if standing is None:
            view.forget(IN_CONVERSATION.prefix(space_id, conversation))
            continue
        existing[conversation], erased = standing
        _drop_erased(view, space_id, conversation, erased)
        # Also if the current version has no summary yet, so that no listing would show it.
        for folder in _other_versions(view, space_id, conversation, existing[conversation]):
            view.forget(folder)
    rest = [(item, number) for item, number in existing.items() if number != guessed[item]]
    if rest and any(levels):
        look([part for item in rest for part in of_one(space_id, *item, keys.LEVELS)])
    return list(existing)


def _drop_erased(view: SearchView, space_id: str, conversation_id: str, erased: Sequence[int]) -> None:
    """Drop from the view turns that were erased since, and summaries made before. Turns are listed up to the newest
    known one, and summaries whole only once a minute. No request.
    """
    doomed = []
    for index in erased:
        sides = [view.index.named(f"{conversation_id}/{index}/{side}") for side in SIDES]
        if any(version and not version.more.get("erased_on") for version in sides):
            doomed.append(bucket.TURN.key(space_id, conversation_id, index))
    prefix = IN_VERSION.prefix(space_id, conversation_id)
    summaries = [key for folder, marks in view.known.items() if folder.startswith(prefix) for key in marks]
    for key in summaries if erased else ():
        parsed = bucket.SUMMARY.parse_as(SummaryKey, key)
        document = view.index.named(f"{conversation_id}/l{parsed.level}/{parsed.number}") if parsed else None
        if document and any(summary_of(document).says_of(index) for index in erased):
            doomed.append(key)
    view.drop(doomed)


def known(view: SearchView, space_id: str) -> set[str]:
    """The conversations of which the view knows an object."""
    prefix = bucket.TURN.prefix(space_id)
    return {folder.removeprefix(prefix).partition("/")[0] for folder in view.known if folder.startswith(prefix)}


def _known_version(view: SearchView, space_id: str, conversation_id: str) -> int:
    """The version that the view has summaries of: most likely it is still the current one."""
    prefix = IN_VERSION.prefix(space_id, conversation_id)
    existing = [SUMMARIES_FOLDER.last(folder) or FIRST for folder in view.known if folder.startswith(prefix)]
    return max(existing, default=FIRST)


def _other_versions(view: SearchView, space_id: str, conversation_id: str, number: int) -> list[str]:
    """The folders of the outdated versions that the view has summaries of."""
    prefix = IN_VERSION.prefix(space_id, conversation_id)
    folders = [folder for folder, marks in view.known.items() if marks and folder.startswith(prefix)]
    return [folder for folder in folders if SUMMARIES_FOLDER.last(folder) not in (None, number)]


def _versions(item: Object) -> SummaryVersions | None:
    try:
        return SummaryVersions.from_bytes(item.body)
    except ValueError:
        logger.warning("versions can't be read", extra={"key": item.key})
        return None


def _chosen(process: Process, entries: Sequence[Entry]) -> list[Entry]:
    """The turns and the current summaries, of all objects below conversations.

    Of a deleted conversation nothing counts, late writes included.
    """
    folders: dict[str, list[Entry]] = defaultdict(list)
    result: dict[str, Entry] = {}
    texts: set[str] = set()
    deleted: set[str] = set()
    for entry in entries:
        folder = bucket.searched_folder(entry.key)
        if folder:
            folders[folder].append(entry)
        elif entry.key.endswith(_CONVERSATION):
            texts.add(entry.key.removesuffix(_CONVERSATION))
        elif entry.key.endswith(_DELETED):
            deleted.add(entry.key.removesuffix(_DELETED))
        elif entry.key.endswith(_VERSION):
            result[entry.key.removesuffix(_VERSION)] = entry
    numbers = process.store.map(lambda entry: _kept_version(process, entry), result.values())
    counting = dict(zip(result, numbers, strict=True))
    chosen: list[Entry] = []
    for folder, batch in folders.items():
        number, conversation = SUMMARIES_FOLDER.last(folder), "/".join(folder.split("/", 3)[:3])
        if conversation not in texts or conversation in deleted:
            continue
        if number is None:
            chosen += [entry for entry in batch if bucket.TURN.parse(entry.key)]
        elif number == counting.get(conversation, FIRST):
            chosen += _current(batch)
    return chosen


def _kept_version(process: Process, entry: Entry) -> int:
    versions = process.reads.get(SummaryVersions, entry.key, entry.etag)
    if versions:
        return versions.version
    item = process.store.get(entry.key)
    if not item:
        return FIRST
    versions = _versions(item)
    if not versions:
        return _NONE
    return process.reads.put(item.key, item.etag, versions, [item.body]).version


def _current(entries: Sequence[Entry]) -> list[Entry]:
    """The current summary of each number of each level, of those of one version."""
    by_number: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        by_number[entry.key.rpartition("/")[0]].append(entry)
    return [item for batch in by_number.values() if (item := _latest(batch))]


def _latest(entries: Sequence[Entry]) -> Entry | None:
    parsed = {match.name: entry for entry in entries if (match := bucket.SUMMARY.parse_as(SummaryKey, entry.key))}
    if len(parsed) < 2:
        return next(iter(parsed.values()), None)
    # A block's text never changes. Above it, one that is made of other summaries by now lies beside the current one.
    of_block = bucket.SUMMARY.parse_as(SummaryKey, next(iter(parsed.values())).key)
    if of_block and of_block.level == 1:
        return parsed[names.current(parsed) or ""]
    return max(parsed.values(), key=lambda entry: (entry.last_modified, entry.key))


def _read(item: Object) -> Reading:
    """The documents of an object; none of one that can't be read."""
    turn, summary = bucket.TURN.parse(item.key), bucket.SUMMARY.parse_as(SummaryKey, item.key)
    try:
        if turn:
            documents = _of_turn(turn[1], turn[2], Turn.from_bytes(item.body))
            return Reading(item.key, item.etag, tuple(documents))
        if summary:
            document = _of_summary(summary, Summary.from_bytes(item.body))
            return Reading(item.key, item.etag, (document,), _rank(summary, item))
    except ValueError:
        logger.warning("part of a conversation can't be read", extra={"key": item.key})
    return Reading(item.key, item.etag)


def _rank(key: SummaryKey, item: Object) -> int:
    """The rank that decides between two summaries of the same number while the view knows both."""
    order = names.redo_of(key.name) if key.level == 1 else int(item.last_modified.timestamp())
    return (key.version << _ORDER_BITS) + min(order, (1 << _ORDER_BITS) - 1)


def _of_turn(conversation_id: str, index: int, turn: Turn) -> list[Document]:
    tools = ", ".join(dict.fromkeys(storable(call.name) for call in turn.tool_calls))
    sides = [
        (USER, turn.role_of(USER), turn.user_message, ""),
        (ASSISTANT, turn.role_of(ASSISTANT), turn.assistant_message, ""),
        (TOOL, TOOL, "\n".join(_call(call) for call in turn.tool_calls), tools),
    ]
    more = turn.model_dump(include=SHOWN_OF_TURN, exclude_none=True)
    return [
        Document(
            id=f"{conversation_id}/{index}/{side}",
            kind=TURN,
            text=storable(item),
            group=group(conversation_id),
            position=f"{index:010d}/{place}",
            time=clock.iso(turn.said_at()),
            author=storable(turn.speaker(USER) if side == USER else turn.author),
            role=role,
            title=title,
            aside=TOOLS if side == TOOL else QUESTIONS if turn.asked else "",
            source={"conversation_id": conversation_id, "turn_index": str(index)},
            more=more,
        )
        for place, (side, role, item, title) in enumerate(sides)
        if item.strip()
    ]


SHOWN_OF_TURN = {"timestamp", "client_timestamp", "author", "user", "written_by", "role", "erased_on", *FIELDS}
SHOWN = {
    *("level", "number", "covers", "children", "range_start", "range_end", "created_at", "generated_at", "summary"),
    *("key_findings", "files_mentioned", "tools_used", "chars", "source_chars", "model", "prompt_version"),
    *("erased", "overlaps", "since", "written_for", "verbatim"),
}
"""Fields of a turn and of a summary that are needed to show them, and to detect erased content in them."""


def _call(call: ToolCall) -> str:
    # Its name as well, for a call that has nothing else; all names stand in the title, where they are never cut off.
    values = (value for value in (call.arguments, call.result) if value is not None)
    parts = (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for value in values)
    return " ".join([call.name, *parts])[:TOOL_CHARACTERS]


def _of_summary(key: SummaryKey, summary: Summary) -> Document:
    children = {"children": _range(summary.children)} if summary.children else {}
    text = "\n".join([summary.summary, *summary.key_findings])
    entities = [name for kind in ENTITIES for name in getattr(summary.entities, kind)]
    # Words of names that the text has would count twice.
    unsaid = [name for name in dict.fromkeys([*summary.topics, *entities]) if folded(name) not in folded(text)]
    return Document(
        id=f"{key.conversation_id}/l{key.level}/{key.number}",
        kind=SUMMARY,
        text=storable("\n".join([text, ", ".join(unsaid)]).rstrip("\n")),
        topics=tuple(map(folded, summary.topics)),
        entities=tuple(map(folded, entities)),
        group=group(key.conversation_id, key.level),
        position=f"{key.number:09d}",
        time=clock.iso(clock.parse(summary.created_at)),
        aside=WORDLESS if summary.asked else "",
        source={
            "conversation_id": key.conversation_id,
            "level": str(key.level),
            "number": str(key.number),
            "covers": _range(summary.covers.turns),
            **children,
        },
        more=json.loads(summary.model_dump_json(include=SHOWN)),
    )


def turn_of(view: SearchView, conversation_id: str, index: int) -> Turn | None:
    """A turn as the view knows it: its words, and the names of its tools. None if the view does not know it."""
    result = [view.index.named(f"{conversation_id}/{index}/{side}") for side in SIDES]
    side = next((item for item in result if item), None)
    if not side:
        return None
    user, assistant = (item.text if item else "" for item in result[:2])
    names = result[2].title.split(", ") if result[2] else []
    return Turn(
        turn_index=index,
        message_id="",
        user_message=user,
        assistant_message=assistant,
        tool_calls=[ToolCall(name=name) for name in names],
        char_count=len(user) + len(assistant),
        open=not assistant,
        **side.more,
    )


def summary_of(document: Document) -> Summary:
    """The summary in a document."""
    return Summary.model_validate(document.more)


def _range(ends: tuple[int, int]) -> str:
    return f"{ends[0]}-{ends[1]}"


def ends(source: Mapping[str, str], name: str) -> tuple[int, int] | None:
    """The first and last turn that a summary `covers`, or of its `children`, from its document's source."""
    first, _, last = source.get(name, "").partition("-")
    return (int(first), int(last)) if last else None
