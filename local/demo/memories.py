"""`make demo-memories`: a room is listened to, what matters in it becomes memories, and an agent answers from them.

Says who the agent is, and posts the messages of `examples/room.ndjson` as those of a day that ended an hour ago: the
first part is digested because a digest was missed, the second by hand. Then the agent is asked three questions. It
succeeds only if each message was digested once, a fact that was said twice is one memory or is linked to the other one,
and each answer rests on a memory that answers it. The LLM decides whether two facts are one. The offline LLM does so
only for the same words.
"""

import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from live_memory import Client, models
from local.demo.stage import DemoError, Service, read_lines, show

SPACE, ROOM = "team", "build"
FIRST = 22
"""Messages of the first part."""
SELF = (
    {"kind": "self", "category": "context", "content": "I am the memory of those who build Live Memory."},
    {"kind": "self", "category": "limitation", "content": "I know only what was said in the room and what I was told."},
    {"kind": "goal", "category": "understanding", "content": "I want to know why things were decided."},
)
EXAMPLES, PAIRS = 5, 2
"""Memories, and pairs of memories, that are shown."""
QUESTIONS = {
    "How long does the id of a deleted space stay blocked?": "21 minutes",
    "What happens to other tokens when a token is revoked?": "rotated",
    "Pourquoi n'avons-nous pas pris obstore ?": "obstore",
}
"""Questions, and a word that a source of each answer must hold."""


def tell(service: Service) -> None:
    """Tell it. Raises DemoError."""
    began, api, messages = time.monotonic(), service.admin, _messages()
    api.spaces.create(space_id=SPACE, description="A team", rules_template="standard")
    api.memories.store(SPACE, items=SELF)
    told = f"{len(messages)} messages of people and agents, small talk among them. For example:"
    print(f"\nA day in the room `{ROOM}`: {told}")
    for message in messages[:3]:
        _tell(f"{message['author']}: {message['content']}")
    _post(api, messages[:FIRST])
    missed = _await_digest(service)
    print(f"\nNobody was there at the last hour of digests, so the first message made up for it.\n  {_told(missed)}")
    again = _post(api, messages[:FIRST])
    if not all(one.digested for one in again) or _waiting(api):
        raise DemoError("Messages that were digested came into the room once more.")
    print(f"The same {FIRST} messages are posted once more: all are known, none is digested twice.")
    _post(api, messages[FIRST:])
    forced = _await_digest(service, api.digests.start(SPACE).job)
    print(f"The rest, by hand.\n  {_told(forced)}\n")
    if _result(missed).messages + _result(forced).messages != len(messages) or _waiting(api):
        raise DemoError("Not every message was digested once.")
    _show_memories(api)
    for question, word in QUESTIONS.items():
        _ask(service, question, word)
    said = f"All {len(messages)} messages were digested once, what was said twice is one memory or linked, and each "
    show([f"{said}answer rests on a memory that has it. {time.monotonic() - began:.0f} s."])


def _tell(text: str) -> None:
    """Print a text below its heading, whole."""
    show([f"- {' '.join(text.split())}"], "  ")


def _messages() -> list[dict[str, str]]:
    """The day's messages, the last of them an hour ago."""
    lines = read_lines("room.ndjson")
    later = datetime.now(UTC) - timedelta(hours=1) - datetime.fromisoformat(lines[-1]["timestamp"])
    for line in lines:
        moment = datetime.fromisoformat(line["timestamp"]) + later
        line["timestamp"] = moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    return lines


def _post(api: Client, messages: Sequence[dict[str, str]]) -> Sequence[models.MessagePosted]:
    return api.rooms.post_message(SPACE, ROOM, items=messages).items


def _waiting(api: Client) -> bool:
    return bool(api.rooms.list_messages(SPACE, ROOM, limit=10).items)


def _await_digest(service: Service, job: str | None = None) -> models.JobView:
    """The job, or the first digest, once it has ended."""

    def look() -> models.JobView | None:
        items = service.admin.jobs.list(space_id=SPACE, kind="digest", limit=5).items
        found = next((one for one in items if job in (None, one.job)), None)
        if found and found.error:
            raise DemoError(f"The digest failed ({found.error.code}).")
        return found if found and found.status == "done" else None

    return service.wait(look, "No digest had ended")


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
        show([f"  ~ {contents[second]}"], "  ")
    print()


def _ask(service: Service, question: str, word: str) -> None:
    """Ask, and print the answer, the tools that were called, and what it rests on."""
    api = service.admin
    job = api.questions.ask(SPACE, message=question, user="ann", room=ROOM)
    answer = api.jobs.wait(job.job, timeout=60.0 if service.offline_llm else 600.0).result
    assert isinstance(answer, models.QuestionResult)
    print(f"── {question}")
    show([answer.message or ""], "  ")
    sources, used = answer.sources or [], {call.name: None for call in answer.tool_calls if call.name != "respond"}
    memories = len(api.memories.search(SPACE, limit=50).items)
    print(f"  ({', '.join(used)}; it rests on {len(sources)} of {memories} memories)\n")
    if not any(word in source.excerpt for source in sources):
        raise DemoError("The answer does not rest on a memory that answers the question.")
