"""The invariants of a space as answers."""

from dataclasses import asdict
from typing import Annotated, get_args

from livemem.upkeep.invariants import Invariant, InvariantsPage, Name
from livemem_http.views.fields import Page, View, described


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


class InvariantPage(Page):
    """The invariants of a space, as far as a part of its history shows them."""

    holds: Annotated[
        bool | None, described("False: one is broken. Left out: none is broken, and one can't be told now.", True)
    ] = None
    first: Annotated[int, described("The number of the oldest change on the page. 0: there is none.", 1)]
    last: Annotated[int, described("The number of the newest change on the page.", 12)]
    items: Annotated[list[InvariantView], described("The invariants. Later pages have those of the records alone.")]

    @classmethod
    def of(cls, page: InvariantsPage, next_cursor: str | None) -> "InvariantPage":
        items = [InvariantView.of(one) for one in page.invariants]
        return cls(holds=page.holds, first=page.first, last=page.last, items=items, next_cursor=next_cursor)
