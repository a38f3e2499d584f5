"""`make demo-memories`: a room is listened to, what matters in it becomes memories, and an agent answers from them.

Starts the local runtime on an empty store, says who the agent is, and posts the messages of `examples/room.ndjson` as
those of a day that ended an hour ago: the first part is digested because a digest was missed, the second by hand.
Then the agent is asked three questions. The exit status is 0 only if each message was digested once, a fact that was
said twice is one memory or is linked to the other one, and each answer rests on a memory that answers it. The LLM
decides whether two facts are one. The offline LLM does so only for the same words.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from live_memory import Client, models
from local import ROOT
from local.demo import stage
from local.demo.report import width, wrap
from local.demo.service import DemoError, Service

SPACE, ROOM = "team", "build"
TALK = ROOT / "examples" / "room.ndjson"
FIRST = 22
"""Messages of the first part."""
_POLL_SECONDS = 0.25
SELF = (
    {"kind": "self", "category": "context", "content": "I am the memory of those who build Live Memory."},
    {"kind": "self", "category": "limitation", "content": "I know only what was said in the room and what I was told."},
    {"kind": "goal", "category": "understanding", "content": "I want to know why things were decided."},
)
EXAMPLES, PAIRS = 5, 2
"""Memories, and pairs of memories, that are shown."""


@dataclass(frozen=True)
class Question:
    """A question, and a word that a source of its answer must hold."""

    text: str
    word: str


QUESTIONS = (
    Question("How long does the id of a deleted space stay blocked?", "21 minutes"),
    Question("What happens to other tokens when a token is revoked?", "rotated"),
    Question("Pourquoi n'avons-nous pas pris obstore ?", "obstore"),
)


def main() -> int:
    """Run the demo; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m local.demo.memories", description="Memories, rooms, digests, ask.")
    return stage.play(_run, "demo-memories", parser)


def _run(service: Service, _data: Path, _options: argparse.Namespace) -> None:
    api = service.admin
    api.spaces.create(space_id=SPACE, description="A team", rules_template="standard")
    api.memories.store(SPACE, items=SELF)
    began = time.monotonic()
    patience = 30.0 if service.offline_llm else 600.0

    messages = _messages()
    told = f"{len(messages)} messages of people and agents, small talk among them. For example:"
    print(f"\nA day in the room `{ROOM}`: {told}")
    for message in messages[:3]:
        _tell(f"{message['author']}: {message['content']}")
    _post(api, messages[:FIRST])
    missed = _await_digest(api, patience)
    print(f"\nNobody was there at the last hour of digests, so the first message made up for it.\n  {_told(missed)}")
    again = _post(api, messages[:FIRST])
    if not all(one.digested for one in again) or _waiting(api):
        raise DemoError("Messages that were digested came into the room once more.")
    print(f"The same {FIRST} messages are posted once more: all are known, none is digested twice.")
    _post(api, messages[FIRST:])
    forced = _await_digest(api, patience, api.digests.start(SPACE).job)
    print(f"The rest, by hand.\n  {_told(forced)}\n")
    if _result(missed).messages + _result(forced).messages != len(messages) or _waiting(api):
        raise DemoError("Not every message was digested once.")
    _show_memories(api)
    for question in QUESTIONS:
        _ask(api, question, patience)
    said = (
        f"All {len(messages)} messages were digested once, what was said twice is one memory or linked, and each "
        f"answer rests on a memory that has it. {time.monotonic() - began:.0f} s."
    )
    print("\n".join(wrap(said, width())))


def _tell(text: str) -> None:
    """Print a text below its heading, whole."""
    print("\n".join(f"  {line}" for line in wrap(f"- {' '.join(text.split())}", width() - 2)))


def _messages() -> list[dict[str, str]]:
    """The day's messages, the last of them an hour ago."""
    lines = [json.loads(line) for line in TALK.read_text("utf-8").split("\n") if line.strip()]
    later = datetime.now(UTC) - timedelta(hours=1) - datetime.fromisoformat(lines[-1]["timestamp"])
    for line in lines:
        moment = datetime.fromisoformat(line["timestamp"]) + later
        line["timestamp"] = moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    return lines


def _post(api: Client, messages: Sequence[dict[str, str]]) -> Sequence[models.MessagePosted]:
    return api.rooms.post_message(SPACE, ROOM, items=messages).items


def _waiting(api: Client) -> bool:
    return bool(api.rooms.list_messages(SPACE, ROOM, limit=10).items)


def _await_digest(api: Client, patience: float, job: str | None = None) -> models.JobView:
    """The job, or the first digest, once it has ended."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        found = [one for one in api.jobs.list(space_id=SPACE, kind="digest", limit=5).items if job in (None, one.job)]
        if found and found[0].status == "done":
            return found[0]
        if found and found[0].error:
            raise DemoError(f"The digest failed ({found[0].error.code}).")
        time.sleep(_POLL_SECONDS)
    raise DemoError(f"No digest had ended after {patience:.0f} s.")


def _result(digest: models.JobView) -> models.DigestResult:
    if not isinstance(digest.result, models.DigestResult):
        raise DemoError("The digest does not say what it did.")
    return digest.result


def _told(digest: models.JobView) -> str:
    result, calls = _result(digest), digest.usage.calls
    return f"{result.messages} messages, {calls} calls of the LLM: {result.new} new memories, {result.merged} merged."


def _show_memories(api: Client) -> None:
    """Print some memories, and those that were merged or may be the same. Raises DemoError if there is neither."""
    merged = [one for one in api.memories.list_changes(SPACE, limit=50).items if one.what == "merged"]
    newest = api.memories.search(SPACE, limit=50).items
    linked = [one for one in newest if one.similar_to]
    if not merged and not linked:
        raise DemoError("Nothing that was said twice was merged or linked.")
    print("Some of what was kept:")
    for one in [one for one in newest if one.kind == "fact" and not one.similar_to][:EXAMPLES]:
        _tell(one.content)
    if merged:
        print("\nSaid twice, one memory:")
    for change in merged[:PAIRS]:
        memory = api.memories.get(SPACE, change.memory_id)
        for place, text in enumerate([memory.content, *(former.content for former in memory.history)]):
            _tell(f"{'stands' if place == 0 else 'before'}: {text}")
    contents = {one.memory_id: one.content for one in newest}
    pairs = {frozenset((one.memory_id, other)) for one in linked for other in one.similar_to or () if other in contents}
    if pairs:
        print(f"\n{len(pairs)} pairs may say the same. No LLM that can tell was asked yet, so both stay. For example:")
    for pair in sorted(pairs, key=lambda pair: [contents[one] for one in sorted(pair)])[:PAIRS]:
        first, second = sorted(pair)
        _tell(contents[first])
        print("\n".join(f"  {line}" for line in wrap(f"  ~ {contents[second]}", width() - 2)))
    print()


def _ask(api: Client, question: Question, patience: float) -> None:
    """Ask, and print the answer, the tools that were called, and what it rests on."""
    job = api.questions.ask(SPACE, message=question.text, user="ann", room=ROOM)
    answer = api.jobs.wait(job.job, timeout=patience).result
    assert isinstance(answer, models.QuestionResult)
    print(f"── {question.text}")
    sources = answer.sources or []
    print("\n".join(f"  {line}" for line in wrap(answer.message or "", width() - 2)))
    used = ", ".join(dict.fromkeys(call.name for call in answer.tool_calls if call.name != "respond"))
    print(f"  ({used}; it rests on {len(sources)} of {len(api.memories.search(SPACE, limit=50).items)} memories)\n")
    if not any(question.word in source.excerpt for source in sources):
        raise DemoError("The answer does not rest on a memory that answers the question.")


if __name__ == "__main__":
    sys.exit(main())
