"""The arguments of each tool, as checked models. The schemas that the LLM sees are made of them.

Types are converted where the value is unambiguous (`"5"` is a number), because LLMs do not keep to types.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from livemem.ask.question import Expression
from livemem.memories.memory import SUBJECTS

RECENT_MOST = 20
SOURCES_MOST = 30
MESSAGE_CHARACTERS = 8_000
"""Of an answer."""
REASON_CHARACTERS = 300

Query = Annotated[str, Field(min_length=1, max_length=1_000, description="The query, in a few words.")]
Content = Annotated[
    str, Field(min_length=1, max_length=4_000, description="One fact, in a sentence that is understood alone.")
]
SelfCategory = Literal["context", "capability", "limitation", "preference", "relation"]
GoalCategory = Literal["capability_request", "understanding", "connection", "curiosity"]


class Arguments(BaseModel):
    """Base of what tools take."""

    model_config = ConfigDict(extra="ignore", frozen=True, defer_build=True)


class Looking(Arguments):
    """Of all searches."""

    query: Query


class Recent(Arguments):
    """Of the newest memories."""

    limit: Annotated[int, Field(ge=1, le=RECENT_MOST, description=f"How many, from 1 to {RECENT_MOST}.")] = 10


class StoringFact(Arguments):
    """Of a fact."""

    content: Content
    subjects: Annotated[
        list[str], Field(max_length=SUBJECTS, description="Whom or what it is about: a few lower-case words.")
    ] = []
    ttl: Annotated[
        str | None,
        Field(description="How long it holds, such as 30m, 12h, 7d, 2w or 1y; null: for ever."),
    ] = None


class StoringSelf(Arguments):
    """Of what the agent is."""

    content: Content
    category: Annotated[SelfCategory, Field(description="What it tells of you.")]


class StoringGoal(Arguments):
    """Of what the agent wants."""

    content: Content
    category: Annotated[GoalCategory, Field(description="What kind of goal it is.")]


class Deleting(Arguments):
    """Of the deletion of a memory."""

    id: Annotated[str, Field(description="The id of a memory that a tool has shown you for this question.")]
    reason: Annotated[
        str, Field(max_length=REASON_CHARACTERS, description="Why it is wrong or unwanted; it stays in the log.")
    ]


class Responding(Arguments):
    """Of the answer."""

    message: Annotated[
        str,
        Field(
            min_length=1,
            max_length=MESSAGE_CHARACTERS,
            description="The answer itself, in the language of the question.",
        ),
    ]
    sources: Annotated[
        list[str],
        Field(max_length=SOURCES_MOST, description="The ids of the results that it rests on, as the tools gave them."),
    ] = []


class RespondingWithExpression(Responding):
    """Of the answer to a caller who shows a face."""

    expression: Annotated[Expression, Field(description="How you look while you say it.")]
