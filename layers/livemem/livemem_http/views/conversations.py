"""Conversations and their parameters of blocks, as requests and answers."""

from typing import Annotated, Any

from pydantic import Field

from livemem.conversations import reading
from livemem.conversations.conversation import (
    HOST_BYTES,
    PATH_BYTES,
    TITLE_BYTES,
    Capturing,
    Conversation,
    NewConversation,
)
from livemem.conversations.parameters import Parameters, Profile, SealPolicy
from livemem.conversations.turn import Turn
from livemem_http.views.fields import Agent, Body, Gapped, Moment, Redacted, View, described

SHOWN = 200
"""Number of characters of the last message that a list shows."""

ConversationId = Annotated[str, described("The id of the conversation, a ULID.", "01KHXE5Q2V8R0M4T6W9YBNCD3F")]
TurnIndex = Annotated[int, described("The number of the turn in the conversation, from 1.", 7)]
Title = Annotated[
    str, described("The title of the conversation, in at most 500 bytes.", "Import", maxLength=TITLE_BYTES)
]
Folder = Annotated[
    str,
    described(
        "The folder that the agent works in, in at most 4,096 bytes. The service normalises the path as "
        "text (`a/./b//../c` becomes `a/c`). It can't resolve links: only the client can.",
        "/home/ann/ferry",
        maxLength=PATH_BYTES,
    ),
]
Host = Annotated[
    str, described("The machine that has the folder, in at most 255 bytes.", "laptop", maxLength=HOST_BYTES)
]
ProjectPath = Annotated[
    str, described("The root folder of the project, normalised as `cwd` is.", "/home/ann/ferry", maxLength=PATH_BYTES)
]
ProfileName = Annotated[
    Profile,
    described(
        "`turns`: one summary for each turn. `windows`: one summary for about `window_chars` characters.", "turns"
    ),
]


class Tunables(Body):
    """The parameters that cut a conversation into blocks and groups. An omitted parameter keeps its value, or has the
    service's default.
    """

    window_chars: Annotated[
        Annotated[int, Field(ge=500, le=100_000)] | None,
        described("Target size of a block of turns, in characters (profile `windows`)."),
    ] = None
    wiggle: Annotated[
        Annotated[float, Field(ge=0, le=0.5)] | None,
        described("The share of `window_chars` by which a block may be shorter or longer, from 0 to 0.5."),
    ] = None
    min_flush_chars: Annotated[
        Annotated[int, Field(ge=1, le=100_000)] | None,
        described("Minimum size, in characters, of a block that ends before it is full; at most `window_chars`."),
    ] = None
    overlap_chars: Annotated[
        Annotated[int, Field(ge=0, le=400)] | None,
        described("Number of characters of the previous block that the model sees as context."),
    ] = None
    flush_after_ms: Annotated[
        Annotated[int, Field(ge=60_000, le=86_400_000)] | None,
        described("The pause in milliseconds after which a block ends."),
    ] = None
    seal_policy: Annotated[
        SealPolicy | None,
        described("The condition that ends a block: `time` (a pause), `chars` (its size), or `hybrid` (either one)."),
    ] = None
    ensure_assistant: Annotated[
        bool | None, described("Whether a block ends only after a message of the assistant.")
    ] = None
    group_chars: Annotated[
        Annotated[int, Field(ge=1_000, le=100_000)] | None,
        described("Target size of a group of summaries, in characters."),
    ] = None
    group_raw_chars: Annotated[
        Annotated[int, Field(ge=500, le=1_000_000)] | None,
        described("Minimum total size, in characters, of the turns of a level 2 group (profile `turns`)."),
    ] = None
    verbatim_chars: Annotated[
        Annotated[int, Field(ge=0, le=10_000)] | None,
        described(
            "Maximum size, in characters, of a block that serves as its own summary. The service asks no "
            "model for such a block."
        ),
    ] = None
    ratio: Annotated[
        Annotated[float, Field(ge=0.01, le=0.5)] | None,
        described("Target size of a summary, as a share of its source."),
    ] = None
    ratio_only: Annotated[
        bool | None,
        described("True: `ratio` is only a target. False: a summary must not be much longer than the target."),
    ] = None
    concurrency: Annotated[
        Annotated[int, Field(ge=1, le=10)] | None, described("Maximum number of simultaneous LLM calls.")
    ] = None
    batch_delay_ms: Annotated[
        Annotated[int, Field(ge=0, le=60_000)] | None,
        described("Pause in milliseconds between two waves of LLM calls."),
    ] = None

    def changes(self) -> dict[str, Any]:
        """The parameters that the request names."""
        return self.model_dump(include=set(Parameters.model_fields), exclude_none=True)


CaptureName = Annotated[
    Capturing,
    described(
        "`notes`: the model that summarises a block of turns also names up to five things that the team "
        "should know. They become live notes of the agent that began the conversation. `off`: no notes; "
        "always so where the space does not allow them (`capture_allowed`).",
        "notes",
    ),
]


class OpenConversation(Body):
    """A conversation to create. All fields are optional."""

    title: Title | None = None
    cwd: Folder | None = None
    host: Host | None = None
    project_path: ProjectPath | None = None
    profile: ProfileName = "turns"
    parameters: Annotated[
        Tunables | None,
        described("How the conversation is cut into blocks. Only a full update of the summaries changes this."),
    ] = None
    capture: CaptureName = "off"

    def wanted(self) -> NewConversation:
        """The conversation for the domain; raises InvalidRequest."""
        changes = self.parameters.changes() if self.parameters else {}
        parameters = Parameters.of(changes, "parameters.")
        return NewConversation(
            self.title, self.cwd, self.host, self.project_path, self.profile, parameters, self.capture
        )


class ConversationView(View):
    """A conversation."""

    conversation_id: ConversationId
    title: Title | None = None
    cwd: Folder | None = None
    host: Host | None = None
    project_path: ProjectPath | None = None
    profile: ProfileName
    capture: CaptureName
    created_at: Annotated[Moment, described("The time of creation, UTC.", "2026-02-20T14:00:00.120Z")]
    author: Annotated[Agent, described("The name of the token that created it.", "cline-dev")]
    redacted: Redacted = None

    @classmethod
    def of(cls, conversation: Conversation) -> "ConversationView":
        found = cls.model_validate(conversation, from_attributes=True)
        return found if found.redacted else found.model_copy(update={"redacted": None})


class ListedConversation(View):
    """A conversation in a list."""

    conversation_id: ConversationId
    title: Title | None = None
    cwd: Folder | None = None
    host: Host | None = None
    created_at: Annotated[Moment, described("The time of creation, UTC.", "2026-02-20T14:00:00.120Z")]
    last_activity: Annotated[
        Moment, described("The time when the newest turn was written, UTC.", "2026-02-20T14:05:00.010Z")
    ]
    turn_count: Annotated[int, described("Number of turns.", 7)]
    last_message: Annotated[
        str | None,
        described("The beginning of the newest message, up to 200 characters.", "Port Kiel answers 503 at night."),
    ] = None

    @classmethod
    def of(cls, listed: reading.Listed) -> "ListedConversation":
        known, last = listed.conversation, listed.last
        return cls(
            conversation_id=known.conversation_id,
            title=known.title,
            cwd=known.cwd,
            host=known.host,
            created_at=known.created_at,
            last_activity=last.timestamp if last else known.created_at,
            turn_count=listed.turn_count,
            last_message=_said_last(last) if last else None,
        )


def _said_last(turn: Turn) -> str | None:
    text = (turn.assistant_message.strip() or turn.user_message.strip())[: SHOWN + 1]
    return (text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…") or None


class ConversationPage(Gapped):
    """A page of conversations, newest first."""

    items: Annotated[list[ListedConversation], described("The conversations, the last created first.")]


class LevelView(View):
    """The progress of the summaries of a level."""

    level: Annotated[int, described("The level. 1: summaries of turns; 2 and 3: summaries of summaries.", 1)]
    sealed: Annotated[int, described("Number of blocks or groups whose end is fixed.", 6)]
    summarised: Annotated[int, described("Number of these blocks or groups that have a summary.", 6)]
    pending: Annotated[
        int,
        described(
            "Number of items that no summary of this level covers yet. On level 1 the items are turns; above, "
            "they are summaries of the level below.",
            1,
        ),
    ]


class ConversationDetail(ConversationView):
    """A conversation with the progress of its turns and summaries."""

    parameters: Annotated[Tunables, described("The parameters that cut it into blocks and groups.")]
    last_activity: Annotated[
        Moment, described("The time when the newest turn was written, UTC.", "2026-02-20T14:05:00.010Z")
    ]
    turn_count: Annotated[int, described("Number of turns.", 7)]
    levels: Annotated[list[LevelView], described("The levels of summaries, the lowest level first.")]
    open_turns: Annotated[
        int, described("Number of turns that no block covers completely. A context shows them word for word.", 1)
    ]
    open_chars: Annotated[
        int, described("Number of characters that no block covers yet, counted over at most 2,000 turns.", 420)
    ]
    ungrouped_chars: Annotated[
        int, described("Number of characters of turns whose summary is in no level 2 summary yet.", 3_100)
    ]
    generation: Annotated[
        int, described("The number of the summary version in use. A full update makes the next version.", 1)
    ]
    building: Annotated[
        int | None,
        described("The number of the summary version that is being built. Only while a full update is in progress."),
    ] = None

    @classmethod
    def of_detail(cls, detail: reading.Detail) -> "ConversationDetail":
        known, last = detail.listed.conversation, detail.listed.last
        return cls(
            **{**ConversationView.of(known).model_dump(), "profile": detail.at.built.profile},
            parameters=Tunables(**detail.at.parameters.model_dump()),
            last_activity=last.timestamp if last else known.created_at,
            turn_count=detail.listed.turn_count,
            levels=[LevelView.model_validate(one, from_attributes=True) for one in detail.levels],
            open_turns=detail.open_turns,
            open_chars=detail.open_chars,
            ungrouped_chars=detail.ungrouped_chars,
            generation=detail.at.version,
            building=detail.building,
        )
