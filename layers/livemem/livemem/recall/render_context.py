"""The turns and summaries that an agent gets before its next call, none of them twice, as Markdown. And the messages
and facts that it gets before it answers in a room.

Pure functions. Of turns and summaries they choose in this order: first the raw turns, then the found ones, then the
latest summaries.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import tzinfo

from livemem import clock
from livemem.conversations.summaries import Summary
from livemem.conversations.turn import Turn
from livemem.text.invisible import visible
from livemem.text.labels import escaped
from livemem.text.language import Lang
from livemem.text.speakers import said_by

RAW = "## Recent Conversation (Raw)"
TURNS = "## Relevant Past Context (Semantic Search - Turns)"
SUMMARIES = "## Relevant Past Context (Semantic Search - Summaries)"
WAITING = "## Recent Level 1 Summaries (Not Yet Summarized to Level 2)"
TURN_CHARACTERS = 2_000
"""Of a turn that was found. A longer one is cut in its middle."""
TOOLS = 20
"""Names of a turn's tools that are shown."""
SPEAKER_CHARACTERS = 60
"""Of a speaker's name."""
LEFT_OUT = "[... {} characters left out ...]"
_SIDES = {None: "User", "user": "User", "assistant": "User", "system": "System", "tool": "Tool"}
TEXT_CHARACTERS = 500
"""Of a message that are shown. Of a longer one the part that fits the question is shown, or its beginning."""
FACT_CHARACTERS = 1_000
MORE = "…"
_LIVE = {
    "fr": "[Contexte live - extraits pertinents {}, pas une conversation complète]",
    "en": "[Live context - relevant excerpts from {}, not a complete conversation]",
}
_FACTS = {"fr": "[Mémoire - faits que tu connais]", "en": "[Memory - facts that you know]"}
# French puts a blank before a colon.
_COLON = {"fr": " :", "en": ":"}
_JOINERS = "\u200c\u200d"
_HEADING = re.compile(
    rf"\[(?=[\s{_JOINERS}]*(?:contexte\s+live|live\s+context|m(?:é|e\u0301?)moire\s*-|memory\s*-))", re.IGNORECASE
)
_OF_AUTHORS = re.compile(r"[()\[\]:]")


@dataclass(frozen=True)
class KnownItem:
    """A known item. `id` is the value that `read` takes, and of a message the route of its room. `time` is the moment
    of saying or writing in ISO 8601, `by` the author, empty if there is none. Of a summary it is what others wrote
    (Document.said_by). `text` has a line for each side of an exchange.
    """

    kind: str
    id: str
    time: str
    by: str
    title: str
    text: str
    relevance: float | None
    captured_from: str | None = None
    """Only of a note that nobody wrote: the conversation from which it was captured."""
    from_space: str | None = None
    """Only of a note that was passed on: the space of its source."""
    written_by: str | None = None
    """The token that wrote it, where its author is another one."""
    room: str | None = None
    message_id: str | None = None
    """Only of a message: its room, and its id there."""


@dataclass(frozen=True)
class ShownTurn:
    """A turn as it is shown. `left_out` is the number of its characters that are not. `relevance` is in percent."""

    turn: Turn
    user: str
    assistant: str
    left_out: int = 0
    relevance: int | None = None
    others: tuple["ShownTurn", ...] = ()
    """The turns that belong to it: for a single message that asks, its answer."""

    @property
    def tools(self) -> list[str]:
        """The names of its tools, each once."""
        return list(dict.fromkeys(call.name for call in self.turn.tool_calls))


@dataclass(frozen=True)
class ShownSummary:
    """A summary as it is shown; `relevance` in percent, None where it was not searched for."""

    summary: Summary
    relevance: int | None = None


@dataclass(frozen=True)
class Sections:
    """The shown turns and summaries. `raw` is in the order of speaking. Found ones have the best first, those that wait
    for their group the newest.
    """

    raw: list[ShownTurn] = field(default_factory=list)
    turns: list[ShownTurn] = field(default_factory=list)
    summaries: list[ShownSummary] = field(default_factory=list)
    waiting: list[ShownSummary] = field(default_factory=list)


@dataclass(frozen=True)
class TalkForm:
    """The lines around what was said: the headings of the sections, the first line of a turn, and that of a summary."""

    headings: tuple[str, str, str, str]
    turn: Callable[[ShownTurn], str]
    summary: Callable[[ShownSummary], str]


@dataclass(frozen=True)
class FoundExchange:
    """A turn that was found, the turns behind it that belong to it, and its relevance in percent."""

    turns: Sequence[Turn]
    relevance: int

    @property
    def covered(self) -> set[int]:
        """The numbers of all its turns."""
        return {turn.turn_index for turn in self.turns}

    def shown(self) -> ShownTurn:
        """It as it is shown, at most TURN_CHARACTERS."""
        most = TURN_CHARACTERS // len(self.turns)
        first, *others = self.turns
        return replace(cut(first, most, self.relevance), others=tuple(cut(turn, most) for turn in others))


def newest(turns: Sequence[Turn], most: int, characters: int) -> list[ShownTurn]:
    """The newest turns as they were, in the order of speaking: up to `most` whole ones with so many `characters`
    together. The newest is always there, cut in its middle if it alone is longer.

    `turns` come with the newest first.
    """
    shown_turns: list[ShownTurn] = []
    rest = characters
    for turn in turns:
        if len(shown_turns) == most or (shown_turns and turn.char_count > rest):
            break
        shown_turns.append(cut(turn, characters))
        rest -= turn.char_count
    return shown_turns[::-1]


def cut(turn: Turn, characters: int, relevance: int | None = None) -> ShownTurn:
    """The turn with at most so many characters of its words: the beginning and the end of each side, with a mark in
    place of the omitted text.
    """
    said = turn.said()
    over = len(said) - characters
    if over <= 0:
        return ShownTurn(turn, turn.user_message, turn.assistant_message, 0, relevance)
    start = (characters + 1) // 2
    user = _without(turn.user_message, start, start + over)
    border = len(turn.user_message)
    assistant = _without(turn.assistant_message, start - border, start + over - border)
    return ShownTurn(turn, user, assistant, over, relevance)


def _without(text: str, start: int, end: int) -> str:
    """The text without the characters from `start` to `end`, as far as they are of it, and a mark in their place."""
    start, end = max(0, start), min(len(text), end)
    return text[:start] + LEFT_OUT.format(end - start) + text[end:] if start < end else text


def chosen(
    exchanges: Sequence[FoundExchange],
    summaries: Sequence[ShownSummary],
    raw: Collection[int],
    numbers: Collection[int],
    most: int,
) -> tuple[list[FoundExchange], list[ShownSummary]]:
    """The found exchanges and summaries to show, the best first, `most` of both together. Exchanges take the larger
    half, and either takes the places that the other leaves. No turn stands beside a summary of just that turn. `raw`
    are the turns that are shown raw, and so in no exchange, `numbers` those of them that are not cut.
    """
    rest = [
        replace(item, turns=[turn for turn in item.turns if turn.turn_index not in raw])
        for item in exchanges
        if item.turns[0].turn_index not in raw
    ]
    batch = rest[:most]
    first = batch[: most - most // 2]
    ids = set(numbers).union(*(item.covered for item in first))
    kept = found_summaries(summaries, ids, most - len(first)) if most > len(first) else []
    alone = {turns[0] for turns in (item.summary.covers.turns for item in kept) if turns[0] == turns[1]}
    more = [item for item in batch[len(first) :] if not item.covered <= alone]
    return [*first, *more[: most - len(first) - len(kept)]], kept


def found_summaries(summaries: Sequence[ShownSummary], raw: Collection[int], most: int) -> list[ShownSummary]:
    """The found summaries to show, the best first: none whose turns are all raw, and none of a higher level whose
    children are all shown.
    """
    result: list[ShownSummary] = []
    for count in range(1, len(summaries) + 1):
        # One that comes later may be the last child of one that came before.
        result = _told_once(summaries[:count], raw)
        if len(result) >= most:
            break
    return result


def _told_once(summaries: Sequence[ShownSummary], raw: Collection[int]) -> list[ShownSummary]:
    told = defaultdict[int, set[int]](set)
    kept = set()
    for item in sorted(summaries, key=lambda item: item.summary.level):
        summary = item.summary
        known = summary.children is not None and _all_in(summary.children, told[summary.level - 1])
        if not known and not _all_in(summary.covers.turns, raw):
            kept.add(id(item))
        told[summary.level].add(summary.number)
    return [item for item in summaries if id(item) in kept]


def waiting(
    summaries: Sequence[Summary], raw: Collection[int], shown_summaries: Collection[ShownSummary]
) -> list[ShownSummary]:
    """The summaries of level 1 to show because no group has them yet: none whose turns are all raw, no found ones."""
    ids = {item.summary.number for item in shown_summaries if item.summary.level == 1}
    return [
        ShownSummary(summary)
        for summary in summaries
        if summary.number not in ids and not _all_in(summary.covers.turns, raw)
    ]


def _all_in(ends: tuple[int, int], numbers: Collection[int]) -> bool:
    """Whether all numbers from one to another are known. A longer range is not checked one by one."""
    return ends[1] - ends[0] < len(numbers) and all(number in numbers for number in range(ends[0], ends[1] + 1))


def fitting(sections: Sections, characters: int, form: TalkForm | None = None) -> tuple[Sections, str]:
    """The sections that fit into so many characters of Markdown, and the Markdown. Sections give way from the last to
    the first, whole entries at a time. The newest raw turn stays, cut in its middle if necessary.
    """
    parts = _entries(sections, form)
    counts = [len(entries) for _, entries in parts]
    size = _size(parts, counts)
    for place in reversed(range(len(parts))):
        least = 1 if place == 0 and counts[0] else 0
        while size > characters and counts[place] > least:
            counts[place] -= 1
            size = _size(parts, counts)
    raw = sections.raw[len(sections.raw) - counts[0] :]
    kept = Sections(raw, sections.turns[: counts[1]], sections.summaries[: counts[2]], sections.waiting[: counts[3]])
    text = markdown(kept, form)
    while len(text) > characters and kept.raw:
        kept = replace(kept, raw=[_shorter(kept.raw[-1], len(text) - characters)])
        text = markdown(kept, form)
    return kept, text


def _shorter(shown_turn: ShownTurn, over: int) -> ShownTurn:
    """The turn with about `over` characters less. Its tools' names go if nothing else remains."""
    length = shown_turn.turn.char_count - shown_turn.left_out
    if not length:
        return ShownTurn(shown_turn.turn.model_copy(update={"tool_calls": []}), "", "", shown_turn.left_out)
    return cut(shown_turn.turn, max(0, length - max(over, 1)))


def _size(parts: Sequence[tuple[str, Sequence[str]]], counts: Sequence[int]) -> int:
    """Characters of the Markdown with so many entries of each section: of the first its last ones, else the first."""
    shown = []
    for place, ((title, item), count) in enumerate(zip(parts, counts, strict=True)):
        shown.append((title, item[len(item) - count :] if place == 0 else item[:count]))
    return len(_joined(shown))


def markdown(sections: Sections, form: TalkForm | None = None) -> str:
    """The sections under their headings without empty ones. The text ends with a line break, or is empty."""
    return _joined(_entries(sections, form))


def _joined(parts: Sequence[tuple[str, Sequence[str]]]) -> str:
    text = "\n\n".join(part for title, entries in parts if entries for part in (title, *entries))
    return text + "\n" if text else ""


def _entries(sections: Sections, form: TalkForm | None) -> list[tuple[str, list[str]]]:
    """The headings with the entries below each."""
    form = form or TalkForm((RAW, TURNS, SUMMARIES, WAITING), _head_of_turn, _head_of_summary)
    turns = [
        [
            "\n".join(text for part in (turn, *turn.others) for text in (form.turn(part), turn_text(part)) if text)
            for turn in batch
        ]
        for batch in (sections.raw, sections.turns)
    ]
    summaries = [_summary(item, form) for item in sections.summaries]
    return list(
        zip(
            form.headings,
            [*turns, summaries, [_summary(item, form, tools=True) for item in sections.waiting]],
            strict=True,
        )
    )


def _head_of_turn(shown_turn: ShownTurn) -> str:
    turn, names = shown_turn.turn, speakers(shown_turn.turn)
    relevance = f" - Relevance: {shown_turn.relevance}%" if shown_turn.relevance is not None else ""
    parts = [_moment(clock.iso(turn.said_at())), *([said_by(names, line(turn.token))] if names else [])]
    return f"[Turn {turn.turn_index}{relevance}] {', '.join(parts)}"


def turn_text(shown_turn: ShownTurn) -> str:
    """The words of each side on lines of their own, and the names of the tools."""
    turn = shown_turn.turn
    # A message that names its author is that person's or agent's, with any role. Of a turn both are named.
    labels = ("", "") if turn.written_by and turn.role else (f"{_SIDES[turn.role]}: ", "Assistant: ")
    lines = [f"{labels[0]}{escaped(shown_turn.user)}"] if shown_turn.user.strip() else []
    lines += [f"{labels[1]}{escaped(shown_turn.assistant)}"] if shown_turn.assistant.strip() else []
    lines += [f"Tools: {_names(shown_turn.tools)}"] if shown_turn.tools else []
    return "\n".join(lines)


def speakers(turn: Turn) -> str:
    """The speakers that the turn names, of a whole turn the user's side first: on one line, which no name can end."""
    named = filter(None, (turn.user, turn.author if turn.written_by else None))
    return ", ".join(line(name)[:SPEAKER_CHARACTERS] for name in named)


def _moment(moment: str) -> str:
    """`2026-02-20 14:05 UTC`."""
    return f"{moment[:16].replace('T', ' ')} UTC"


def _head_of_summary(shown_summary: ShownSummary) -> str:
    summary = shown_summary.summary
    relevance = f" - Relevance: {shown_summary.relevance}%" if shown_summary.relevance is not None else ""
    first, last = summary.range_start[:10], _moment(summary.range_end)
    parts = filter(None, (last if last.startswith(first) else f"{first} to {last}", line(summary.said_by)))
    return f"[Level {summary.level} Summary{relevance}] {', '.join(parts)}"


def _summary(shown_summary: ShownSummary, form: TalkForm, *, tools: bool = False) -> str:
    return f"{form.summary(shown_summary)}\n{summary_text(shown_summary.summary, tools=tools)}"


def summary_text(summary: Summary, *, tools: bool = False) -> str:
    """The summary with its findings and the names of files, and of `tools`."""
    lines = [escaped(summary.summary, sides=summary.verbatim)]
    if summary.key_findings:
        lines += ["Key findings:", *(f"- {line(finding)}" for finding in summary.key_findings)]
    lines += [f"Files mentioned: {_names(summary.files_mentioned)}"] if summary.files_mentioned else []
    lines += [f"Tools used: {_names(summary.tools_used)}"] if tools and summary.tools_used else []
    return "\n".join(lines)


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - TOOLS} more" if len(names) > TOOLS else ""
    return ", ".join(line(name) for name in names[:TOOLS]) + more


def line(text: str) -> str:
    """The text on one line, with its invisible characters shown."""
    return visible(" ".join(text.split()))


def room_markdown(
    messages: Sequence[KnownItem], facts: Sequence[KnownItem], lang: Lang, zone: tzinfo, room: str
) -> str:
    """The blocks of a room's context that have entries; empty if none has."""
    blocks = []
    if messages:
        name = f"{'du ' if lang == 'fr' else ''}{room[:1].upper()}{room[1:]}"
        lines = (
            f"• {_author_of(item.by)} ({clock.parse(item.time).astimezone(zone):%d/%m %H:%M}){_COLON[lang]} "
            f"{one_line(item.text)}"
            for item in messages
        )
        blocks.append("\n".join([_LIVE[lang].format(name), *lines]))
    if facts:
        blocks.append("\n".join([_FACTS[lang], *(f"• {one_line(item.text)}" for item in facts)]))
    return "\n\n".join(blocks) + "\n" if blocks else ""


def one_line(text: str) -> str:
    """The text on one line, in which nothing looks like a line or a heading of the blocks."""
    return _HEADING.sub("(", line(text).replace("•", "·")).strip()


def shown_fact(content: str) -> str:
    """A fact on one line."""
    return _beginning(one_line(content), FACT_CHARACTERS)


def _author_of(name: str) -> str:
    return " ".join(_OF_AUTHORS.sub(" ", one_line(name)).split()) or "?"


def shown_message(content: str, part: tuple[int, int] | None = None) -> str:
    """A message of a room on one line. `part`: the characters of a long one that fit the question best."""
    whole = one_line(content)
    if len(whole) <= TEXT_CHARACTERS or part is None:
        return _beginning(whole, TEXT_CHARACTERS)
    start, end = part
    before = f"{MORE} " if content[:start].strip() else ""
    after = f" {MORE}" if content[end:].strip() else ""
    return f"{before}{_beginning(one_line(content[start:end]), TEXT_CHARACTERS)}{after}"


def _beginning(text: str, most: int) -> str:
    """The beginning of the text, up to a blank if there is one nearby."""
    if len(text) <= most:
        return text
    end = text.rfind(" ", most // 2, most)
    return f"{text[: end if end > 0 else most].rstrip()} {MORE}"
