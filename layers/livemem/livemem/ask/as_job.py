"""A question as a job: `question`."""

from collections.abc import Iterable
from dataclasses import replace

from livemem.access.principal import Principal
from livemem.ask import asked
from livemem.ask import question as questions
from livemem.jobs import describable
from livemem.jobs.describable import Describable, Description
from livemem.process import Process


def find(process: Process, caller: Principal, space_id: str, name: str) -> Description:
    """The question's description, with the requests of `ask.question.load`. Raises InvalidName, QuestionBroken, and
    NotFound, also where another token asked the question with `read` alone.
    """
    question = questions.load(process, space_id, name, caller.name)
    return replace(
        describable.of_job("question", question), space_id=space_id, name=name, subject=question.conversation_id
    )


def listed(process: Process, _: Principal, space_id: str, __: int | None) -> Iterable[tuple[int, str]]:
    """The ids by the time of their last write, the newest first. 1 LIST per 1,000."""
    return asked.places(process, space_id)


DESCRIBABLE = Describable("question", find, listed)
