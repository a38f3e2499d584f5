"""The chunks of a digest. The LLM answers each once, its memories are stored. After three failures it is given up.

In the prompt messages and memories are JSON on one line each, so that no text can forge its structure.
"""

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from string import Template
from zoneinfo import ZoneInfo

from livemem import clock
from livemem.errors import InvalidRequest, LiveMemoryError, TooLarge
from livemem.jobs import budget
from livemem.jobs.worker import Work
from livemem.llm import contract, templates, window
from livemem.llm.answering import OF_THE_QUESTION, Contract, NoAnswer, ask_model
from livemem.llm.client import Messages
from livemem.llm.contract import ContractError, Part
from livemem.llm.templates import json_line
from livemem.llm.usage import Usage
from livemem.memories import memory as memory_fields
from livemem.memories import reading as memories
from livemem.memories import storing
from livemem.memories import ttl as ttls
from livemem.memories.memory import Memory
from livemem.memories.storing import Failed
from livemem.process import Process
from livemem.rooms import digest_progress
from livemem.rooms import message as messages
from livemem.rooms.current_digest import CurrentDigest
from livemem.rooms.digest_documents import DeadLetter, DeadMessage, Extract, ExtractedFact, GivenUp, StoredFacts, Try
from livemem.rooms.digest_progress import ChunkProgress
from livemem.rooms.digested import Chunk, Input
from livemem.rooms.message import UNKNOWN, Message
from livemem.store.bucket import DEAD_LETTER, EXTRACT, FAILED_TRY, IN_SPACE, STORED_FACTS, message_name
from livemem.store.keys import MemoryKind
from livemem.text.speakers import fitting

logger = logging.getLogger(__name__)

AUTHOR = "digest"
AT_ONCE = 4
"""Chunks about which the LLM is asked in parallel."""
TRIES = 3
GOALS = 2
"""Most goals that a whole digest stores."""
KNOWN: tuple[tuple[MemoryKind, int], ...] = (("fact", 20), ("self", 5), ("goal", 5))
"""How many of the nearest memories the model sees beside a chunk, by kind."""
QUERY_BYTES = 8_000
LATER = "The messages stay in their rooms. They are digested on the next day, or as soon as more tokens are available."
MARGIN = timedelta(seconds=20)
"""Time at the end of the invocation that is reserved to store the answers."""
OF_THE_CHUNK = (*OF_THE_QUESTION, "llm_too_large")
"""Failures that concern this chunk only. They count as tries, and the next try may follow at once."""
PERHAPS_OF_THE_CHUNK = ("llm_timeout", "llm_refused_request")
"""Failures that count as tries. If no chunk has an answer, the model is the likely reason and the digest waits."""
OF_THE_REQUEST = (400, 413, 422)
"""Statuses that the content of a request may cause. All others come from the key or the address."""
STORING = timedelta(seconds=30)
"""Time that must be left to store the memories of a chunk, or to ask about one."""
MOST = 40
"""Memories of one chunk, at most."""
ANSWER_TOKENS = 500
"""Tokens of the model's window that are reserved for an answer."""
KNOWN_CHARACTERS = 400
"""Characters of a known memory: enough for the model to recognise it."""
KNOWN_TOKENS = 3_000
KNOWN_SHARE = 8
"""Known memories take at most an eighth of the model's window."""
_text = partial(templates.text, "rooms")


@dataclass
class DigestTask:
    """A digest at work. Its results are written as documents, and count as saved work of its worker."""

    work: Work[CurrentDigest]
    zone: ZoneInfo
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _goals: int | None = None

    @property
    def process(self) -> Process:
        return self.work.process

    @property
    def space_id(self) -> str:
        return self.work.job.space_id

    @property
    def slot(self) -> str:
        return self.work.job.job_id

    def in_time(self) -> bool:
        return self.work.in_time(STORING)

    def spend(self, used: Usage) -> None:
        """Add LLM usage to the usage of this worker."""
        with self._lock:
            self.work.used += used

    def admit(self, facts: list[ExtractedFact], progress: ChunkProgress) -> tuple[list[ExtractedFact], int]:
        """The facts without the goals above the digest's limit, and how many goals were left out."""
        goals = len([fact for fact in facts if fact.kind == "goal"])
        if not goals:
            return facts, 0
        with self._lock:
            if self._goals is None:
                answers = [EXTRACT.key(self.space_id, self.slot, number) for number in sorted(progress.extracts)]
                self._goals = sum(answer.goals for answer in digest_progress.counted(self.process, answers, Extract))
            room = max(0, GOALS - self._goals)
            admitted: list[ExtractedFact] = []
            for fact in facts:
                if fact.kind != "goal" or room > 0:
                    admitted.append(fact)
                    room -= fact.kind == "goal"
            left_out = len(facts) - len(admitted)
            self._goals += goals - left_out
        return admitted, left_out


def settle(task: DigestTask, source: Input, progress: ChunkProgress) -> bool:
    """Ask about, store or give up every chunk; False if time is up. Answers are stored before more chunks are asked.

    Raises NoAnswer if the model does not answer, or the day's tokens are used up.
    """
    while remaining := progress.open_chunks(len(source.chunks)):
        if not task.in_time():
            return False
        wave = remaining[:AT_ONCE]
        failures = _ask_some(task, source, progress, [number for number in wave if number not in progress.extracts])
        for number in sorted(set(wave) & progress.extracts):
            if not task.in_time():
                return False
            stored = _store(task, source.chunks[number], number)
            (progress.stored if stored else progress.dead).add(number)
            task.work.saved = True
        _count_failures(task, source, progress, failures, answered=bool(progress.extracts))
    return True


def _ask_some(task: DigestTask, source: Input, progress: ChunkProgress, wave: Sequence[int]) -> dict[int, NoAnswer]:
    """Ask about these chunks in parallel. Add the answered ones to `progress`. Returns the failures of others."""
    failures: dict[int, NoAnswer] = {}

    def one(number: int) -> None:
        try:
            _ask(task, source.chunks[number], number, progress)
        except NoAnswer as error:
            task.spend(error.used)
            failures[number] = error

    before = set(progress.extracts)
    done = task.process.store.map(one, wave)
    progress.extracts |= {number for number in wave[: len(done)] if number not in failures}
    task.work.saved |= progress.extracts != before
    return failures


def _count_failures(
    task: DigestTask, source: Input, progress: ChunkProgress, failures: dict[int, NoAnswer], *, answered: bool
) -> None:
    """Record the tries, and give up chunks after three. Raises the failure that stops the work, if one does."""
    for number, error in sorted(failures.items()):
        if _counts(error):
            task.work.saved = True
            progress.tries[number] = _note_try(task, number, progress.tries.get(number, 0) + 1, error)
            if progress.tries[number] >= TRIES:
                given_up = _give_up(task, source.chunks[number], number, error)
                (progress.dead if given_up else progress.extracts).add(number)
    outage = next((error for _, error in sorted(failures.items()) if not _counts(error)), None)
    pausing = next((error for _, error in sorted(failures.items()) if _pauses(error)), None)
    if outage:
        raise outage
    if pausing and not answered:
        # The model is the likely reason, not each of the chunks. So no other chunk is tried now.
        raise pausing


def _counts(error: NoAnswer) -> bool:
    """Whether the failure counts as one attempt of the chunk."""
    return error.code in OF_THE_CHUNK or _pauses(error)


def _pauses(error: NoAnswer) -> bool:
    """Whether the digest also backs off, because the model itself may be the reason."""
    refused_for_good = error.code == "llm_refused_request" and error.http_status not in OF_THE_REQUEST
    return error.code in PERHAPS_OF_THE_CHUNK and not refused_for_good


def said_in(process: Process, space_id: str, chunk: Chunk) -> list[DeadMessage]:
    """The existing messages of a chunk: 1 GET each, in parallel."""
    items = process.store.get_many([IN_SPACE.key(space_id, name) for name in chunk.messages])
    result = []
    for name, item in zip(chunk.messages, items, strict=True):
        parsed = message_name(IN_SPACE.key(space_id, name))
        if item and parsed:
            result.append(DeadMessage(name=name, message=messages.read(parsed, item)))
    # Names give no order within a second.
    return sorted(result, key=lambda entry: entry.message.timestamp)


def _ask(task: DigestTask, chunk: Chunk, number: int, progress: ChunkProgress) -> None:
    process = task.process
    messages = [entry.message for entry in said_in(process, task.space_id, chunk)]
    answer_facts: list[ExtractedFact] = []
    with budget.metered(process, task.space_id, LATER) as meter:
        if messages:
            memories = _known(task, messages)
            most = process.settings.llmaas_context_tokens
            question = prompt_of(chunk.room, messages, memories, task.zone, process.clock(), most)
            wanted = contract_of(messages, process.clock())
            answer_facts = ask_model(process, meter, question, wanted, task.work.deadline - MARGIN).value
        facts, left_out = task.admit(answer_facts, progress)
        extract = Extract(
            room=chunk.room,
            facts=facts,
            goals_left_out=left_out,
            messages=len(messages),
            usage=meter.used,
            at=clock.iso_millis(process.clock()),
        )
        digest_progress.write(process, EXTRACT.key(task.space_id, task.slot, number), extract)
    task.spend(meter.used)


def _known(task: DigestTask, messages: Sequence[Message]) -> list[Memory]:
    """The memories nearest to the messages. The model is asked even if there are none."""
    text = "\n".join(f"{message.author}: {message.content}" for message in messages)
    query = text.encode(errors="replace")[:QUERY_BYTES].decode(errors="ignore")
    result: list[Memory] = []
    for kind, most in KNOWN:
        near = memories.search(task.process, task.space_id, query, kind=kind, limit=most)
        result += [hit.memory for hit in near]
    return result


def _store(task: DigestTask, chunk: Chunk, number: int) -> bool:
    """Store the memories of a chunk; False if the chunk was given up.

    Each has an id made of its place, so that a repeat changes nothing.
    """
    process, where = task.process, (task.space_id, task.slot, number)
    extract = digest_progress.read(process, EXTRACT.key(*where), Extract)
    if extract and extract.given_up:
        _keep_apart(task, chunk, number, extract.given_up)
        return False
    facts = extract.facts if extract else []
    done = []
    if facts:
        drafts = [fact.draft(task.slot, chunk.room) for fact in facts]
        causes = [f"digest/{task.slot}/{number}/{place}" for place in range(len(facts))]
        until = task.work.deadline - MARGIN
        done = storing.store_all(process, task.space_id, AUTHOR, drafts, op_ids=causes, until=until, waits=False)
    refused = [result.error for result in done if isinstance(result, Failed)]
    for error in refused:
        if not isinstance(error, InvalidRequest | TooLarge):
            raise error
        logger.warning("a memory was refused", extra={"space_id": task.space_id, "error_code": error.code})
    results = [result for result in done if not isinstance(result, Failed)]
    new = len([result for result in results if result.fresh])
    counted = StoredFacts(new=new, merged=len(results) - new, refused=len(refused))
    digest_progress.write(process, STORED_FACTS.key(*where), counted)
    return True


def _note_try(task: DigestTask, number: int, count: int, error: NoAnswer) -> int:
    """Record failed try `count` of a chunk, and return `count`.

    The record is written once. Workers of the same try share it.
    """
    noted = Try(code=error.code, detail=error.detail, usage=error.used, at=clock.iso_millis(task.process.clock()))
    digest_progress.write(task.process, FAILED_TRY.key(task.space_id, task.slot, number, count), noted)
    return count


def _give_up(task: DigestTask, chunk: Chunk, number: int, error: NoAnswer) -> bool:
    """Give a chunk up, unless another worker has an answer by now. Returns whether it is given up."""
    document = Extract(
        room=chunk.room,
        facts=[],
        messages=0,
        at=clock.iso_millis(task.process.clock()),
        given_up=GivenUp(code=error.code, detail=error.detail),
    )
    standing = digest_progress.write(task.process, EXTRACT.key(task.space_id, task.slot, number), document)
    if standing.given_up:
        _keep_apart(task, chunk, number, standing.given_up)
    return standing.given_up is not None


def _keep_apart(task: DigestTask, chunk: Chunk, number: int, why: GivenUp) -> None:
    """Keep the whole messages of a given-up chunk as a dead letter, before they leave their room."""
    dead = DeadLetter(
        room=chunk.room,
        code=why.code,
        detail=why.detail,
        at=clock.iso_millis(task.process.clock()),
        messages=said_in(task.process, task.space_id, chunk),
    )
    digest_progress.write(task.process, DEAD_LETTER.key(task.space_id, task.slot, number), dead)
    task.work.counts["dead_letters"] += 1
    logger.error(
        "a chunk of messages was given up",
        extra={"space_id": task.space_id, "slot": task.slot, "chunk": number, "error_code": why.code},
    )


def instructions() -> str:
    """The system message, the same for all spaces."""
    return _text("system")


def prompt_of(
    room: str, messages: Sequence[Message], memories: Sequence[Memory], zone: ZoneInfo, now: datetime, most: int
) -> Messages:
    """The messages about a chunk. Times are in `zone`; `most` is the model's window in tokens."""
    fields = [
        {
            "number": number,
            "at": _local(message.timestamp, zone),
            "author": message.author,
            "content": message.content,
        }
        for number, message in enumerate(messages, 1)
    ]
    user = Template(_text("user")).substitute(
        room=json_line(room),
        first=fields[0]["at"] if fields else "-",
        last=fields[-1]["at"] if fields else "-",
        zone=zone.key,
        now=f"{now.astimezone(zone):%A %Y-%m-%d %H:%M}",
        known=json_line(_fitting(memories, min(KNOWN_TOKENS, most // KNOWN_SHARE))),
        messages=json_line(fields),
    )
    return [{"role": "system", "content": instructions()}, {"role": "user", "content": user}]


def _local(timestamp: str, zone: ZoneInfo) -> str:
    try:
        return f"{clock.parse(timestamp).astimezone(zone):%Y-%m-%d %H:%M}"
    except OverflowError:
        # On the first and the last day of the calendar some zones have no such time.
        return timestamp[:16]


def _fitting(memories: Sequence[Memory], room: int) -> Sequence[dict[str, str]]:
    items = [{"kind": memory.kind, "content": memory.content[:KNOWN_CHARACTERS]} for memory in memories]
    return window.fitting(items, room, lambda item: window.tokens(json_line(item)))


class ExtractedMemory(Part):
    """One memory, with the numbers of the messages that it rests on."""

    kind: MemoryKind
    category: str | None = None
    content: str
    subjects: list[str] = []
    ttl: str | None = None
    replace: bool = False
    messages: list[int]


class DigestAnswer(Part):
    """The whole answer."""

    memories: list[ExtractedMemory]


def contract_of(messages: Sequence[Message], now: datetime) -> Contract[list[ExtractedFact]]:
    """The contract for an answer about these messages."""
    return Contract(DigestAnswer, lambda text: parse(text, messages, now), answer_tokens=ANSWER_TOKENS)


def parse(text: str, messages: Sequence[Message], now: datetime) -> list[ExtractedFact]:
    """The memories of an answer, checked for storing. Raises ContractError."""
    extracted = contract.parse(text, DigestAnswer).memories
    if len(extracted) > MOST:
        raise ContractError(
            f"The answer has {len(extracted)} memories; at most {MOST} are allowed: keep what matters most."
        )
    return [_checked(memory, f"memories.{place}.", messages, now) for place, memory in enumerate(extracted)]


def _checked(memory: ExtractedMemory, where: str, messages: Sequence[Message], now: datetime) -> ExtractedFact:
    numbers = list(dict.fromkeys(memory.messages))
    missing = [number for number in numbers if not 1 <= number <= len(messages)]
    if not numbers or missing:
        raise ContractError(f"{where}messages: must be numbers of messages, from 1 to {len(messages)}.")
    quoted = [messages[number - 1] for number in numbers]
    try:
        ttls.until(memory.ttl, now, f"{where}ttl")
        return ExtractedFact(
            kind=memory.kind,
            category=memory_fields.check_category(memory.kind, memory.category, f"{where}category"),
            content=memory_fields.check_content(memory.content, f"{where}content"),
            subjects=memory_fields.check_subjects(memory.subjects, f"{where}subjects"),
            ttl=memory.ttl,
            replace=memory.replace,
            messages=[message.message_id for message in quoted],
            said_at=max((message.timestamp for message in quoted), key=clock.parse),
            author=_speaker(quoted),
        )
    except LiveMemoryError as error:
        raise ContractError(error.detail) from error


def _speaker(quoted: Sequence[Message]) -> str | None:
    """The one speaker of all of these, None if there are several, or nobody knows."""
    first, *more = {message.author for message in quoted}
    return None if more or first == UNKNOWN else fitting(first)
