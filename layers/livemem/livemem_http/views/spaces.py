"""Spaces as requests and answers, and the summary that an agent loads."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from livemem.bank.files import from_entry
from livemem.errors import InvalidRequest
from livemem.jobs.describable import job_id
from livemem.spaces.head import Corrections, Meta
from livemem.spaces.head_fields import Mode, Review
from livemem.store.objects import Entry
from livemem_http.views.bank import FileView, SynthesisView
from livemem_http.views.fields import (
    AGENT_FOLDS,
    AUTO_PAUSED,
    CAPTURE_ALLOWED,
    CONSOLIDATION_MODE,
    CORRECTIONS,
    LANGUAGE,
    RECALL,
    REPOSITORY,
    TIDY_PAUSED,
    TIMEZONE,
    BankChars,
    Body,
    Description,
    Language,
    Moment,
    Owner,
    Page,
    PlanRevision,
    Reason,
    Repository,
    RulesText,
    RunId,
    SpaceId,
    Template,
    Threshold,
    Timezone,
    View,
    described,
    job_described,
)
from livemem_http.views.notes import NoteView

# Only admin makes and changes spaces; the views are also those of readers, whose cold start would wait for it.
if TYPE_CHECKING:
    from livemem.bank.summary import Info, WholeSpace
    from livemem.bank.time_travel import RecordedMoment
    from livemem.changes.rules_change import NewRules
    from livemem.consolidation.space_change import SpaceUpdate
    from livemem.copies import new_space
    from livemem.jobs.next_run import Waiting
    from livemem.spaces import lifecycle

MOST_ARCHIVES = 100
SOURCES = {"backup": {"backup", "space"}, "archive": {"archive"}, "space": {"space", "at"}}
"""The fields of each source of a space."""


class SpaceSource(Body):
    """Where a new space comes from: another `space`, a `backup` or an `archive`."""

    space: Annotated[
        SpaceId | None,
        described(
            "The space that is copied with its history, or whose backup is restored. Default for a backup: the id of "
            "the new space.",
            "demo",
        ),
    ] = None
    at: Annotated[
        int | None,
        described("The number of a change: the space is copied as it stood after it. Default: the current state."),
    ] = None
    backup: Annotated[
        str | None, described("The id of the backup that is restored. The space may be deleted.", "2026-02-20T02-00-00")
    ] = None
    archive: Annotated[
        str | list[str] | None,
        described(
            "The id of the upload: an export of this service, or a folder of Markdown files. If an export has several "
            "archives: the ids of all, in their order.",
            "01KHXE5Q2V8R0M4T6W9YBNCD3F",
        ),
    ] = None


class NewSpace(Body):
    """A space to create, with `rules` or `rules_template`, not both. Without them it gets the template `standard`. A
    space that comes from something else (`from`) brings its own fields. Only a folder of Markdown files can get a
    `description` and rules.
    """

    space_id: SpaceId
    source: Annotated[
        SpaceSource | None,
        Field(alias="from", description="Where the space comes from. It needs the permission `admin`."),
    ] = None
    description: Description = ""
    rules: RulesText | None = None
    rules_template: Template | None = None
    owner: Owner | None = None
    consolidation_threshold: Threshold | None = None
    timezone: Annotated[Timezone | None, Field(description=TIMEZONE)] = None
    consolidation_mode: Annotated[Mode, Field(description=CONSOLIDATION_MODE)] = "auto"
    repository: Annotated[Repository | None, Field(description=REPOSITORY)] = None
    bank_chars: BankChars | None = None

    def copy_request(self, source: SpaceSource) -> "new_space.SpaceCopy":
        """The space that comes from something, for the domain. Raises InvalidRequest."""
        from livemem.copies import new_space  # noqa: PLC0415

        sent = {name for name, value in source if value is not None}
        way = next((name for name in SOURCES if name in sent), None)
        if not way or sent - SOURCES[way]:
            raise InvalidRequest.of(
                "from", "must have a `space` (with `at`), a `backup` (with its `space`) or an `archive`"
            )
        own = {"space_id", "source", *(("description", "rules", "rules_template") if way == "archive" else ())}
        for name in sorted(self.model_fields_set - own):
            raise InvalidRequest.of(name, f"is not allowed with a space that comes from a {way}")
        archives = [source.archive] if isinstance(source.archive, str) else source.archive or []
        if way == "archive" and not 0 < len(set(archives)) == len(archives) <= MOST_ARCHIVES:
            raise InvalidRequest.of("from.archive", f"must be 1 to {MOST_ARCHIVES} different ids")
        description = self.description if "description" in self.model_fields_set else None
        return new_space.SpaceCopy(
            self.space_id,
            source.space,
            source.at,
            source.backup,
            archives,
            description,
            self.rules,
            self.rules_template,
        )

    def wanted(self) -> "lifecycle.SpaceRequest":
        """The space for the domain."""
        from livemem.spaces import lifecycle  # noqa: PLC0415

        return lifecycle.SpaceRequest(
            self.space_id,
            self.description,
            self.rules,
            self.rules_template,
            self.owner,
            self.consolidation_threshold,
            self.timezone,
            self.consolidation_mode,
            self.repository,
            self.bank_chars,
        )


class SpaceChange(Body):
    """The fields to change. A field that is left out keeps its value."""

    description: Description | None = None
    owner: Owner | None = None
    consolidation_threshold: Threshold | None = None
    auto_paused: Annotated[bool | None, Field(description=AUTO_PAUSED)] = None
    tidy_paused: Annotated[bool | None, Field(description=TIDY_PAUSED)] = None
    corrections: Annotated[Corrections | None, Field(description=CORRECTIONS)] = None
    consolidation_mode: Annotated[Mode | None, Field(description=CONSOLIDATION_MODE)] = None
    capture_allowed: Annotated[bool | None, Field(description=CAPTURE_ALLOWED)] = None
    agent_folds: Annotated[bool | None, Field(description=AGENT_FOLDS)] = None
    recall: Annotated[bool | None, Field(description=RECALL)] = None
    bank_chars: BankChars | None = None
    repository: Annotated[
        Repository | None, Field(description=f"{REPOSITORY} null takes it away, which needs an admin.")
    ] = None
    language: Annotated[Language | None, Field(description=f"{LANGUAGE} null takes it away.")] = None
    timezone: Annotated[Timezone | None, Field(description=f"{TIMEZONE} null takes it away.")] = None

    def wanted(self) -> "SpaceUpdate":
        """The change for the domain. A `repository`, `language` or `timezone` that is not sent keeps its value. Null
        resets it.
        """
        from livemem.consolidation.space_change import SpaceUpdate  # noqa: PLC0415

        return SpaceUpdate(
            self.description,
            self.owner,
            self.consolidation_threshold,
            self.auto_paused,
            self.tidy_paused,
            self.corrections,
            self.consolidation_mode,
            self.capture_allowed,
            self.agent_folds,
            self.recall,
            self.bank_chars,
            self.repository if "repository" in self.model_fields_set else ...,
            self.language if "language" in self.model_fields_set else ...,
            self.timezone if "timezone" in self.model_fields_set else ...,
        )


class RulesChange(Body):
    """Either `rules` or `rules_template`."""

    rules: RulesText | None = None
    rules_template: Annotated[Template | None, Field(examples=["journal"])] = None
    reason: Annotated[Reason | None, Field(examples=["One file is enough for us."])] = None

    def wanted(self) -> "NewRules":
        """The rules for the domain."""
        from livemem.changes.rules_change import NewRules  # noqa: PLC0415

        return NewRules(self.rules, self.rules_template, self.reason)


class PendingPlan(View):
    """A plan that waits for a person's approval."""

    job: Annotated[str, job_described("consolidation", "01KHXE5Q2V8R0M4T6W9YBNCD3F")]
    plan_revision: PlanRevision
    planned_at: Annotated[Moment, described("The time since when the plan waits, UTC.", "2026-02-20T14:05:00Z")]
    number: Annotated[int, described("The number that its change will have.", 2)]
    notes_count: Annotated[int, described("Number of notes that the plan folds.", 20)]

    @classmethod
    def of(cls, space_id: str, review: Review) -> "PendingPlan":
        plan = review.model_dump(exclude={"revision", "decision", "run_id"})
        return cls(**plan, plan_revision=review.revision, job=job_id(space_id, "consolidation", review.run_id))


class NextRunView(View):
    """What the next automatic consolidation waits for."""

    why: Annotated[
        Literal[
            "review",
            "running",
            "queued",
            "held",
            "after_failure",
            "paused",
            "by_hand",
            "due",
            "session_end",
            "threshold",
        ],
        described(
            "`review`: a plan waits for approval. `running`, `queued`: a run is at work, or will be. `held`: other "
            "work holds the space. `after_failure`: automatic runs wait after a failure. `paused`. `by_hand`: the "
            "threshold is 0. `due`: enough notes wait, and a run will start. `session_end`: the end of a session with "
            "three notes, or the oldest note's age of a day. `threshold`: more notes are needed.",
            "threshold",
        ),
    ]
    notes_missing: Annotated[int | None, described("Only with `threshold`: number of notes that are missing.", 18)] = (
        None
    )
    run_id: Annotated[
        str | None, described("Only with `review`, `running` and `queued`: the run.", "01KHXAB2V9Q4W6E8R0T2Y4U6I8")
    ] = None
    not_before: Annotated[
        Moment | None, described("Only with `after_failure`: the end of the wait, UTC.", "2026-02-20T14:30:00Z")
    ] = None
    detail: Annotated[
        str | None,
        described("The reason of a pause, the code of the failure, or the kind of work that holds the space.", "sweep"),
    ] = None


class WaitingView(View):
    """The notes that wait for a consolidation. Notes that are too large for a prompt are not counted."""

    notes_count: Annotated[int, described("Number of notes that wait.", 2)]
    exact: Annotated[bool, described("False if more notes wait than `notes_count`.", True)]
    oldest_note_at: Annotated[
        Moment | None, described("The time when the oldest of them was written, UTC.", "2026-02-20T14:00:00Z")
    ] = None
    next_run: Annotated[NextRunView, described("When the next automatic consolidation starts.")]

    @classmethod
    def of(cls, waiting: "Waiting") -> "WaitingView":
        return cls.model_validate(waiting, from_attributes=True)


class TidiedView(View):
    """The last tidy run."""

    run_id: RunId
    at: Annotated[
        Moment, described("The time of its change, or of its start if it changed nothing, UTC.", "2026-02-20T14:05:00Z")
    ]
    chars: Annotated[int, described("Number of characters of the bank that it found, or left.", 9_800)]


class LiveSize(View):
    """The live notes of a space."""

    notes_count: Annotated[int, described("Number of live notes.", 2)]
    total_size: Annotated[int, described("Total size of their objects in bytes.", 412)]


class BankSize(View):
    """The bank files of a space, with their number and size."""

    files_count: Annotated[int, described("Number of files.", 1)]
    total_size: Annotated[int, described("Total size of the files in bytes.", 60)]
    files: Annotated[
        list[FileView],
        described(
            "The files without their content, sorted by path.",
            [{"path": "glossary.md", "size": 60, "last_modified": "2026-02-20T14:05:00Z"}],
        ),
    ]


class SpaceView(View):
    """A space: its `_meta.json` without the internal fields of a deletion."""

    space_id: SpaceId
    description: Annotated[str, described("The purpose of the space.", "My project")]
    owner: Annotated[str | None, described("The responsible person or team, if one was given.")] = None
    created_at: Annotated[Moment, described("The time of creation, UTC.", "2026-02-20T09:00:00Z")]
    last_consolidation: Annotated[
        Moment | None, described("The time when the last consolidation was committed, UTC.", "2026-02-20T14:05:00Z")
    ] = None
    consolidation_count: Annotated[int, described("Number of consolidations that were not undone.", 1)]
    total_notes_processed: Annotated[int, described("Number of notes that these consolidations folded.", 1)]
    version: Annotated[int, described("The version of the contract with other programs that read the bucket: 1.", 1)]
    rev: Annotated[int, described("The revision of `_meta.json`. It grows with each write.", 4)]
    uid: Annotated[
        str,
        described(
            "A ULID that distinguishes the space from a deleted space with the same id.", "01KHXA0B7C9D2E4F6G8H0J2K4M"
        ),
    ]
    consolidation_threshold: Annotated[
        int,
        described("Number of live notes that starts a consolidation. 0: it starts only by hand.", 20),
    ]
    auto_paused: Annotated[bool, described(AUTO_PAUSED, False)]
    tidy_paused: Annotated[bool, described(TIDY_PAUSED, False)] = False
    corrections: Annotated[Corrections, described(CORRECTIONS, "admin")]
    consolidation_mode: Annotated[Mode, described(CONSOLIDATION_MODE, "auto")] = "auto"
    capture_allowed: Annotated[bool, described(CAPTURE_ALLOWED, True)] = True
    agent_folds: Annotated[bool, described(AGENT_FOLDS, False)] = False
    recall: Annotated[bool, described(RECALL, True)] = True
    bank_chars: Annotated[int, described("Number of characters that the bank should have. 0: any.", 10_000)] = 0
    bank_length: Annotated[
        int | None,
        described(
            "Number of characters of the bank after the newest change. Left out until a run has counted them.", 9_800
        ),
    ] = None
    tidied: Annotated[TidiedView | None, described("The last tidy run. Left out if there was none.")] = None
    pending_plan: Annotated[
        PendingPlan | None, described("The plan that waits for approval. No other plan is made while it waits.")
    ] = None
    repository: Annotated[str | None, described(REPOSITORY, "github.com/acme/api")] = None
    language: Annotated[str | None, described(LANGUAGE)] = None
    timezone: Annotated[str | None, described(TIMEZONE)] = None
    changes: Annotated[
        int,
        described("The number of the newest change in the history: consolidation, correction, rules or undo.", 1),
    ]
    rules_changed_at: Annotated[
        str | None,
        described("The time when the rules were changed, UTC. Left out once a consolidation has used them."),
    ] = None
    committed_run: Annotated[
        str | None, described("The run whose change is committed and still being applied. Usually left out.")
    ] = None

    live: Annotated[
        LiveSize | None, described("The number and size of the live notes. Lists and changes leave it out.")
    ] = None
    bank: Annotated[BankSize | None, described("The bank files. Lists and changes leave them out.")] = None
    synthesis_exists: Annotated[
        bool | None, described("Whether the space has a synthesis. Lists and changes leave it out.", True)
    ] = None
    waiting: Annotated[
        WaitingView | None,
        described("The notes that wait, and what the next consolidation waits for. A list tells it with `waiting`."),
    ] = None
    started_run: Annotated[
        str | None, described("The run that was started at once, because a change made a consolidation due.")
    ] = None

    @classmethod
    def of(cls, meta: Meta, **more: Any) -> "SpaceView":
        waits, tidied = meta.pending_plan, meta.tidied
        names = (cls.model_fields.keys() & Meta.model_fields.keys()) - {"pending_plan", "tidied"}
        return cls(
            **{name: getattr(meta, name) for name in names},
            pending_plan=PendingPlan.of(meta.space_id, waits) if waits else None,
            tidied=TidiedView(**tidied.model_dump()) if tidied else None,
            **more,
        )

    @classmethod
    def of_info(cls, info: "Info") -> "SpaceView":
        return cls.of(
            info.meta,
            live=LiveSize(notes_count=len(info.live), total_size=_total(info.live)),
            bank=BankSize(
                files_count=len(info.bank),
                total_size=_total(info.bank),
                files=[FileView.of(from_entry(entry)) for entry in info.bank],
            ),
            synthesis_exists=info.synthesis_exists,
            waiting=WaitingView.of(info.waiting),
        )


class SpacePage(Page):
    """A page of spaces."""

    items: Annotated[list[SpaceView], described("The spaces that the token may see, sorted by id.")]


class Rules(View):
    """The rules of a space."""

    rules: Annotated[
        str, described("The rules as Markdown.", "# Rules\n\nThe bank has one file, `journal.md`, newest day first.\n")
    ]
    consolidation: Annotated[int | None, described("The number of the change. Only after a change.", 3)] = None


class LiveNotes(View):
    """The newest live notes of a space."""

    count: Annotated[int, described("Number of live notes in the space.", 1)]
    exact: Annotated[bool, described("False if the space has more live notes than `count`.", True)]
    notes: Annotated[
        list[NoteView], described("The newest live notes in the order of time: up to 50, of 20 kB together.", [])
    ]


class PastMoment(View):
    """The change after which rules, synthesis and bank were as shown. The other fields are current."""

    change: Annotated[int, described("The number of the change.", 1)]
    committed_at: Annotated[Moment, described("The time when the change took effect, UTC.", "2026-02-20T14:05:00Z")]

    @classmethod
    def of(cls, then: "RecordedMoment") -> "PastMoment":
        return cls(change=then.number, committed_at=then.committed_at)


class SpaceSummary(View):
    """A space, with all that an agent needs of it at its start."""

    space: Annotated[SpaceView, described("The space.")]
    rules: Annotated[
        str | None,
        described(
            "The rules as Markdown. Absent with `rules=false`.", "# Rules\n\nThe bank has one file, `journal.md`.\n"
        ),
    ] = None
    synthesis: Annotated[SynthesisView | None, described("The synthesis. Left out before the first consolidation.")] = (
        None
    )
    bank: Annotated[list[FileView], described("All bank files with their content, in the order of the rules.")]
    live: Annotated[
        LiveNotes | None, described("The notes that no consolidation has folded yet. Absent with `at`.")
    ] = None
    at: Annotated[PastMoment | None, described("The change whose state is shown. Only with `at`.")] = None

    @classmethod
    def of_summary(cls, summary: "WholeSpace") -> "SpaceSummary":
        live, then = summary.live, summary.then
        return cls(
            space=SpaceView.of(summary.meta),
            rules=summary.rules,
            synthesis=SynthesisView.model_validate(asdict(summary.synthesis)) if summary.synthesis else None,
            bank=[FileView.of(file) for file in summary.bank],
            live=LiveNotes(count=live.count, exact=live.exact, notes=[NoteView.of(note) for note in live.notes])
            if live
            else None,
            at=PastMoment.of(then) if then else None,
        )


def _total(entries: list[Entry]) -> int:
    return sum(entry.size for entry in entries)
