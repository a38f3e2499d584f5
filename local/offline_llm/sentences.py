"""A text as whole sentences, and those that give orders. No rule of the offline LLM cuts one in the middle."""

import re
from collections.abc import Iterator, Mapping

from local.offline_llm.words import VOCABULARY, alternatives

FENCED = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1|\Z)", re.MULTILINE | re.DOTALL)
_NOT_SAID = re.compile(r"\s*(?:[>|#<]|$)")
"""The beginning of a line that is a quote, a row of a table, a heading, HTML, or empty."""
_CODE = re.compile(r"\t| {4}")
"""That of a line of code, if no paragraph continues there."""
_ITEM = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")
_END = re.compile(r"[.!?…][)\]\"'”»*_]*\s+|[。！？][」』”）]*\s*")
_WORDS: Mapping[str, str] = VOCABULARY["patterns"]
_ABBREVIATED = re.compile(
    rf"(?:^|[\s(\[\"'“«])(?:(?P<never>{_WORDS['never_ends']})|{_WORDS['seldom_ends']})\.$", re.IGNORECASE
)
"""The end of a text that is an abbreviation or the number of an item."""
_WHOLE = re.compile(r"[.!?…。！？][)\]\"'”»*_`」』）]*\s*\Z")

_ORDER = re.compile(rf"\W*{_WORDS['order_lead']}(?:{alternatives(_WORDS['order'])})\b", re.IGNORECASE)


def said(text: str) -> list[str]:
    """The sentences of paragraphs and lists, each on one line. Headings, tables, quotes and code are left out."""
    return [sentence for one in _paragraphs(FENCED.sub("\n\n", text)) for sentence in split_line(one)]


def split(text: str) -> list[str]:
    """The same, and of a text that has nothing but headings, tables, quotes and code the lines of these."""
    return said(text) or [sentence for line in text.split("\n") for sentence in split_line(" ".join(line.split()))]


def split_line(line: str) -> Iterator[str]:
    """The sentences of one line."""
    begin = 0
    for end in _END.finditer(line):
        before = line[max(0, end.start() - 12) : end.start() + 1]
        after = line[end.end() : end.end() + 1]
        short = _ABBREVIATED.search(before)
        if short and (short["never"] or not after.isupper()):
            continue
        if sentence := line[begin : end.end()].strip():
            yield sentence
        begin = end.end()
    if sentence := line[begin:].strip():
        yield sentence


def gives_orders(text: str) -> bool:
    """Whether a sentence of the text begins by ordering its reader to forget its instructions."""
    return any(_ORDER.match(sentence) for sentence in split(text))


def is_whole(sentence: str) -> bool:
    """Whether it ends with a mark that ends sentences."""
    return bool(_WHOLE.search(sentence[-40:]))


def fitted(sentence: str, room: int) -> str:
    """The sentence if it has room, else its first words and a sign that some are missing."""
    if len(sentence) <= room:
        return sentence
    head = sentence[: max(1, room - 1)]
    return f"{head[: head.rfind(' ') if ' ' in head.strip() else len(head)].rstrip(' ,;:')}…"


def _paragraphs(text: str) -> Iterator[str]:
    """Each paragraph and each item of a list that somebody says, as one line."""
    held: list[str] = []
    for line in [*text.split("\n"), ""]:
        item = _ITEM.match(line)
        if held and (item or _NOT_SAID.match(line)):
            yield " ".join(" ".join(held).split())
            held = []
        if item:
            held = [line[item.end() :]]
        elif not _NOT_SAID.match(line) and (held or not _CODE.match(line)):
            held.append(line)
