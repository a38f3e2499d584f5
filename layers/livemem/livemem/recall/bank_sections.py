"""The sections of a bank as agents get them: their ids and texts, what is loaded first, and when each was confirmed.

An id is `bank/{path}#{headings joined by " > "}`, that of a whole file `bank/{path}`.

The rules mark what is loaded first by `<!-- load first -->` at the end of the line that names a file or a section, a
heading or a bullet. If there is no mark, or no marked section is in the bank, the usual headings decide (USUAL).
"""

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby

from livemem.bank.files import File
from livemem.changes import records
from livemem.changes.section_sources import PREAMBLE, SectionPath, Trace, own_texts
from livemem.markdown import sections
from livemem.markdown.blocks import SectionError
from livemem.process import Process
from livemem.recall import code_marks
from livemem.spaces.rules import LOAD_FIRST
from livemem.store.bucket import BANK_FILE
from livemem.text.code_version import UNKNOWN, CodeVersion
from livemem.text.invisible import visible

BANK = "bank/"
BETWEEN = " > "


@dataclass(frozen=True)
class OwnText:
    """The text right below a heading, without its sub-sections. `path` and `titles` are the headings that lead to it,
    as edits name them and without their signs. Both are empty for the text before the first heading.
    """

    path: SectionPath
    titles: tuple[str, ...]
    text: str
    whole: bool = False
    """Whether it is all of its file."""


def file_id(path: str) -> str:
    """The id of a whole file."""
    return f"{BANK}{path}"


def section_id(path: str, titles: Sequence[str]) -> str:
    """The id of a section; without headings that of the text before the first one."""
    return f"{file_id(path)}#{BETWEEN.join(titles)}"


def shared_headings(titles: Iterable[Sequence[str]]) -> int:
    """How many headings the sections of a file need not name: 1 where all are below one title, else 0."""
    below = {title[0] for title in titles if title}
    return int(len(below) == 1)


def split_id(reference: str) -> tuple[str, str | None]:
    """The file's path in an id, and the headings behind it as they were joined; None for the whole file."""
    name = reference.removeprefix(BANK)
    path, sign, headings = name.partition(".md#")
    return (f"{path}.md", headings) if sign else (name, None)


def title(line: str) -> str:
    """A heading line without its signs."""
    return line.partition(" ")[2]


def own_sections(content: str, *, whole: bool = False) -> list[OwnText]:
    """The sections that have a text of their own, in their order. A file that can't be parsed, or one that is to be
    taken as a `whole`, is one piece.
    """
    result = {PREAMBLE: content} if whole else own_texts(content)
    alone = result.keys() == {PREAMBLE}
    return [
        OwnText(path, tuple(map(title, path)), text.strip("\r\n").rstrip(), alone)
        for path, text in result.items()
        if text.strip()
    ]


def section_text(content: str, headings: str) -> str | None:
    """The sections of such headings whole, with their sub-sections; None if there is none.

    Headings that occur more than once have one id. Then the result is all of them, one behind the other.
    """
    if not headings:
        return next((item.text for item in own_sections(content) if item.path == PREAMBLE), None)
    try:
        listed = sections.list_sections(content)
    except SectionError:
        return None
    batch = [list_section for list_section in listed if headings in _names(list_section.path)]
    # Below the file's only title, the headings without it are enough.
    batch = batch or [list_section for list_section in listed if headings in _names(list_section.path[1:])]
    return "\n".join(sections.section_text(content, item).strip("\r\n") for item in batch) or None


def is_within(path: SectionPath, headings: str) -> bool:
    """Whether the section of a path is the one of such headings (find), or below it."""
    if not headings:
        return path == PREAMBLE
    starts = [path[:length] for length in range(1, len(path) + 1)]
    return any(headings in (*_names(start), *_names(start[1:])) for start in starts)


def _names(path: SectionPath) -> tuple[str, ...]:
    """The names by which a request may name a section: its headings as in an id, as in a text, and as in edits."""
    name = BETWEEN.join(map(title, path))
    return name, visible(name), sections.joined(path)


PARSED_MOST = 1_000_000
"""Characters of the bank that are parsed into sections, in about a second. A file beyond them is one piece."""
RECORDS_MOST = 32
"""Records that are read for the notes on which sections rest. A file in none of them has the day when it was written.
"""


@dataclass(frozen=True)
class StartSection:
    """A section's own text as it is shown. `moment`: when the newest note that it rests on was written, or its last
    change by hand was made, else when its file was written. `verified_at`: its last confirmation, at `moment` or later.

    `first`: its place among what is loaded first, None if it is not.
    """

    path: str
    id: str
    address: str
    """Its headings as edits and searches name them."""
    text: str
    moment: str
    verified_at: str
    notes: frozenset[str] = frozenset()
    first: int | None = None
    label: str = ""
    """Its headings without the title that all sections of its file have. With its file they name it."""


@dataclass(frozen=True)
class RestsOn:
    """The basis of a file's sections, from the record of its last change. `corrected`: the headings of those that this
    change corrected by hand, at the moment `at`.
    """

    traces: Mapping[SectionPath, Trace]
    corrected: Collection[SectionPath]
    at: str

    def of(self, part: OwnText) -> list[Trace]:
        """What a part of the file rests on."""
        if part.whole:
            return list(self.traces.values())
        return [self.traces[part.path]] if part.path in self.traces else []


def sections_of(
    rules: str, bank: Sequence[File], rests: Mapping[str, RestsOn], reader: CodeVersion = UNKNOWN
) -> list[StartSection]:
    """The sections of the bank that hold something, in the order of the rules: as these name their files. `rests`: what
    they rest on, by file. Their lines are marked for the `reader` (code_marks.py).
    """
    by_path = {path: place for place, path in enumerate(files_in_rules(rules))}
    bank = sorted(bank, key=lambda file: by_path.get(file.path, len(by_path)))
    apart = _taken_apart(bank)
    parts = [(file, part) for file in bank for part in own_sections(file.content or "", whole=file.path not in apart)]
    place = load_first_places(rules, [(file.path, part.titles) for file, part in parts])
    shared = {
        path: shared_headings(part.titles for _, part in batch)
        for path, batch in groupby(parts, key=lambda part: part[0].path)
    }
    return [
        replace(
            _section(file, part, rests.get(file.path), place(file.path, part.titles), reader),
            label=BETWEEN.join(part.titles[shared[file.path] :] or part.titles),
        )
        for file, part in parts
    ]


def verified_at(process: Process, space_id: str, file: File, headings: str) -> str | None:
    """When the section of these headings was last confirmed, with its sub-sections: the earliest of theirs. None
    without a text. 1 GET, none for a file that this process has seen before (rest_on).
    """
    rests = rest_on(process, space_id, [file]).get(file.path)
    parts = [part for part in own_sections(file.content or "") if is_within(part.path, headings)]
    return min((_section(file, part, rests, None).verified_at for part in parts), default=None)


def lines_of(process: Process, space_id: str, file: File) -> Mapping[str, CodeVersion]:
    """The versions of the code that lines of a file are of, by their keys: the requests of `rest_on`."""
    rests = rest_on(process, space_id, [file]).get(file.path)
    traces = rests.traces.values() if rests else ()
    return {key: code for trace in traces for key, code in trace.lines.items()}


def _taken_apart(bank: Sequence[File]) -> set[str]:
    """The files that are parsed into sections: the smaller ones first."""
    by_size = sorted(bank, key=lambda file: len(file.content or ""))
    ends = accumulate(len(file.content or "") for file in by_size)
    return {file.path for file, end in zip(by_size, ends, strict=True) if end <= PARSED_MOST}


def _section(
    file: File, part: OwnText, rests: RestsOn | None, first: int | None, reader: CodeVersion = UNKNOWN
) -> StartSection:
    traces = rests.of(part) if rests else []
    lines = {key: code for trace in traces for key, code in trace.lines.items()}
    moments = [moment for trace in traces if (moment := trace.newest_note())]
    if rests and part.path in rests.corrected:
        moments.append(rests.at)
    confirmed = [trace.by_hand_at for trace in traces if trace.by_hand_at]
    moment = max(moments or confirmed, default=file.last_modified)
    return StartSection(
        file.path,
        file_id(file.path) if part.whole else section_id(file.path, part.titles),
        " > ".join(part.path),
        visible(code_marks.marked(part.text, lines, reader)),
        moment,
        max([moment, *confirmed]),
        frozenset[str]().union(*(trace.sources for trace in traces)),
        first,
    )


def rest_on(process: Process, space_id: str, bank: Sequence[File]) -> dict[str, RestsOn]:
    """The basis of the sections of each file, from the record of its last change: 1 GET for each such record, none for
    files that this process has seen before. Files whose records do not hold it are left out.
    """
    by_path = {file.path: process.reads.get(RestsOn, _name(space_id, file), _version(file)) for file in bank}
    unknown = [file for file in bank if by_path[file.path] is None and file.record]
    wanted = sorted(
        {file.record: file.consolidation or 0 for file in unknown if file.record}.items(), key=lambda r: -r[1]
    )
    texts = [text for text, _ in wanted[:RECORDS_MOST]]
    missing: list[str] = []
    read = dict(
        zip(texts, process.store.map(lambda text: records.find(process, space_id, text, missing), texts), strict=True)
    )
    for file in unknown:
        record = read.get(file.record or "")
        kept = record.sources_of(file.path) if record else None
        if record and kept:
            state, by_hand = kept.state(), record.number if record.kind == "manual" else None
            corrected = {path for path, trace in state.items() if by_hand in trace.corrections}
            rests = RestsOn(state, corrected, record.committed_at)
            ids = [note_id for trace in state.values() for note_id in trace.sources]
            by_path[file.path] = process.reads.put(_name(space_id, file), _version(file), rests, ids)
    return {path: rests for path, rests in by_path.items() if rests}


def _name(space_id: str, file: File) -> str:
    return BANK_FILE.key(space_id, file.path)


def _version(file: File) -> str:
    """The version from the latest listing (files.with_content). A file that was written again names another record."""
    return f"{file.etag} {file.last_modified} {file.record}"


USUAL = (
    *("current focus", "focus", "active context", "contexte actif", "contexte actuel", "priorité actuelle", "en cours"),
    *("next steps", "prochaines étapes", "to do", "todo", "todos", "à faire", "reste à faire"),
    *("open questions", "questions ouvertes", "open decisions", "décisions ouvertes", "décisions à prendre"),
    *("known issues", "problèmes connus", "open issues", "problèmes ouverts", "blockers", "points bloquants"),
)
"""Headings, and names of files, of present facts, in the order in which they are given."""

_COMMENT = re.compile(r"<!--.{0,200}?-->")
_LONGEST_LINE = 2_000
"""Characters of a line of rules, and of a heading, that are read."""
_FILE = re.compile(r"(?<![\w/.-])[A-Za-z0-9][A-Za-z0-9._/-]*\.md\b(?![\w/-])")
_LEAD = re.compile(r"^\W*$")
_HEADING = re.compile(r"^ {0,3}(?P<marks>#{1,6})\s+(?P<text>.*)$")
_HEADING_SPAN = re.compile(r"`\s*#{1,6}\s+([^`]+)`")
_BULLET = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")
_BOLD = re.compile(r"^(?:\*\*|__)(.+?)(?:\*\*|__)")
_BEHIND_NAME = re.compile(r"\s*(?::\s|:$|\s[-–—]\s).*$")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


FirstPlace = Callable[[str, Sequence[str]], int | None]
"""The place of a section among those loaded first, by its file and its headings; None if it is not one."""


@dataclass(frozen=True)
class Mark:
    """The target of a marked line: a section by the words of its heading, of one file or of any; or a whole file."""

    path: str | None
    title: str | None

    def names(self, path: str, titles: Sequence[str]) -> bool:
        """Whether the mark means the section of these headings, in plain words, or one above it."""
        return self.path in (None, path) and (self.title is None or self.title in titles)


def load_first_places(rules: str, sections: Iterable[tuple[str, Sequence[str]]]) -> FirstPlace:
    """The function that gives each section's place among those loaded first. `sections` are all of the bank."""
    known = {(path, tuple(titles)): [_plain(title) for title in titles] for path, titles in sections}
    result = load_first_marks(rules)
    places = {
        (path, titles): _first(mark.names(path, plain) for mark in result) for (path, titles), plain in known.items()
    }
    if not any(place is not None for place in places.values()):
        places = {(path, titles): _usual(path, plain) for (path, titles), plain in known.items()}
    return lambda path, titles: places.get((path, tuple(titles)))


def _usual(path: str, titles: Sequence[str]) -> int | None:
    stem = _plain(_CAMEL.sub(" ", path.rpartition("/")[2].removesuffix(".md")))
    text = f" {' | '.join([stem, *titles])} "
    return _first(f" {phrase} " in text for phrase in _USUAL)


def _first(named: Iterable[bool]) -> int | None:
    return next((number for number, item in enumerate(named) if item), None)


def load_first_marks(rules: str) -> list[Mark]:
    """The targets of the marked lines, in their order."""
    load_first_marks: list[Mark] = []
    scope: str | None = None
    level = 0
    opening = ""
    for line in rules.splitlines():
        text = _COMMENT.sub("", line[:_LONGEST_LINE]).rstrip()
        heading = _HEADING.match(text)
        # A bullet may continue in further lines. Its target stands in its first one.
        opening = text if heading or not opening or not text or _BULLET.match(text) else opening
        match = [item for item in _FILE.finditer(text) if heading or _LEAD.match(text[: item.start()])]
        if match:
            scope, level = _path(match[0][0]), len(heading["marks"]) if heading else 0
        elif heading and len(heading["marks"]) <= (level or len(heading["marks"])):
            scope = None
        if LOAD_FIRST.search(line[-_LONGEST_LINE:]):
            load_first_marks += _marks_of(opening, scope)
    return list(dict.fromkeys(load_first_marks))


def files_in_rules(rules: str) -> list[str]:
    """The paths of the files that the rules name, in their order."""
    lines = (line[:_LONGEST_LINE] for line in rules.splitlines())
    return list(dict.fromkeys(_path(item[0]) for line in lines for item in _FILE.finditer(line)))


def _marks_of(text: str, scope: str | None) -> list[Mark]:
    heading = _HEADING.match(text)
    files_in_rules = list(_FILE.finditer(text))
    titles = _HEADING_SPAN.findall(text)
    rest = heading["text"] if heading else _BULLET.sub("", text).strip()
    bold, lead = _BOLD.match(rest), _BEHIND_NAME.sub("", rest)
    if titles:
        named = titles
    elif files_in_rules and (heading or _LEAD.match(text[: files_in_rules[0].start()]) or (not bold and lead == rest)):
        return [Mark(_path(file[0]), None) for file in files_in_rules]
    else:
        named = [bold[1] if bold else lead]
    return [Mark(scope, plain) for title in named if (plain := _plain(title))]


def _path(name: str) -> str:
    return name.removeprefix("./").removeprefix("bank/")


def _plain(text: str) -> str:
    """The words of a heading, without case, accents and signs."""
    bare = unicodedata.normalize("NFKD", _COMMENT.sub("", text[:_LONGEST_LINE]).casefold())
    return " ".join(re.sub(r"[\W_]+", " ", "".join(c for c in bare if not unicodedata.combining(c))).split())


_USUAL = tuple(map(_plain, USUAL))
