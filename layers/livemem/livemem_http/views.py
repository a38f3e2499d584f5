"""Requests and answers of the API as models: what bodies must look like, and what OpenAPI says about answers."""

from dataclasses import asdict
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    SerializerFunctionWrapHandler,
    model_serializer,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from livemem import __version__, limits
from livemem.access.principal import PERMISSIONS, Principal
from livemem.bank.citations import Citations, Cited
from livemem.bank.files import File, from_entry
from livemem.bank.history import Detail, Summary
from livemem.changes.rules import NewRules
from livemem.errors import TooLarge
from livemem.markdown.edits import Edit, Op
from livemem.notes.appending import Draft
from livemem.notes.note import Note
from livemem.recall.summary import Summary as SpaceWhole
from livemem.runs.queue import Order
from livemem.runs.run import Run
from livemem.runs.space_change import Changed
from livemem.runs.space_change import SpaceChange as WantedChange
from livemem.spaces import head as heads
from livemem.spaces import life, rules
from livemem.spaces.contents import Info
from livemem.spaces.head import Corrections, Meta
from livemem.store import keys
from livemem.store.objects import Entry
from livemem.upkeep.health import Health


def _said(description: str, *examples: Any, **schema: Any) -> Any:
    """What OpenAPI says of a value. The domain checks it, in bytes and with words of its own.

    The first example is also that of the bodies and answers that hold the value; without one a body leaves it out.
    """
    if schema:
        return Field(description=description, examples=list(examples) or None, json_schema_extra=schema)
    # What is not given here must not take the place of what the type says.
    return Field(description=description, examples=list(examples)) if examples else Field(description=description)


SpaceId = Annotated[str, _said("The id of the space.", "demo", pattern=f"^{keys.SPACE_ID.pattern}$")]
Agent = Annotated[
    str, _said("The name of an agent, which is that of its token.", "cline-dev", pattern=f"^{keys.AGENT.pattern}$")
]
Description = Annotated[
    str, _said("What the space is for, in at most 500 bytes.", "My project", maxLength=limits.DESCRIPTION_BYTES)
]
Owner = Annotated[str, _said("Who answers for the space, in at most 200 bytes.", maxLength=limits.OWNER_BYTES)]
RulesText = Annotated[
    str,
    _said(
        "Rules of your own, as Markdown of at most 50,000 bytes: which files the bank has and what belongs where.",
        minLength=1,
        maxLength=limits.RULES_BYTES,
    ),
]
Template = Annotated[
    str, _said("The name of rules that come with the service.", "standard", enum=list(rules.TEMPLATES))
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
Category = Annotated[str, _said("What kind of note it is.", "decision", enum=list(keys.CATEGORIES))]
NoteText = Annotated[
    str,
    _said(
        "What is to be remembered, as Markdown of at most 100,000 bytes.",
        "We keep S3 as the only store.",
        minLength=1,
        maxLength=limits.NOTE_BYTES,
    ),
]
Tag = Annotated[str, _said("A word to find the note by.", "storage", minLength=1, maxLength=limits.TAG_CHARACTERS)]
IdempotencyKey = Annotated[
    str,
    _said(
        "A name of your own for this note. A repeat with the same name within 7 days answers 200 with the first note "
        "and writes nothing; with another note it is refused (422).",
        "job-17-step-3",
        minLength=1,
        maxLength=limits.IDEMPOTENCY_KEY_CHARACTERS,
    ),
]
Moment = Annotated[str, _said("A time in ISO 8601; without an offset UTC.", "2026-02-20T14:00:00Z", format="date-time")]
FileText = Annotated[
    str,
    _said(
        "The whole file, as Markdown of at most 500,000 bytes, without front matter.",
        "# Glossary\n\n## Terms\n\n- Bank: the files that an agent loads.\n",
        maxLength=limits.BANK_FILE_BYTES,
    ),
]
Reason = Annotated[
    str,
    _said("Why, in at most 500 bytes, for the history.", "The terms were missing.", maxLength=limits.REASON_BYTES),
]
Language = Annotated[
    str,
    _said("A language tag.", "fr", pattern=f"^{heads.LANGUAGE.pattern}$", maxLength=heads.LANGUAGE_CHARACTERS),
]
NoteId = Annotated[
    str,
    _said(
        "The id of the note: when it was written (UTC), by whom, its category and 8 hex digits.",
        "20260220T140000_cline-dev_decision_1a2b3c4d",
    ),
]
RunId = Annotated[str, _said("The id of the run, an ULID.", "01KHXE5Q2V8R0M4T6W9YBNCD3F")]
Path = Annotated[str, _said("The path of the file below the bank.", "glossary.md")]
Number = Annotated[int, _said("The number of the change in the history of the space, from 1.", 1)]
NextCursor = Annotated[
    str | None, _said("Send it as `cursor` to get the next page; null: this was the last one.", None)
]
Model = Annotated[str | None, _said("The model that was asked; null: none was.", "qwen3-2507:235b")]
Metrics = Annotated[
    dict[str, Any],
    _said(
        "What the run counted: notes (`notes_processed`, `notes_remaining`, `notes_discarded`, `notes_uncited`), files "
        "(`bank_files_created`, ...), calls and tokens of the LLM, `synthesis_size` in bytes, `duration_seconds`. "
        "Empty for what was not counted.",
        {"notes_processed": 1, "notes_remaining": 0, "bank_files_created": 1, "llm_calls": 1, "duration_seconds": 4.2},
    ),
]
Discarded = Annotated[
    list[dict[str, Any]],
    _said("Notes that the LLM found not worth keeping: `note_id` and `reason` of each.", []),
]

AUTO_PAUSED = (
    "True from the undo of a consolidation on: else the notes that came back would set off the very consolidation that "
    "was undone. No consolidation starts by itself until one that was started by hand has ended well, or a PATCH sets "
    "it to false, which starts a run at once if the threshold is reached."
)
CORRECTIONS = "The permission that editing sections of the bank takes. Only an admin changes it."
LANGUAGE = "The language that the bank is written in, as a tag (RFC 5646); null: that of the rules."


class Body(BaseModel):
    """Base of request bodies: types are not guessed, and a misspelt field is an error, not a silent loss."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Sparse(BaseModel):
    """Base of answers in which a field that does not apply is left out instead of being null."""

    @model_serializer(mode="wrap")
    def _without_none(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in serialise(self).items() if value is not None}

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        # Of what a serialiser of one's own returns, pydantic only knows that it is some object.
        described = handler({name: part for name, part in schema.items() if name != "serialization"})
        for field in handler.resolve_ref_schema(described)["properties"].values():
            # Null is what is left out.
            present = [part for part in field.pop("anyOf", []) if part != {"type": "null"}]
            field.update({"anyOf": present} if len(present) > 1 else {**(present[0] if present else {}), **field})
        return described


class NewSpace(Body):
    """A space to be created. Without `rules` and `rules_template` it gets the template `standard`; not both."""

    space_id: SpaceId
    description: Description = ""
    rules: RulesText | None = None
    rules_template: Template | None = None
    owner: Owner | None = None
    consolidation_threshold: Threshold | None = None

    def wanted(self) -> life.NewSpace:
        """The space for the domain."""
        return life.NewSpace(
            self.space_id, self.description, self.rules, self.rules_template, self.owner, self.consolidation_threshold
        )


class SpaceChange(Body):
    """What is to be changed; what is left out stays as it is."""

    description: Description | None = None
    owner: Owner | None = None
    consolidation_threshold: Threshold | None = None
    auto_paused: Annotated[bool | None, Field(description=AUTO_PAUSED)] = None
    corrections: Annotated[Corrections | None, Field(description=CORRECTIONS)] = None
    language: Annotated[Language | None, Field(description=LANGUAGE)] = None

    def wanted(self) -> WantedChange:
        """The change for the domain; a `language` that is not sent stays as it is, null resets it."""
        return WantedChange(
            self.description,
            self.owner,
            self.consolidation_threshold,
            self.auto_paused,
            self.corrections,
            self.language if "language" in self.model_fields_set else ...,
        )


class RulesChange(Body):
    """Either `rules` or `rules_template`."""

    rules: RulesText | None = None
    rules_template: Annotated[Template | None, Field(examples=["journal"])] = None
    reason: Annotated[Reason | None, Field(examples=["One file is enough for us."])] = None

    def wanted(self) -> NewRules:
        """The rules for the domain."""
        return NewRules(self.rules, self.rules_template, self.reason)


class NewNote(Body):
    """A note; its agent is the name of the token, its time that of the request."""

    category: Category
    content: NoteText
    tags: Annotated[
        list[Tag], Field(description="Words to find the note by.", examples=[["storage"]], max_length=limits.TAGS)
    ] = []

    def draft(self) -> Draft:
        """The note for the domain."""
        return Draft(self.category, self.content, tuple(self.tags))


def _check_batch(notes: Any) -> Any:
    # Before the first note is looked at: each one that is wrong costs errors of its own.
    if isinstance(notes, list) and len(notes) > limits.BATCH_NOTES:
        raise TooLarge.of("notes", len(notes), limits.BATCH_NOTES, "notes")
    return notes


class NewNotes(Body):
    """Notes to be written in one request; if one of them is refused, none is written."""

    notes: Annotated[
        list[NewNote],
        BeforeValidator(_check_batch),
        _said(
            "The notes in their order.",
            [
                {"category": "todo", "content": "Write the runbook.", "tags": ["docs"]},
                {"category": "issue", "content": "The parser drops tabs."},
            ],
            minItems=1,
            maxItems=limits.BATCH_NOTES,
        ),
    ]


class NewConsolidation(Body):
    """Which notes to consolidate; without a body all that are live, up to the service's own bound of a run."""

    agent: Annotated[
        Agent | None, _said("Only the notes of this agent. Another one than the caller's own name needs `admin`.")
    ] = None
    max_notes: Annotated[
        Annotated[int, Field(ge=1, le=1_000)] | None,
        _said("At most so many notes, the oldest ones; the service has a bound of its own.", 100),
    ] = None
    dry_run: Annotated[bool, _said("Asks the LLM and puts the plan into the run; nothing else is written.", False)] = (
        False
    )

    def order(self, principal: Principal) -> Order:
        """The run for the domain."""
        return Order("api", self.agent, self.max_notes, self.dry_run, principal.name)


class FileContent(Body):
    """A bank file as it is to be."""

    content: FileText
    reason: Reason | None = None


class SectionEdit(Body):
    """One edit of a section, as the LLM makes them: `after` names the section that a new one follows."""

    op: Annotated[
        Op,
        _said(
            "What to do with the section. `replace_section`: `content` instead of all below its heading, sub-sections "
            "included; `append_to_section`: at the end of its own text; `prepend_to_section`: right below its heading; "
            "`add_section`: a new one; `delete_section`: it goes with its sub-sections.",
            "append_to_section",
        ),
    ]
    heading: Annotated[
        str,
        _said(
            "The section, by its full heading line, or by a path of them (`# A > ## B`) where that is ambiguous.",
            "## Terms",
            minLength=1,
        ),
    ]
    content: Annotated[str, _said("The Markdown to be put there.", "- Run: one attempt to consolidate.")] = ""
    after: Annotated[
        str | None, _said("Of `add_section`: the section that the new one follows; else it comes last.")
    ] = None


class SectionEdits(Body):
    """Edits of one bank file, applied in their order."""

    edits: Annotated[
        list[SectionEdit],
        _said(
            "Each finds its section in what the ones before it left. All are made, or none.",
            minItems=1,
            maxItems=limits.CORRECTION_EDITS,
        ),
    ]
    reason: Annotated[Reason, Field(json_schema_extra={"minLength": 1})]

    def wanted(self) -> list[Edit]:
        """The edits for the domain."""
        return [Edit(edit.op, edit.heading, edit.content, edit.after) for edit in self.edits]


class NoteView(Sparse):
    """A note, live or consolidated."""

    note_id: NoteId
    space_id: SpaceId
    timestamp: Annotated[Moment, _said("When it was written, UTC.", "2026-02-20T14:00:00Z")]
    agent: Annotated[str, _said("Who wrote it: the name of the token.", "cline-dev")]
    category: Category
    tags: Annotated[list[str], _said("Words to find the note by.", ["storage"])]
    content: Annotated[str, _said("What it says, as Markdown.", "We keep S3 as the only store.")]
    size: Annotated[int, _said("The content's size in bytes of UTF-8.", 29)]
    status: Annotated[
        Literal["live", "consolidated"],
        _said(
            "`live`: it waits for a consolidation; `consolidated`: it is part of the bank and of the history.", "live"
        ),
    ]
    consolidation: Annotated[
        int | None, _said("The number of the consolidation that folded it; only if it is consolidated.")
    ] = None
    malformed: Annotated[
        bool | None,
        _said("True if the object in the bucket is no note of the usual form: its whole text is the content."),
    ] = None

    @classmethod
    def of(cls, note: Note) -> "NoteView":
        return cls.model_validate({**asdict(note), "malformed": note.malformed or None})


class NotePage(BaseModel):
    """A page of live notes."""

    items: Annotated[list[NoteView], _said("The notes. A page may hold fewer than `limit` and not be the last one.")]
    next_cursor: NextCursor = None


class NoteList(BaseModel):
    """Notes that were written."""

    items: Annotated[list[NoteView], _said("The notes in the order of the request.")]


class SpaceView(BaseModel):
    """A space: its `_meta.json` without what is internal to a deletion."""

    space_id: SpaceId
    description: Annotated[str, _said("What the space is for.", "My project")]
    owner: Annotated[str | None, _said("Who answers for the space, if that was said.", None)]
    created_at: Annotated[Moment, _said("When the space was created, UTC.", "2026-02-20T09:00:00Z")]
    last_consolidation: Annotated[
        Moment | None, _said("When the last consolidation was committed, UTC.", "2026-02-20T14:05:00Z")
    ]
    consolidation_count: Annotated[int, _said("Consolidations that are not undone.", 1)]
    total_notes_processed: Annotated[int, _said("Notes that these consolidations folded.", 1)]
    version: Annotated[int, _said("The version of the format of `_meta.json`.", 1)]
    rev: Annotated[int, _said("Grows with each write of `_meta.json`.", 4)]
    uid: Annotated[
        str, _said("Tells a space from a deleted one of the same id; an ULID.", "01KHXA0B7C9D2E4F6G8H0J2K4M")
    ]
    consolidation_threshold: Annotated[
        int, _said("Live notes that start a consolidation by themselves. 0: it is only started by hand.", 20)
    ]
    auto_paused: Annotated[bool, _said(AUTO_PAUSED, False)]
    corrections: Annotated[Corrections, _said(CORRECTIONS, "admin")]
    language: Annotated[str | None, _said(LANGUAGE, None)]
    changes: Annotated[
        int,
        _said("Number of the newest change in the history: consolidation, correction, rules or undo.", 1),
    ]
    rules_changed_at: Annotated[
        str | None, _said("When the rules were changed, until a consolidation has followed them; UTC.", None)
    ]
    committed_run: Annotated[
        str | None, _said("The run whose change is committed and still being written out; null as a rule.", None)
    ]

    @classmethod
    def of(cls, meta: Meta) -> "SpaceView":
        return cls.model_validate(meta, from_attributes=True)


class SpaceChanged(SpaceView):
    """The space after a change."""

    started_run: Annotated[
        str | None, _said("The run that was started at once, because the change made a consolidation due.", None)
    ]

    @classmethod
    def of_change(cls, changed: Changed) -> "SpaceChanged":
        return cls(**SpaceView.of(changed.meta).model_dump(), started_run=changed.started_run)


class SpacePage(BaseModel):
    """A page of spaces."""

    items: Annotated[list[SpaceView], _said("The spaces that the token may see, in the order of their ids.")]
    next_cursor: NextCursor = None


class LiveSize(BaseModel):
    """The live notes of a space."""

    notes_count: Annotated[int, _said("How many there are.", 2)]
    total_size: Annotated[int, _said("Bytes of their objects together.", 412)]


class FileView(Sparse):
    """A bank file."""

    path: Path
    size: Annotated[int, _said("Bytes of UTF-8.", 60)]
    last_modified: Annotated[Moment, _said("When it was written, UTC.", "2026-02-20T14:05:00Z")]
    content: Annotated[
        str | None,
        _said(
            "The file as Markdown; only where it was asked for.",
            "# Glossary\n\n## Terms\n\n- Bank: the files that an agent loads.\n",
        ),
    ] = None
    consolidation: Annotated[
        int | None, _said("The number of the change that wrote it, if that is known; only with the content.", 1)
    ] = None

    @classmethod
    def of(cls, file: File) -> "FileView":
        return cls.model_validate(file, from_attributes=True)


class BankSize(BaseModel):
    """The bank of a space at a glance."""

    files_count: Annotated[int, _said("How many files there are.", 1)]
    total_size: Annotated[int, _said("Bytes of the files together.", 60)]
    files: Annotated[
        list[FileView],
        _said(
            "The files without their content, in the order of their paths.",
            [{"path": "glossary.md", "size": 60, "last_modified": "2026-02-20T14:05:00Z"}],
        ),
    ]


class SpaceInfo(SpaceView):
    """A space, and how much is in it."""

    live: Annotated[LiveSize, _said("Its live notes.")]
    bank: Annotated[BankSize, _said("Its bank.")]
    synthesis_exists: Annotated[bool, _said("Whether there is a synthesis yet.", True)]

    @classmethod
    def of_info(cls, info: Info) -> "SpaceInfo":
        return cls(
            **SpaceView.of(info.meta).model_dump(),
            live=LiveSize(notes_count=len(info.live), total_size=_total(info.live)),
            bank=BankSize(
                files_count=len(info.bank),
                total_size=_total(info.bank),
                files=[FileView.of(from_entry(entry)) for entry in info.bank],
            ),
            synthesis_exists=info.synthesis_exists,
        )


class Rules(BaseModel):
    """The rules of a space."""

    rules: Annotated[
        str, _said("The rules as Markdown.", "# Rules\n\nThe bank has one file, `journal.md`, newest day first.\n")
    ]


class SynthesisView(BaseModel):
    """The short text that the last consolidation left about the whole bank."""

    consolidated_at: Annotated[
        str | None, _said("When that was, UTC; null if the object does not say it.", "2026-02-20T14:05:00Z")
    ]
    consolidation_number: Annotated[int | None, _said("The number of that consolidation.", 1)]
    notes_processed: Annotated[int | None, _said("How many notes it folded.", 1)]
    content: Annotated[str, _said("The text, as Markdown.", "S3 stays the only store.")]


class LiveNotes(BaseModel):
    """The newest live notes of a space."""

    count: Annotated[int, _said("How many live notes the space has.", 1)]
    exact: Annotated[bool, _said("False if there are more than `count` says.", True)]
    notes: Annotated[list[NoteView], _said("The newest ones, newest last: up to 50, of 20 kB together.", [])]


class PastMoment(BaseModel):
    """The change after which synthesis and bank stood so. Meta and rules are those of today."""

    change: Annotated[int, _said("The number of the change.", 1)]
    committed_at: Annotated[Moment, _said("When it took effect, UTC.", "2026-02-20T14:05:00Z")]


class SpaceSummary(SpaceView):
    """A space, and all that an agent needs of it at its start."""

    rules: Annotated[
        str | None,
        _said(
            "The rules as Markdown; left out with `rules=false`.", "# Rules\n\nThe bank has one file, `journal.md`.\n"
        ),
    ] = None
    synthesis: Annotated[SynthesisView | None, _said("The synthesis; null if there was no consolidation yet.")]
    bank: Annotated[list[FileView], _said("All bank files with their content, in the order of the rules.")]
    live: Annotated[LiveNotes | None, _said("What no consolidation has folded yet; left out in a look back.")] = None
    at: Annotated[PastMoment | None, _said("Only in a look back (`at`): the moment of what is shown.")] = None

    @model_serializer(mode="wrap")
    def _without_none(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        optional = ("rules", "live", "at")
        return {name: value for name, value in serialise(self).items() if value is not None or name not in optional}

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return handler({name: part for name, part in schema.items() if name != "serialization"})

    @classmethod
    def of_summary(cls, summary: SpaceWhole) -> "SpaceSummary":
        live, then = summary.live, summary.then
        return cls(
            **SpaceView.of(summary.meta).model_dump(),
            rules=summary.rules,
            synthesis=SynthesisView.model_validate(asdict(summary.synthesis)) if summary.synthesis else None,
            bank=[FileView.of(file) for file in summary.bank],
            live=LiveNotes(count=live.count, exact=live.exact, notes=[NoteView.of(note) for note in live.notes])
            if live
            else None,
            at=PastMoment(change=then.number, committed_at=then.committed_at) if then else None,
        )


class FileList(BaseModel):
    """The files of a bank."""

    items: Annotated[
        list[FileView],
        _said(
            "The files in the order of their paths, with `content` where it was asked for.",
            [{"path": "glossary.md", "size": 60, "last_modified": "2026-02-20T14:05:00Z"}],
        ),
    ]


class SourceView(BaseModel):
    """A note that a section rests on."""

    note_id: NoteId
    consolidation: Annotated[int, _said("The number of the consolidation that brought it in.", 1)]


class SectionSources(BaseModel):
    """A section and the notes it rests on, without the oldest `omitted` ones; `corrections` are the numbers of manual
    changes of it.
    """

    heading: Annotated[str, _said("The heading line; empty for the text before the first one.", "## Terms")]
    path: Annotated[list[str], _said("The heading lines down to the section.", ["# Glossary", "## Terms"])]
    sources: Annotated[list[SourceView], _said("The notes, oldest first.")]
    corrections: Annotated[list[int], _said("Numbers of the corrections by hand that changed the section.", [])]
    omitted: Annotated[
        int, _said("How many notes are left out, the oldest: a file keeps a bounded number of them.", 0)
    ] = 0

    @classmethod
    def of(cls, cited: Cited) -> "SectionSources":
        return cls.model_validate(cited, from_attributes=True)


class FileWithSources(FileView):
    """A bank file, and what its sections rest on."""

    sections: Annotated[list[SectionSources] | None, _said("Only with `sources=true`: the sections in order.")] = None
    sources_since: Annotated[
        int | None,
        _said("Set where only the newest changes could be looked at: what those before it brought in is not told."),
    ] = None

    @classmethod
    def of_file(cls, file: File, cited: Citations | None) -> "FileWithSources":
        sections = [SectionSources.of(section) for section in cited.sections] if cited else None
        return cls(**asdict(file), sections=sections, sources_since=cited.since if cited else None)


class RunQueued(BaseModel):
    """A run that was started."""

    run_id: RunId
    status: Annotated[str, _said("`queued`: it begins in a moment.", "queued")]


class RunView(BaseModel):
    """A run: one attempt to consolidate, and how it stands."""

    run_id: RunId
    space_id: SpaceId
    status: Annotated[
        Literal["queued", "running", "ok", "nothing_to_do", "busy", "error"],
        _said(
            "`queued` and `running` go on; the others are final. `nothing_to_do`: there was no note; `busy`: another "
            "run or a correction was at it.",
            "ok",
        ),
    ]
    step: Annotated[str | None, _said("While it runs: `asking` the LLM, or `applying` what is committed.")] = None
    trigger: Annotated[
        str, _said("What started it: `api` (by hand), `threshold` (enough notes), `sweep` (the schedule).", "api")
    ]
    agent: Annotated[str | None, _said("The agent whose notes alone were asked for.")] = None
    max_notes: Annotated[int | None, _said("The most notes that were asked for.")] = None
    dry_run: Annotated[bool, _said("Whether it only shows a plan.", False)] = False
    queued_at: Annotated[Moment, _said("When it was started, UTC.", "2026-02-20T14:04:55.120Z")]
    started_at: Annotated[Moment | None, _said("When its worker began to ask, UTC.", "2026-02-20T14:04:55.800Z")] = None
    finished_at: Annotated[Moment | None, _said("When it ended, UTC.", "2026-02-20T14:05:00.010Z")] = None
    consolidation: Annotated[int | None, _said("The number of the change that it made.", 1)] = None
    model: Model = None
    metrics: Metrics = {}
    message: Annotated[str | None, _said("Why it did nothing, in words.")] = None
    error: Annotated[
        dict[str, str] | None,
        _said("Of a run that failed: `code` (see the errors of a run in errors.md) and `detail`."),
    ] = None
    plan: Annotated[
        dict[str, Any] | None,
        _said("Of a dry run: the `changes` of the files, the `synthesis`, and the ids of the notes in `sources`."),
    ] = None

    @classmethod
    def of(cls, run: Run) -> "RunView":
        return cls.model_validate(run, from_attributes=True)


class RunPage(BaseModel):
    """A page of runs, newest first."""

    items: Annotated[list[RunView], _said("The runs.")]
    next_cursor: NextCursor = None


class ChangeSummary(BaseModel):
    """A change of the bank or the rules."""

    number: Number
    kind: Annotated[str, _said("`consolidation`, `manual` (a correction by hand), `rules` or `undo`.", "consolidation")]
    trigger: Annotated[
        str, _said("What started it: `api` (by hand), `threshold` (enough notes), `sweep` (the schedule).", "api")
    ]
    run_id: RunId
    started_at: Annotated[Moment, _said("When it began, UTC.", "2026-02-20T14:04:55.800Z")]
    committed_at: Annotated[Moment, _said("When it took effect, UTC.", "2026-02-20T14:05:00Z")]
    model: Model
    author: Annotated[str | None, _said("Who did it by hand: the name of the token.", None)]
    undoes: Annotated[int | None, _said("Of an undo: the number of the change that it took back.", None)]
    undone: Annotated[bool, _said("Whether it was taken back.", False)]
    notes_count: Annotated[int, _said("Notes that it folded, or of an undo, gave back.", 1)]
    files: Annotated[
        list[dict[str, str]],
        _said(
            "The files that it changed: `path` and `action` (`created`, `updated`, `edited`, `deleted`). The path of "
            "the rules is `_rules.md`.",
            [{"path": "glossary.md", "action": "created"}],
        ),
    ]
    metrics: Metrics

    @classmethod
    def of(cls, summary: Summary) -> "ChangeSummary":
        return cls.model_validate(summary, from_attributes=True)


class ChangePage(BaseModel):
    """A page of the history."""

    items: Annotated[list[ChangeSummary], _said("The changes, newest first.")]
    next_cursor: NextCursor = None


class SynthesisBeforeAfter(BaseModel):
    """The synthesis around a change."""

    before: Annotated[str | None, _said("The text before the change; null: there was none.", None)]
    after: Annotated[str | None, _said("The text after it; null: there is none.", "S3 stays the only store.")]


class FileDiff(BaseModel):
    """What a change did to one file. The path of the space's rules is `_rules.md`."""

    path: Path
    action: Annotated[str, _said("`created`, `updated` (as a whole), `edited` (by section) or `deleted`.", "created")]
    diff: Annotated[str, _said("A unified diff.", "--- /dev/null\n+++ b/glossary.md\n@@ -0,0 +1 @@\n+# Glossary\n")]
    edits: Annotated[
        list[dict[str, Any]],
        _said("The edits of an edited file: `op`, `heading`, `content`, and the ids of the `notes` behind it."),
    ] = []
    reason: Annotated[str | None, _said("Why, where that was said.")] = None
    said: Annotated[
        str | None,
        _said("What the answer called it (`created`, `updated`), where that is not what it did."),
    ] = None
    coarse: Annotated[
        bool,
        _said("True if the file is too large to be compared to the end: the rest is shown as replaced.", False),
    ] = False


class ChangeDetail(ChangeSummary):
    """A change with its notes and its diffs."""

    sources: Annotated[list[NoteView], _said("The notes that it folded or gave back, as they stand now.")]
    changes: Annotated[list[FileDiff], _said("What it did, file by file.")]
    synthesis: Annotated[SynthesisBeforeAfter, _said("The synthesis before and after it.")]
    discarded: Discarded
    uncited: Annotated[
        list[str], _said("Ids of notes that were folded although two answers in a row left them out.", [])
    ]
    left_out: Annotated[
        list[str], _said("Ids of notes that the answer left out for the first time: they stayed live.", [])
    ]
    warnings: Annotated[list[str], _said("What is not as it was asked for, in sentences.", [])]
    prompt_version: Annotated[
        str | None, _said("The version of the prompt that the LLM was asked with.", "9d3f0c1a2b4e")
    ]
    usage: Annotated[
        dict[str, int],
        _said(
            "Calls and tokens of the LLM.", {"llm_calls": 1, "llm_prompt_tokens": 2100, "llm_completion_tokens": 380}
        ),
    ]

    @classmethod
    def of_detail(cls, detail: Detail) -> "ChangeDetail":
        return cls(
            **ChangeSummary.of(detail.summary).model_dump(),
            sources=[NoteView.of(note) for note in detail.sources],
            changes=[FileDiff(**change) for change in detail.changes],
            synthesis=SynthesisBeforeAfter(before=detail.synthesis["before"], after=detail.synthesis["after"]),
            discarded=detail.discarded,
            uncited=detail.uncited,
            left_out=detail.left_out,
            warnings=detail.warnings,
            prompt_version=detail.prompt_version,
            usage=detail.usage,
        )


class SpaceProblem(BaseModel):
    """Something about a space that needs a look."""

    space_id: SpaceId
    code: Annotated[str, _said("What it is; stable.", "auto_paused")]
    detail: Annotated[str, _said("What it means and what to do, in words.", "Automatic consolidation is paused.")]


class HealthView(Sparse):
    """How the service is."""

    status: Annotated[
        Literal["ok", "degraded", "error"],
        _said("`ok`; `degraded`: it works, but something needs a look; `error`: it does not work.", "ok"),
    ]
    version: Annotated[str, _said("The version of the service.", __version__)]
    checks: Annotated[
        dict[str, str | float | None],
        _said(
            "What was looked at, by name; errors.md says what each value means. With a token also "
            "`oldest_pending_note_seconds` and `llm_model`.",
            {"store": "ok", "conditional_writes": "ok", "llm": "ok"},
        ),
    ]
    spaces: Annotated[
        list[SpaceProblem] | None, _said("Only with a token: spaces among those it may see that need a look.", [])
    ] = None

    @classmethod
    def of(cls, health: Health, *, with_spaces: bool) -> "HealthView":
        problems = [SpaceProblem.model_validate(item, from_attributes=True) for item in health.problems]
        return cls(
            status=health.status,
            version=__version__,
            checks=dict(health.checks),
            spaces=problems if with_spaces else None,
        )


class WhoAmI(BaseModel):
    """What a token is and may do."""

    name: Annotated[str, _said("The name of the token, and so of the agent that writes with it.", "cline-dev")]
    permissions: Annotated[list[str], _said("Of `read`, `write` and `admin`.", ["read", "write"])]
    space_ids: Annotated[list[str], _said("The spaces that it may use; empty: all.", ["demo"])]
    expires_at: Annotated[str | None, _said("When it expires, ISO 8601; null: never.", None)]

    @classmethod
    def of(cls, caller: Principal) -> "WhoAmI":
        permissions = sorted(caller.permissions, key=PERMISSIONS.index)
        spaces = sorted(caller.space_ids)
        return cls(name=caller.name, permissions=permissions, space_ids=spaces, expires_at=caller.expires_at)


class About(BaseModel):
    """What the service is and what it allows."""

    version: Annotated[str, _said("The version of the service.", __version__)]
    limits: Annotated[
        dict[str, int],
        _said(
            "What it allows, by name: bytes, characters or counts as the name says.",
            {"note_bytes": limits.NOTE_BYTES, "batch_notes": limits.BATCH_NOTES, "page_items": limits.PAGE_ITEMS},
        ),
    ]
    categories: Annotated[list[str], _said("The categories that a note may have.", list(keys.CATEGORIES))]
    rules_templates: Annotated[list[str], _said("The rules that come with the service.", list(rules.TEMPLATES))]


def _total(entries: list[Entry]) -> int:
    return sum(entry.size for entry in entries)
