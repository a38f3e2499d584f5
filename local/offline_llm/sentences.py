"""A text as whole sentences, and those that give orders. No rule of the offline LLM cuts one in the middle."""

import re
from collections.abc import Iterator

FENCED = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1|\Z)", re.MULTILINE | re.DOTALL)
_NOT_SAID = re.compile(r"\s*(?:[>|#<]|$)")
"""The beginning of a line that is a quote, a row of a table, a heading, HTML, or empty."""
_CODE = re.compile(r"\t| {4}")
"""That of a line of code, if no paragraph continues there."""
_ITEM = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")
_END = re.compile(r"[.!?…][)\]\"'”»*_]*\s+|[。！？][」』”）]*\s*")
_ABBREVIATED = re.compile(
    r"(?:^|[\s(\[\"'“«])(?:(?P<never>e\.g|i\.e|z\.B|d\.h|p\.ex|mr|mrs|ms|dr|prof|vs|cf|ca|ex)"
    r"|(?:[^\W\d_]\.)*[^\W\d_]|no|nr|etc|env|resp|incl|approx|\d{1,3})\.$",
    re.IGNORECASE,
)
"""The end of a text that is an abbreviation or the number of an item. It `never` ends a sentence, or ends one only
where a capital follows.
"""
_WHOLE = re.compile(r"[.!?…。！？][)\]\"'”»*_`」』）]*\s*\Z")

_ALL = r"(?:(?:all|any|every|each|the|your|these|those|previous|prior|earlier|above|former|of|my|our|its)\s+){1,5}"
_TES = r"(?:tout(?:e|es|s)?\s+)?(?:tes|vos|les|ces|mes)\s+(?:\w+\s+)?"
_ORDER = re.compile(
    r"\W*(?:(?:important|system|urgent|attention)\s*:\s*\W*)?(?:(?:please|now|then|and|s['’]il te pla[iî]t)[\s,]+)?"
    rf"(?:(?:ignore|disregard|forget|override|discard)\s+{_ALL}(?:instructions?|rules|prompts?|directives|guidelines|orders)"
    r"|you are now (?:in|an?|the)\b"
    rf"|(?:ignore[rz]?|oublie[rz]?|oublier)\s+{_TES}(?:consignes|instructions|règles|directives))\b",
    re.IGNORECASE,
)
"""An order to forget one's instructions. It is no protection: other words get through."""


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
