"""The start of a session as an answer."""

from typing import Annotated, Literal

from livemem.recall.start import Start
from livemem_http.views.fields import Moment, SpaceId, View, described


class StartPartView(View):
    """A piece of the Markdown."""

    kind: Annotated[
        Literal["guide", "section", "note", "memory", "summary", "synthesis", "outline"],
        described("What it shows; `guide`: how to use the memory; `outline`: what is left out.", "section"),
    ]
    chars: Annotated[
        int, described("Characters that it takes, with the heading above it. They add up to `chars`.", 412)
    ]
    why: Annotated[
        Literal["guide", "load_first", "question", "user", "live", "synthesis", "changed_last", "own", "outline"],
        described(
            "Why it is there: `load_first`: the rules mark it, or it is a usual place for what holds now; `question`: "
            "it answers `q`; `user`: hints from conversations of how to work with this user; `live`: in no file yet; "
            "`own`: what agents know of themselves, and want.",
            "load_first",
        ),
    ]
    source: Annotated[
        str | None,
        described(
            'The id by which it can be read: of a section `bank/{path}#{headings joined by " > "}`; left out where '
            "nothing stored is shown.",
            "bank/activeContext.md#Active context > Next steps",
        ),
    ] = None
    verified_at: Annotated[
        Moment | None, described("Of a section and a memory: when it was last confirmed, UTC.", "2026-02-20T14:00:00Z")
    ] = None


class StartView(View):
    """The context for an agent at the start of a session."""

    space_id: SpaceId
    markdown: Annotated[
        str, described("All of it, ready for a prompt.", "# Memory of `demo`\n\n## What holds now\n...\n")
    ]
    chars: Annotated[int, described("Characters of the Markdown: at most `max_chars`.", 7_936)]
    parts: Annotated[list[StartPartView], described("What it is made of, in its order.")]
    degraded: Annotated[
        list[str],
        described("Sources that failed or were late, and are left out: some of `memories`, `search`, `user`.", []),
    ]

    @classmethod
    def of(cls, start: Start) -> "StartView":
        return cls(
            space_id=start.space_id,
            markdown=start.markdown,
            chars=len(start.markdown),
            parts=[StartPartView.model_validate(part, from_attributes=True) for part in start.parts],
            degraded=list(start.degraded),
        )


def start_as_markdown(answer: StartView) -> str:
    """The start as it is."""
    return answer.markdown
