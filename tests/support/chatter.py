"""Rooms for tests: messages, and a model that makes one memory of each message that begins with `fact`."""

import hashlib
import json
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from livemem.jobs.worker import Worked
from livemem.llm.client import LlmError, Messages, Reply
from livemem.llm.usage import Usage
from livemem.memories import log
from livemem.rooms import current_digest, digest_progress, digest_times, digest_work, posting, reading
from livemem.rooms.current_digest import CurrentDigest
from livemem.rooms.digest_documents import DigestDone
from livemem.rooms.digest_work import DigestOrder
from livemem.rooms.message import Message, MessageDraft
from livemem.store.bucket import DIGEST_DONE, IN_DIGEST
from livemem.store.keys import MemoryKind
from livemem.upkeep import job_lookup
from livemem.upkeep.job_lookup import JobFilter
from tests.support.world import EVERYONE, INVOCATION, World, verdicts

ROOM = "general"


def fact(number: int) -> str:
    """The fact of a number, in words that are like those of no other; they sort by their numbers."""
    letters = hashlib.sha256(str(number).encode()).hexdigest().translate(str.maketrans("0123456789", "ghijklmnop"))
    return f"fact {chr(ord('a') + number)}{letters[:7]} {letters[8:16]} {letters[16:24]}"


def shown(messages: Messages, heading: str = "# Messages of the room") -> list[dict[str, Any]]:
    """The messages that the question holds, or what stands on the line behind another heading."""
    lines = messages[1]["content"].split("\n")
    place = next(place for place, line in enumerate(lines) if line.startswith(heading))
    found: list[dict[str, Any]] = json.loads(lines[place + 1])
    return found


def memory(content: str, *numbers: int, **more: Any) -> dict[str, Any]:
    """A memory as an answer has it."""
    return {"kind": "fact", "content": content, "messages": list(numbers or (1,)), **more}


def answer(*memories: dict[str, Any]) -> str:
    return json.dumps({"memories": list(memories)})


def notes_facts(messages: Messages) -> str:
    """One memory for each message that begins with `fact`, in its words."""
    told = [one for one in shown(messages) if one["content"].startswith("fact")]
    return answer(*(memory(one["content"], one["number"]) for one in told))


@dataclass
class Listener:
    """Answers from a queue, and then by `default`; an LlmError in the queue is raised. Questions are kept.

    Asked to compare two memories it says that they differ, and keeps nothing of it.
    """

    default: Callable[[Messages], str] = notes_facts
    queue: deque[str | LlmError | Callable[[Messages], str]] = field(default_factory=deque)
    asked: list[Messages] = field(default_factory=list)
    timeouts: list[float] = field(default_factory=list)
    compared: int = 0
    judges: bool = True
    """Whether it says anything of memories that may say the same."""
    verdict_timeouts: list[float] = field(default_factory=list)
    delay: Callable[[float], None] = lambda _: None
    """Called with the seconds that it has for its verdicts."""

    def __call__(
        self, messages: Messages, max_tokens: int | None, timeout: float, schema: dict[str, Any] | None = None
    ) -> Reply:
        if "# Messages of the room" not in messages[1]["content"]:
            # What memories ask of two that are nearly the same.
            self.compared += 1
            self.verdict_timeouts.append(timeout)
            self.delay(timeout)
            told = verdicts(messages, lambda new, there: "different" if self.judges else None)
            return Reply(told, {"prompt_tokens": 1, "completion_tokens": 1})
        self.asked.append(messages)
        self.timeouts.append(timeout)
        item = self.queue.popleft() if self.queue else self.default
        if isinstance(item, LlmError):
            raise item
        return Reply(item if isinstance(item, str) else item(messages), {"prompt_tokens": 100, "completion_tokens": 20})


def fails_on(word: str, code: str = "llm_contract") -> Callable[[Messages], str]:
    """A model that fails wherever a message holds the word."""

    def answer_or_fail(messages: Messages) -> str:
        if any(word in one["content"] for one in shown(messages)):
            if code == "llm_contract":
                return "Sorry, here is what I think of it."
            raise LlmError(code, "It failed.")
        return notes_facts(messages)

    return answer_or_fail


@dataclass(frozen=True)
class Digested:
    """What one worker made of one digest."""

    result: str
    slot: str | None
    error: str | None
    done: DigestDone | None
    used: Usage


class Chatter:
    """A space `demo` with rooms, in a world of its own."""

    def __init__(self, world: World | None = None, **settings: Any) -> None:
        self.world = world or World(**settings)
        self.llm = Listener()
        self.world.llm = self.llm  # type: ignore[assignment]
        if "demo/_meta.json" not in self.world.keys("demo/_meta"):
            self.world.create_space()

    @property
    def process(self) -> Any:
        return self.world.process

    def say(self, content: str, *, room: str = ROOM, author: str = "Zoé Martin", after: float = 1, **more: Any) -> Any:
        self.world.clock.move(after)
        return posting.post(self.process, "demo", room, MessageDraft(author, content, **more))

    def say_all(self, contents: Sequence[str], *, room: str = ROOM, named: str = "") -> list[Any]:
        """Messages of one moment, in batches."""
        drafts = [
            MessageDraft("Zoé Martin", content, message_id=f"{named}{place}" if named else None)
            for place, content in enumerate(contents)
        ]
        done = []
        for start in range(0, len(drafts), posting.BATCH):
            self.world.clock.move(1)
            done += posting.post_all(self.process, "demo", room, drafts[start : start + posting.BATCH])
        return done

    def said(self, room: str = ROOM) -> list[Message]:
        return reading.page(self.process, "demo", room, limit=10_000, oldest_first=True).items

    def digest(self, slot: str | None = None, seconds: float = INVOCATION.total_seconds(), **order: Any) -> Any:
        """Carry out a digest now, by default one that is forced."""
        wanted = DigestOrder(slot, **({"forced": slot is None} | order))
        until = self.world.clock() + timedelta(seconds=seconds)
        return [self._told(one) for one in digest_work.carry_out(self.process, "demo", wanted, until)]

    def _told(self, worked: Worked[CurrentDigest]) -> Digested:
        job = worked.job
        error = job.error.code if job and job.error else None
        key = DIGEST_DONE.key("demo", job.job_id) if job else ""
        done = DigestDone.from_bytes(self.world.inner.objects[key].body) if key in self.world.inner.objects else None
        return Digested(worked.outcome, job.job_id if job else None, error, done, worked.used)

    def digested(self, **order: Any) -> DigestDone:
        """The one digest that is carried out now, which ends well."""
        (one,) = self.digest(**order)
        assert one.result == "done", one
        found: DigestDone = one.done
        return found

    def open_slot(self) -> str | None:
        """The digest that is open."""
        return current_digest.find(self.process, "demo").value.open_slot

    def slot(self) -> str:
        from livemem.spaces import head as heads

        return digest_times.latest_slot(self.process, heads.load(self.process, "demo").meta)

    def done(self, slot: str) -> DigestDone | None:
        return digest_progress.find_done(self.process, "demo", slot)

    def slots(self) -> list[str]:
        """The slots of the digests in the list of jobs."""
        jobs = job_lookup.page(self.process, EVERYONE, "demo", limit=99, filter_by=JobFilter("digest"))[0]
        return [job.name for job in jobs]

    def names(self, slot: str) -> list[str]:
        """What there is of a digest."""
        prefix = IN_DIGEST.prefix("demo", slot)
        return [key.removeprefix(prefix) for key in self.world.keys(prefix)]

    def memories(self, kind: MemoryKind = "fact") -> list[str]:
        found = log.load(self.process, "demo", kind).alive(self.process.clock())
        return sorted(one.content for one in found)
