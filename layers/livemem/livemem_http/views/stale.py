"""Sections and memories that nobody has confirmed for long, as an answer."""

from typing import Annotated, Literal

from livemem.recall.stale import StaleList
from livemem.text.items import joined
from livemem_http.views.fields import Moment, View, described


class StaleItemView(View):
    """A section or a memory that nobody has confirmed for long."""

    kind: Annotated[Literal["section", "memory"], described("The kind of item.", "section")]
    id: Annotated[
        str,
        described("The id, as `GET .../read` takes it.", "bank/techContext.md#Tech context > Tools and versions"),
    ]
    excerpt: Annotated[
        str, described("The beginning of the text, on one line.", "- We build with Python 3.11. (2026-02-20, ann)")
    ]
    verified_at: Annotated[
        Moment,
        described(
            "The time of the last confirmation, UTC. A section is confirmed by the newest note that it rests "
            "on. A memory is confirmed when it is stored, repeated or corrected.",
            "2026-02-20T14:00:00Z",
        ),
    ]


class StaleView(View):
    """Sections and memories that nobody has confirmed for long."""

    items: Annotated[list[StaleItemView], described("The items, the longest unconfirmed first, at most `limit`.")]
    count: Annotated[int, described("Total number of items.", 1)]

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
