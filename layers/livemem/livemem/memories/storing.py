"""Storing memories: each is compared with all existing ones, and stands alone or is merged into one."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

from livemem import clock
from livemem.errors import InvalidRequest, LiveMemoryError, NotFound, StoreUnavailable
from livemem.memories import (
    log,
    memory,
    memory_expiry,
    memory_vectors,
    merging,
    model_judge,
    nearest,
    operation,
    storing_outcome,
    ttl,
)
from livemem.memories import state as states
from livemem.memories.memory import Memory, MemoryDraft
from livemem.memories.memory_vectors import Floats, Rows
from livemem.memories.merging import Candidate, Near, Verdict
from livemem.memories.model_judge import Pair
from livemem.memories.operation import Merged, Operation
from livemem.memories.state import State
from livemem.memories.storing_outcome import StoredMemory
from livemem.notes import pages
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.store import keys, stored_documents
from livemem.store.bucket import MEMORY_SNAPSHOT
from livemem.store.capability_check import require_conditional_writes
from livemem.store.keys import MemoryKind
from livemem.text.redaction import Redaction
from livemem.text.speakers import check_speaker, fitting


def keep_snapshot(process: Process, space_id: str, kind: MemoryKind, state: State, rows: Rows | None) -> None:
    """Store a snapshot of this state if it has no gaps and the last one is 100 operations old: 2 PUTs. Nothing depends
    on it.
    """
    if state.has_gaps or state.number - state.snapshot < log.SNAPSHOT_EVERY:
        return
    with suppress(StoreUnavailable):
        if rows is not None:
            # Vectors first, because a reader that finds the snapshot looks for them only once.
            memory_vectors.keep(process, space_id, kind, state.number, rows, state.memories.values())
        # It replaces an existing one: that is the same, or of a log that no longer exists.
        body = states.to_snapshot(state).to_bytes()
        process.store.put(MEMORY_SNAPSHOT.key(space_id, kind, state.number), body, content_type=stored_documents.JSON)
        log.known_snapshot(process, space_id, kind, state)


BATCH = 50
MOST = 20_000
"""Memories of a kind in a space, at most: as many as one process compares in a moment."""
OTHER = "was used for another memory in the last 30 days: choose another key"


@dataclass(frozen=True)
class Failed:
    """The error of a draft in a batch that was not stored."""

    error: LiveMemoryError


@dataclass(frozen=True)
class _Wanted:
    """A checked draft. `request`: a hash of the request."""

    candidate: Candidate
    request: str
    op_id: str
    redacted: dict[str, int]

    @property
    def kind(self) -> MemoryKind:
        return self.candidate.memory.kind


def store(
    process: Process,
    space_id: str,
    author: str,
    draft: MemoryDraft,
    *,
    op_id: str | None = None,
    until: datetime | None = None,
) -> StoredMemory:
    """Store a memory: 1 LIST and 1 PUT, and 1 call of the embedding model; 1 PUT more if it expires, and 2 for every
    100th. The LLM is asked once about all memories near to it, and once more about those that others have stored
    meanwhile (`model_judge.judge`). Memories without a verdict are linked. The requests of `pages.get` more, if the
    draft names a note and not when and by whom it was said.

    `op_id` names the cause. A repeat of it within 30 days changes nothing. `until`: models must answer before that.
    Raises NotFound, InvalidRequest, TooLarge, EmbeddingUnavailable, MemoriesBroken, Busy.
    """
    request = _checked(process, author, draft, op_id, "")
    heads.load_recent(process, space_id)
    require_conditional_writes(process.store)
    request = _as_the_note(process, space_id, request)
    vector = memory_vectors.embed(process, [request.candidate.content])[0] if process.embed else None
    return _store(process, space_id, author, request, vector, until)


def store_all(
    process: Process,
    space_id: str,
    author: str,
    drafts: Sequence[MemoryDraft],
    *,
    op_ids: Sequence[str | None] | None = None,
    until: datetime | None = None,
    waits: bool = True,
) -> list[StoredMemory | Failed]:
    """Store several drafts one after the other, each as `store` does.

    1 call of the embedding model for all, and at most 1 call of the LLM for each ten (`model_judge.judge_batch`). All
    are checked before the first is stored. `waits` as in `model_judge.judge`. Raises the errors of `store` that concern
    all drafts or their form.
    """
    if not 1 <= len(drafts) <= BATCH:
        raise InvalidRequest.of("items", f"must have 1 to {BATCH} memories")
    causes: Sequence[str | None] = op_ids or [None] * len(drafts)
    requests = [
        _checked(process, author, draft, cause, f"items.{place}.")
        for place, (draft, cause) in enumerate(zip(drafts, causes, strict=True))
    ]
    heads.load_recent(process, space_id)
    require_conditional_writes(process.store)
    requests = process.store.map(lambda request: _as_the_note(process, space_id, request), requests)
    texts = [request.candidate.content for request in requests]
    vectors: Sequence[Floats | None] = memory_vectors.embed(process, texts) if process.embed else [None] * len(texts)
    new = [
        model_judge.MemoryToStore(request.candidate.memory, request.op_id, vector)
        for request, vector in zip(requests, vectors, strict=True)
    ]
    verdicts = model_judge.judge_batch(process, space_id, new, until, waits=waits) if len(requests) > 1 else None
    done: list[StoredMemory | Failed] = []
    for request, vector in zip(requests, vectors, strict=True):
        try:
            done.append(_store(process, space_id, author, request, vector, until, verdicts, waits=waits))
        except LiveMemoryError as error:
            done.append(Failed(error))
    return done


def _checked(process: Process, author: str, draft: MemoryDraft, cause: str | None, where: str) -> _Wanted:
    """The draft as it is to be stored. `where` is put before the names of fields in errors."""
    content = memory.check_content(draft.content, f"{where}content")
    kind = keys.check_memory_kind(draft.kind)
    category = memory.check_category(kind, draft.category, f"{where}category")
    subjects = memory.check_subjects(draft.subjects, f"{where}subjects")
    done = Redaction()
    if process.settings.redact_secrets:
        content, category = done.text(content), done.text(category) if category else None
        subjects = memory.without_secrets(draft.subjects, done)
    speaker = check_speaker(f"{where}author", draft.author) if draft.author is not None else None
    if speaker is not None and process.settings.redact_secrets:
        speaker = done.identifier(speaker)
    now = process.clock()
    expires = ttl.until(draft.ttl, now, f"{where}ttl")
    expires_at = clock.iso_millis(expires) if expires else draft.expires_at
    moment = clock.iso_millis(now)
    candidate = Memory(
        memory_id=draft.memory_id or process.new_id(),
        kind=kind,
        category=category,
        content=content,
        subjects=subjects,
        created_at=moment,
        updated_at=moment,
        expires_at=expires_at,
        source=draft.source,
        said_at=memory.check_said_at(draft.said_at, now, f"{where}said_at") if draft.said_at is not None else None,
        author=speaker,
        provenance=draft.provenance(author),
    )
    # Operations of versions before these fields have hashes without them.
    origin = [draft.said_at, draft.author] if draft.said_at or draft.author else []
    request = json.dumps([content, kind, category, subjects, draft.ttl, draft.source, draft.replace, *origin])
    return _Wanted(
        Candidate(candidate, draft.replace),
        hashlib.sha256(request.encode()).hexdigest()[:32],
        operation.op_id(cause if cause is not None else f"memory/{candidate.memory_id}"),
        done.counted(),
    )


def _as_the_note(process: Process, space_id: str, request: _Wanted) -> _Wanted:
    """The draft with the time and the speaker of the note that it names as its source, where it says neither itself."""
    draft_memory = request.candidate.memory
    note_id = draft_memory.provenance.note_id
    if note_id is None or (draft_memory.said_at and draft_memory.author):
        return request
    try:
        note = pages.get(process, space_id, note_id)
        said_at, speaker = note.moment, note.speaker
    except NotFound:
        # The id has the time and the agent of a note that is gone.
        name = keys.parse_note_id(note_id)
        said_at, speaker = clock.iso(name.timestamp), name.agent
    changes = {
        "said_at": draft_memory.said_at or memory.check_said_at(said_at, process.clock()),
        "author": draft_memory.author or (fitting(speaker) if speaker != draft_memory.provenance.author else None),
    }
    return replace(request, candidate=replace(request.candidate, memory=draft_memory.model_copy(update=changes)))


def _store(
    process: Process,
    space_id: str,
    author: str,
    request: _Wanted,
    vector: Floats | None,
    until: datetime | None,
    foreknown: Mapping[Pair, Verdict] | None = None,
    *,
    waits: bool = True,
) -> StoredMemory:
    """Store a checked draft. `foreknown`: the verdicts of a batch, which asks once about all its memories."""
    rows: Rows | None = None
    verdicts: dict[Pair, Verdict] = dict(foreknown or {})
    judged: set[str] = set()
    answers = foreknown is None

    def judge(new: str, olds: Sequence[str]) -> dict[str, Verdict]:
        nonlocal answers
        # A lost race brings the same pairs again, and perhaps new ones.
        unjudged = [old for old in olds if old not in judged]
        if unjudged and answers:
            fresh_verdicts = model_judge.judge(process, space_id, [(new, old) for old in unjudged], until, waits=waits)
            judged.update(unjudged)
            verdicts.update(fresh_verdicts)
            # After one call without an answer the LLM is not asked again.
            answers = bool(fresh_verdicts)
        return {old: verdict for old in olds if (verdict := verdicts.get((new, old)))}

    def decide(state: State) -> Operation | None:
        nonlocal rows
        if request.op_id in state.done:
            return None
        if vector is not None:
            rows = memory_vectors.of(process, space_id, request.kind, state, len(vector))
        return _decide(process, author, request, state, vector, rows, judge)

    after, written = log.write(process, space_id, request.kind, decide)
    if written is None:
        return _repeated(process, space_id, request, after.done[request.op_id].number)
    memory_expiry.mark(process, space_id, written.memory)
    if vector is not None and rows is not None:
        rows.learn(request.candidate.content, vector)
    keep_snapshot(process, space_id, request.kind, after, rows)
    return replace(storing_outcome.outcome_of(written), redacted=request.redacted)


def _decide(
    process: Process,
    author: str,
    request: _Wanted,
    state: State,
    vector: Floats | None,
    rows: Rows | None,
    judge: nearest.Judge,
) -> Operation:
    """The operation that stores the draft, after the state."""
    candidate, now, number = request.candidate, process.clock(), state.number + 1
    alive = state.alive(now)
    near = nearest.find(process, alive, candidate.content, vector, rows)
    merge: tuple[Memory, Merged] | None = None
    # A memory that a damaged operation may have changed or deleted is not merged with: that would bring it back.
    for candidate_near, verdict in () if state.has_gaps else nearest.same(process, candidate, near, judge):
        merge = merging.merge(candidate, candidate_near, verdict, now, number)
        if merge:
            break
    if merge is None and len(state.memories) >= MOST:
        raise InvalidRequest.of("content", f"a space has at most {MOST} memories of a kind: delete some first")
    standing, merged = merge or (_linked(process, request, near, judge), None)
    # The vector of a former content is known.
    fresh_content = vector is not None and standing.content == candidate.content
    return Operation(
        number=number,
        op="put",
        op_id=request.op_id,
        request=request.request,
        at=clock.iso_millis(now),
        author=author,
        memory=standing,
        merged=merged,
        vector=memory_vectors.encoded(process, vector) if fresh_content and vector is not None else None,
    )


def _linked(process: Process, request: _Wanted, near: Sequence[Near], judge: nearest.Judge) -> Memory:
    """The memory as one of its own, with links to near memories without a verdict."""
    memory = request.candidate.memory
    links = nearest.unknown(process, request.candidate, near, judge)
    return memory.model_copy(update={"similar_to": links}) if links else memory


def _repeated(process: Process, space_id: str, request: _Wanted, number: int) -> StoredMemory:
    """The outcome of the first of the same requests. Raises InvalidRequest if the first was a different one."""
    first = log.operation_at(process, space_id, request.kind, number)
    # The request of an erased memory can no longer be compared.
    if first.request != request.request and first.memory.content:
        raise InvalidRequest.of("Idempotency-Key", OTHER)
    return replace(storing_outcome.outcome_of(first), repeated=True, redacted=request.redacted)
