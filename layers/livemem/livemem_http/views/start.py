"""The start of a session as an answer."""

from typing import Annotated, Literal

from livemem.recall.start import Start
from livemem_http.views.fields import Moment, SpaceId, Unread, View, described
from livemem_http.views.spaces import PastMoment


class StartPartView(View):
    """A piece of the Markdown."""

    kind: Annotated[
        Literal["guide", "section", "note", "memory", "turn", "summary", "synthesis", "outline"],
        described(
            "The kind of content. `guide`: how to use the memory. `outline`: the names of all parts that are left out.",
            "section",
        ),
    ]
    chars: Annotated[
        int, described("Number of characters, with the heading above. The sum over all parts is `chars`.", 412)
    ]
    why: Annotated[
        Literal["guide", "load_first", "question", "user", "live", "sessions", "other", "synthesis", "own", "outline"],
        described(
            "The reason why the part is shown. `load_first`: the rules mark it, or it is a usual place for "
            "the current state. `question`: it answers `q`. `user`: hints from conversations on how to work with this "
            "user. `live`: it is in no bank file yet. `sessions`: what a conversation was about. `other`: any other "
            "section. `own`: a memory about the agent itself or its goals.",
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
        Moment | None,
        described("The time of the last confirmation of a section or a memory, UTC.", "2026-02-20T14:00:00Z"),
    ] = None


class StartView(View):
    """The context for an agent at the start of a session."""

    space_id: SpaceId
    markdown: Annotated[
        str, described("The whole start as Markdown for a prompt.", "# Memory of `demo`\n\n## What holds now\n...\n")
    ]
    chars: Annotated[int, described("Number of characters in the Markdown, at most `max_chars`.", 7_936)]
    parts: Annotated[list[StartPartView], described("The parts of the Markdown, in their order.")]
    degraded: Annotated[
        list[str],
        described(
            "The sources that failed or were too late, and are left out: some of `memories`, `search`, `user`, "
            "`sessions`.",
            [],
        ),
    ]
    unread: Unread = None
    at: Annotated[
        PastMoment | None,
        described(
            "The change whose state is shown. Only with `at`.", {"change": 1, "committed_at": "2026-02-20T14:05:00Z"}
        ),
    ] = None

    @classmethod
    def of(cls, start: Start) -> "StartView":
        return cls(
            space_id=start.space_id,
            markdown=start.markdown,
            chars=len(start.markdown),
            parts=[StartPartView.model_validate(part, from_attributes=True) for part in start.parts],
            degraded=list(start.degraded),
            unread=start.unread or None,
            at=PastMoment.of(start.then) if start.then else None,
        )


def start_as_markdown(answer: StartView) -> str:
    """The start as it is."""
    return answer.markdown
