"""The fields of requests and answers, each described once: for people, for OpenAPI and for the model."""

from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    SerializerFunctionWrapHandler,
    model_serializer,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from livemem import clock, limits
from livemem.jobs.describable import KindName, job_id
from livemem.llm.usage import Usage
from livemem.spaces import head as heads
from livemem.spaces import rules
from livemem.store import keys
from livemem.text.redaction import KINDS


def described(description: str, *examples: Any, **schema: Any) -> Any:
    """The description of a value in OpenAPI. The domain checks the value, in bytes and with its own messages.

    The first example is also that of the bodies and answers that hold the value; without one a body leaves it out.
    """
    if schema:
        return Field(description=description, examples=list(examples) or None, json_schema_extra=schema)
    # What is not given here must not take the place of what the type says.
    return Field(description=description, examples=list(examples)) if examples else Field(description=description)


Redacted = Annotated[
    dict[str, int] | None,
    described(
        "How many texts that look like secrets were replaced by `[redacted:<kind>]`, or by `***` where that would be "
        f"longer, by kind: {', '.join(f'`{kind}`' for kind in KINDS)} (`token`: one of this service). Only if there "
        "were any."
    ),
]


SpaceId = Annotated[str, described("The id of the space.", "demo", pattern=f"^{keys.SPACE_ID.pattern}$")]


Agent = Annotated[
    str, described("The name of an agent, which is that of its token.", "cline-dev", pattern=f"^{keys.AGENT.pattern}$")
]


Description = Annotated[
    str, described("What the space is for, in at most 500 bytes.", "My project", maxLength=limits.DESCRIPTION_BYTES)
]


Owner = Annotated[str, described("Who answers for the space, in at most 200 bytes.", maxLength=limits.OWNER_BYTES)]


RulesText = Annotated[
    str,
    described(
        "Rules of your own, as Markdown of at most 50,000 bytes: which files the bank has and what belongs where.",
        minLength=1,
        maxLength=limits.RULES_BYTES,
    ),
]


Template = Annotated[
    str, described("The name of rules that come with the service.", "standard", enum=list(rules.TEMPLATES))
]


Threshold = Annotated[
    int,
    Field(
        description="Live notes that start a consolidation by themselves. 0: it is only started by hand.",
        examples=[20],
        ge=0,
        le=limits.THRESHOLD,
    ),
]


Category = Annotated[str, described("What kind of note it is.", "decision", enum=list(keys.CATEGORIES))]


NoteText = Annotated[
    str,
    described(
        "What is to be remembered, as Markdown of at most 100,000 bytes.",
        "We keep S3 as the only store.",
        minLength=1,
        maxLength=limits.NOTE_BYTES,
    ),
]


Tag = Annotated[str, described("A word to find the note by.", "storage", minLength=1, maxLength=limits.TAG_CHARACTERS)]


IdempotencyKey = Annotated[
    str,
    described(
        "A name of your own for this note. A repeat with the same name within 7 days answers 200 with the first note "
        "and writes nothing; with another note it is refused (422).",
        "job-17-step-3",
        minLength=1,
        maxLength=limits.IDEMPOTENCY_KEY_CHARACTERS,
    ),
]


Moment = Annotated[
    str, described("A time in ISO 8601; without an offset UTC.", "2026-02-20T14:00:00Z", format="date-time")
]


FileText = Annotated[
    str,
    described(
        "The whole file, as Markdown of at most 500,000 bytes, without front matter.",
        "# Glossary\n\n## Terms\n\n- Bank: the files that an agent loads.\n",
        maxLength=limits.BANK_FILE_BYTES,
    ),
]


Reason = Annotated[
    str,
    described("Why, in at most 500 bytes, for the history.", "The terms were missing.", maxLength=limits.REASON_BYTES),
]


Language = Annotated[
    str,
    described("A language tag.", "fr", pattern=f"^{heads.LANGUAGE.pattern}$", maxLength=heads.LANGUAGE_CHARACTERS),
]


Timezone = Annotated[
    str, described("The name of a time zone (IANA).", "Europe/Paris", pattern=f"^{clock.ZONE.pattern}$", maxLength=98)
]


NoteId = Annotated[
    str,
    described(
        "The id of the note: when it was written (UTC), by whom, its category and 8 hex digits.",
        "20260220T140000_cline-dev_decision_1a2b3c4d",
    ),
]


RunId = Annotated[str, described("The id of the run, an ULID.", "01KHXE5Q2V8R0M4T6W9YBNCD3F")]


def job_described(kind: KindName, name: str) -> Any:
    """The description in OpenAPI of the job in an answer of the kind's own route. `name` is an example."""
    return described(
        "The same as a job: `GET /v1/jobs/{job}` tells in one form how work of any kind stands.",
        job_id("demo", kind, name),
    )


PlanRevision = Annotated[
    str,
    described(
        "Tells the plan from any other: who approves names the one that was read.", "9f2c4e1b7d3a5c60918273645a6b7c8d"
    ),
]


Path = Annotated[str, described("The path of the file below the bank.", "glossary.md")]


Number = Annotated[int, described("The number of the change in the history of the space, from 1.", 1)]


NextCursor = Annotated[
    str | None, described("Send it as `cursor` to get the next page; null: this was the last one.", None)
]


Model = Annotated[str | None, described("The model that was asked; left out: none was.", "qwen3-2507:235b")]


Metrics = Annotated[
    dict[str, Any],
    described(
        "What the run counted: notes (`notes_processed`, `notes_remaining`, `notes_discarded`, `notes_uncited`), files "
        "(`bank_files_created`, ...), calls and tokens of the LLM, `synthesis_size` in bytes, `duration_seconds`. "
        "Empty for what was not counted.",
        {"notes_processed": 1, "notes_remaining": 0, "bank_files_created": 1, "llm_calls": 1, "duration_seconds": 4.2},
    ),
]


Discarded = Annotated[
    list[dict[str, Any]],
    described("Notes that the LLM found not worth keeping: `note_id` and `reason` of each.", []),
]


AUTO_PAUSED = (
    "True from the undo of a consolidation or the refusal of a plan on: else the notes would set off the very "
    "consolidation that was undone or refused. None starts by itself until one that was started by hand has ended "
    "well, or a PATCH sets it to false, which starts a run at once if the threshold is reached."
)


CORRECTIONS = (
    "The permission that editing sections of the bank takes, and approving or refusing a plan. Only an admin changes "
    "it."
)


CONSOLIDATION_MODE = (
    "`auto`: a consolidation is committed as soon as it is made. `review`: its plan waits until somebody approves it, "
    "and no other is made meanwhile. Only an admin changes it."
)


CAPTURE_ALLOWED = (
    "Whether notes may be captured from what is said in conversations. Where it is false a conversation is begun with "
    "`capture` `off`, and no block names notes any more. Only an admin changes it."
)


LANGUAGE = "The language that the bank is written in, as a tag (RFC 5646). Without one that of the rules."


TIMEZONE = (
    "The time zone in which the space's digests have their hours. Without one that of the service (`DEFAULT_TIMEZONE`)."
)


class ApiModel(BaseModel):
    """Base of bodies and answers. A model is built at its first use: a function needs only one of them for a cold
    request.
    """

    model_config = ConfigDict(defer_build=True)


NULLABLE = "next_cursor"
"""The one field that can be null in an answer."""


class View(ApiModel):
    """Base of answers. A field without a value is left out, at every door. Only `next_cursor` is null: on the last
    page.

    So an answer costs no tokens for what it does not say. A field that can be None has None as its default.
    """

    @model_serializer(mode="wrap")
    def _without_none(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in serialise(self).items() if value is not None or name == NULLABLE}

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        # Of what a serialiser of one's own returns, pydantic only knows that it is some object.
        told = handler({name: part for name, part in schema.items() if name != "serialization"})
        for name, field in handler.resolve_ref_schema(told).get("properties", {}).items():
            if name != NULLABLE:
                present = [part for part in field.pop("anyOf", []) if part != {"type": "null"}]
                field.update({"anyOf": present} if len(present) > 1 else {**(present[0] if present else {}), **field})
        return told


class Body(ApiModel):
    """Base of request bodies: types are not guessed, and a misspelt field is an error, not a silent loss."""

    model_config = ConfigDict(extra="forbid", strict=True)


Unreadable = Annotated[
    list[str] | None,
    described(
        "The keys of objects that cannot be read, and are left out; only where there are any. "
        "`POST .../quarantine` sets one aside."
    ),
    AfterValidator(lambda keys: keys or None),
]


class Gapped(View):
    """Base of lists that leave out unreadable objects. They name these objects; without any, the field is absent."""

    unreadable: Unreadable = None


class LlmUsage(View):
    """The use of the LLM."""

    calls: Annotated[int, described("Calls, corrections among them.", 2)]
    prompt_tokens: Annotated[int, described("Tokens of questions, by the provider's count.", 2_400)]
    completion_tokens: Annotated[int, described("Tokens of answers, by the provider's count.", 310)]
    estimated_tokens: Annotated[int, described("Tokens of calls that the provider did not count, estimated.", 0)]
    prompts_cut: Annotated[int, described("Calls of whose question the provider read a part only.", 0)]

    @classmethod
    def of(cls, used: Usage) -> "LlmUsage":
        return cls.model_validate(used, from_attributes=True)
