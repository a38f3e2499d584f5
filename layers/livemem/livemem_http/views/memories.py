"""Memories as requests and answers."""

from types import EllipsisType
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from livemem import limits
from livemem.errors import InvalidName, TooLarge
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
from livemem.store import conversation_keys, keys
from livemem.store.memory_keys import Kind
from livemem_http.views.fields import (
    Agent,
    Body,
    Gapped,
    Moment,
    NextCursor,
    Redacted,
    Unreadable,
    View,
    described,
)

MemoryId = Annotated[str, described("The id of the memory, an ULID.", "01KHXE5Q2V8R0M4T6W9YBNCD3F")]
OfKind = Annotated[
    Kind,
    described(
        "`fact`: what holds of people, decisions and things; `self`: of the agent itself; `goal`: what it wants.",
        "fact",
    ),
]
Content = Annotated[
    str,
    described(
        "One durable fact in words of its own, in at most 8,000 bytes.",
        "Ann prefers short answers in French.",
        minLength=1,
        maxLength=CONTENT_BYTES,
    ),
]
_FIXED = "; ".join(f"of `{kind}`: {', '.join(f'`{one}`' for one in some)}" for kind, some in CATEGORIES.items())
CategoryOf = Annotated[
    str,
    described(f"What kind of thing it says, {_FIXED}; of `fact`: free.", "preference", maxLength=CATEGORY_CHARACTERS),
]
Subject = Annotated[
    str,
    described(
        "What it is about: a word or a few, which are kept in lower case.",
        "ann",
        minLength=1,
        maxLength=4 * SUBJECT_CHARACTERS,
    ),
]
Ttl = Annotated[
    str,
    described(
        "For how long it holds from now on: a whole number from 1 to 9999 and `m`, `h`, `d`, `w` or `y` (minutes to "
        "years); null: for ever.",
        "30d",
        pattern="^[1-9][0-9]{0,3}[mhdwy]$",
    ),
]
Expires = Annotated[Moment | None, described("When it expires, UTC. Left out: never.", "2026-03-22T14:00:00Z")]
OfSource = Annotated[Origin, described("Where it comes from.", "conversation")]
Score = Annotated[
    float,
    described(
        "How near both are: a cosine of their meanings, or without an embedding model the likeness of texts.", 0.91
    ),
]
HowTold = Annotated[
    By,
    described(
        "How it was told that both say the same: by the same words (`text`), or by the LLM (`llm`). By meaning "
        "(`vector`) or by likeness of the texts (`lexical`) only where `MEMORY_MERGE` is `similarity`.",
        "llm",
    ),
]
WhichStands = Annotated[
    Kept,
    described(
        "Which content stands now: the `new` one, or the `former` one, which says more. The other is kept.", "new"
    ),
]


def _of_note(note_id: str) -> str:
    try:
        return keys.parse_note_id(note_id).note_id
    except InvalidName as error:
        raise ValueError(error.message) from None


def _of_conversation(conversation_id: str) -> str:
    try:
        return conversation_keys.check_conversation_id(conversation_id)
    except InvalidName as error:
        raise ValueError(error.message) from None


Subjects = Annotated[
    list[Subject],
    Field(description="What it is about, to find it by.", examples=[["ann", "style"]], max_length=SUBJECTS),
]
IdempotencyKey = Annotated[
    str,
    described(
        "A name of your own for what is stored. A repeat with the same name within 30 days answers 200 with what the "
        "first one was told, and changes nothing; with another memory it is refused (422).",
        "job-17-step-3",
        minLength=1,
        maxLength=limits.IDEMPOTENCY_KEY_CHARACTERS,
    ),
]


class NewMemory(Body):
    """A memory to store. Its author is the name of the token."""

    content: Content
    kind: OfKind = "fact"
    category: CategoryOf | None = None
    subjects: Subjects = []
    ttl: Ttl | None = None
    source: OfSource = "manual"
    replace: Annotated[
        bool,
        described(
            "Whether it takes the place of the memory that says the same, also where that one says more or holds for "
            "longer. Which one that is the LLM says; to replace a memory that you know, correct it by its id.",
            False,
        ),
    ] = False
    conversation_id: Annotated[
        Annotated[str, AfterValidator(_of_conversation)] | None, described("The conversation that it rests on.")
    ] = None
    note_id: Annotated[Annotated[str, AfterValidator(_of_note)] | None, described("The note that it rests on.")] = None

    def draft(self) -> MemoryDraft:
        """The memory for the domain."""
        return MemoryDraft(**{**self.model_dump(), "subjects": tuple(self.subjects)})


def _check_batch(memories: Any) -> Any:
    if isinstance(memories, list) and len(memories) > BATCH:
        raise TooLarge.of("memories", len(memories), BATCH, "memories")
    return memories


class NewMemories(Body):
    """Memories to store in one request, one after the other."""

    memories: Annotated[
        list[NewMemory],
        BeforeValidator(_check_batch),
        described(
            "The memories in their order.",
            [
                {"content": "I keep the memory of the ferry project.", "kind": "self", "category": "context"},
                {"content": "Ann prefers short answers in French.", "subjects": ["ann"]},
            ],
            minItems=1,
            maxItems=BATCH,
        ),
    ]

    def drafts(self) -> list[MemoryDraft]:
        """The memories for the domain."""
        return [one.draft() for one in self.memories]


class MemoryChange(Body):
    """The fields to change. A field that is not sent keeps its value."""

    content: Content | None = None
    category: Annotated[CategoryOf | None, described("Another category; null: none.")] = None
    subjects: Annotated[Subjects | None, described("All subjects that it has from now on.")] = None
    ttl: Ttl | None = None
    revision: Annotated[
        int | None, described("Only while the memory has this revision; else it is refused (`precondition_lost`).")
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
            revision=self.revision,
        )


class PromotedMemoryView(View):
    """The memory of another space from which a memory was promoted."""

    space_id: Annotated[str, described("The space.")]
    memory_id: Annotated[str, described("The memory of that space.")]
    promotion_id: Annotated[str, described("The promotion, to take it back by.")]
    promoted_by: Annotated[str, described("Who promoted it: the name of the token.")]
    promoted_at: Annotated[Moment, described("When, UTC.")]


class ProvenanceView(View):
    """The author of a memory, and its sources."""

    author: Agent
    user: Annotated[str | None, described("Who said it, of what was stored for a question.")] = None
    digest: Annotated[str | None, described("The digest that found it.")] = None
    room: Annotated[str | None, described("The room in which it was said.")] = None
    messages: Annotated[list[str] | None, described("The ids of the messages that say so.")] = None
    conversation_id: Annotated[str | None, described("The conversation that it rests on.")] = None
    note_id: Annotated[str | None, described("The note that it rests on.")] = None
    promoted: Annotated[
        PromotedMemoryView | None, described("Of a promoted memory: the memory of another space that it comes from.")
    ] = None


class MemoryView(View):
    """A memory. Fields that do not apply are left out."""

    memory_id: MemoryId
    kind: OfKind
    category: CategoryOf | None = None
    content: Annotated[str, described("What it says.", "Ann prefers short answers in French.")]
    subjects: Annotated[list[str], described("What it is about.", ["ann", "style"])]
    created_at: Annotated[Moment, described("When it was stored first, UTC.", "2026-02-20T14:00:00.010Z")]
    updated_at: Annotated[
        Moment, described("When it was stored, merged or corrected last.", "2026-02-20T14:00:00.010Z")
    ]
    expires_at: Expires = None
    source: OfSource
    provenance: Annotated[ProvenanceView, described("Who stored it, and what it rests on.")]
    revision: Annotated[int, described("How many times it was written, from 1.", 1)]
    similar_to: Annotated[
        list[str] | None,
        described(
            "The ids of memories that may say the same: they are near to it, and no LLM has said yet whether they do. "
            "Left out: there is none."
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

    content: Annotated[str, described("What it said.", "Ann prefers French.")]
    at: Annotated[Moment, described("When that was said.", "2026-02-19T09:00:00.010Z")]
    author: Agent
    expires_at: Expires = None

    @classmethod
    def of(cls, former: Former) -> "FormerView":
        return cls.model_validate(former.model_dump(include=set(FormerView.model_fields)))


class MemoryDetail(MemoryView):
    """A memory with its history."""

    history: Annotated[list[FormerView], described("Up to 20 former contents, the latest first.")]

    @classmethod
    def of(cls, memory: Memory) -> "MemoryDetail":
        return cls.model_validate(fields(memory) | {"history": [FormerView.of(one) for one in memory.history]})


class SplitView(View):
    """Two memories that were one."""

    memory: Annotated[MemoryDetail, described("The memory as it stands without what was merged into it.")]
    split_off: Annotated[MemoryDetail, described("What was merged into it, which is a memory of its own again.")]
    repeated: Annotated[
        bool, described("Whether this Idempotency-Key was answered before: nothing was changed then.", False)
    ] = False

    @classmethod
    def of(cls, done: Split) -> "SplitView":
        return cls(
            memory=MemoryDetail.of(done.memory.memory),
            split_off=MemoryDetail.of(done.other),
            repeated=done.memory.repeated,
        )


class Written(MemoryView):
    """A memory as it is now, and how the content of the request was combined with a memory that existed."""

    merged_into: Annotated[
        str | None, described("The id of the memory that says the same, and is this one now. Left out: there was none.")
    ] = None
    former: Annotated[str | None, described("What that one said before.")] = None
    score: Annotated[Score | None, described("How near both are.")] = None
    by: Annotated[HowTold | None, described("How it was told that both say the same.")] = None
    kept: Annotated[WhichStands | None, described("Which content stands now, `new` or `former`.")] = None
    repeated: Annotated[
        Literal[True] | None,
        described(
            "True: this Idempotency-Key was answered before. Nothing was changed, and this is the memory as it was."
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

    index: Annotated[int, described("Its place in the request, from 0.", 0)]
    status: Annotated[
        int, described("201: it is a new one; 200: it was merged or repeated; else it was not stored.", 201)
    ]
    memory: Annotated[Written | None, described("The memory as it stands now, if it was stored.")] = None
    code: Annotated[str | None, described("Why it was not stored; all codes are in errors.md.")] = None
    detail: Annotated[str | None, described("The same in words.")] = None

    @classmethod
    def of(cls, index: int, status: int, done: StoredMemory | Failed) -> "BatchItem":
        if isinstance(done, Failed):
            return cls(index=index, status=status, code=done.error.code, detail=done.error.detail)
        return cls(index=index, status=status, memory=Written.of_stored(done))


class BatchView(View):
    """The result for each memory of a batch."""

    items: Annotated[list[BatchItem], described("One for each memory, in the order of the request.")]
    failed: Annotated[int, described("How many of them were not stored: send those once more.", 0)]


class FoundMemory(MemoryView):
    """A memory that was found."""

    score: Annotated[
        Score | None, described("How near it is to the question. Without a question it is left out.", 0.91)
    ] = None

    @classmethod
    def found(cls, one: NearMemory) -> "FoundMemory":
        return cls.model_validate(fields(one.memory) | {"score": round(one.score, 4)})


class MemoriesFound(View):
    """Memories, the best first, or the newest first."""

    items: Annotated[list[FoundMemory], described("The memories.")]
    ranking: Annotated[
        Literal["vector", "lexical", "newest"],
        described(
            "By what they were compared with the question: their meaning (`vector`), or their letters (`lexical`); "
            "`newest`: there was none.",
            "vector",
        ),
    ]
    degraded: Annotated[
        str | None, described("Why they were compared by letters although there is an embedding model. Only then.")
    ] = None
    unreadable: Unreadable = None

    @classmethod
    def of(cls, answer: FoundMemories, missing: list[str]) -> "MemoriesFound":
        items = [FoundMemory.found(one) for one in answer.found]
        told = {"items": items, "ranking": answer.by, "degraded": answer.degraded, "unreadable": missing or None}
        return cls.model_validate(told)

    @classmethod
    def newest(cls, memories: list[Memory], missing: list[str]) -> "MemoriesFound":
        items = [FoundMemory.model_validate(fields(one)) for one in memories]
        return cls(items=items, ranking="newest", unreadable=missing or None)


class MemoryList(Gapped):
    """Memories, the newest first."""

    items: Annotated[list[MemoryView], described("The memories.")]

    @classmethod
    def of(cls, memories: list[Memory], missing: list[str]) -> "MemoryList":
        return cls(items=[MemoryView.of(one) for one in memories], unreadable=missing)


class MemoryChangeView(View):
    """One change of a memory. Fields that do not apply are left out."""

    number: Annotated[int, described("Its number in the log of the kind, from 1.", 7)]
    what: Annotated[
        What,
        described(
            "`stored`: a new memory; `merged`: it met one that says the same; `split`: what was merged into it is a "
            "memory of its own again; `kept_apart`: the LLM says that it is of something else than those it was "
            "linked to; `corrected` by its id; `deleted`; `expired`; `restored`; `erased`: nothing is left of what it "
            "said.",
            "stored",
        ),
    ]
    at: Annotated[Moment, described("When, UTC.", "2026-02-20T14:00:00.010Z")]
    author: Annotated[str, described("Who: the name of the token, or `live-memory` for what has expired.", "cline-dev")]
    reason: Annotated[str | None, described("Why it was deleted or restored.")] = None
    memory_id: MemoryId
    kind: OfKind
    category: CategoryOf | None = None
    content: Annotated[
        str,
        described(
            "What it says since then; of one that is gone, what it said.", "Ann prefers short answers in French."
        ),
    ]
    former: Annotated[
        str | None,
        described(
            "What it said before. Where its content stood (`kept` is `former`): what was said in other words. Of one "
            "that was split: what was split off.",
        ),
    ] = None
    score: Annotated[Score | None, described("How near both were, of what was merged.")] = None
    by: Annotated[HowTold | None, described("How it was told that both say the same, of what was merged.")] = None
    kept: Annotated[WhichStands | None, described("Which content stood, of what was merged.")] = None
    corrected: Annotated[list[str] | None, described("The fields that a correction made others of.")] = None
    expires_at: Expires = None
    revision: Annotated[int, described("Of the memory since then; of one that is gone, its last.", 1)]

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

    items: Annotated[list[MemoryChangeView], described("What was done, the newest first.")]
    next_cursor: NextCursor = None

    @classmethod
    def of(cls, changes: list[Change], cursor: str | None, missing: list[str]) -> "MemoryChangePage":
        items = [MemoryChangeView.of(one) for one in changes]
        return cls(items=items, next_cursor=cursor, unreadable=missing)
