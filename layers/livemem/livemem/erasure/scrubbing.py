"""Which words of a note are looked for in other texts, and how they are taken out there; and the task of an erasure in
one space or backup, with the fate of an object there. Pure.

One function does it in every text of every object. So texts that were equal before are equal afterwards. Undo and time
travel rest on that.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import TypeVar

from livemem.store import keys
from livemem.store.bucket import TURN_ID
from livemem.store.stored_documents import StoredDocument

D = TypeVar("D", bound=StoredDocument)

ERASED = "[erased]"

WHOLE_CHARACTERS = 8
"""Least length of a whole note that is looked for, in characters."""
LINE_CHARACTERS = 16
"""The same of one of its lines."""
FEW = 100
"""Pieces up to which a look for each costs less than one for all."""

_UNSEPARATED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Thai, Lao, Burmese, Khmer, kana and Chinese characters: scripts that put no spaces between words."""
_IN_WORD = re.compile(rf"[^\W_{_UNSEPARATED}]")
"""A character that continues a word. No underscore: it is emphasis."""
_TELLING = re.compile(rf"\S\s+\S|@|[{_UNSEPARATED}]")
"""A piece has at least two words, an address, or a script in which words can't be counted. So no path, id or time of
the service's own documents ever holds one.
"""
_OPENING = re.compile(r"^(?:[\s>*_~`|\"'“”«»-]|[+]\s|\d{1,9}[.)]\s|\[[ xX]\]\s)+")
_CLOSING = re.compile(r"[\s*_~`|\"'“”«».,;:!?…。！？]+$")
_HEADING = re.compile(r"^\s{0,3}#{1,6}(\s|$)")
_URL = re.compile(r"^[<(\[]*[a-z][a-z0-9+.-]*://\S+$", re.IGNORECASE)

_ESCAPE = r'\\(?:["\\/bfnrt]|u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u(?![dD][89a-fA-F])[\da-fA-F]{4})'
"""JSON's escape of one character. None for half a surrogate pair, which UTF-8 can't say."""
_ESCAPED = re.compile(_ESCAPE)
_LETTER = re.compile(f"{_ESCAPE}|.", re.DOTALL)


@dataclass(frozen=True)
class Pieces:
    """Texts to look for, by their first characters and then by length, the longest first: many notes begin alike."""

    by_start: Mapping[str, Mapping[int, frozenset[str]]]
    all: tuple[str, ...]


def pieces_of(contents: Iterable[str]) -> Pieces:
    """The pieces to look for of notes with these contents: each note as a whole, and each of its lines that says
    enough. A line is taken without the Markdown around it and without the full stop, which a quotation leaves out.
    Headings and lines that are a URL alone say nothing of their own.
    """
    ids = {piece for content in contents for piece in _pieces(content)}
    longest_first = tuple(sorted(ids, key=lambda piece: (-len(piece), piece)))
    by_start: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for piece in longest_first:
        by_start[piece[:WHOLE_CHARACTERS]][len(piece)].add(piece)
    lengths = {start: {size: frozenset(batch) for size, batch in sizes.items()} for start, sizes in by_start.items()}
    return Pieces(lengths, longest_first)


def _pieces(content: str) -> Iterator[str]:
    whole = _bare(content)
    if len(whole) >= WHOLE_CHARACTERS and _says_enough(whole):
        yield whole
    for line in content.splitlines():
        bare = _bare(line)
        if len(bare) >= LINE_CHARACTERS and _says_enough(bare) and not _HEADING.match(line):
            yield bare


def _bare(text: str) -> str:
    return _CLOSING.sub("", _OPENING.sub("", text))


def _says_enough(text: str) -> bool:
    return bool(_TELLING.search(text)) and not _URL.match(text) and text != ERASED


def occurs(text: str, pieces: Pieces) -> bool:
    """Whether a piece stands in the text, and not within a word."""
    return next(_spans(text, pieces), None) is not None


def scrub(text: str, pieces: Pieces) -> str:
    """The text with `[erased]` in the place of each piece, so that none is left; pieces that overlap go as one.

    A text may be JSON, or quote some, as a model's answer or the result of a tool: pieces are found behind its escapes
    too. All other escapes stay as they are.
    """
    # With what stands around it `[erased]` may make another piece, of a note that says so itself. That ends: each piece
    # holds a space, an `@` or the like (_TELLING), or the escape of one, and nothing brings one back.
    while True:
        letters: Sequence[str] = text
        spans = [*_merged(_spans(text, pieces))]
        if not spans and "\\" in text:
            spans = [*_merged(_spans(_ESCAPED.sub(lambda found: _meant(found[0]), text), pieces))]
            letters = _LETTER.findall(text) if spans else text
        if not spans:
            return text
        parts: list[str] = []
        end = 0
        for start, stop in spans:
            parts += [*letters[end:start], ERASED]
            end = stop
        text = "".join((*parts, *letters[end:]))


def _meant(escape: str) -> str:
    return str(json.loads(f'"{escape}"'))


def _spans(text: str, pieces: Pieces) -> Iterator[tuple[int, int]]:
    """Where pieces stand, by their beginnings; of those that begin in one place the longest."""
    if len(pieces.all) <= FEW and not any(piece in text for piece in pieces.all):
        return
    for start in range(len(text) - WHOLE_CHARACTERS + 1):
        for size, batch in pieces.by_start.get(text[start : start + WHOLE_CHARACTERS], {}).items():
            stop = start + size
            if text[start:stop] in batch and not _cuts(text, start) and not _cuts(text, stop):
                yield start, stop
                break


def _cuts(text: str, position: int) -> bool:
    """Whether a word goes on over this position."""
    if not 0 < position < len(text):
        return False
    return bool(_IN_WORD.match(text[position - 1]) and _IN_WORD.match(text[position]))


def _merged(spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The spans in order, those that overlap as one."""
    begin, end = -1, -1
    for start, stop in spans:
        if start >= end:
            if end > 0:
                yield begin, end
            begin, end = start, stop
        end = max(end, stop)
    if end > 0:
        yield begin, end


@dataclass(frozen=True)
class ErasureTask:
    """The erasure in one space or backup: notes, memories and turns by their ids, and the pieces of their texts.

    `kept`: those that stay for now, because their pieces are still looked for elsewhere. `held`: the notes that a
    record of this space or backup holds, which stay as stubs. `vectors`: the names of the memories' vectors. `texts`:
    the erased texts, whole.
    """

    space_id: str
    ids: frozenset[str]
    pieces: Pieces
    day: date
    kept: frozenset[str] = frozenset()
    held: frozenset[str] = frozenset()
    vectors: frozenset[bytes] = frozenset()
    texts: frozenset[str] = frozenset()

    @cached_property
    def is_of_memories(self) -> bool:
        """Whether memories are erased."""
        return any(keys.RUN_ID.fullmatch(item) for item in self.ids)

    @cached_property
    def conversations(self) -> frozenset[str]:
        """The conversations of the turns that are erased."""
        parsed = (TURN_ID.parse(item) for item in self.ids)
        return frozenset(item[0] for item in parsed if item)


@dataclass(frozen=True)
class Fate:
    """The object's new body, None to delete it; and the ids of other notes and memories in it that quote the erased
    text.
    """

    body: bytes | None
    quoted_in: frozenset[str] = frozenset()


def read(kind: type[D], body: bytes) -> D | None:
    """The document, or None where the bytes are none."""
    try:
        return kind.from_bytes(body)
    except ValueError:
        return None
