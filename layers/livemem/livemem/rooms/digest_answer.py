"""The contract with the LLM for a chunk of messages."""

from collections.abc import Sequence
from datetime import datetime

from livemem import clock
from livemem.errors import LiveMemoryError
from livemem.llm import contract
from livemem.llm.answering import Contract
from livemem.llm.contract import ContractError, Part
from livemem.memories import memory as memories
from livemem.memories import ttl as ttls
from livemem.rooms.digest_documents import ExtractedFact
from livemem.rooms.message import UNKNOWN, Message
from livemem.store.keys import MemoryKind
from livemem.text.speakers import fitting

MOST = 40
"""Memories of one chunk, at most."""
ANSWER_TOKENS = 500
"""Tokens of the model's window that are reserved for an answer."""


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
    memories = contract.parse(text, DigestAnswer).memories
    if len(memories) > MOST:
        raise ContractError(
            f"The answer has {len(memories)} memories; at most {MOST} are allowed: keep what matters most."
        )
    return [_checked(memory, f"memories.{place}.", messages, now) for place, memory in enumerate(memories)]


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
            category=memories.check_category(memory.kind, memory.category, f"{where}category"),
            content=memories.check_content(memory.content, f"{where}content"),
            subjects=memories.check_subjects(memory.subjects, f"{where}subjects"),
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
