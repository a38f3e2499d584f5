"""Memories as requests and answers."""

from types import EllipsisType
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from livemem import limits
from livemem.errors import InvalidName
from livemem.memories.changes import Change, What
from livemem.memories.correcting import Correction
from livemem.memories.memory import (
    CATEGORIES,
    CATEGORY_CHARACTERS,
    CONTENT_BYTES,
    SUBJECT_CHARACTERS,
    SUBJECTS,
    Former,
    Memory,
    MemoryDraft,
    Origin,
)
from livemem.memories.operation import By, Kept
from livemem.memories.reading import FoundMemories, NearMemory
from livemem.memories.splitting import Split
from livemem.memories.storing import BATCH, Failed
from livemem.memories.storing_outcome import StoredMemory
from livemem.store import keys
from livemem.store.keys import MemoryKind
from livemem_http.views.fields import (
    ALONE,
    BY_ITEMS,
    SEVERAL,
    Agent,
    Body,
    Gapped,
    Moment,
    Redacted,
    View,
    at_most,
    described,
)

MemoryId = Annotated[str, described("The id of the memory, a ULID.", "01KHXE5Q2V8R0M4T6W9YBNCD3F")]
OfKind = Annotated[
    MemoryKind,
    described(
        "`fact`: a fact about people, decisions or things. `self`: a fact about the agent itself. `goal`: "
        "a goal of the agent.",
        "fact",
    ),
]
Content = Annotated[
    str,
    described(
        "One durable fact, readable by itself, in at most 8,000 bytes.",
        "Ann prefers short answers in French.",
        minLength=1,
        maxLength=CONTENT_BYTES,
    ),
]
_FIXED = "; ".join(f"of `{kind}`: {', '.join(f'`{one}`' for one in some)}" for kind, some in CATEGORIES.items())
CategoryOf = Annotated[
    str,
    described(f"The category: {_FIXED}; of `fact`: any word.", "preference", maxLength=CATEGORY_CHARACTERS),
]
Subject = Annotated[
    str,
    described(
        "A subject of the memory: one word or a few. It is stored in lower case.",
        "ann",
        minLength=1,
        maxLength=4 * SUBJECT_CHARACTERS,
    ),
]
Ttl = Annotated[
    str,
    described(
        "How long the memory is valid from now: a whole number from 1 to 9999 and `m`, `h`, `d`, `w` or "
        "`y` (minutes to years). Null: for ever.",
        "30d",
        pattern="^[1-9][0-9]{0,3}[mhdwy]$",
    ),
]
MemorySaidAt = Annotated[
    Moment,
    described(
        "The time when it was said. Default: that of the note that is the source, else now. Searches, contexts and "
        "the start use it. A time ahead of the service's clock counts as now.",
        "2026-02-19T09:30:00Z",
    ),
]
MemoryAuthor = Annotated[
    str,
    described(
        "The speaker, a person or an agent. Default: that of the note that is the source, else the token.",
        "ines",
        minLength=1,
        maxLength=limits.SPEAKER_BYTES,
    ),
]
Expires = Annotated[
    Moment | None, described("The expiry time, UTC. Absent: the memory never expires.", "2026-03-22T14:00:00Z")
]
OfSource = Annotated[Origin, described("The kind of source.", "conversation")]
Score = Annotated[
    float,
    described(
        "The similarity of the two: the cosine of their vectors, or without an embedding model the "
        "similarity of their texts.",
        0.91,
    ),
]
HowTold = Annotated[
    By,
    described(
        "How the service decided that both say the same: the same words (`text`) or the LLM (`llm`). Only "
        "where `MEMORY_MERGE` is `similarity`: their vectors (`vector`) or similar texts (`lexical`).",
        "llm",
    ),
]
WhichStands = Annotated[
    Kept,
    described(
        "Which content is the current one: `new`, or `former` if the former content says more. The other "
        "one is kept in the history.",
        "new",
    ),
]


def _of_note(note_id: str) -> str:
    try:
        return keys.parse_note_id(note_id).note_id
    except InvalidName as error:
        raise ValueError(error.message) from None


def _of_conversation(conversation_id: str) -> str:
    try:
        return keys.check_conversation_id(conversation_id)
    except InvalidName as error:
        raise ValueError(error.message) from None


Subjects = Annotated[
    list[Subject],
    Field(
        description="Subjects by which the memory can be found.",
        examples=[["ann", "style"]],
        max_length=SUBJECTS,
    ),
]
IdempotencyKey = Annotated[
    str,
    described(
        "A name of your own for the request. A repeat with the same name within 30 days returns the first answer (200) "
        "and stores only the `items` that were not stored. The same name with another memory is refused (422).",
        "job-17-step-3",
        minLength=1,
        maxLength=limits.IDEMPOTENCY_KEY_CHARACTERS,
    ),
]


class NewMemory(Body):
    """A memory to store. It is said by the token and now, unless `author` and `said_at` say more."""

    content: Content
    kind: OfKind = "fact"
    category: CategoryOf | None = None
    subjects: Subjects = []
    ttl: Ttl | None = None
    said_at: MemorySaidAt | None = None
    author: MemoryAuthor | None = None
    source: OfSource = "manual"
    replace: Annotated[
        bool,
        described(
            "True: the new memory replaces the one that says the same, even if that one says more or is valid "
            "for longer. The LLM decides which memory says the same. To replace a memory that you know, "
            "correct it by its id.",
            False,
        ),
    ] = False
    conversation_id: Annotated[
        Annotated[str, AfterValidator(_of_conversation)] | None, described("The conversation that is the source.")
    ] = None
    note_id: Annotated[Annotated[str, AfterValidator(_of_note)] | None, described("The note that is the source.")] = (
        None
    )

    def draft(self) -> MemoryDraft:
        """The memory for the domain."""
        return MemoryDraft(**{**self.model_dump(), "subjects": tuple(self.subjects)})


class NewMemories(Body):
    """Memories to store in one request, one after the other."""

    items: Annotated[
        list[NewMemory],
        at_most(BATCH, "memories"),
        described(
            "The memories, stored in this order.",
            [
                {"content": "I keep the memory of the ferry project.", "kind": "self", "category": "context"},
                {"content": "Ann prefers short answers in French.", "subjects": ["ann"]},
            ],
            minItems=1,
            maxItems=BATCH,
        ),
    ]


MemoryOrMemories = Annotated[Annotated[NewMemory, ALONE] | Annotated[NewMemories, SEVERAL], BY_ITEMS]


class MemoryChange(Body):
    """The fields to change. A field that is not sent keeps its value."""

    content: Content | None = None
    category: Annotated[CategoryOf | None, described("The new category. Null: no category.")] = None
    subjects: Annotated[Subjects | None, described("The complete new list of subjects.")] = None
    ttl: Ttl | None = None
    said_at: Annotated[Moment | None, described("The time when it was said. Null: the time when it was stored.")] = None
    author: Annotated[MemoryAuthor | None, described("The speaker. Null: the token.")] = None
    revision: Annotated[
        int | None,
        described(
            "The revision that you have read. If the memory has changed since, the correction is refused "
            "(`precondition_lost`)."
        ),
    ] = None

    def correction(self) -> Correction:
        """The change for the domain. Null is a value for a field that may be empty."""

        def sent(name: str, *, may_be_null: bool = False) -> Any | EllipsisType:
            value = getattr(self, name)
            return value if name in self.model_fields_set and (may_be_null or value is not None) else ...

        return Correction(
            content=sent("content"),
            category=sent("category", may_be_null=True),
            subjects=sent("subjects"),
            ttl=sent("ttl", may_be_null=True),
            said_at=sent("said_at", may_be_null=True),
            author=sent("author", may_be_null=True),
            revision=self.revision,
        )


class ProvenanceView(View):
    """The token that stored a memory, and its sources."""

    author: Agent
    user: Annotated[str | None, described("The person who said it, if it was stored for a question.")] = None
    digest: Annotated[str | None, described("The digest that extracted the memory.")] = None
    room: Annotated[str | None, described("The room of the source messages.")] = None
    messages: Annotated[list[str] | None, described("The ids of the source messages.")] = None
    conversation_id: Annotated[str | None, described("The conversation that is the source.")] = None
    note_id: Annotated[str | None, described("The note that is the source.")] = None


class MemoryView(View):
    """A memory. Fields that do not apply are left out."""

    memory_id: MemoryId
    kind: OfKind
    category: CategoryOf | None = None
    content: Annotated[str, described("The text of the memory.", "Ann prefers short answers in French.")]
    subjects: Annotated[list[str], described("The subjects of the memory.", ["ann", "style"])]
    created_at: Annotated[Moment, described("The time when it was first stored, UTC.", "2026-02-20T14:00:00.010Z")]
    updated_at: Annotated[
        Moment, described("The time when it was last stored, merged or corrected, UTC.", "2026-02-20T14:00:00.010Z")
    ]
    expires_at: Expires = None
    source: OfSource
    said_at: Annotated[
        Moment | None, described("The time when it was said, UTC. Left out: the time when it was last stored.")
    ] = None
    author: Annotated[
        str | None, described("The speaker. Left out: the `user` of the provenance, else its `author`.")
    ] = None
    provenance: Annotated[ProvenanceView, described("The token that stored the memory, and its sources.")]
    revision: Annotated[int, described("The number of times that it was written, from 1.", 1)]
    similar_to: Annotated[
        list[str] | None,
        described(
            "The ids of similar memories that may say the same. No LLM has compared them yet. Absent if there are none."
        ),
    ] = None

    @classmethod
    def of(cls, memory: Memory) -> "MemoryView":
        return cls.model_validate(fields(memory))


def fields(memory: Memory) -> dict[str, Any]:
    """The fields that every view has of a memory."""
    told_of = memory.model_dump(include=set(MemoryView.model_fields) - {"provenance"})
    provenance = memory.provenance.model_dump(include=set(ProvenanceView.model_fields))
    return told_of | {
        "provenance": provenance | {"messages": memory.provenance.messages or None},
        "similar_to": memory.similar_to or None,
    }


class FormerView(View):
    """The former content of a memory, or the same statement in other words."""

    content: Annotated[str, described("The former text.", "Ann prefers French.")]
    at: Annotated[Moment, described("The time of the former text, UTC.", "2026-02-19T09:00:00.010Z")]
    author: Agent
    expires_at: Expires = None

    @classmethod
    def of(cls, former: Former) -> "FormerView":
        return cls.model_validate(former.model_dump(include=set(FormerView.model_fields)))


class MemoryDetail(MemoryView):
    """A memory with its history."""

    history: Annotated[list[FormerView], described("Up to 20 former texts, the latest first.")]

    @classmethod
    def of(cls, memory: Memory) -> "MemoryDetail":
        return cls.model_validate(fields(memory) | {"history": [FormerView.of(one) for one in memory.history]})


class SplitView(View):
    """Two memories that were one."""

    memory: Annotated[MemoryDetail, described("The memory without the part that was merged into it.")]
    split_off: Annotated[MemoryDetail, described("The part that was merged into it, as a memory of its own again.")]
    repeated: Annotated[
        bool,
        described(
            "True if this request repeats an earlier one with the same Idempotency-Key. Nothing was changed.", False
        ),
    ] = False

    @classmethod
    def of(cls, done: Split) -> "SplitView":
        return cls(
            memory=MemoryDetail.of(done.memory.memory),
            split_off=MemoryDetail.of(done.other),
            repeated=done.memory.repeated,
        )


class Written(MemoryView):
    """A memory after the request, and how the content of the request was combined with a memory that existed."""

    merged_into: Annotated[
        str | None,
        described(
            "The id of the existing memory that says the same. It is the id of this memory. Absent if there was none."
        ),
    ] = None
    former: Annotated[str | None, described("The former text of that memory.")] = None
    score: Annotated[Score | None, described("The similarity of the two.")] = None
    by: Annotated[HowTold | None, described("How the service decided that both say the same.")] = None
    kept: Annotated[WhichStands | None, described("Which content is the current one, `new` or `former`.")] = None
    repeated: Annotated[
        Literal[True] | None,
        described(
            "True if this request repeats an earlier one with the same Idempotency-Key. Nothing was changed. "
            "The answer shows the memory as it was then."
        ),
    ] = None
    redacted: Redacted = None

    @classmethod
    def of_stored(cls, stored: StoredMemory) -> "Written":
        return cls.model_validate(written(stored))


def written(stored: StoredMemory) -> dict[str, Any]:
    """The answer for a memory that was stored."""
    told_of = fields(stored.memory)
    if stored.merge:
        one = stored.merge
        told_of |= {"merged_into": one.into, "former": one.former, "score": one.score, "by": one.by, "kept": one.kept}
    return told_of | {"repeated": stored.repeated or None, "redacted": stored.redacted or None}


class BatchItem(View):
    """The result for one memory of a batch."""

    index: Annotated[int, described("The position in the request, from 0.", 0)]
    status: Annotated[
        int,
        described(
            "201: a new memory. 200: it was merged, or it repeats an earlier request. All other values: it "
            "was not stored.",
            201,
        ),
    ]
    memory: Annotated[Written | None, described("The memory as it is now, if it was stored.")] = None
    code: Annotated[str | None, described("The error code, if it was not stored. errors.md lists all codes.")] = None
    detail: Annotated[str | None, described("The error as a sentence.")] = None

    @classmethod
    def of(cls, index: int, status: int, done: StoredMemory | Failed) -> "BatchItem":
        if isinstance(done, Failed):
            return cls(index=index, status=status, code=done.error.code, detail=done.error.detail)
        return cls(index=index, status=status, memory=Written.of_stored(done))


class BatchView(View):
    """The result for each memory of a batch."""

    items: Annotated[list[BatchItem], described("One result for each memory, in the order of the request.")]
    failed: Annotated[int, described("Number of memories that were not stored. Send only those again.", 0)]


class FoundMemory(MemoryView):
    """A memory that was found."""

    score: Annotated[
        Score | None, described("The similarity to the question. Absent if there was no question.", 0.91)
    ] = None

    @classmethod
    def found(cls, one: NearMemory) -> "FoundMemory":
        return cls.model_validate(fields(one.memory) | {"score": round(one.score, 4)})


class MemoriesFound(Gapped):
    """Memories, the best first, or the newest first."""

    items: Annotated[list[FoundMemory], described("The memories.")]
    ranking: Annotated[
        Literal["vector", "lexical", "newest"],
        described(
            "How the memories were compared with the question: by their vectors (`vector`) or by their "
            "letters (`lexical`). `newest`: there was no question.",
            "vector",
        ),
    ]
    degraded: Annotated[
        str | None,
        described("The reason why letters were compared although there is an embedding model. Absent otherwise."),
    ] = None
    nothing: Annotated[
        Literal["no_match", "below_floor"] | None,
        described(
            "The reason why nothing was found. `no_match`: there is no memory of this kind and subject. `below_floor`: "
            "none of them answers the question."
        ),
    ] = None

    @classmethod
    def of(cls, answer: FoundMemories, missing: list[str]) -> "MemoriesFound":
        items = [FoundMemory.found(one) for one in answer.found]
        nothing = None if items else "below_floor" if answer.below_floor else "no_match"
        told = {"items": items, "ranking": answer.by, "degraded": answer.degraded, "nothing": nothing}
        return cls.model_validate(told | {"unreadable": missing or None})

    @classmethod
    def newest(cls, memories: list[Memory], cursor: str | None, missing: list[str]) -> "MemoriesFound":
        items = [FoundMemory.model_validate(fields(one)) for one in memories]
        return cls(items=items, ranking="newest", unreadable=missing or None, next_cursor=cursor)


class MemoryChangeView(View):
    """One change of a memory. Fields that do not apply are left out."""

    number: Annotated[int, described("The number in the log of this kind, from 1.", 7)]
    what: Annotated[
        What,
        described(
            "`stored`: a new memory. `merged`: combined with a memory that says the same. `split`: a merge "
            "was undone, and the merged content is a memory of its own again. `kept_apart`: the LLM found "
            "that it differs from the memories linked to it. `corrected`: changed by its id. `deleted`, "
            "`expired`, `restored`. `erased`: no former content is left.",
            "stored",
        ),
    ]
    at: Annotated[Moment, described("The time of the change, UTC.", "2026-02-20T14:00:00.010Z")]
    author: Annotated[
        str, described("The author of the change: the name of the token, or `live-memory` for an expiry.", "cline-dev")
    ]
    reason: Annotated[str | None, described("The reason of a deletion or restoration.")] = None
    memory_id: MemoryId
    kind: OfKind
    category: CategoryOf | None = None
    content: Annotated[
        str,
        described(
            "The text after the change. For a memory that is gone: its last text.",
            "Ann prefers short answers in French.",
        ),
    ]
    former: Annotated[
        str | None,
        described(
            "The text before the change. If the former content stayed (`kept` is `former`): the text of the "
            "request. For a split: the text that was split off.",
        ),
    ] = None
    score: Annotated[Score | None, described("The similarity of the two, for a merge.")] = None
    by: Annotated[HowTold | None, described("How the service decided that both say the same, for a merge.")] = None
    kept: Annotated[WhichStands | None, described("Which content stayed, for a merge.")] = None
    corrected: Annotated[list[str] | None, described("The fields that a correction changed.")] = None
    expires_at: Expires = None
    revision: Annotated[
        int, described("The revision after the change. For a memory that is gone: its last revision.", 1)
    ]

    @classmethod
    def of(cls, change: Change) -> "MemoryChangeView":
        done, memory = change.operation, change.operation.memory
        return cls(
            number=done.number,
            what=change.what,
            at=done.at,
            author=done.author,
            reason=done.reason,
            memory_id=memory.memory_id,
            kind=change.kind,
            category=memory.category,
            content=memory.content,
            former=change.former,
            score=done.merged.score if done.merged else None,
            by=done.merged.by if done.merged else None,
            kept=done.merged.kept if done.merged else None,
            corrected=done.corrected or None,
            expires_at=memory.expires_at,
            revision=memory.revision,
        )


class MemoryChangePage(Gapped):
    """A page of changes of memories."""

    items: Annotated[list[MemoryChangeView], described("The changes, the newest first.")]

    @classmethod
    def of(cls, changes: list[Change], cursor: str | None, missing: list[str]) -> "MemoryChangePage":
        items = [MemoryChangeView.of(one) for one in changes]
        return cls(items=items, next_cursor=cursor, unreadable=missing)
