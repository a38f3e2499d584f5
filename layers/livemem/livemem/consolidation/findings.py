"""What a new bank may have lost, or holds though it should not, told without a model. Pure.

A fold and a tidy run look at the bank before and after in the same way. Each finding is a warning, whose text is a
sentence for people and for the model.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from livemem.changes.bank_warnings import BankWarning
from livemem.changes.section_sources import own_texts
from livemem.consolidation import asked_files, line_ends, losses
from livemem.consolidation.losses import BankChange
from livemem.markdown import sections
from livemem.markdown.blocks import SectionError, split_lines
from livemem.text import language as languages

SHOWN = 1_000
"""Characters up to which a warning quotes a line, whole: an erasure finds no part of a line."""
MOST = 50
"""Warnings of one kind for one file; a last one counts the others."""
REPEATED = 20
"""Characters from which on the repetition of a line in its section is no chance."""

_OTHERS = re.compile(
    r"\b(?:another|other|further|additional|separate|own|new) files?\b|\b(?:one|a) file (?:per|for each|for every)\b"
    r"|\bfiles? (?:per|for each|for every)\b|\b(?:autres?|nouveaux?) fichiers?\b|\bun fichier (?:par|pour chaque)\b"
    r"|\bas many files\b|\bany files?\b",
    re.IGNORECASE,
)
"""Rules that allow files which they do not name."""


def of_bank(change: BankChange, notes: Sequence[str], rules: str, language: str | None = None) -> list[BankWarning]:
    """The findings about a change of the bank.

    `notes` are the texts of the notes that the change rests on. `language`: that of the bank, None if it is that of the
    rules.
    """
    return [*_lost_lines(change, notes), *of_files(change.before, change.after, notes, rules, language)]


def of_files(
    before: Mapping[str, str],
    after: Mapping[str, str],
    notes: Sequence[str],
    rules: str,
    language: str | None = None,
) -> list[BankWarning]:
    """The same without lines that went, from the files `before` to those `after` by path. A tidy run has no notes."""
    changed = {path: text for path, text in after.items() if before.get(path) != text}
    if not changed:
        return []
    return [
        *_lost_headings(before, changed, rules),
        *_unknown_files(before, changed, notes, rules),
        *_repeated_lines(before, changed),
        *_escaped_line_ends(before, changed, notes),
        *_other_language(before, changed, rules, language),
    ]


def _lost_lines(change: BankChange, notes: Sequence[str]) -> Iterator[BankWarning]:
    counts: Counter[str] = Counter()
    for line in losses.lost_lines(change, notes):
        counts[line.path] += 1
        if counts[line.path] <= MOST:
            text = f"A line of {line.path} goes, no other line says it, and no note says why: {_quoted(line.text)}"
            yield BankWarning(kind="lost_line", text=text, file=line.path, line=_quoted(line.text))
    for path, count in counts.items():
        if count > MOST:
            yield BankWarning(kind="lost_line", text=f"{count - MOST} more lines of {path} go.", file=path)


def _quoted(line: str) -> str:
    return line if len(line) <= SHOWN else f"(one of {len(line):,} characters)"


def _lost_headings(before: Mapping[str, str], changed: Mapping[str, str], rules: str) -> Iterator[BankWarning]:
    required_files = {file.path.lower(): file.text() for file in asked_files.asked_for(rules)}
    for path, text in changed.items():
        required, had, has = (
            _headings(content) for content in (required_files.get(path.lower(), ""), before.get(path, ""), text)
        )
        for heading in required:
            if _among(heading, had) and not _among(heading, has):
                message = f"The rules ask for the heading {heading} in {path}, and it goes."
                yield BankWarning(kind="lost_heading", text=message, file=path, line=heading)


def _headings(text: str) -> list[str]:
    try:
        return list(dict.fromkeys(section.path[-1] for section in sections.list_sections(text)))
    except SectionError:
        return []


def _among(heading: str, headings: Sequence[str]) -> bool:
    return any(sections.alike(heading, other) for other in headings)


def _unknown_files(
    before: Mapping[str, str], changed: Mapping[str, str], notes: Sequence[str], rules: str
) -> Iterator[BankWarning]:
    required_paths = [file.path.lower() for file in asked_files.asked_for(rules)]
    if not required_paths or any(map(asked_files.is_pattern, required_paths)) or _OTHERS.search(rules):
        return
    for path in changed.keys() - before.keys():
        name = path.rpartition("/")[2].lower()
        if path.lower() not in required_paths and not any(name in text.lower() for text in (rules, *notes)):
            yield BankWarning(kind="unknown_file", text=f"The rules do not know the file {path}.", file=path)


def _repeated_lines(before: Mapping[str, str], changed: Mapping[str, str]) -> Iterator[BankWarning]:
    for path, text in changed.items():
        had = own_texts(before.get(path, ""))
        for section, own in own_texts(text).items():
            counts = _counts(own)
            former = _counts(had.get(section, "")) if max(counts.values(), default=0) > 1 else counts
            for line, count in counts.items():
                if count > max(former[line], 1):
                    message = f"A line stands {count} times in one section of {path}: {_quoted(line)}"
                    yield BankWarning(kind="repeated_line", text=message, file=path, line=_quoted(line))


def _counts(text: str) -> Counter[str]:
    lines = (line.strip() for line in split_lines(line_ends.CODE.sub("", text)))
    return Counter(line for line in lines if len(line) >= REPEATED and not line.startswith("|"))


def _escaped_line_ends(
    before: Mapping[str, str], changed: Mapping[str, str], notes: Sequence[str]
) -> Iterator[BankWarning]:
    for path, text in changed.items():
        if line_ends.are_escaped(text) and not any("\\n" in source for source in (before.get(path, ""), *notes)):
            message = f"{path} holds line ends as two letters, \\n."
            yield BankWarning(kind="escaped_line_end", text=message, file=path)


def _other_language(
    before: Mapping[str, str], changed: Mapping[str, str], rules: str, language: str | None
) -> Iterator[BankWarning]:
    bank_language = (
        language.lower()[:2] if language else languages.detect(rules) or languages.detect("\n".join(before.values()))
    )
    if not bank_language or not languages.knows(bank_language):
        return
    for path, text in changed.items():
        had = before.get(path, "")
        lines = set(split_lines(had))
        text_language = languages.detect("".join(line for line in split_lines(text) if line not in lines))
        if text_language not in (None, bank_language, languages.detect(had)):
            message = f"New text of {path} is in another language ({text_language}) than the bank ({bank_language})."
            yield BankWarning(kind="other_language", text=message, file=path, word=text_language)
