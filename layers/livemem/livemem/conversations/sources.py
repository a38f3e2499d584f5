"""What a summary is made of: the turns of a block, or the summaries of a group."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from livemem.conversations import log, names, prompt
from livemem.conversations.answer import Source, tidy
from livemem.conversations.layers import Layers, Vanished, block_seals, group_seals, source_of_group, summaries
from livemem.conversations.seals import At, BlockSeal
from livemem.conversations.summary import Covers, Summary
from livemem.conversations.turn import Turn
from livemem.llm.client import Messages
from livemem.process import Process

FILE_ARGUMENTS = {"file", "files", "file_name", "file_path", "filename", "notebook_path", "path", "paths"}
"""Names of tools' arguments that hold paths of files, as the agents in use name them."""
PATH = re.compile(r"[^\s\"'`<>|]*[^\s\"'`<>|/\\.][/\\.][^\s\"'`<>|]*")


@dataclass(frozen=True)
class Material:
    """What a summary is made of. `source` is its part in the summary's name; lengths in characters."""

    level: Literal[1, 2, 3]
    number: int
    source: str
    text: Source
    chars: int
    covers: Covers
    children: tuple[int, int] | None
    range_start: str
    range_end: str
    tools: Sequence[str]
    files: Sequence[str]
    erased: Sequence[int] = ()
    """Numbers of the turns that were erased."""
    overlaps: bool | None = False
    """Whether the turn before the first is shown too."""
    _turns: Sequence[tuple[Turn, str, str]] = ()
    _before: str = ""
    _children: Sequence[Summary] = ()

    def messages(self, target: int) -> Messages:
        """The question to the LLM."""
        if self.level == 1:
            return prompt.of_turns(self._turns, self._before, target)
        return prompt.of_summaries(self._children, target)


def of_block(process: Process, at: At, seal: BlockSeal, number: int) -> Material:
    """What a block is made of: 1 GET for each turn. Raises Vanished."""
    first = seal.start - 1 if at.parameters.overlap_chars and not seal.start_offset and seal.start > 1 else seal.start
    turns = log.read(process, at.space_id, at.conversation_id, range(first, seal.end + 1))
    whole = len(turns) == seal.end - first + 1
    if not whole or any(turn.turn_index != place for place, turn in enumerate(turns, first)):
        raise Vanished(at.conversation_id)
    inside = [turn for turn in turns if turn.turn_index >= seal.start]
    parts = []
    for turn in inside:
        start = seal.start_offset if turn.turn_index == seal.start else 0
        end = seal.end_offset if turn.turn_index == seal.end else None
        parts.append((turn, *turn.sides(start, end)))
    text = "\n".join(side for _, *sides in parts for side in sides if side)
    calls = [call for turn in inside for call in turn.tool_calls]
    arguments = [call.arguments for call in calls]
    return Material(
        level=1,
        number=number,
        source=names.source([[turn.turn_index, user, assistant] for turn, user, assistant in parts]),
        text=Source(text, json.dumps(arguments, ensure_ascii=False)),
        chars=seal.chars,
        covers=Covers(turns=seal.covers),
        children=None,
        range_start=seal.range_start,
        range_end=seal.range_end,
        tools=tidy([call.name for call in calls]),
        files=tidy([path for value in arguments for path in paths(value)]),
        erased=[turn.turn_index for turn in turns if turn.erased_on],
        overlaps=first < seal.start,
        _turns=parts,
        _before=_before(at, seal, turns),
    )


def _before(at: At, seal: BlockSeal, turns: Sequence[Turn]) -> str:
    """What stands just before the block, as much as the parameters say."""
    most = at.parameters.overlap_chars
    if not most or not turns:
        return ""
    said = turns[0].said()[: seal.start_offset] if seal.start_offset else turns[0].said()
    return "" if turns[0].turn_index == seal.start and not seal.start_offset else said[-most:]


def paths(value: Any) -> Iterator[str]:
    """The paths of files in a tool's arguments: by the arguments' names, where they look like paths."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if str(name).lower() in FILE_ARGUMENTS:
                yield from (one for one in _texts(inner) if len(one) <= 500 and PATH.fullmatch(one))
            elif isinstance(inner, (Mapping, list)):
                yield from paths(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from paths(inner)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


def of_group(process: Process, layers: Layers, level: Literal[2, 3], number: int, below: Mapping[int, str]) -> Material:
    """What a group is made of, with the summaries that count `below`. Raises Vanished."""
    seal = group_seals(process, layers, level, [number])[0]
    source = source_of_group(below, seal)
    if source is None:
        raise Vanished(layers.at.conversation_id)
    first, last = seal.children
    children = summaries(process, layers, level - 1, {one: below[one] for one in range(first, last + 1)})
    _take_back_erased(process, layers.at, children, [(level - 1, one, below[one]) for one in range(first, last + 1)])
    text = "\n".join(text for child in children for text in (child.summary, *child.key_findings))
    return Material(
        level=level,
        number=number,
        source=source,
        text=Source(text, {file for child in children for file in child.files_mentioned}),
        chars=sum(child.chars for child in children),
        covers=Covers(turns=seal.covers),
        children=seal.children,
        range_start=seal.range_start,
        range_end=seal.range_end,
        tools=tidy([tool for child in children for tool in child.tools_used]),
        files=(),
        erased=sorted(_erased_in(children)),
        overlaps=children[0].overlaps,
        _children=children,
    )


def _erased_in(children: Sequence[Summary]) -> Iterator[int]:
    """The erased turns that none of the children says anything of. A turn may be in several of them, and one made
    before it was erased says what it said whatever the others do.
    """
    for index in {index for child in children for index in child.erased}:
        if not any(child.says_of(index) for child in children):
            yield index


def _take_back_erased(
    process: Process, at: At, children: Sequence[Summary], named: Sequence[tuple[int, int, str]]
) -> None:
    """Remove the children that say what was erased, and raise Vanished if there are any: a late write has brought them
    back, and the model must not be shown them. They are missing then, and made anew.
    """
    gone = at.conversation.erased_turns
    late = [
        at.summary_key(*name)
        for child, name in zip(children, named, strict=True)
        if any(child.says_of(index) for index in gone)
    ]
    if late:
        process.store.delete_many(late)
        raise Vanished(at.conversation_id)


def gather(process: Process, layers: Layers, level: int, number: int, below: Mapping[int, str]) -> Material:
    """What a summary of any level is made of; `below` are the summaries that count of the level below."""
    if level == 1:
        return of_block(process, layers.at, block_seals(process, layers, [number])[0], number)
    return of_group(process, layers, 2 if level == 2 else 3, number, below)
