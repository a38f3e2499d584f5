"""A question as a job: `question`."""

from collections.abc import Iterable
from dataclasses import replace

from livemem.access.principal import Principal
from livemem.ask import question as questions
from livemem.jobs import describable
from livemem.jobs.describable import Describable, Description
from livemem.process import Process
from livemem.store import ask_keys as keys


def find(process: Process, caller: Principal, space_id: str, name: str) -> Description:
    """The question's description, with the requests of `ask.question.load`. Raises InvalidName, QuestionBroken, and
    NotFound, also where another token asked the question with `read` alone.
    """
    question = questions.load(process, space_id, name, caller.name)
    return replace(
        describable.of_job("question", question), space_id=space_id, name=name, subject=question.conversation_id
    )


def listed(process: Process, _: Principal, space_id: str, __: int | None) -> Iterable[tuple[int, str]]:
    """The ids by the time of their last write, the newest first. 1 LIST per 1,000.

    An id that is made of a client's key holds no time.
    """
    entries = process.store.scan(keys.asks_prefix(space_id))
    found = ((int(entry.last_modified.timestamp() * 1_000), keys.parse_question(entry.key)) for entry in entries)
    return sorted(((moment, request_id) for moment, request_id in found if request_id), reverse=True)


DESCRIBABLE = Describable("question", find, listed)
