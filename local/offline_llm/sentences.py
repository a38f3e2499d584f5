"""A text as whole sentences. No rule of the offline LLM cuts one in the middle."""

import re
from collections.abc import Iterator

_FENCED = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1|\Z)", re.MULTILINE | re.DOTALL)
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
_CLAUSE = re.compile(r"(?<=[^\W_])[)\]\"'”»`]*(?:[;,:](?=\s)|(?=\s[–—-]\s))")
_BEFORE = 12
"""Characters before a full stop that an abbreviation may have."""


def said(text: str) -> list[str]:
    """The sentences of paragraphs and lists, each on one line. Headings, tables, quotes and code are left out."""
    return [sentence for one in _paragraphs(_FENCED.sub("\n\n", text)) for sentence in split_line(one)]


def split(text: str) -> list[str]:
    """The same, and of a text that has nothing but headings, tables, quotes and code the lines of these."""
    return said(text) or [sentence for line in text.split("\n") for sentence in split_line(" ".join(line.split()))]


def split_line(line: str) -> Iterator[str]:
    """The sentences of one line."""
    begin = 0
    for end in _END.finditer(line):
        before = line[max(0, end.start() - _BEFORE) : end.start() + 1]
        after = line[end.end() : end.end() + 1]
        short = _ABBREVIATED.search(before)
        if short and (short["never"] or not after.isupper()):
            continue
        if sentence := line[begin : end.end()].strip():
            yield sentence
        begin = end.end()
    if sentence := line[begin:].strip():
        yield sentence


def is_whole(sentence: str) -> bool:
    """Whether it ends with a mark that ends sentences."""
    return bool(_WHOLE.search(sentence[-40:]))


def fitted(sentence: str, room: int) -> str:
    """The sentence if it has room, else its clauses that have, and a sign that words are missing.

    One without any clause that fits ends behind a word, and one without words behind a letter.
    """
    if len(sentence) <= room:
        return sentence
    head = sentence[: max(1, room - 1)]
    end = max(
        (clause.start() for clause in _CLAUSE.finditer(sentence[: room + 1]) if clause.end() <= len(head)), default=0
    )
    if end < room // 3:
        end = head.rfind(" ")
    return f"{head[: end if end > 0 else len(head)].rstrip(' ,;:')}…"


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
