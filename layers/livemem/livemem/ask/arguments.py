"""The arguments of each tool, as checked models. The schemas that the LLM sees are made of them.

Types are converted where the value is unambiguous (`"5"` is a number), because LLMs do not keep to types.
"""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from livemem.ask.question import Expression
from livemem.memories.memory import SUBJECTS
from livemem.store.stored_documents import LazyModel

RECENT_MOST = 20
SOURCES_MOST = 30
MESSAGE_CHARACTERS = 8_000
"""Of an answer."""
REASON_CHARACTERS = 300

ID_CHARACTERS = 4_000
QueryText = Annotated[str, Field(min_length=1, max_length=1_000)]
MemoryText = Annotated[str, Field(min_length=1, max_length=4_000)]
SelfCategory = Literal["context", "capability", "limitation", "preference", "relation"]
GoalCategory = Literal["capability_request", "understanding", "connection", "curiosity"]


def _undescribed(schema: dict[str, Any]) -> None:
    # The docstring of a class says nothing to a model: its tool is described.
    schema.pop("description", None)


class Arguments(LazyModel):
    """Base of what tools take."""

    model_config = ConfigDict(extra="ignore", frozen=True, json_schema_extra=_undescribed)


class Looking(Arguments):
    """Of all searches."""

    query: QueryText


class ReadingOne(Arguments):
    """Of reading by an id."""

    id: Annotated[str, Field(min_length=1, max_length=ID_CHARACTERS)]
    cursor: Annotated[str | None, Field(description="That of the page before, or null.")] = None


class Recent(Arguments):
    """Of the newest memories."""

    limit: Annotated[int, Field(ge=1, le=RECENT_MOST)] = 10


class StoringFact(Arguments):
    """Of a fact."""

    content: MemoryText
    subjects: Annotated[
        list[str], Field(max_length=SUBJECTS, description="Whom or what it is about: lower-case words.")
    ] = []
    ttl: Annotated[str | None, Field(description="How long it holds: 30m, 12h, 7d, 2w, 1y; null: for ever.")] = None


class StoringSelf(Arguments):
    """Of what the agent is."""

    content: MemoryText
    category: SelfCategory


class StoringGoal(Arguments):
    """Of what the agent wants."""

    content: MemoryText
    category: GoalCategory


class Deleting(Arguments):
    """Of the deletion of a memory."""

    id: str
    reason: Annotated[str, Field(max_length=REASON_CHARACTERS)]


class Responding(Arguments):
    """Of the answer."""

    message: Annotated[str, Field(min_length=1, max_length=MESSAGE_CHARACTERS)]
    sources: Annotated[list[str], Field(max_length=SOURCES_MOST)] = []


class RespondingWithExpression(Responding):
    """Of the answer to a caller who shows a face."""

    expression: Expression
