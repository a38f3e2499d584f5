"""Reading conversations: lists of them, their turns by pages, their summaries, and how far these go."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from livemem import limits
from livemem.conversations import conversation as conversations
from livemem.conversations import log, summaries, summary_versions, turn
from livemem.conversations.conversation import Conversation
from livemem.conversations.summaries import Layers, Summary
from livemem.conversations.summary_versions import At
from livemem.conversations.turn import Turn
from livemem.errors import NotFound, ObjectUnreadable
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.store import keys
from livemem.store.bucket import BY_CWD, TURN

TurnOrder = Literal["newest", "oldest"]
SealState = Literal["sealed", "pending"]
EVERY = (1, keys.LAST_TURN)
"""All numbers of turns and summaries."""
MOST_OPEN = 2_000
"""Turns behind the last boundary that are read to count their characters."""


@dataclass(frozen=True)
class Listed:
    """A conversation as a list shows it. `last` is its newest turn, or None without a turn that can be read."""

    conversation: Conversation
    last: Turn | None
    turn_count: int
    """How many turns it has. It is the number of the newest one, because numbers are dense."""


@dataclass(frozen=True)
class Level:
    """The progress of a level: its boundaries, and those with a summary. `pending` counts what no summary covers yet:
    turns on level 1, summaries of the level below on levels 2 and 3.
    """

    level: int
    sealed: int
    summarised: int
    pending: int


@dataclass(frozen=True)
class Detail:
    """A conversation with the progress of the version that counts."""

    listed: Listed
    at: At
    building: int | None
    levels: Sequence[Level]
    open_turns: int
    """Turns behind the last boundary, at least in part."""
    open_chars: int
    """Characters that no boundary covers, of at most 2,000 turns."""
    ungrouped_chars: int
    """Characters of turns whose summary of level 1 is in no group yet."""


def page(
    process: Process,
    space_id: str,
    *,
    cwd: str | None,
    host: str | None,
    limit: int,
    after: str | None,
    missing: list[str] | None = None,
) -> tuple[list[Listed], str | None]:
    """The conversations of a space, or of a folder, the newest first, and the id after which the next page begins.

    An unreadable conversation is left out. Its key, or that of an unreadable newest turn, is added to `missing`.

    1 LIST per 1,000 of them, and 1 LIST and 2 GETs for each on the page. Raises NotFound, InvalidRequest.
    """
    heads.load_recent(process, space_id)
    ids = _ids(process, space_id, cwd, host)
    waiting = [item for item in ids if after is None or item < after]
    result: list[Listed] = []
    last = None
    while waiting and len(result) < limit:
        batch, waiting = waiting[: limit - len(result)], waiting[limit - len(result) :]
        looked_at = process.store.map(lambda item: _listed(process, space_id, item, missing), batch)
        # Markers outlive a deletion that was interrupted.
        result += [item for item in looked_at if item]
        last = batch[-1]
    return result, last if waiting else None


def _ids(process: Process, space_id: str, cwd: str | None, host: str | None) -> list[str]:
    if cwd is None:
        return sorted(process.store.folders(TURN.prefix(space_id)), reverse=True)
    folder = BY_CWD.prefix(space_id, (conversations.host_name(host) if host else "") + conversations.folder_name(cwd))
    entries = (BY_CWD.last(entry.key) for entry in process.store.scan(folder))
    # By their ids, which hold the time too: a page continues behind one of them.
    return sorted((entry for entry in entries if entry), reverse=True)


def of_folder(process: Process, space_id: str, cwd: str, host: str | None) -> list[str]:
    """The ids of the conversations of a folder, the newest first: 1 LIST per 1,000. Raises NotFound, InvalidRequest."""
    heads.load_recent(process, space_id)
    return _ids(process, space_id, cwd, host)


def _listed(process: Process, space_id: str, conversation_id: str, missing: list[str] | None) -> Listed | None:
    try:
        keys.check_conversation_id(conversation_id)
    except ValueError:
        return None
    try:
        conversation = conversations.find(process, space_id, conversation_id)
    except ObjectUnreadable as error:
        if missing is not None and error.key:
            missing.append(error.key)
        return None
    return with_last(process, space_id, conversation, missing) if conversation else None


def with_last(process: Process, space_id: str, conversation: Conversation, missing: list[str] | None = None) -> Listed:
    """The conversation with its newest turn: 1 LIST, 1 GET."""
    where = space_id, conversation.conversation_id
    index = log.last_index(process, *where)
    last = next(iter(log.readable(process, *where, [index], missing)), None) if index else None
    return Listed(conversation, last, index)


def standing(process: Process, space_id: str, conversation_id: str) -> tuple[summary_versions.Standing, At]:
    """The conversation's versions, and the one that counts: 2 GETs. Raises NotFound."""
    conversation = conversations.load(process, space_id, conversation_id)
    known = summary_versions.read(process, space_id, conversation)
    return known, At(space_id, conversation, known.current())


def detail(process: Process, space_id: str, conversation_id: str) -> Detail:
    """The conversation with the progress of its boundaries and summaries. Raises NotFound."""
    known, at = standing(process, space_id, conversation_id)
    entries = with_last(process, space_id, at.conversation)
    layers = summaries.read(process, at)
    count = layers.boundaries[1]
    start = summaries.block_boundaries(process, layers, [count])[0].next if count else (1, 0)
    last_index = entries.turn_count
    levels = [_level(process, layers, level, last_index, start) for level in keys.LEVELS]
    indexes = range(start[0], min(last_index, start[0] + MOST_OPEN - 1) + 1)
    turns = log.readable(process, space_id, conversation_id, indexes, None)
    behind = summaries.last_grouped(process, layers, 2)
    ungrouped = summaries.block_boundaries(process, layers, range(behind + 1, count + 1))
    building = known.known.building
    return Detail(
        entries,
        at,
        building.version if building else None,
        levels,
        max(0, last_index - start[0] + 1),
        sum(turn.char_count for turn in turns) - (start[1] if turns else 0),
        sum(boundary.chars for boundary in ungrouped),
    )


def _level(process: Process, layers: Layers, level: int, last_turn: int, start: tuple[int, int]) -> Level:
    """The progress of a level: 1 GET for each boundary without a summary that this process has not read before. From
    level 2 on 1 GET more for the last boundary.
    """
    count, existing = layers.boundaries[level], summaries.current(process, layers, level)
    missing = [number for number in range(1, count + 1) if number not in existing]
    if level == 1:
        blocks = [block.covers for block in summaries.block_boundaries(process, layers, missing)]
        return Level(level, count, len(existing), _numbers([*blocks, (start[0], last_turn)]))
    last, *item = summaries.group_boundaries(process, layers, level, [count, *missing]) if count else [None]
    grouped = last.children[1] if last else 0
    waiting_children = sum(group.children[1] - group.children[0] + 1 for group in item if group)
    return Level(level, count, len(existing), layers.boundaries[level - 1] - grouped + waiting_children)


def _numbers(ranges: Iterable[tuple[int, int]]) -> int:
    """How many numbers are in any of these ranges. Each range begins no earlier than the one before."""
    count = seen = 0
    for first, last in ranges:
        # A turn that is longer than a block is in several.
        count += max(0, last - max(first - 1, seen))
        seen = max(seen, last)
    return count


@dataclass(frozen=True)
class Page:
    """Turns of a page. `after` is the number after which the next page begins, None at the end. `missing` holds the
    keys of the turns between them that cannot be read.
    """

    turns: list[Turn]
    after: int | None
    missing: list[str] = field(default_factory=list)


def turns(
    process: Process,
    space_id: str,
    conversation_id: str,
    *,
    limit: int,
    max_chars: int | None = None,
    after: int | None = None,
    order: TurnOrder = "newest",
    within: tuple[int, int] = EVERY,
) -> Page:
    """Whole turns, up to `limit`, `max_chars` characters and PAGE_BYTES, but at least one: 1 LIST, 1 GET each.
    `within`: the first and the last number of those that are wanted.

    Raises NotFound.
    """
    conversations.load(process, space_id, conversation_id)
    first, last = within[0], min(within[1], log.last_index(process, space_id, conversation_id))
    if order == "newest":
        wanted = range(min(last, after - 1) if after is not None else last, first - 1, -1)
    else:
        wanted = range(max(first, after + 1) if after is not None else first, last + 1)
    chosen: list[Turn] = []
    missing: list[str] = []
    chars = size = 0
    seen = None
    while wanted and len(chosen) < limit:
        count = min(log.AT_ONCE, limit - len(chosen))
        met = len(missing)
        batch = log.readable(process, space_id, conversation_id, wanted[:count], missing)
        # Turns have no gaps: where a whole batch is missing, no further turn exists.
        seen, wanted = wanted[:count][-1], wanted[count:] if batch or len(missing) > met else range(0)
        for item in batch:
            chars += item.char_count
            # Arguments and results of tools do not count as characters.
            size += len(item.to_bytes())
            too_much = size > limits.PAGE_BYTES or (max_chars is not None and chars > max_chars)
            if too_much and chosen:
                return Page(chosen, chosen[-1].turn_index, missing)
            chosen.append(item)
    return Page(chosen, seen if wanted and chosen else None, missing)


def whole_turn(process: Process, space_id: str, conversation_id: str, index: int) -> Turn:
    """A turn with all results of its tools: 1 GET, and 1 for each large result. Raises NotFound."""
    conversations.load(process, space_id, conversation_id)
    existing = log.read(process, space_id, conversation_id, [index]) if 0 < index < keys.LAST_TURN else []
    if not existing:
        raise NotFound("turn", str(index))
    return turn.with_results(process, space_id, conversation_id, existing[0])


@dataclass(frozen=True)
class Item:
    """A boundary of a level, with its summary where it has one."""

    level: int
    number: int
    covers: tuple[int, int]
    children: tuple[int, int] | None
    range_start: str
    range_end: str
    chars: int
    """Characters of its source: of the turns on level 1, of the summaries of the level below on levels 2 and 3."""
    reason: str | None
    name: str | None = None
    summary: Summary | None = field(default=None)


def summary_page(
    process: Process,
    space_id: str,
    conversation_id: str,
    *,
    level: int | None,
    state: SealState | None,
    limit: int,
    after: tuple[int, int] | None,
    within: tuple[int, int] = EVERY,
    missing: list[str] | None = None,
) -> tuple[list[Item], tuple[int, int] | None]:
    """The boundaries of a level, or of all, with their summaries: the highest level and the newest first. Also the
    level and number after which the next page begins. `within`: the first and the last number of those that are wanted.

    A boundary is left out where it or its summary cannot be read. That key is added to `missing`. Raises NotFound.
    """
    _, at = standing(process, space_id, conversation_id)
    layers = summaries.read(process, at)
    pairs: list[tuple[int, int, str | None]] = []
    for item in sorted(keys.LEVELS, reverse=True) if level is None else [level]:
        existing = summaries.current(process, layers, item)
        for number in range(min(layers.boundaries[item], within[1]), within[0] - 1, -1):
            fits = state is None or (number in existing) == (state == "sealed")
            if fits and (after is None or (-item, -number) > (-after[0], -after[1])):
                pairs.append((item, number, existing.get(number)))
    batch = pairs[:limit]
    items = process.store.map(lambda entry: _readable_item(process, layers, entry, missing), batch)
    return [one for one in items if one], batch[-1][:2] if len(pairs) > limit else None


def _readable_item(
    process: Process, layers: Layers, numbers: tuple[int, int, str | None], missing: list[str] | None
) -> Item | None:
    try:
        return _item(process, layers, *numbers)
    except ObjectUnreadable as error:
        if missing is not None and error.key:
            missing.append(error.key)
        return None


def _item(process: Process, layers: Layers, level: int, number: int, name: str | None) -> Item:
    summary = summaries.load(process, layers, level, {number: name})[0] if name else None
    if level == 1:
        block = summaries.block_boundaries(process, layers, [number])[0]
        covers, children, reason = block.covers, None, block.reason
        chars, start, end = block.chars, block.range_start, block.range_end
    else:
        group = summaries.group_boundaries(process, layers, level, [number])[0]
        covers, children, reason = group.covers, group.children, None
        chars, start, end = group.chars, group.range_start, group.range_end
    return Item(level, number, covers, children, start, end, chars, reason, name, summary)


def waiting_summaries(process: Process, layers: Layers, most: int) -> list[Summary]:
    """The newest summaries of level 1 that are in no group of level 2, the newest first."""
    existing = summaries.current(process, layers, 1)
    behind = summaries.last_grouped(process, layers, 2)
    numbers = [number for number in sorted(existing, reverse=True) if number > behind][:most]
    return summaries.load(process, layers, 1, {number: existing[number] for number in numbers})
