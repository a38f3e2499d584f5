"""Sections of the bank and memories that were not confirmed for long, the longest first.

A section is confirmed by the newest note that it rests on, by a correction by hand, or by an edit that confirms it. A
memory is confirmed when an agent or person stores, repeats, corrects, splits or restores it.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Literal

from livemem import clock
from livemem.bank import files
from livemem.errors import InvalidRequest
from livemem.memories import log
from livemem.process import Process
from livemem.recall import bank_sections
from livemem.spaces import contents
from livemem.spaces import head as heads
from livemem.store.keys import MEMORY_KINDS, MemoryKind

DAYS_DEFAULT = 90
DAYS_MOST = 3_650
LIMIT_DEFAULT = 50
LIMIT_MOST = 500
EXCERPT_CHARACTERS = 200


@dataclass(frozen=True)
class StaleItem:
    """A section or memory. `id` is that of `read`, `verified_at` the time of its last confirmation."""

    kind: Literal["section", "memory"]
    id: str
    excerpt: str
    verified_at: str


@dataclass(frozen=True)
class StaleList:
    """The items that were asked for, the longest unconfirmed first, and how many there are in all."""

    items: list[StaleItem]
    count: int


def stale(process: Process, space_id: str, *, days: int = DAYS_DEFAULT, limit: int = LIMIT_DEFAULT) -> StaleList:
    """The sections and memories that were not confirmed for `days` days.

    1 GET and 1 LIST; 1 GET for each bank file and each record that wrote one, as far as this process has not seen them
    (bank_sections.RECORDS_MOST); 2 LIST for each kind of memories, 1 where this process has seen it, and the reads of
    its new operations. Raises NotFound, InvalidRequest.
    """
    if not 1 <= days <= DAYS_MOST:
        raise InvalidRequest.of("days", f"must be from 1 to {DAYS_MOST}")
    if not 1 <= limit <= LIMIT_MOST:
        raise InvalidRequest.of("limit", f"must be from 1 to {LIMIT_MOST}")
    heads.load(process, space_id)
    before = process.clock() - timedelta(days=days)
    batches = process.store.concurrently(
        partial(_sections, process, space_id),
        *(partial(_memories, process, space_id, kind) for kind in MEMORY_KINDS),
    )
    results: list[StaleItem] = [item for batch in batches for item in batch]
    old = sorted(
        (result for result in results if _moment(result) < before), key=lambda result: (_moment(result), result.id)
    )
    return StaleList(old[:limit], len(old))


def _moment(stale_item: StaleItem) -> datetime:
    return clock.parse(stale_item.verified_at)


def _sections(process: Process, space_id: str) -> list[StaleItem]:
    bank = files.with_content(process, contents.bank_files(process, space_id))
    # Which of them are loaded first does not matter here, so the rules need not be read.
    sections = bank_sections.sections_of("", bank, bank_sections.rest_on(process, space_id, bank))
    return [StaleItem("section", section.id, _excerpt(section.text), section.verified_at) for section in sections]


def _memories(process: Process, space_id: str, kind: MemoryKind) -> list[StaleItem]:
    missing: list[str] = []
    alive = log.load(process, space_id, kind, missing).alive(process.clock())
    return [
        StaleItem("memory", f"memories/{item.memory_id}", _excerpt(item.content), item.updated_at) for item in alive
    ]


def _excerpt(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= EXCERPT_CHARACTERS else line[: EXCERPT_CHARACTERS - 1] + "…"
