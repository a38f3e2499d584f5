"""`make demo-memories`: a room is listened to, what matters in it becomes memories, and an agent answers from them.

Starts the local runtime on an empty store, says who the agent is, and posts the messages of `examples/room.ndjson` as
those of a day that ended an hour ago: the first part is digested because a digest was missed, the second by hand. Then
the agent is asked three questions. The exit status is 0 only if each message was digested once, a fact that was said
twice is one memory or is linked to the other one, each answer rests on a memory that answers it, and a memory for a
minute is gone after that minute. The LLM decides whether two facts are one. The offline LLM does so only for the same
words.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from live_memory import Client, models
from local.demo import stage
from local.demo.report import table, width
from local.demo.service import ROOT, DemoError, Service

SPACE, ROOM = "team", "build"
TALK = ROOT / "examples" / "room.ndjson"
FIRST = 22
"""Messages of the first part."""
MINUTE = 60.0
_POLL_SECONDS = 0.25
SELF = (
    {"kind": "self", "category": "context", "content": "I am the memory of those who build Live Memory."},
    {"kind": "self", "category": "limitation", "content": "I know only what was said in the room and what I was told."},
    {"kind": "goal", "category": "understanding", "content": "I want to know why things were decided."},
)
PASSING = "The demo of memories is running right now."


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
    parser.parse_args()
    return stage.play(lambda service, _data: _run(service), "demo-memories")


def _run(service: Service) -> None:
    api = service.admin
    print(f"Live Memory runs at {api.url}, with its own S3 server.")
    print(stage.describe_llm(service))
    print(stage.describe_embeddings(service))
    api.spaces.create(space_id=SPACE, description="A team", rules_template="standard")
    passing = api.memories.store(SPACE, content=PASSING, ttl="1m").memory_id
    gone = time.monotonic() + MINUTE
    api.memories.store_batch(SPACE, memories=SELF)
    began = time.monotonic()
    patience = 30.0 if service.offline_llm else 600.0

    messages = _messages()
    print(f"\nThe agent knows who it is; {len(messages)} messages of the room `{ROOM}` are posted in two parts.\n")
    _post(api, messages[:FIRST])
    missed = _await_digest(api, patience)
    print(f"Nobody was there at the last hour of digests: the first message caught up on it.\n{_told(missed)}\n")
    again = _post(api, messages[:FIRST])
    if not all(one.digested for one in again) or _waiting(api):
        raise DemoError("Messages that were digested came into the room once more.")
    print(f"The same {FIRST} messages posted once more: all known, none is digested twice.\n")
    _post(api, messages[FIRST:])
    slot = api.digests.start(SPACE).slot
    forced = _await_digest(api, patience, slot)
    print(f"The rest, by hand.\n{_told(forced)}\n")
    if missed.messages + forced.messages != len(messages) or _waiting(api):
        raise DemoError("Not every message was digested once.")
    _show_memories(api)
    for question in QUESTIONS:
        _ask(api, question, patience)
    _await_end(api, passing, gone)
    print(
        f"All {len(messages)} messages were digested once, what was said twice is one memory or linked, each answer "
        f"rests on a memory that answers it, and what was for a minute is gone. {time.monotonic() - began:.1f} s."
    )


def _messages() -> list[dict[str, str]]:
    """The day's messages, the last of them an hour ago."""
    lines = [json.loads(line) for line in TALK.read_text("utf-8").split("\n") if line.strip()]
    later = datetime.now(UTC) - timedelta(hours=1) - datetime.fromisoformat(lines[-1]["timestamp"])
    for line in lines:
        moment = datetime.fromisoformat(line["timestamp"]) + later
        line["timestamp"] = moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    return lines


def _post(api: Client, messages: Sequence[dict[str, str]]) -> Sequence[models.MessagePosted]:
    return api.rooms.post_messages(SPACE, ROOM, messages=messages).items


def _waiting(api: Client) -> bool:
    return bool(api.rooms.list_messages(SPACE, ROOM, limit=10).items)


def _await_digest(api: Client, patience: float, slot: str | None = None) -> models.DigestView:
    """The digest of the slot, or the first one, once it has ended."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        found = [one for one in api.digests.list(SPACE, limit=5).items if slot in (None, one.slot)]
        if found and found[0].status == "done":
            return found[0]
        if found and found[0].error:
            raise DemoError(f"The digest failed ({found[0].error}).")
        time.sleep(_POLL_SECONDS)
    raise DemoError(f"No digest had ended after {patience:.0f} s.")


def _told(digest: models.DigestView) -> str:
    counts = digest.counts
    if counts is None:
        raise DemoError("The digest does not say what it did.")
    return (
        f"  digest {digest.slot}: {counts.messages} messages in {counts.chunks} chunk(s), "
        f"{counts.usage.calls} call(s) of the LLM; {counts.new} new memories, {counts.merged} merged"
    )


def _show_memories(api: Client) -> None:
    """Print the memories, with those that were merged or may be the same. Raises DemoError if there is neither."""
    merged = [one for one in api.memories.list_changes(SPACE, limit=50).items if one.what == "merged"]
    newest = api.memories.search(SPACE, limit=50).items
    kinds = [[kind, sum(one.kind == kind for one in newest)] for kind in ("fact", "self", "goal")]
    print(f"{table(['memories', 'number'], kinds)}\n")
    linked = [one for one in newest if one.similar_to]
    if not merged and not linked:
        raise DemoError("Nothing that was said twice was merged or linked.")
    if merged:
        print("Said twice, one memory:")
    for one in merged:
        memory = api.memories.get(SPACE, one.memory_id)
        said = [memory.content, *(former.content for former in memory.history)]
        for place, text in enumerate(said):
            print(f"  {'stands' if place == 0 else 'before'}: {text[: width() - 12]}")
    shown: set[str] = set()
    contents = {one.memory_id: one.content for one in newest}
    if linked:
        print("\nThese may say the same. No LLM that can tell was asked yet, so both stay:")
    for found in linked:
        others = [contents[other] for other in found.similar_to or () if other in contents and other not in shown]
        shown.add(found.memory_id)
        for text in others:
            print(f"  {found.content[: width() - 12]}\n  ~ {text[: width() - 12]}")
    print()


def _ask(api: Client, question: Question, patience: float) -> None:
    """Ask, and print the answer, the tools that were called, and what it rests on."""
    answer = api.questions.ask(SPACE, message=question.text, user="ann", room=ROOM)
    deadline = time.monotonic() + patience
    while answer.status in ("queued", "running") and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
        answer = api.questions.get(SPACE, answer.request_id)
    print(f"── {question.text}")
    for call in answer.tool_calls:
        told = json.dumps(call.arguments, ensure_ascii=False)
        print(f"   {call.name} {told[: width() - 50]} -> {call.results} result(s), {call.ms:.0f} ms")
    print(f"   {answer.message}")
    sources = answer.sources or []
    for source in sources:
        print(f"   rests on {source.kind} {source.id}: {source.excerpt[: width() - 50]}")
    print()
    if not any(question.word in source.excerpt for source in sources):
        raise DemoError("The answer does not rest on a memory that answers the question.")


def _await_end(api: Client, passing: str, gone: float) -> None:
    """Wait until the memory for a minute is gone from all reads; it is at the moment `gone`."""

    def found() -> list[str]:
        return [one.memory_id for one in api.memories.search(SPACE, q=PASSING, limit=1).items]

    if time.monotonic() < gone - 5 and found() != [passing]:
        raise DemoError("The memory for a minute was gone too early.")
    time.sleep(max(0.0, gone - time.monotonic()))
    if passing in found():
        raise DemoError("The memory for a minute is still there.")
    print("The memory for a minute has expired, and no read gives it any more.\n")


if __name__ == "__main__":
    sys.exit(main())
