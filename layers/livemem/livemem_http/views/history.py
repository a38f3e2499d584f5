"""The history of a bank as answers."""

from typing import Annotated, Any

from livemem.bank.history import RecordDetail, RecordSummary
from livemem_http.views.fields import (
    Discarded,
    Gapped,
    LlmUsage,
    Metrics,
    Model,
    Moment,
    Number,
    Path,
    RunId,
    View,
    described,
)
from livemem_http.views.notes import NoteView


class ChangeSummary(View):
    """A change of the bank or the rules."""

    number: Number
    kind: Annotated[
        str,
        described(
            "`consolidation`, `tidy` (the bank was shortened), `manual` (a correction by hand), `rules` or `undo`.",
            "consolidation",
        ),
    ]
    trigger: Annotated[
        str,
        described(
            "The trigger: `api` (by hand), `threshold` (enough notes), `session_end`, `daily` (after a day), "
            "`sweep` (the schedule), `gc` (garbage collection), `agent` (one that folds).",
            "api",
        ),
    ]
    run_id: RunId
    started_at: Annotated[Moment, described("The start time, UTC.", "2026-02-20T14:04:55.800Z")]
    committed_at: Annotated[Moment, described("The time when the change took effect, UTC.", "2026-02-20T14:05:00Z")]
    model: Model = None
    author: Annotated[
        str | None, described("The name of the token that made the change by hand. Left out if nobody did.")
    ] = None
    approved_by: Annotated[
        str | None, described("The name of the token that approved the plan. Left out if no approval was required.")
    ] = None
    approved_at: Annotated[Moment | None, described("The time of the approval, UTC.")] = None
    undoes: Annotated[int | None, described("Only for an undo: the number of the change that was undone.")] = None
    undone: Annotated[bool, described("Whether the change was undone.", False)]
    notes_count: Annotated[
        int,
        described("Number of notes that the change folded. For an undo: number of notes that became live again.", 1),
    ]
    files: Annotated[
        list[dict[str, str]],
        described(
            "The files that were changed: `path` and `action` (`created`, `updated`, `edited`, `deleted`). "
            "The path of the rules is `_rules.md`.",
            [{"path": "glossary.md", "action": "created"}],
        ),
    ]
    metrics: Metrics

    @classmethod
    def of(cls, summary: RecordSummary) -> "ChangeSummary":
        return cls.model_validate(summary, from_attributes=True)


class ChangePage(Gapped):
    """A page of the history."""

    items: Annotated[list[ChangeSummary], described("The changes, newest first.")]


class SynthesisBeforeAfter(View):
    """The synthesis around a change."""

    before: Annotated[str | None, described("The text before the change. Left out: there was none.")] = None
    after: Annotated[
        str | None, described("The text after the change. Left out: there is none.", "S3 stays the only store.")
    ] = None


class FileDiff(View):
    """The effect of a change on one file. The path of the space's rules is `_rules.md`."""

    path: Path
    action: Annotated[
        str, described("`created`, `updated` (the whole file), `edited` (by section) or `deleted`.", "created")
    ]
    diff: Annotated[str, described("A unified diff.", "--- /dev/null\n+++ b/glossary.md\n@@ -0,0 +1 @@\n+# Glossary\n")]
    edits: Annotated[
        list[dict[str, Any]],
        described(
            "The edits of an edited file, each with `op`, `heading`, `content`, and the ids of its source `notes`."
        ),
    ] = []
    reason: Annotated[str | None, described("The reason, if one was given.")] = None
    said: Annotated[
        str | None,
        described("The action that the LLM named (`created`, `updated`). Only if it differs from the real one."),
    ] = None
    coarse: Annotated[
        bool,
        described("True if the file is too large for a full comparison. The rest is then shown as replaced.", False),
    ] = False


class BankWarningView(View):
    """A deviation from the request, or something that a change may have lost."""

    kind: Annotated[str, described("The kind of the warning, such as `reading` or `long_synthesis`.", "reading")]
    text: Annotated[str, described("The warning, as a sentence.")]
    file: Annotated[str | None, described("The bank file that it concerns, if it concerns one.")] = None
    line: Annotated[str | None, described("The line that it concerns, if it concerns one.")] = None
    word: Annotated[str | None, described("The word that it concerns, if it concerns one.")] = None
    note: Annotated[str | None, described("The id of the note whose words it names, if it names some.")] = None


class RemovedLineView(View):
    """A line that went in a tidy run: no line of the bank holds its words together any more."""

    file: Path
    line: Annotated[str, described("The line.", "- The tunnel was closed on 3 May.")]


Removed = Annotated[
    list[RemovedLineView],
    described(
        "Only for a tidy run: the lines that went, at most 500. `lines_removed` in `metrics` counts them all.", []
    ),
]
Warnings = Annotated[list[BankWarningView], described("Deviations from the request, and what may have been lost.", [])]


class FoldDetail(View):
    """A change, or the plan of one, with its notes and its diffs."""

    sources: Annotated[
        list[NoteView], described("The notes that it folds or makes live again, with their present state.")
    ]
    changes: Annotated[list[FileDiff], described("Its effect, file by file.")]
    synthesis: Annotated[SynthesisBeforeAfter, described("The synthesis before and after it.")]
    discarded: Discarded
    uncited: Annotated[
        list[str], described("Ids of the notes that it folds although two answers in a row left them out.", [])
    ]
    left_out: Annotated[
        list[str], described("Ids of the notes that the answer left out for the first time. They stay live.", [])
    ]
    warnings: Warnings
    removed: Removed


class ChangeDetail(ChangeSummary, FoldDetail):
    """A change with its notes and its diffs."""

    prompt_version: Annotated[
        str | None, described("The version of the prompt that was sent to the LLM.", "9d3f0c1a2b4e")
    ] = None
    usage: Annotated[LlmUsage, described("The LLM usage of this change.")]

    @classmethod
    def of_detail(cls, detail: RecordDetail) -> "ChangeDetail":
        return cls(
            **ChangeSummary.of(detail.summary).model_dump(),
            **folding(detail),
            prompt_version=detail.prompt_version,
            usage=LlmUsage.of(detail.usage),
        )


def folding(detail: "RecordDetail") -> dict[str, Any]:
    """The fields of a change, or of its plan, about its notes and what it does with them."""
    return {
        "sources": [NoteView.of(note) for note in detail.sources],
        "changes": [FileDiff(**change) for change in detail.changes],
        "synthesis": SynthesisBeforeAfter(before=detail.synthesis["before"], after=detail.synthesis["after"]),
        "discarded": detail.discarded,
        "uncited": detail.uncited,
        "left_out": detail.left_out,
        "removed": [RemovedLineView(**line.model_dump()) for line in detail.removed],
        "warnings": [BankWarningView(**warning.model_dump()) for warning in detail.warnings],
    }
