"""The filters that lists of notes and searches have in common."""

from typing import Annotated

from aws_lambda_powertools.event_handler.openapi.params import Query

from livemem_http import views

OfAgent = Annotated[views.Agent | None, Query(description="Only notes of this agent.", examples=["cline-dev"])]
OfSpeaker = Annotated[
    str | None,
    Query(
        description="Only documents of this author: a person or an agent, as hits name it.",
        examples=["cline-dev"],
        min_length=1,
    ),
]
OfCategory = Annotated[views.Category | None, Query(description="Only notes of this category.", examples=["decision"])]
Tagged = Annotated[str | None, Query(description="Only notes with this tag.", examples=["storage"])]
OfTopic = Annotated[
    str | None,
    Query(
        description="Only summaries that name this topic, as a summary spells it, in any case.",
        examples=["timetable import"],
    ),
]
OfEntity = Annotated[
    str | None,
    Query(
        description="Only summaries that name this person, organisation, artifact, place or time, in any case.",
        examples=["Ines"],
    ),
]
Since = Annotated[
    str | None,
    Query(
        description="Only documents of this time or later: ISO 8601, by default UTC, or a day in the space's time "
        "zone.",
        examples=["2026-02-20T00:00:00Z"],
    ),
]
Least = Annotated[
    float | None,
    Query(
        description="Only results with at least this `relevance`, 0 to 1. The limit does not apply to results "
        "without a vector. 0: everything, as with `everything`.",
        examples=[0.2],
    ),
]
Everything = Annotated[
    bool, Query(description="Whether to return what is nearest even if it does not answer the question.")
]
Until = Annotated[
    str | None,
    Query(
        description="Only documents of this time or earlier: ISO 8601, by default UTC, or a day in the space's time "
        "zone, to its end.",
        examples=["2026-02-28"],
    ),
]
