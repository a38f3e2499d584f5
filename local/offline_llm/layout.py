"""The layout of a bank: its files, their sections, and the words that describe them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

_PLACEHOLDER_DAY = re.compile(r"YYYY-MM-DD|YYYY-MM|YYYY")
_SPLIT_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[_-]+")


@dataclass(frozen=True)
class Section:
    """One heading that a file must have. `day` marks the heading that stands for a date and returns for each."""

    level: int
    text: str
    description: str = ""
    day: bool = False


@dataclass(frozen=True)
class Leaf:
    """A place for entries: the headings from the outermost (below the title) to the innermost."""

    path: tuple[Section, ...]

    @property
    def text(self) -> str:
        """The words of the heading that a reader would look for: the innermost that is not a date."""
        return " ".join(section.text for section in self.path if not section.day)

    @property
    def description(self) -> str:
        """What the rules say about it, the enclosing sections included."""
        return " ".join(section.description for section in self.path)


@dataclass(frozen=True)
class FileSpec:
    """One file of the bank as the rules describe it. No sections: entries are grouped by category."""

    name: str
    title: str
    description: str = ""
    sections: tuple[Section, ...] = ()

    @property
    def leaves(self) -> list[Leaf]:
        """The sections that hold no other section, in order, each with the headings around it."""
        leaves = []
        for index, section in enumerate(self.sections):
            following = self.sections[index + 1 : index + 2]
            if following and following[0].level > section.level:
                continue
            path = [section]
            for earlier in reversed(self.sections[:index]):
                if earlier.level < path[0].level:
                    path.insert(0, earlier)
            leaves.append(Leaf(tuple(path)))
        return leaves


def for_days(layout: Iterable[FileSpec], days: Iterable[str]) -> list[tuple[FileSpec, str]]:
    """Put dates into file names such as `log/YYYY-MM.md`.

    Returns pairs of a concrete file and the date prefix that a note must have to go there ("" = any).
    """
    ordered = sorted(set(days))
    concrete: dict[str, tuple[FileSpec, str]] = {}
    for spec in layout:
        pattern = _PLACEHOLDER_DAY.search(spec.name)
        prefixes = [day[: len(pattern.group())] for day in ordered] if pattern else [""]
        for prefix in prefixes:
            name = _PLACEHOLDER_DAY.sub(prefix, spec.name) if pattern else spec.name
            title = spec.title if spec.title != title_of(spec.name) else title_of(name)
            concrete.setdefault(name, (FileSpec(name, title, spec.description, spec.sections), prefix))
    return list(concrete.values())


def title_of(name: str) -> str:
    """A title made of a file name: `activeContext.md` becomes "Active context"."""
    base = name.rsplit("/", 1)[-1].removesuffix(".md")
    if re.search(r"\d{4}", base):
        return base
    words = " ".join(part for part in _SPLIT_CAMEL.split(base) if part)
    return words[:1].upper() + words[1:].lower() if not words.isupper() else words


def is_per_day(name: str) -> bool:
    """Whether a file name stands for one file per day, month or year."""
    return bool(_PLACEHOLDER_DAY.search(name))
