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
    NextCursor,
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
        str, described("`consolidation`, `manual` (a correction by hand), `rules` or `undo`.", "consolidation")
    ]
    trigger: Annotated[
        str,
        described(
            "What started it: `api` (by hand), `threshold` (enough notes), `sweep` (the schedule), `gc` (garbage "
            "collection), `promotion` (one was taken back).",
            "api",
        ),
    ]
    run_id: RunId
    started_at: Annotated[Moment, described("When it began, UTC.", "2026-02-20T14:04:55.800Z")]
    committed_at: Annotated[Moment, described("When it took effect, UTC.", "2026-02-20T14:05:00Z")]
    model: Model = None
    author: Annotated[str | None, described("Who did it by hand: the name of the token.")] = None
    approved_by: Annotated[
        str | None, described("Who approved it, where its plan had to be: the name of the token.")
    ] = None
    approved_at: Annotated[Moment | None, described("When that was, UTC.")] = None
    undoes: Annotated[int | None, described("Of an undo: the number of the change that it took back.")] = None
    undone: Annotated[bool, described("Whether it was taken back.", False)]
    notes_count: Annotated[int, described("Notes that it folded, or of an undo, gave back.", 1)]
    files: Annotated[
        list[dict[str, str]],
        described(
            "The files that it changed: `path` and `action` (`created`, `updated`, `edited`, `deleted`). The path of "
            "the rules is `_rules.md`.",
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
    next_cursor: NextCursor = None


class SynthesisBeforeAfter(View):
    """The synthesis around a change."""

    before: Annotated[str | None, described("The text before the change; left out: there was none.")] = None
    after: Annotated[
        str | None, described("The text after it; left out: there is none.", "S3 stays the only store.")
    ] = None


class FileDiff(View):
    """The effect of a change on one file. The path of the space's rules is `_rules.md`."""

    path: Path
    action: Annotated[
        str, described("`created`, `updated` (as a whole), `edited` (by section) or `deleted`.", "created")
    ]
    diff: Annotated[str, described("A unified diff.", "--- /dev/null\n+++ b/glossary.md\n@@ -0,0 +1 @@\n+# Glossary\n")]
    edits: Annotated[
        list[dict[str, Any]],
        described("The edits of an edited file: `op`, `heading`, `content`, and the ids of the `notes` behind it."),
    ] = []
    reason: Annotated[str | None, described("Why, where that was said.")] = None
    said: Annotated[
        str | None,
        described("What the answer called it (`created`, `updated`), where that is not what it did."),
    ] = None
    coarse: Annotated[
        bool,
        described("True if the file is too large to be compared to the end: the rest is shown as replaced.", False),
    ] = False


class ChangeDetail(ChangeSummary):
    """A change with its notes and its diffs."""

    sources: Annotated[list[NoteView], described("The notes that it folded or gave back, as they stand now.")]
    changes: Annotated[list[FileDiff], described("What it did, file by file.")]
    synthesis: Annotated[SynthesisBeforeAfter, described("The synthesis before and after it.")]
    discarded: Discarded
    uncited: Annotated[
        list[str], described("Ids of notes that were folded although two answers in a row left them out.", [])
    ]
    left_out: Annotated[
        list[str], described("Ids of notes that the answer left out for the first time: they stayed live.", [])
    ]
    warnings: Annotated[list[str], described("What is not as it was asked for, in sentences.", [])]
    prompt_version: Annotated[
        str | None, described("The version of the prompt that the LLM was asked with.", "9d3f0c1a2b4e")
    ] = None
    usage: Annotated[LlmUsage, described("What it asked of the LLM.")]

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
        "warnings": detail.warnings,
    }
