"""Lines of a personal space that agents of a project were given: they are cut from the project's recorded chats."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from live_memory.cli import own_files
from live_memory.cli.init.hooks.state import Files

MOST_BYTES = 65_536
"""Bytes of the file. Of a larger one the older half is forgotten."""
CUT = "[personal]"
LEAST_WORDS = 3
"""Words of a sentence that is cut: fewer may be said of anything."""
_WORD = re.compile(r"\w+")
_HEAD = re.compile(r"\s*(?:[-*+]\s+|\d+[.)]\s+)?(?:\[[^\]]*\]\s+)?")
"""Stands before what a line says: a bullet, and in brackets the day and the author."""
_SENTENCE = re.compile(r"(?<=[.!?;:…])\s+")


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
        known = self._lines()
        new = [plain for plain in dict.fromkeys(" ".join(line.split()) for line in lines) if plain not in known]
        if new and own_files.append(self.path, ("\n".join(new) + "\n").encode(errors="replace")) > MOST_BYTES:
            kept = self._lines()
            own_files.write(self.path, ("\n".join(kept[len(kept) // 2 :]) + "\n").encode(errors="replace"))

    def cutter(self) -> Callable[[str], str]:
        """What makes of a message one with CUT in the place of each line, or sentence of one, that was given. Raises
        OSError.
        """
        parts = {part for line in self._lines() for part in (line, *_SENTENCE.split(line))}
        sentences = {
            plain: words
            for part in parts
            if len(words := _WORD.findall(part)) >= LEAST_WORDS and (plain := _plain(part))
        }

        def cut(text: str) -> str:
            spoken = f" {_plain(text)} "
            for plain in sorted((one for one in sentences if f" {one} " in spoken), key=len, reverse=True):
                pattern = r"(?<!\w)" + r"\W+".join(map(re.escape, sentences[plain])) + r"(?!\w)"
                text = re.sub(pattern, CUT, text, flags=re.IGNORECASE)
            return text

        return cut

    def _lines(self) -> list[str]:
        try:
            with open(self.path, "rb", opener=own_files.unblocked) as file:
                return file.read(2 * MOST_BYTES).decode(errors="replace").splitlines()
        except FileNotFoundError:
            return []


def _plain(text: str) -> str:
    return " ".join(_WORD.findall(text.lower()))
