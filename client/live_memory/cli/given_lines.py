"""Lines of a personal space that agents of a project were given: they are cut from the project's recorded chats."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from live_memory.cli import own_files
from live_memory.cli.init.hooks.state import Files

MOST_BYTES = 262_144
"""Bytes of the file. Of a larger one the older half is forgotten."""
CUT = "[personal]"
LEAST_WORDS, LEAST_LETTERS = 3, 8
"""Words of a sentence that is cut, or letters of 2 words: fewer may be said of anything."""
_UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Letters of scripts without spaces, from Thai to Chinese: each is a word."""
_SPACED = rf"[^\W_{_UNSPACED}]"
_WORD = rf"(?![\W_])[{_UNSPACED}]|{_SPACED}+"
"""Compiled when it is first needed: most projects have no personal space, and a hook lives for a moment."""
_HEAD = re.compile(r"\s*(?:[-*+]\s+|\d+[.)]\s+)?(?:\[[^\]]*\]\s+)?")
"""Stands before what a line says: a bullet, and in brackets the day and the author."""
_ESCAPED = re.compile(r"\\[nrt]")
_SENTENCE = re.compile(r"(?<=[.!?;:…])\s+|(?<=[。！？；：])")


def statement(line: str) -> str:
    """A line of a memory without its bullet, day and author."""
    return _HEAD.sub("", line, count=1).strip()


@dataclass(frozen=True)
class GivenLines:
    """A file for each project's space: a personal line must be known here before it is given."""

    path: Path

    @classmethod
    def of(cls, folder: Path, space_id: str) -> "GivenLines":
        """Those of a project's space. `folder` is that of the hooks' state."""
        return cls(Files.of(folder, "personal", space_id).state.with_suffix(".given"))

    def add(self, lines: Iterable[str]) -> None:
        """Note lines as given. Raises OSError: then they must not be."""
        known = _lines(self.path)
        new = [plain for plain in dict.fromkeys(" ".join(line.split()) for line in lines) if plain not in known]
        if new:
            own_files.append_newest(self.path, ("\n".join(new) + "\n").encode(errors="replace"), MOST_BYTES)

    def cutter(self, *, everywhere: bool = False) -> Callable[[str], str]:
        """What makes of a message one with CUT in the place of each line, or sentence of one, that was given, with
        `everywhere` in any project. Raises OSError.
        """
        paths = self.path.parent.glob("*.given") if everywhere else [self.path]
        parts = {part for path in paths for line in _lines(path) for part in (line, *_SENTENCE.split(line))}
        sentences = {
            plain: words for part in parts if _is_told(words := re.findall(_WORD, part)) and (plain := _plain(part))
        }

        def cut(text: str) -> str:
            if not sentences:
                return text
            # Inputs of tools are JSON, in which a letter stands for the end of a line.
            read = _ESCAPED.sub("  ", text)
            spoken = f" {_plain(read)} "
            for plain in sorted((one for one in sentences if f" {one} " in spoken), key=len, reverse=True):
                for found in reversed([*re.finditer(_pattern(sentences[plain]), read, re.IGNORECASE)]):
                    text, read = (f"{one[: found.start()]}{CUT}{one[found.end() :]}" for one in (text, read))
            return text

        return cut


def _lines(path: Path) -> list[str]:
    try:
        with open(path, "rb", opener=own_files.unblocked) as file:
            return file.read(2 * MOST_BYTES).decode(errors="replace").splitlines()
    except FileNotFoundError:
        return []


def _is_told(words: list[str]) -> bool:
    return len(words) >= LEAST_WORDS or (len(words) > 1 and sum(map(len, words)) >= LEAST_LETTERS)


def _pattern(words: list[str]) -> str:
    """What finds words with anything between them that is no letter, such as marks of Markdown."""
    last = len(words) - 1
    spaced = [bool(re.match(_SPACED, word)) for word in words]
    parts = [rf"(?<!{_SPACED})" if spaced[0] else ""]
    for at, word in enumerate(words):
        between = r"[\W_]+" if at < last and spaced[at] and spaced[at + 1] else r"[\W_]*"
        parts += [re.escape(word), between if at < last else ""]
    return "".join((*parts, rf"(?!{_SPACED})" if spaced[-1] else ""))


def _plain(text: str) -> str:
    return " ".join(re.findall(_WORD, text.lower()))
