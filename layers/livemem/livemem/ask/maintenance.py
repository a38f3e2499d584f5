"""The part of questions in upkeep: restarts abandoned questions, and removes those that are kept no longer."""

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice

from livemem.ask import question
from livemem.ask.question import Question
from livemem.ask.sessions import Session
from livemem.errors import InvalidName, LiveMemoryError
from livemem.jobs import worker
from livemem.jobs.describable import Describable
from livemem.jobs.package import Package, Space
from livemem.process import Process
from livemem.spaces import due_index
from livemem.spaces.due_index import Done, Due
from livemem.store.bucket import QUESTION, SESSION
from livemem.store.objects import DELETE_BATCH, Entry

logger = logging.getLogger(__name__)


def start_due(process: Process, due: Sequence[Due], deadline: datetime) -> Done:
    """Start the questions again whose worker may have died. Returns how many, by space. 1 GET each, and 1 DeleteObjects
    for those that have ended.
    """
    looks = due_index.look_at(process, due, deadline, lambda entry: _start(process, entry), at_rest=None)
    started = Counter(entry.space_id for entry, begun in looks if begun)
    return {"questions_started": started} if started else {}


def _start(process: Process, due: Due) -> bool | None:
    """Whether it was started again; None where nothing is left to do."""
    try:
        saved = question.find(process, due.space_id, due.name)
        if not saved or saved.value.ended():
            return None
        # The sweep has no use for the search that the kind's steps load.
        process.enqueue("ask", worker.payload("question", due.space_id, due.name))
    except InvalidName:
        return None
    except LiveMemoryError as error:
        # The next sweep finds it again.
        logger.warning("question was not looked at", extra={"space_id": due.space_id, "error_code": error.code})
        return False
    return True


def maintain(process: Process, space: Space) -> Mapping[str, float]:
    """Once a day, remove the questions and sessions that are old: 1 LIST per 1,000 of each."""
    if space.folders.isdisjoint({"_asks", "sessions"}):
        return {}
    removed = _remove_old(process, space.space_id)
    return {"removed_questions": removed} if removed else {}


def _remove_old(process: Process, space_id: str) -> int:
    """Remove questions and sessions that are kept no longer, at most 1,000 of each. Returns how many questions."""
    retention = timedelta(days=process.settings.run_retention_days)

    def old(entries: Iterable[Entry]) -> list[str]:
        return list(islice((entry.key for entry in entries if entry.age > retention), DELETE_BATCH))

    doomed = old(process.store.scan(QUESTION.prefix(space_id)))
    process.store.delete_many([*doomed, *old(process.store.scan(SESSION.prefix(space_id)))])
    return len(doomed)


PACKAGE = Package(
    jobs={"question": Describable(question.described, question.listing)},
    maintain=maintain,
    due={"question": start_due},
    objects={
        QUESTION: Question.from_bytes,
        SESSION: Session.from_bytes,
    },
)
