"""The fields of requests and answers, each described once: for people, for OpenAPI and for the model."""

from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    GetJsonSchemaHandler,
    SerializerFunctionWrapHandler,
    model_serializer,
)
from pydantic import Tag as FormTag
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from livemem import clock, limits
from livemem.errors import TooLarge
from livemem.jobs.describable import KindName, job_id
from livemem.jobs.job import Status
from livemem.llm.usage import Usage
from livemem.spaces import head as heads
from livemem.spaces import rules
from livemem.store import keys
from livemem.store.stored_documents import LazyModel
from livemem.text.code_version import BRANCH_CHARACTERS
from livemem.text.redaction import KINDS
from livemem_http import bodies


def described(description: str, *examples: Any, **schema: Any) -> Any:
    """The description of a value in OpenAPI. The domain checks the value, in bytes and with its own messages.

    The first example is also that of the bodies and answers that hold the value; without one a body leaves it out.
    """
    if schema:
        return Field(description=description, examples=list(examples) or None, json_schema_extra=schema)
    # What is not given here must not take the place of what the type says.
    return Field(description=description, examples=list(examples)) if examples else Field(description=description)


ALONE, SEVERAL = FormTag(bodies.ALONE), FormTag(bodies.SEVERAL)
"""The forms of a body that is one thing, or several as `items`."""


def by(name: str, form: str) -> Discriminator:
    """Takes this form of what has a field of this name."""
    return Discriminator(lambda value: form if isinstance(value, dict) and name in value else bodies.ALONE)


BY_ITEMS = by("items", bodies.SEVERAL)


def at_most(most: int, unit: str) -> BeforeValidator:
    """A bound of `items` that is checked before the first one: each one that is wrong costs errors of its own."""

    def check(items: Any) -> Any:
        if isinstance(items, list) and len(items) > most:
            raise TooLarge.of("items", len(items), most, unit)
        return items

    return BeforeValidator(check)


Redacted = Annotated[
    dict[str, int] | None,
    described(
        "The number of replaced texts that looked like secrets, by kind. Each was replaced by `[redacted:<kind>]`, or "
        f"by `***` where that would be longer. The kinds: {', '.join(f'`{kind}`' for kind in KINDS)} (`token`: a "
        "token of this service). Absent if nothing was replaced."
    ),
]


SpaceId = Annotated[str, described("The id of the space.", "demo", pattern=f"^{keys.SPACE_ID.pattern}$")]


Agent = Annotated[
    str,
    described("The name of an agent, which is the name of its token.", "cline-dev", pattern=f"^{keys.AGENT.pattern}$"),
]


WrittenBy = Annotated[
    str | None, described("The name of the token that wrote it. Only if it names another author.", "cline-dev")
]


Description = Annotated[
    str, described("The purpose of the space, in at most 500 bytes.", "My project", maxLength=limits.DESCRIPTION_BYTES)
]


Owner = Annotated[str, described("The responsible person or team, in at most 200 bytes.", maxLength=limits.OWNER_BYTES)]

Repository = Annotated[
    str,
    described(
        "What the space is the memory of, such as the host and path of a repository's remote, in at most 300 bytes.",
        "github.com/acme/api",
        maxLength=limits.REPOSITORY_BYTES,
    ),
]


CodeRepository = Annotated[
    str | None,
    described(
        "The repository that was worked on: host, owner and name.",
        "github.com/acme/api",
        maxLength=limits.REPOSITORY_BYTES,
    ),
]
Branch = Annotated[
    str | None,
    described("Its branch: letters, digits and `./@#+=,%-_`.", "feature/retry", maxLength=BRANCH_CHARACTERS),
]
Commit = Annotated[
    str | None, described("Its commit: the first 12 hex digits are kept.", "0123456789ab", minLength=12, maxLength=64)
]


RulesText = Annotated[
    str,
    described(
        "Your own rules, as Markdown of at most 50,000 bytes.",
        minLength=1,
        maxLength=limits.RULES_BYTES,
    ),
]


Template = Annotated[
    str, described("A template: rules that come with the service.", "standard", enum=list(rules.TEMPLATES))
]


Threshold = Annotated[
    int,
    Field(
        description="Number of live notes that starts a consolidation. 0: it starts only by hand.",
        examples=[20],
        ge=0,
        le=limits.THRESHOLD,
    ),
]


BankChars = Annotated[
    int,
    Field(
        description="Number of characters that the bank should have: 0 for any, or 2,000 to 500,000.",
        examples=[10_000],
        ge=0,
        le=limits.MOST_BANK_CHARS,
    ),
]


Category = Annotated[str, described("The category of the note.", "decision", enum=list(keys.CATEGORIES))]


NoteText = Annotated[
    str,
    described(
        "The text of the note, as Markdown of at most 100,000 bytes.",
        "We keep S3 as the only store.",
        minLength=1,
        maxLength=limits.NOTE_BYTES,
    ),
]


Tag = Annotated[
    str, described("A word by which the note can be found.", "storage", minLength=1, maxLength=limits.TAG_CHARACTERS)
]


IdempotencyKey = Annotated[
    str,
    described(
        "A name of your own for this request. A repeat with the same name within 7 days returns the first "
        "notes (200) and writes only those that are missing. The same name with other notes is refused (422).",
        "job-17-step-3",
        minLength=1,
        maxLength=limits.IDEMPOTENCY_KEY_CHARACTERS,
    ),
]


Moment = Annotated[
    str, described("A time in ISO 8601. Without an offset, it is UTC.", "2026-02-20T14:00:00Z", format="date-time")
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
    described(
        "The reason, in at most 500 bytes, for the history.",
        "The terms were missing.",
        maxLength=limits.REASON_BYTES,
    ),
]


Language = Annotated[
    str,
    described(
        "A language tag (RFC 5646).", "fr", pattern=f"^{heads.LANGUAGE.pattern}$", maxLength=heads.LANGUAGE_CHARACTERS
    ),
]


Timezone = Annotated[
    str, described("The name of a time zone (IANA).", "Europe/Paris", pattern=f"^{clock.ZONE.pattern}$", maxLength=98)
]


NoteId = Annotated[
    str,
    described(
        "The id of the note: the time when it was written (UTC), its agent, its category, and 8 hex digits.",
        "20260220T140000_cline-dev_decision_1a2b3c4d",
    ),
]


RunId = Annotated[str, described("The id of the run, a ULID.", "01KHXE5Q2V8R0M4T6W9YBNCD3F")]


def job_described(kind: KindName, name: str) -> Any:
    """The description in OpenAPI of the job in an answer of the kind's own route. `name` is an example."""
    return described(
        "The id of the job. `GET /v1/jobs/{job}` returns the status of work of any kind in the same form.",
        job_id("demo", kind, name),
    )


PlanRevision = Annotated[
    str,
    described(
        "The revision of the plan. An approval must name the revision that was read.",
        "9f2c4e1b7d3a5c60918273645a6b7c8d",
    ),
]


Path = Annotated[str, described("The path of the file below the bank.", "glossary.md")]


Number = Annotated[int, described("The number of the change in the history of the space, from 1.", 1)]


NextCursor = Annotated[
    str | None, described("Send this value as `cursor` to get the next page. Null: this is the last page.", None)
]


Model = Annotated[str | None, described("The model that was asked. Left out: no model was asked.", "qwen3-2507:235b")]


Metrics = Annotated[
    dict[str, Any],
    described(
        "The counts of the run: notes (`notes_processed`, `notes_remaining`, `notes_discarded`, "
        "`notes_uncited`), files (`bank_files_created`, ...), `warnings`, calls and tokens of the LLM, "
        "`synthesis_size` in bytes, and `duration_seconds`. `bank_length`: the characters of the bank after it. Of a "
        "tidy run also `bank_length_before`, `files_tidied`, `lines_removed`. A value that was not counted is absent.",
        {"notes_processed": 1, "notes_remaining": 0, "bank_files_created": 1, "llm_calls": 1, "duration_seconds": 4.2},
    ),
]


Discarded = Annotated[
    list[dict[str, Any]],
    described("The notes that the LLM found not worth keeping, each with `note_id` and `reason`.", []),
]


AUTO_PAUSED = (
    "True after the undo of a consolidation or the refusal of a plan. No consolidation then starts by itself, "
    "because it would take the same notes again. The pause ends when a consolidation that was started by hand has"
    " succeeded, or when a PATCH sets this field to false. That PATCH starts a run at once if the threshold is "
    "reached."
)


TIDY_PAUSED = (
    "True after the undo of a tidy run or the refusal of its plan: tidy runs then start by hand alone. The pause ends "
    "when one has succeeded, or when a PATCH sets this field to false."
)


CORRECTIONS = (
    "The permission required to edit sections of the bank, and to approve or refuse a plan. Only an admin changes it."
)


CONSOLIDATION_MODE = (
    "`auto`: a consolidation is committed as soon as it is made. `review`: its plan waits until somebody approves"
    " it, and no other plan is made in the meantime. Only an admin changes it."
)


CAPTURE_ALLOWED = (
    "Whether notes may be captured from conversations. If it is false, new conversations get `capture` `off`, and"
    " no notes are captured from existing ones. Only an admin changes it."
)


RECALL = "Whether a prompt is given what is clearly about it, by `clear`. Only an admin changes it."


AGENT_FOLDS = (
    "Whether an agent with `write` may fold the notes itself (`by` of a consolidation). With the offline LLM no run "
    "starts by itself then. Only an admin changes it."
)


REPOSITORY = (
    "What the space is the memory of. The first client of a repository sets it. It can't be replaced by another one, "
    "so that clients see which repository a space belongs to."
)
LANGUAGE = "The language of the bank, as a tag (RFC 5646). Left out: the language of the rules."


TIMEZONE = "The time zone of the space's digest times. Left out: the service's time zone (`DEFAULT_TIMEZONE`)."


class ApiModel(LazyModel):
    """Base of bodies and answers."""


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


class AtCode(View):
    """The version of the code that was worked on, if the request named it."""

    repository: CodeRepository = None
    branch: Branch = None
    commit: Commit = None


Unreadable = Annotated[
    list[str] | None,
    described("The keys of unreadable objects that are left out. Only if there are any."),
    AfterValidator(lambda keys: keys or None),
]


Unread = Annotated[
    int | None,
    described("Only if many objects are new: the number of those that were not read yet. The newest are read first."),
]


class Page(View):
    """Base of pages of a list."""

    next_cursor: NextCursor = None


class Gapped(Page):
    """Base of pages that leave out unreadable objects. They name these objects; without any, the field is absent."""

    unreadable: Unreadable = None


class JobState(View):
    """A job and its status: what a request for long work answers. `GET /v1/jobs/{job}` shows the rest."""

    job: Annotated[str, described("The id of the job. `GET /v1/jobs/{job}` shows it.", "demo.digest.20260220T170000")]
    status: Annotated[Status, described("The status at this moment.", "queued")] = "queued"


class LlmUsage(View):
    """The use of the LLM."""

    calls: Annotated[int, described("Number of LLM calls, including those that correct an answer.", 2)]
    prompt_tokens: Annotated[int, described("Number of prompt tokens, as counted by the provider.", 2_400)]
    completion_tokens: Annotated[int, described("Number of completion tokens, as counted by the provider.", 310)]
    estimated_tokens: Annotated[
        int, described("Estimated number of tokens of calls that the provider did not count.", 0)
    ]
    prompts_cut: Annotated[int, described("Number of calls whose prompt the provider read only in part.", 0)]

    @classmethod
    def of(cls, used: Usage) -> "LlmUsage":
        return cls.model_validate(used, from_attributes=True)
