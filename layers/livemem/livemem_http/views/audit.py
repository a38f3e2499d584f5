"""What the bucket shows of a space, as answers: the life of a note, and the invariants."""

from dataclasses import asdict
from typing import Annotated, Literal, get_args

from livemem.audit.invariant_checks import Invariant, Name
from livemem.audit.invariants import InvariantsPage
from livemem.audit.life_event import What
from livemem.audit.note_life import NoteLife
from livemem_http.views.fields import Gapped, Model, Moment, NextCursor, NoteId, Path, View, described


class NamingEditView(View):
    """An edit of a section that names the note as its source."""

    op: Annotated[
        str, described("The edit. `confirm_section`: the note confirms what the section says.", "append_to_section")
    ]
    heading: Annotated[str, described("The heading that the edit addresses.", "## Terms")]


class TouchedFileView(View):
    """A bank file into which a change folded the note."""

    path: Path
    action: Annotated[
        str, described("`created`, `updated` (the whole file), `edited` (by section) or `deleted`.", "created")
    ]
    edits: Annotated[list[NamingEditView], described("The edits that name the note.", [])]
    sections: Annotated[
        list[list[str]],
        described("The sections that rested on the note from then on, each by its headings.", [["# Glossary"]]),
    ]


class LifeEventView(View):
    """One event in the life of a note."""

    what: Annotated[
        What,
        described(
            "`written`, `captured` (from a conversation) or `promoted_here` (from another space): how it began. "
            "`came_with_space`: the space was restored, forked or imported. `promoted`: copied into another space. "
            "`planned`: a plan that waits for approval takes it. `left_out`: a change neither used nor discarded it, "
            "so it stayed live. `folded`: a change put it into the bank. `discarded`, `uncited`: a change took it "
            "without using it. `archived`: garbage collection moved it into the history. `taken_back`: its promotion "
            "was taken back. `returned`: an undo made it live again. `remembered`: a memory names it as its source. "
            "`backed_up`: a backup holds it. `erased`: its words were erased.",
            "folded",
            enum=list(get_args(What)),
        ),
    ]
    at: Annotated[Moment, described("The time of the event, UTC.", "2026-02-20T14:05:00Z")]
    by: Annotated[str | None, described("The name of the token. Left out: no token did it, or it is not known.")] = None
    reason: Annotated[str | None, described("Why the note was discarded, archived or taken back.")] = None
    model: Model = None
    consolidation: Annotated[int | None, described("The number of the change.", 1)] = None
    undone: Annotated[Literal[True] | None, described("True: that change was undone later.")] = None
    undoes: Annotated[int | None, described("Only for `returned`: the number of the change that was undone.")] = None
    run_id: Annotated[str | None, described("The run that made the change or the plan.")] = None
    files: Annotated[
        list[TouchedFileView] | None, described("Only for `folded`: the files that the note went into.")
    ] = None
    space_id: Annotated[
        str | None, described("The other space. Left out: there is none, or the token may not see it.")
    ] = None
    note_id: Annotated[str | None, described("Only for `promoted_here`: the note of the other space.")] = None
    promotion_id: Annotated[str | None, described("The id of the promotion, to take it back.")] = None
    conversation_id: Annotated[str | None, described("Only for `captured`: the conversation.")] = None
    turns: Annotated[tuple[int, int] | None, described("Only for `captured`: the first and the last turn.")] = None
    memory_id: Annotated[str | None, described("Only for `remembered`: the memory.")] = None
    backup_id: Annotated[str | None, described("The backup.")] = None
    erasure_id: Annotated[str | None, described("Only for `erased`: the id of the receipt.")] = None


class RestingSectionView(View):
    """A section of the bank that rests on the note."""

    path: Path
    section: Annotated[list[str], described("The headings from the outermost one to the section.", ["# Glossary"])]


class NoteLifeView(Gapped):
    """The life of a note."""

    note_id: NoteId
    status: Annotated[
        Literal["live", "consolidated", "erased"],
        described("The state of the note now. `erased`: nothing of its words is left.", "consolidated"),
    ]
    consolidation: Annotated[
        int | None, described("The number of the change that holds the note now. Left out: the note is live.", 1)
    ] = None
    events: Annotated[list[LifeEventView], described("The events, oldest first.")]
    sections: Annotated[list[RestingSectionView], described("The sections of the bank that rest on the note now.")]
    unread: Annotated[
        int | None,
        described("Only if more than 64 changes may hold the note: the number of older ones that were not read."),
    ] = None

    @classmethod
    def of(cls, life: NoteLife) -> "NoteLifeView":
        events = [{**asdict(event), "files": [asdict(file) for file in event.files] or None} for event in life.events]
        return cls.model_validate({**asdict(life), "events": events, "unread": life.unread or None})


class InvariantView(View):
    """An invariant of a space."""

    name: Annotated[
        Name,
        described(
            "`records_numbered`: each change from the oldest one on has one record. `notes_once`: each note is live or "
            "in one change that stands. `records_joined`: each change of a file begins with the text that the one "
            "before it left. `head_agrees`: the head of the space counts what the records show. `bank_recorded`: each "
            "file is as the last change of it left it. `sources_exist`: each section rests on notes that their change "
            "can hold. `snapshots_agree`: the snapshots of memories have what their log makes. `nothing_orphaned`: no "
            "run is older than its time without an end. `all_readable`: no object is known that can't be read.",
            "notes_once",
            enum=list(get_args(Name)),
        ),
    ]
    holds: Annotated[
        bool | None, described("Whether it holds. Left out: it can't be told now, and `detail` says why.", True)
    ] = None
    looked_at: Annotated[
        int, described("How many things were compared: records, notes, files, sources, memories or runs.", 12)
    ]
    detail: Annotated[str | None, described("The finding, or why nothing can be told, as a sentence.")] = None
    evidence: Annotated[
        list[str], described("What breaks it, at most 20 pieces: ids, paths, keys and numbers of changes.", [])
    ]

    @classmethod
    def of(cls, found: Invariant) -> "InvariantView":
        return cls.model_validate({**asdict(found), "evidence": list(found.evidence)})


class InvariantPage(View):
    """The invariants of a space, as far as a part of its history shows them."""

    holds: Annotated[
        bool | None, described("False: one is broken. Left out: none is broken, and one can't be told now.", True)
    ] = None
    first: Annotated[int, described("The number of the oldest change on the page. 0: there is none.", 1)]
    last: Annotated[int, described("The number of the newest change on the page.", 12)]
    items: Annotated[list[InvariantView], described("The invariants. Later pages have those of the records alone.")]
    next_cursor: NextCursor = None

    @classmethod
    def of(cls, page: InvariantsPage, next_cursor: str | None) -> "InvariantPage":
        items = [InvariantView.of(one) for one in page.invariants]
        return cls(holds=page.holds, first=page.first, last=page.last, items=items, next_cursor=next_cursor)
