"""The story, played over the service's own code: notes at their times, a fold after each chapter, tidy runs, the start.

The world is that of the tests: a bucket in memory, and a clock that shows the time of the story.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import groupby
from pathlib import Path
from typing import Any

from benchmarks.bank_quality.key import Key
from benchmarks.bank_quality.recorded_model import RecordedModel
from livemem import clock
from livemem.changes import records
from livemem.changes.records import Record
from livemem.notes import appending
from livemem.recall import start
from livemem.spaces import lifecycle
from livemem.text.language import Lang
from tests.support.world import EVERYONE, World

STORY = Path(__file__).with_name("story.jsonl")
SPACE = "nestbox"
CHAPTERS = 8
"""Folds of the project. What follows them is on another subject."""
SIZES = (4_000, 8_000, 9_500, 16_000)
"""Characters of the starts."""
BY_HAND = 1_000
"""The threshold of the space: above the notes of any chapter, so that folds are ordered alone."""
WAITS = timedelta(minutes=30)


@dataclass(frozen=True)
class Fold:
    """What one chapter left. `code` and `failed`: the error of its fold, or of a model that is down. `records`: its
    changes.
    """

    chapter: int
    notes: int
    code: str
    failed: str
    bank: Mapping[str, str]
    records: Sequence[Record]

    @property
    def size(self) -> int:
        """Characters of the bank."""
        return sum(map(len, self.bank.values()))

    @property
    def before_tidying(self) -> int:
        """Characters of the bank after the fold itself."""
        changed = (
            len(change.after or "") - len(change.before.content if change.before else "")
            for record in self.records
            if record.kind != "consolidation"
            for change in record.files
        )
        return self.size - sum(changed)

    def warnings(self) -> Counter[str]:
        """The warnings of its changes, counted by kind."""
        return Counter(warning.kind for record in self.records for warning in record.warnings)


@dataclass(frozen=True)
class Given:
    """What a way to ask for a start gives `of` so many needs: the ids of the missing ones, by the characters given."""

    name: str
    of: int
    missing: Mapping[int, Sequence[str]]


@dataclass
class Play:
    """One play of the story. `world` is where it is played, so that more can be asked of it."""

    model: RecordedModel
    bank_chars: int = 10_000
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Those of the model, where they are not the usual ones."""
    world: World = field(init=False)

    def __post_init__(self) -> None:
        self.world = World(**{"llmaas_max_tokens": None, **self.settings})
        self.world.llm = self.model  # type: ignore[assignment]

    def folds(self, chapters: int) -> Iterator[Fold]:
        """Play so many chapters, and say at the beginning of each which it is."""
        world, number = self.world, 1
        for chapter, told in groupby(read_story(), lambda row: int(row["fold"])):
            if chapter > chapters:
                return
            rows = list(told)
            if chapter == 1:
                world.clock.moment = clock.parse(rows[0]["at"])
                wanted = lifecycle.SpaceRequest(
                    SPACE, rules_template="standard", threshold=BY_HAND, bank_chars=self.bank_chars
                )
                lifecycle.create(world.process, EVERYONE, wanted)
            for row in rows:
                world.clock.moment = clock.parse(row["at"])
                draft = appending.NoteDraft(
                    row["category"], row["content"], said_at=row.get("said_at"), author=row.get("author")
                )
                appending.append(world.process, SPACE, row["agent"], draft)
            world.clock.moment += WAITS
            print(f"Chapter {chapter} of {chapters}: {len(rows)} notes, to {rows[-1]['at'][:10]}", flush=True)
            self.model.begin(f"fold {chapter}", [row["content"] for row in rows], list(world.bank(SPACE)))
            ended = world.consolidate(SPACE)
            if world.queued:
                print(f"Chapter {chapter} of {chapters}: what follows the fold", flush=True)
            self.model.begin(f"fold {chapter}", [], list(world.bank(SPACE)), tidies=True)
            world.settle()
            error = self.model.down or ended.error
            code, failed = (error.code, error.detail) if error else ("", "")
            made = records.names(world.process, SPACE, since=number)
            number += len(made)
            yield Fold(
                chapter,
                len(rows),
                code,
                failed,
                world.bank(SPACE),
                [records.read(world.process, SPACE, name) for name in made],
            )

    def starts(self, question: str | None, lang: Lang | None = None) -> dict[int, str]:
        """What an agent is given at its start, by the characters that it may have."""
        wanted = (start.StartRequest(max_chars=size, q=question, lang=lang) for size in SIZES)
        return {one.max_chars: start.start(self.world.process, SPACE, one).markdown for one in wanted}

    def needs(self, key: Key) -> list[Given]:
        """What each way to ask for a start gives of the needed facts."""
        needs = key.needs
        ways: tuple[tuple[str, Sequence[str], str | None, Lang | None], ...] = (
            ("agent", needs.facts, None, None),
            ("agent, with its question", needs.facts, needs.question, None),
            ("French colleague", needs.french_facts, None, "fr"),
            ("French colleague, with the question", needs.french_facts, needs.french_question, "fr"),
        )
        return [
            Given(
                name,
                len(ids),
                {
                    size: [one.id for one in key.missing(text, ids)]
                    for size, text in self.starts(question, lang).items()
                },
            )
            for name, ids, question, lang in ways
        ]


def read_story() -> list[dict[str, Any]]:
    """The notes in their order: chapter (`fold`), time, agent, category, text, and where known `said_at`, `author`."""
    return [json.loads(line) for line in STORY.read_text("utf-8").splitlines()]
