"""Answers as Markdown, ready for a prompt: pure functions from what a route answers to text that ends in a newline."""

import re
from typing import TYPE_CHECKING

from livemem.text.items import joined, within_item
from livemem.text.speakers import said_by
from livemem_http.views import (
    ChangeDetail,
    FileList,
    FileView,
    FileWithSources,
    LiveNotes,
    NotePage,
    NoteView,
    SectionSources,
    SpaceSummary,
    SynthesisView,
)
from livemem_http.views.notes import NoteCapture

if TYPE_CHECKING:
    from livemem_http.views.jobs import PlanDetail

MIN_FENCE = 3


def bank(answer: FileList) -> str:
    """The files with their names as headings; without contents a list of names."""
    if not answer.items:
        return "The bank is empty.\n"
    if all(file.content is None for file in answer.items):
        return joined("\n".join(f"- {file.path} ({file.size} bytes, {file.last_modified})" for file in answer.items))
    return joined(*map(_file, answer.items))


def file(answer: FileWithSources) -> str:
    """The file as it is. The resolver (api.py) shows invisible characters. If the caller also asked for the sources of
    the sections, the file's name is its heading.
    """
    if answer.sections is None:
        return answer.content or ""
    parts = [_file(answer), "# Sources", "\n".join(map(_section, answer.sections))]
    if answer.sources_since is not None:
        parts.append(f"What changes before {answer.sources_since} brought in is not told.")
    return joined(*parts)


def synthesis(answer: SynthesisView) -> str:
    """The synthesis as it is written."""
    return joined(answer.content)


def summary(answer: SpaceSummary) -> str:
    """All that an agent loads at the start of its session."""
    parts = [f"# Space {answer.space.space_id}", answer.space.description]
    plan = answer.space.pending_plan
    if plan and not answer.at:
        parts.append(
            f"A plan waits for approval since {plan.planned_at} (job {plan.job}). "
            f"Its notes ({plan.notes_count}) are live until then."
        )
    if answer.at:
        parts.append(
            f"Rules, synthesis and bank as they stood after change {answer.at.change} ({answer.at.committed_at})."
        )
    if answer.rules is not None:
        parts += ["# Rules", answer.rules]
    if answer.synthesis:
        parts += ["# Synthesis", answer.synthesis.content]
    parts += map(_file, answer.bank)
    if answer.live:
        parts += ["# Live notes", _live(answer.live)]
    return joined(*parts)


def notes(answer: NotePage) -> str:
    """A page of notes, one item each."""
    more = f"There are more: cursor={answer.next_cursor}" if answer.next_cursor else ""
    return joined("\n".join(map(_note, answer.items)) or "No notes.", more)


def note(answer: NoteView) -> str:
    """One note."""
    return joined(_note(answer))


def change(answer: ChangeDetail) -> str:
    """One change of the history: what it made of the bank as diffs, and the notes that it folded."""
    facts = [f"- committed: {answer.committed_at}", f"- trigger: {answer.trigger}"]
    facts += [f"- author: {answer.author}"] if answer.author else []
    facts += [f"- approved by: {answer.approved_by}, {answer.approved_at}"] if answer.approved_by else []
    facts += [f"- undoes: {answer.undoes}"] if answer.undoes is not None else []
    facts += ["- it was undone"] if answer.undone else []
    return joined(f"# Change {answer.number}: {answer.kind}", "\n".join(facts), *what_changes(answer))


def what_changes(answer: "ChangeDetail | PlanDetail") -> list[str]:
    """What a change makes of the bank, or a plan would make of it: diffs, synthesis, notes."""
    parts: list[str] = []
    for item in answer.changes:
        parts += [f"## {item.path} ({item.action})", item.reason or "", fenced(item.diff)]
    if answer.synthesis.after:
        parts += ["## Synthesis", answer.synthesis.after]
    if answer.discarded:
        lines = [f"- {item.get('note_id')}: {within_item(str(item.get('reason')))}" for item in answer.discarded]
        parts += ["## Discarded", "\n".join(lines)]
    if answer.sources:
        parts += ["## Notes", "\n".join(map(_note, answer.sources))]
    return parts


def _file(answer: FileView) -> str:
    return f"# {answer.path}\n\n{(answer.content or '').strip()}"


def _note(answer: NoteView) -> str:
    tags = "".join(f" #{tag}" for tag in answer.tags)
    when, who = answer.said_at or answer.timestamp, within_item(said_by(answer.author or answer.agent, answer.agent))
    source = f" ({origin})" if (origin := _origin(answer)) else ""
    return f"- [{when} {who} {answer.category}{tags}{source}] {within_item(answer.content)}"


def _origin(answer: NoteView) -> str:
    source = answer.source
    if isinstance(source, NoteCapture):
        return "captured from turns {}-{}".format(*source.turns)
    return f"passed on from the space {source.space_id}" if source else ""


def _live(live: LiveNotes) -> str:
    if not live.notes:
        return "None."
    shown = "\n".join(map(_note, live.notes))
    if live.exact and live.count == len(live.notes):
        return shown
    total = f"{live.count}" if live.exact else f"more than {live.count}"
    return f"The newest {len(live.notes)} of {total}, newest last.\n\n{shown}"


def _section(section: SectionSources) -> str:
    name = " > ".join(section.path) or "(before the first heading)"
    found = [f"{source.note_id} (change {source.consolidation})" for source in section.sources]
    found += [f"{section.omitted} older ones"] if section.omitted else []
    found += [f"corrected by hand in change {number}" for number in section.corrections]
    return f"- {name}: {'; '.join(found) or 'nothing known'}"


def fenced(text: str, form: str = "diff") -> str:
    """The text as a block of code, which nothing in it can end."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(MIN_FENCE, longest + 1)
    return f"{fence}{form}\n{text.rstrip(chr(10))}\n{fence}"
