"""Erasures as requests and answers."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Literal

from livemem import limits
from livemem.jobs.describable import job_id
from livemem.jobs.receipt import Receipt
from livemem_http.views.fields import Agent, Body, View, described, job_described

if TYPE_CHECKING:
    from livemem.erasure.preview import ErasurePreview


class SectionToCorrect(View):
    """A section of a bank file that rests on an erased note. It may still say the same as the note in other words."""

    path: Annotated[str, described("The path of the file.", "progress.md")]
    heading: Annotated[
        str, described("The heading of the section; empty for the text before the first one.", "## Done")
    ]
    section: Annotated[
        list[str], described("The headings from the outermost one to the section.", ["# Progress", "## Done"])
    ]


class PreviewPlaceView(View):
    """The space, or one of its backups, with the number of its objects that would be changed or removed, by kind."""

    backup_id: Annotated[str | None, described("The backup. Left out: the space itself.")] = None
    counts: Annotated[dict[str, int], described("Number of objects by kind.", {"live": 1, "bank_files": 1})]


class ErasurePreviewView(View):
    """What a preview looked at."""

    complete: Annotated[bool, described("False: the time did not suffice to look everywhere, and there is more.", True)]
    states: Annotated[
        dict[str, Literal["in_space", "in_backups", "erased", "unknown"]],
        described(
            "By id. `in_space`: the space holds its words. `in_backups`: only backups do. `erased`: nothing of it is "
            "left. `unknown`: it is nowhere, and an erasure with it is refused (404).",
            {"20260220T140000_cline-dev_decision_1a2b3c4d": "in_space"},
        ),
    ]
    places: Annotated[list[PreviewPlaceView], described("The places that hold or quote the words.")]


class ErasureView(View):
    """The receipt of an erasure, or a preview of it. It holds nothing of what is erased."""

    kind: Annotated[Literal["erasure"], described("The kind of work.", "erasure")] = "erasure"
    status: Annotated[
        Literal["preview", "running", "done"],
        described(
            "`done`: everything is erased. `running`: an erasure that has started is always completed. `preview`: "
            "nothing was changed.",
            "done",
        ),
    ]
    job: Annotated[str | None, job_described("erasure", "01KHXE5Q2V8R0M4T6W9YBNCD3F")] = None
    agent: Annotated[str | None, described("The agent, if all its notes are erased.")] = None
    ids: Annotated[
        list[str],
        described(
            "The ids of the erased notes, memories and turns, also of those that go with others: memories that were "
            "merged, and notes that were captured from a turn. Empty in lists of jobs, where `progress` counts them.",
            ["20260220T140000_cline-dev_decision_1a2b3c4d"],
        ),
    ]
    requested_by: Annotated[str, described("The name of the token that requested it.", "admin")]
    counts: Annotated[
        dict[str, int],
        described(
            "Number of objects, and of former versions of objects, from which something was erased.",
            {"records": 1, "backups": 3},
        ),
    ]
    files: Annotated[
        list[str], described("The bank files that quoted a note word for word. They have `[erased]` there now.", [])
    ]
    sections: Annotated[
        list[SectionToCorrect], described("The sections of the bank that a person should read and correct.")
    ]
    quoted_in: Annotated[
        list[str],
        described(
            "The ids of other notes and memories that quote the erased text. They are not changed. Empty in lists of "
            "jobs.",
            [],
        ),
    ]
    versions: Annotated[
        Literal["removed", "not_kept", "not_reachable"] | None,
        described("The result for former versions of objects, in a bucket that keeps them.", "removed"),
    ] = None
    not_reached: Annotated[
        list[str],
        described("The places that the service can't reach, as sentences.", ["Archives that were downloaded."]),
    ]
    preview: Annotated[ErasurePreviewView | None, described("What a preview looked at.")] = None

    @classmethod
    def of(cls, receipt: Receipt, preview: "ErasurePreview | None" = None) -> "ErasureView":
        told: dict[str, Any] = {
            "ids": [*receipt.note_ids, *receipt.memory_ids, *receipt.turns],
        }
        if preview:
            told |= {
                "status": "preview",
                "preview": {**vars(preview), "places": [asdict(one) for one in preview.places]},
            }
        else:
            told["job"] = job_id(receipt.space_id, "erasure", receipt.job_id)
        return cls.model_validate({**receipt.model_dump(), **told})


class NewErasure(Body):
    """Notes, memories and turns to erase for ever, at most 100 together; or all notes of an agent."""

    ids: Annotated[
        list[str],
        described(
            "The ids, as `read` takes them. Memories that were merged with one, and notes that were captured from a "
            "turn, go with it.",
            ["20260220T140000_cline-dev_decision_1a2b3c4d"],
            maxItems=limits.ERASED_AT_ONCE,
        ),
    ] = []
    agent: Annotated[Agent | None, described("All notes of this agent, in the place of `ids`.")] = None
    preview: Annotated[bool, described("True: only shows what would be erased, and where.", False)] = False
