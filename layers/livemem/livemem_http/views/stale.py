"""Sections and memories that nobody has confirmed for long, as an answer."""

from typing import Annotated, Literal

from livemem.recall.stale import StaleList
from livemem.text.items import joined
from livemem_http.views.fields import Moment, View, described


class StaleItemView(View):
    """A section or a memory that nobody has confirmed for long."""

    kind: Annotated[Literal["section", "memory"], described("What it is.", "section")]
    id: Annotated[
        str, described("The id by which `read` gives it.", "bank/techContext.md#Tech context > Tools and versions")
    ]
    excerpt: Annotated[str, described("Its beginning, on one line.", "- We build with Python 3.11. (2026-02-20, ann)")]
    verified_at: Annotated[
        Moment,
        described(
            "When it was confirmed last, UTC: by the newest note that the section rests on, or by whoever stored, "
            "repeated or corrected it.",
            "2026-02-20T14:00:00Z",
        ),
    ]


class StaleView(View):
    """Sections and memories that nobody has confirmed for long."""

    items: Annotated[list[StaleItemView], described("The longest unconfirmed first, at most `limit`.")]
    count: Annotated[int, described("How many there are in all.", 1)]

    @classmethod
    def of(cls, found: StaleList) -> "StaleView":
        items = [StaleItemView.model_validate(one, from_attributes=True) for one in found.items]
        return cls(items=items, count=found.count)


def stale_as_markdown(answer: StaleView) -> str:
    """A line for each."""
    if not answer.items:
        return "Everything was confirmed since.\n"
    lines = "\n".join(f"- {one.verified_at[:10]} {one.id}: {one.excerpt}" for one in answer.items)
    more = answer.count - len(answer.items)
    return joined(lines, f"And {more} more." if more else "")
