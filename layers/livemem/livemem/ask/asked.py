"""The questions of a space as a list, so that a person finds one that was asked before."""

from dataclasses import replace

from livemem.access.principal import Principal
from livemem.ask import question as questions
from livemem.ask.question import Question
from livemem.errors import NotFound, ObjectUnreadable
from livemem.jobs import describable
from livemem.jobs.describable import Description
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.store import keys
from livemem.store.bucket import QUESTION

Place = tuple[int, str]
"""Of a question in the list: the time of its last write in milliseconds since 1970, and its id."""


def places(process: Process, space_id: str) -> list[Place]:
    """The places of all questions, the newest first: 1 LIST per 1,000. Ids made of a client's key hold no time."""
    entries = process.store.scan(QUESTION.prefix(space_id))
    question_places = ((int(entry.last_modified.timestamp() * 1_000), QUESTION.last(entry.key)) for entry in entries)
    return sorted(((moment, request_id) for moment, request_id in question_places if request_id), reverse=True)


def place_text(place: Place | None) -> str | None:
    """The place as a cursor holds it; None for the end of the list."""
    return f"{place[0]}.{place[1]}" if place else None


def parse_place(text: str) -> Place:
    """The place in such a text. Raises ValueError."""
    moment, _, request_id = text.partition(".")
    return int(moment), keys.check_request_id(request_id)


def page(
    process: Process,
    space_id: str,
    reader: str,
    *,
    limit: int,
    after: Place | None = None,
    missing: list[str] | None = None,
) -> tuple[list[Question], Place | None]:
    """The questions that the reader may see, those with the newest progress first, and the place after which the next
    page begins.

    1 LIST per 1,000 questions, 1 GET for each of the page. A page may be shorter than `limit` although there are more:
    it leaves out what the reader may not see, and what cannot be read, whose key is added to `missing`. Raises
    NotFound.
    """
    heads.load_recent(process, space_id)
    remaining = [place for place in places(process, space_id) if after is None or place < after]
    questions_read = process.store.map(
        lambda place: _one(process, space_id, place[1], reader, missing), remaining[:limit]
    )
    return [question for question in questions_read if question], remaining[limit - 1] if len(
        remaining
    ) > limit else None


def _one(process: Process, space_id: str, request_id: str, reader: str, missing: list[str] | None) -> Question | None:
    try:
        return questions.load(process, space_id, request_id, reader)
    except NotFound:
        # Removed since it was listed, or not for this reader.
        return None
    except ObjectUnreadable as error:
        if missing is not None and error.key:
            missing.append(error.key)
        return None


def described(process: Process, caller: Principal, space_id: str, name: str) -> Description:
    """The question as a job, with the requests of `ask.question.load`. Raises InvalidName, QuestionBroken, and
    NotFound, also where another token asked the question with `read` alone.
    """
    question = questions.load(process, space_id, name, caller.name)
    return of_question(question)


def of_question(question: Question) -> Description:
    """The question as a job. Its subject is its conversation."""
    return replace(describable.of_job("question", question), subject=question.conversation_id, result=question)
