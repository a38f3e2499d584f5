"""The part of questions in upkeep: those that nobody goes on with, and those that are kept no longer."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import timedelta
from itertools import islice

from livemem.ask.question import Question
from livemem.ask.sessions import Session
from livemem.errors import StoreUnavailable
from livemem.jobs.maintainable import MORE_WORK, DocumentKind, Maintainable, Space
from livemem.process import Process
from livemem.store import ask_keys as keys
from livemem.store import timing
from livemem.store.objects import DELETE_BATCH, Entry

AT_ONCE = 100
"""Questions that one look starts again."""


def maintain(process: Process, space: Space) -> Mapping[str, float]:
    """Start again the questions whose worker died, and on the look of once a day remove the old ones: 1 LIST per 1,000
    questions that are open, on the daily look per 1,000 of all, and 1 per 1,000 sessions.
    """
    done: dict[str, float] = {}
    if space.daily and space.folders.isdisjoint(keys.FOLDERS):
        return {}
    prefix = keys.asks_prefix(space.space_id) if space.daily else keys.open_prefix(space.space_id)
    listed = list(process.store.scan(prefix))
    opened = [entry for entry in listed if keys.parse_open(entry.key)]
    left = [one for entry in opened if entry.age > timing.DEAD_AFTER and (one := keys.parse_open(entry.key))]
    for request_id in left[:AT_ONCE]:
        # The next look finds it again.
        with suppress(StoreUnavailable):
            process.enqueue("ask", {"space_id": space.space_id, "request_id": request_id})
    if opened:
        done[MORE_WORK] = 1
    if left:
        done["questions_started"] = len(left[:AT_ONCE])
    removed = _remove_old(process, space.space_id, listed) if space.daily else 0
    return {**done, **({"removed_questions": removed} if removed else {})}


def _remove_old(process: Process, space_id: str, asks: Iterable[Entry]) -> int:
    """Remove questions and sessions that are kept no longer, at most 1,000 of each; returns how many questions."""
    kept = timedelta(days=process.settings.run_retention_days)

    def old(entries: Iterable[Entry]) -> list[str]:
        return list(islice((entry.key for entry in entries if entry.age > kept), DELETE_BATCH))

    doomed = old(asks)
    process.store.delete_many([*doomed, *old(process.store.scan(keys.sessions_prefix(space_id)))])
    return len(doomed)


def kind(name: str) -> DocumentKind | None:
    """Questions, and the sessions that they are asked in."""
    if keys.parse_question(f"x/{name}"):
        return DocumentKind(Question.from_bytes)
    return DocumentKind(Session.from_bytes) if keys.parse_session(f"x/{name}") else None


MAINTAINABLE = Maintainable(owns=keys.is_of_asks, maintain=maintain, kind=kind)
