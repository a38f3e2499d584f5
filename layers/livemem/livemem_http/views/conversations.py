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
from livemem_http.views.fields import Agent, Body, Gapped, Moment, NextCursor, Redacted, View, described

SHOWN = 200
"""Number of characters of the last message that a list shows."""

ConversationId = Annotated[str, described("The id of the conversation, an ULID.", "01KHXE5Q2V8R0M4T6W9YBNCD3F")]
TurnIndex = Annotated[int, described("The number of the turn in the conversation, from 1.", 7)]
Title = Annotated[
    str, described("What the conversation is called, in at most 500 bytes.", "Import", maxLength=TITLE_BYTES)
]
Folder = Annotated[
    str,
    described(
        "The folder that the agent works in, in at most 4,096 bytes. It is brought into one spelling by its text alone "
        "(`a/./b//../c` is `a/c`); where links lead only the client knows.",
        "/home/ann/ferry",
        maxLength=PATH_BYTES,
    ),
]
Host = Annotated[
    str, described("The machine that the folder is on, in at most 255 bytes.", "laptop", maxLength=HOST_BYTES)
]
ProjectPath = Annotated[
    str, described("The root of the project, in one spelling as `cwd` is.", "/home/ann/ferry", maxLength=PATH_BYTES)
]
ProfileName = Annotated[
    Profile, described("`turns`: a summary of each turn; `windows`: one of about `window_chars` characters.", "turns")
]


class Tunables(Body):
    """The parameters that cut a conversation into blocks and groups. A parameter that is left out keeps its value, or
    has the service's default.
    """

    window_chars: Annotated[
        Annotated[int, Field(ge=500, le=100_000)] | None,
        described("Characters that a block of turns should have (profile `windows`)."),
    ] = None
    wiggle: Annotated[
        Annotated[float, Field(ge=0, le=0.5)] | None, described("By what share of it a block may be shorter or longer.")
    ] = None
    min_flush_chars: Annotated[
        Annotated[int, Field(ge=1, le=100_000)] | None,
        described("Characters that a block must have to end before it is full; at most `window_chars`."),
    ] = None
    overlap_chars: Annotated[
        Annotated[int, Field(ge=0, le=400)] | None,
        described("Characters of the block before that the model sees as context."),
    ] = None
    flush_after_ms: Annotated[
        Annotated[int, Field(ge=60_000, le=86_400_000)] | None,
        described("Milliseconds of a pause after which a block ends."),
    ] = None
    seal_policy: Annotated[SealPolicy | None, described("Whether blocks end by `time`, by `chars`, or by both.")] = None
    ensure_assistant: Annotated[bool | None, described("Whether a block ends behind an assistant's side.")] = None
    group_chars: Annotated[
        Annotated[int, Field(ge=1_000, le=100_000)] | None,
        described("Characters that a group of summaries should have."),
    ] = None
    group_raw_chars: Annotated[
        Annotated[int, Field(ge=500, le=1_000_000)] | None,
        described("Characters that the turns of a group of level 2 must have together (profile `turns`)."),
    ] = None
    verbatim_chars: Annotated[
        Annotated[int, Field(ge=0, le=10_000)] | None,
        described("Characters up to which a block is its own summary, for which no model is asked."),
    ] = None
    ratio: Annotated[
        Annotated[float, Field(ge=0.01, le=0.5)] | None,
        described("What a summary should have of its source, as a share."),
    ] = None
    ratio_only: Annotated[
        bool | None, described("Whether that is a target alone; else a summary must not be much longer.")
    ] = None
    concurrency: Annotated[Annotated[int, Field(ge=1, le=10)] | None, described("Calls of the LLM at once.")] = None
    batch_delay_ms: Annotated[
        Annotated[int, Field(ge=0, le=60_000)] | None, described("Milliseconds between two waves of calls.")
    ] = None

    def changes(self) -> dict[str, Any]:
        """The parameters that are named."""
        return self.model_dump(include=set(Parameters.model_fields), exclude_none=True)


CaptureName = Annotated[
    Capturing,
    described(
        "`notes`: the model that summarises a block of turns also names what the team should know, at most five notes. "
        "They are live notes of who began the conversation. `off`: it does not, also where the space does not allow it "
        "(`capture_allowed`).",
        "notes",
    ),
]


class OpenConversation(Body):
    """A conversation to begin. All fields are optional."""

    title: Title | None = None
    cwd: Folder | None = None
    host: Host | None = None
    project_path: ProjectPath | None = None
    profile: ProfileName = "turns"
    parameters: Annotated[
        Tunables | None, described("How it is cut into blocks; it stays so until a full update says otherwise.")
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
    created_at: Annotated[Moment, described("When it was begun, UTC.", "2026-02-20T14:00:00.120Z")]
    author: Annotated[Agent, described("Who began it: the name of the token.", "cline-dev")]
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
    created_at: Annotated[Moment, described("When it was begun, UTC.", "2026-02-20T14:00:00.120Z")]
    last_activity: Annotated[Moment, described("When its newest turn was written, UTC.", "2026-02-20T14:05:00.010Z")]
    turn_count: Annotated[int, described("How many turns it has.", 7)]
    last_message: Annotated[
        str | None,
        described("The beginning of what was said last, up to 200 characters.", "Port Kiel answers 503 at night."),
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

    items: Annotated[list[ListedConversation], described("The conversations, by their beginning.")]
    next_cursor: NextCursor = None


class LevelView(View):
    """The progress of the summaries of a level."""

    level: Annotated[int, described("1: of turns; 2 and 3: of summaries.", 1)]
    sealed: Annotated[int, described("Blocks or groups whose end is fixed.", 6)]
    summarised: Annotated[int, described("Those that have their summary.", 6)]
    pending: Annotated[
        int,
        described(
            "What no summary of the level covers yet: turns on level 1, above it summaries of the level below.", 1
        ),
    ]


class ConversationDetail(ConversationView):
    """A conversation with the progress of its turns and summaries."""

    parameters: Annotated[Tunables, described("How it is cut into blocks and groups.")]
    last_activity: Annotated[Moment, described("When its newest turn was written, UTC.", "2026-02-20T14:05:00.010Z")]
    turn_count: Annotated[int, described("How many turns it has.", 7)]
    levels: Annotated[list[LevelView], described("The levels of summaries, the lowest first.")]
    open_turns: Annotated[
        int, described("Turns behind the last block, at least in part: they are given as they are.", 1)
    ]
    open_chars: Annotated[int, described("Their characters that no block covers, of at most 2,000 turns.", 420)]
    ungrouped_chars: Annotated[
        int, described("Characters of turns whose summary is in no summary of level 2 yet.", 3_100)
    ]
    generation: Annotated[int, described("Which set of summaries counts; a full update makes the next one.", 1)]
    building: Annotated[int | None, described("The generation that is being built; only while it is.")] = None

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
