"""The results of an import or of a dry run, for people and for programs."""

from collections import Counter
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from live_memory.cli import texts

NAMED = 100
"""Number of items that are named one by one. Of more items only the number is shown."""

Outcome = Literal["imported", "would_be_imported", "exists_already", "failed"]


@dataclass
class _Report:
    space_id: str
    changed: list[str] = field(default_factory=list, kw_only=True)
    """Content that was changed, in sentences."""
    left_out: list[str] = field(default_factory=list, kw_only=True)
    """Content that was not imported although it should be, in sentences."""
    not_taken: Counter[str] = field(default_factory=Counter, kw_only=True)
    """Kinds of content that are never imported, with their counts."""

    @property
    def complete(self) -> bool:
        """Whether nothing failed or was left out."""
        return not self.left_out

    def document(self) -> dict[str, Any]:
        """For programs. Empty fields are left out."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: value for name, value in values.items() if value not in (None, [], {}, "")}

    def _rest(self) -> list[str]:
        """The last lines of every report: what did not come as it was."""
        told = [f"  changed: {line}" for line in _some(self.changed)]
        told += [f"  left out: {line}" for line in _some(self.left_out)]
        return told + [f"  not taken: {line}" for line in _counted(self.not_taken)]


@dataclass
class SpaceReport(_Report):
    """A space that an import made, or would make. A field that is None is not known here."""

    outcome: Outcome = "would_be_imported"
    source: str = ""
    notes: int | None = None
    agents: list[str] = field(default_factory=list)
    bank_files: int | None = None
    rules: bool | None = None
    synthesis: bool | None = None
    objects: int | None = None
    error: str | None = None

    @property
    def complete(self) -> bool:
        return self.outcome in ("imported", "would_be_imported") and not self.left_out

    def lines(self) -> list[str]:
        """For people."""
        outcome = self.outcome.replace("_", " ")
        counted = {"note": self.notes, "bank file": self.bank_files, "object": self.objects}
        parts = [texts.count(count, name) for name, count in counted.items() if count is not None]
        parts += [name for name, there in (("rules", self.rules), ("synthesis", self.synthesis)) if there]
        made = [f"{self.space_id}: {outcome}{': ' if parts else ''}{', '.join(parts)}"]
        made += [f"  agents: {', '.join(self.agents)}"] if self.agents else []
        made += [f"  {line}" for line in (self.error,) if line]
        return [*made, *self._rest()]


@dataclass
class _IntoSpace(_Report):
    dry_run: bool
    service: str = ""

    def _target(self) -> list[str]:
        """The line that names the space of a dry run."""
        return [f"  would go into {self.space_id}"] if self.space_id and self.dry_run else []


@dataclass
class TalkReport(_IntoSpace):
    """Conversations that were taken into a space."""

    conversations: int = 0
    turns: int = 0
    characters: int = 0
    begun: int = 0
    """Conversations that are new."""
    imported: int = 0
    """Turns that are new."""
    repeated: int = 0
    """Turns that existed already."""
    skipped: int = 0
    """Conversations that are empty, or older than requested."""
    others: int = 0
    """Conversations of other projects, which stay where they are."""

    def lines(self) -> list[str]:
        """For people."""
        counts = ((self.conversations, "conversation"), (self.turns, "turn"), (self.characters, "character"))
        made = [", ".join(texts.count(count, name) for count, name in counts), *self._target()]
        if not self.dry_run:
            begun, new = texts.count(self.begun, "new conversation"), texts.count(self.imported, "new turn")
            made.append(f"  imported into {self.space_id}: {begun}, {new}")
            made += [f"  there already: {texts.count(self.repeated, 'turn')}"] if self.repeated else []
        made += [f"  skipped, as empty or older: {texts.count(self.skipped, 'conversation')}"] if self.skipped else []
        others = f"  of other projects: {texts.count(self.others, 'conversation')}. `--space SPACE` takes all"
        made += [others] if self.others else []
        return [*made, *self._rest()]


@dataclass
class ItemReport(_IntoSpace):
    """Notes and memories that an import wrote into a space, or would write."""

    notes: int = 0
    memories: int = 0
    characters: int = 0
    imported: int = 0
    """Those that were sent now."""
    repeated: int = 0
    """Those that an earlier import has sent."""
    redacted: int = 0
    """Texts that look like secrets, of which only a mark is sent."""
    items: list[str] = field(default_factory=list)
    """What comes, a line for each."""

    def lines(self) -> list[str]:
        """For people."""
        counts = ((self.notes, "note"), (self.memories, "memory"), (self.characters, "character"))
        counted = [texts.count(count, name) for count, name in counts if count]
        made = [f"{self.service}: {', '.join(counted) or 'nothing'}"]
        made += self._target() + [f"  would come: {line}" for line in _some(self.items)] if self.dry_run else []
        if not self.dry_run:
            made.append(f"  imported into {self.space_id}: {self.imported}")
        made += [f"  there already: {self.repeated}"] if self.repeated else []
        made += [f"  without secrets: {texts.count(self.redacted, 'text')} replaced by marks"] if self.redacted else []
        return [*made, *self._rest()]


def _counted(not_taken: Counter[str]) -> list[str]:
    """A line for each kind. The fields of one kind of object (untaken.py) have one line together, after the others."""
    lines, fields = list[str](), dict[str, list[str]]()
    for name, count in not_taken.items():
        of, separator, field_name = name.partition(": ")
        if separator:
            fields.setdefault(of, []).append(f"{field_name} ({count})")
        else:
            lines.append(f"{count} {name}")
    return lines + [f"{of}: {', '.join(names)}" for of, names in fields.items()]


def _some(lines: list[str]) -> list[str]:
    more = len(lines) - NAMED
    return [*lines[:NAMED], *([f"and {more} more"] if more > 0 else [])]
