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


def _said(**schema: Any) -> Any:
    """What OpenAPI says of a text. The domain checks it, in bytes and with words of its own."""
    return Field(json_schema_extra=schema)


SpaceId = Annotated[str, _said(pattern=f"^{keys.SPACE_ID.pattern}$")]
Agent = Annotated[str, _said(pattern=f"^{keys.AGENT.pattern}$")]
Description = Annotated[str, _said(maxLength=limits.DESCRIPTION_BYTES)]
Owner = Annotated[str, _said(maxLength=limits.OWNER_BYTES)]
RulesText = Annotated[str, _said(minLength=1, maxLength=limits.RULES_BYTES)]
Template = Annotated[str, _said(enum=list(rules.TEMPLATES))]
Category = Annotated[str, _said(enum=list(keys.CATEGORIES))]
NoteText = Annotated[str, _said(minLength=1, maxLength=limits.NOTE_BYTES)]
Tag = Annotated[str, _said(minLength=1, maxLength=limits.TAG_CHARACTERS)]
IdempotencyKey = Annotated[str, _said(minLength=1, maxLength=limits.IDEMPOTENCY_KEY_CHARACTERS)]
Moment = Annotated[str, _said(format="date-time")]
FileText = Annotated[str, _said(maxLength=limits.BANK_FILE_BYTES)]
Reason = Annotated[str, _said(maxLength=limits.REASON_BYTES)]
Language = Annotated[str, _said(pattern=f"^{heads.LANGUAGE.pattern}$", maxLength=heads.LANGUAGE_CHARACTERS)]

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
        return handler({name: part for name, part in schema.items() if name != "serialization"})


class NewSpace(Body):
    space_id: SpaceId
    description: Description = ""
    rules: RulesText | None = None
    rules_template: Template | None = None
    owner: Owner | None = None
    consolidation_threshold: Annotated[int, Field(ge=0, le=limits.THRESHOLD)] | None = None

    def wanted(self) -> life.NewSpace:
        """The space for the domain."""
        return life.NewSpace(
            self.space_id, self.description, self.rules, self.rules_template, self.owner, self.consolidation_threshold
        )


class SpaceChange(Body):
    description: Description | None = None
    owner: Owner | None = None
    consolidation_threshold: Annotated[int, Field(ge=0, le=limits.THRESHOLD)] | None = None
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
    rules_template: Template | None = None
    reason: Reason | None = None

    def wanted(self) -> NewRules:
        """The rules for the domain."""
        return NewRules(self.rules, self.rules_template, self.reason)


class NewNote(Body):
    category: Category
    content: NoteText
    tags: Annotated[list[Tag], Field(max_length=limits.TAGS)] = []

    def draft(self) -> Draft:
        """The note for the domain."""
        return Draft(self.category, self.content, tuple(self.tags))


def _check_batch(notes: Any) -> Any:
    # Before the first note is looked at: each one that is wrong costs errors of its own.
    if isinstance(notes, list) and len(notes) > limits.BATCH_NOTES:
        raise TooLarge.of("notes", len(notes), limits.BATCH_NOTES, "notes")
    return notes


class NewNotes(Body):
    notes: Annotated[list[NewNote], BeforeValidator(_check_batch), _said(minItems=1, maxItems=limits.BATCH_NOTES)]


class NewConsolidation(Body):
    agent: Agent | None = None
    max_notes: Annotated[int, Field(ge=1, le=1_000)] | None = None
    dry_run: bool = False

    def order(self, principal: Principal) -> Order:
        """The run for the domain."""
        return Order("api", self.agent, self.max_notes, self.dry_run, principal.name)


class FileContent(Body):
    content: FileText
    reason: Reason | None = None


class SectionEdit(Body):
    """One edit of a section, as the LLM makes them: `after` names the section that a new one follows."""

    op: Op
    heading: Annotated[str, _said(minLength=1)]
    content: str = ""
    after: str | None = None


class SectionEdits(Body):
    """Edits of one bank file, applied in their order."""

    edits: Annotated[list[SectionEdit], _said(minItems=1, maxItems=limits.CORRECTION_EDITS)]
    reason: Annotated[Reason, _said(minLength=1)]

    def wanted(self) -> list[Edit]:
        """The edits for the domain."""
        return [Edit(edit.op, edit.heading, edit.content, edit.after) for edit in self.edits]


class NoteView(Sparse):
    note_id: str
    space_id: str
    timestamp: str
    agent: str
    category: str
    tags: list[str]
    content: str
    size: int
    status: Literal["live", "consolidated"]
    consolidation: int | None = None
    malformed: bool | None = None

    @classmethod
    def of(cls, note: Note) -> "NoteView":
        return cls.model_validate({**asdict(note), "malformed": note.malformed or None})


class NotePage(BaseModel):
    items: list[NoteView]
    next_cursor: str | None = None


class NoteList(BaseModel):
    items: list[NoteView]


class SpaceView(BaseModel):
    """`_meta.json` without what is internal to a deletion."""

    space_id: str
    description: str
    owner: str | None
    created_at: str
    last_consolidation: str | None
    consolidation_count: Annotated[int, Field(description="Consolidations that are not undone.")]
    total_notes_processed: Annotated[int, Field(description="Notes that these consolidations folded.")]
    version: int
    rev: int
    uid: str
    consolidation_threshold: int
    auto_paused: Annotated[bool, Field(description=AUTO_PAUSED)]
    corrections: Annotated[Corrections, Field(description=CORRECTIONS)]
    language: Annotated[str | None, Field(description=LANGUAGE)]
    changes: Annotated[
        int,
        Field(description="Number of the newest change in the history: consolidation, correction, rules or undo."),
    ]
    rules_changed_at: Annotated[
        str | None, Field(description="When the rules were changed, until a consolidation has followed them.")
    ]
    committed_run: str | None

    @classmethod
    def of(cls, meta: Meta) -> "SpaceView":
        return cls.model_validate(meta, from_attributes=True)


class SpaceChanged(SpaceView):
    """The space after a change."""

    started_run: Annotated[
        str | None, Field(description="The consolidation that was started at once, because the change made it due.")
    ]

    @classmethod
    def of_change(cls, changed: Changed) -> "SpaceChanged":
        return cls(**SpaceView.of(changed.meta).model_dump(), started_run=changed.started_run)


class SpacePage(BaseModel):
    items: list[SpaceView]
    next_cursor: str | None = None


class LiveSize(BaseModel):
    notes_count: int
    total_size: int


class FileView(Sparse):
    path: str
    size: int
    last_modified: str
    content: str | None = None
    consolidation: int | None = None

    @classmethod
    def of(cls, file: File) -> "FileView":
        return cls.model_validate(file, from_attributes=True)

    def markdown(self) -> str:
        """The file as it is."""
        return self.content or ""


class BankSize(BaseModel):
    files_count: int
    total_size: int
    files: list[FileView]


class SpaceInfo(SpaceView):
    live: LiveSize
    bank: BankSize
    synthesis_exists: bool

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
    rules: str


class SynthesisView(BaseModel):
    consolidated_at: str | None
    consolidation_number: int | None
    notes_processed: int | None
    content: str


class LiveNotes(BaseModel):
    """The newest live notes, newest last, and how many there are in all; if not `exact`, there are more."""

    count: int
    exact: bool
    notes: list[NoteView]


class PastMoment(BaseModel):
    """The change after which synthesis and bank stood so. Meta and rules are those of today."""

    change: int
    committed_at: str


class SpaceSummary(SpaceView):
    rules: str | None = None
    """Left out where they were not wanted."""
    synthesis: SynthesisView | None
    bank: list[FileView]
    live: LiveNotes | None = None
    """Left out in a look back."""
    at: PastMoment | None = None
    """There in a look back only."""

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
    items: list[FileView]


class SourceView(BaseModel):
    note_id: str
    consolidation: int


class SectionSources(BaseModel):
    """A section and the notes it rests on, without the oldest `omitted` ones; `corrections` are the numbers of manual
    changes of it.
    """

    heading: str
    path: list[str]
    sources: list[SourceView]
    corrections: list[int]
    omitted: int = 0

    @classmethod
    def of(cls, cited: Cited) -> "SectionSources":
        return cls.model_validate(cited, from_attributes=True)


class FileWithSources(FileView):
    sections: list[SectionSources] | None = None
    sources_since: int | None = None
    """Set where only the newest changes could be looked at: what earlier ones brought in is not told."""

    @classmethod
    def of_file(cls, file: File, cited: Citations | None) -> "FileWithSources":
        sections = [SectionSources.of(section) for section in cited.sections] if cited else None
        return cls(**asdict(file), sections=sections, sources_since=cited.since if cited else None)


class RunQueued(BaseModel):
    run_id: str
    status: str


class RunView(BaseModel):
    run_id: str
    space_id: str
    status: Literal["queued", "running", "ok", "nothing_to_do", "busy", "error"]
    step: str | None = None
    trigger: str
    agent: str | None = None
    max_notes: int | None = None
    dry_run: bool = False
    queued_at: str
    started_at: str | None = None
    finished_at: str | None = None
    consolidation: int | None = None
    model: str | None = None
    metrics: dict[str, Any] = {}
    message: str | None = None
    error: dict[str, str] | None = None
    plan: dict[str, Any] | None = None

    @classmethod
    def of(cls, run: Run) -> "RunView":
        return cls.model_validate(run, from_attributes=True)


class RunPage(BaseModel):
    items: list[RunView]
    next_cursor: str | None = None


class ChangeSummary(BaseModel):
    number: int
    kind: str
    trigger: str
    run_id: str
    started_at: str
    committed_at: str
    model: str | None
    author: str | None
    undoes: int | None
    undone: bool
    notes_count: int
    files: list[dict[str, str]]
    metrics: dict[str, Any]

    @classmethod
    def of(cls, summary: Summary) -> "ChangeSummary":
        return cls.model_validate(summary, from_attributes=True)


class ChangePage(BaseModel):
    items: list[ChangeSummary]
    next_cursor: str | None = None


class SynthesisBeforeAfter(BaseModel):
    before: str | None
    after: str | None


class FileDiff(BaseModel):
    """What a change did to one file. The path of the space's rules is `_rules.md`."""

    path: str
    action: str
    diff: str
    edits: list[dict[str, Any]] = []
    reason: str | None = None
    coarse: bool = False
    said: str | None = None
    """What the answer called it (`created`, `updated`), where that is not what it did."""


class ChangeDetail(ChangeSummary):
    sources: list[NoteView]
    changes: list[FileDiff]
    synthesis: SynthesisBeforeAfter
    discarded: list[dict[str, Any]]
    uncited: list[str]
    """Ids of notes that were folded although two answers in a row left them out."""
    left_out: list[str]
    """Ids of notes that the answer left out for the first time: they stayed live."""
    warnings: list[str]
    prompt_version: str | None
    usage: dict[str, int]

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
    space_id: str
    code: str
    detail: str


class HealthView(Sparse):
    status: Literal["ok", "degraded", "error"]
    version: str
    checks: dict[str, str | float | None]
    spaces: list[SpaceProblem] | None = None

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
    name: str
    permissions: list[str]
    space_ids: list[str]
    expires_at: str | None

    @classmethod
    def of(cls, caller: Principal) -> "WhoAmI":
        permissions = sorted(caller.permissions, key=PERMISSIONS.index)
        spaces = sorted(caller.space_ids)
        return cls(name=caller.name, permissions=permissions, space_ids=spaces, expires_at=caller.expires_at)


class About(BaseModel):
    version: str
    limits: dict[str, int]
    categories: list[str]
    rules_templates: list[str]


def _total(entries: list[Entry]) -> int:
    return sum(entry.size for entry in entries)
