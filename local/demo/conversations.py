"""`make demo-conversations`: a long conversation is taken in, summarised in layers, and asked for its context.

Imports `examples/conversation.ndjson`, lets the put events of its turns start the summaries, prints what it took and
the highest summary, and asks for the context of three questions. It succeeds only if every turn is there with its
words, every level is whole, and each question's context holds a turn that answers it.
"""

import re
import time
from collections.abc import Sequence
from typing import Any

from live_memory import Client
from local.demo.stage import DemoError, Service, read_lines, show
from local.offline_llm import sentences

SPACE, LEVELS = "talk", (1, 2, 3)
_QUIET = 5
"""Looks in a row that find nothing more to do."""
_CONTEXT: dict[str, Any] = {"max_chars": 4_000, "max_turns": 1, "raw_chars": 1_000, "limit": 3}
_RATIO = 0.15
"""Of a summary to its source. With the usual tenth a talk of this length just reaches level 3."""
_SHOWN = 400
"""Characters of a turn that is shown, in whole sentences."""
_ENTRY = re.compile(r"^\[Turn (?P<number>\d+) - [^\n]*\n(?P<text>.*?)(?=\n\n\[|\n\n## |\Z)", re.MULTILINE | re.DOTALL)
_FIELDS = ("message_id", "user_message", "assistant_message")

QUESTIONS = {
    "Why does a consolidation commit by a compare-and-swap of _meta.json instead of a lock, and what is the lease for "
    "then?": (10, 93),
    "Why must VersityGW not be run with --sidecar, and why does the probe not notice?": (49, 70),
    "Pourquoi un espace supprimé garde-t-il une pierre tombale, et pourquoi son identifiant reste-t-il bloqué "
    "21 minutes ?": (81, 98),
}
"""Questions about the conversation, and the turns that answer them."""


def tell(service: Service) -> None:
    """Tell it. Raises DemoError."""
    began, api, turns = time.monotonic(), service.admin, read_lines("conversation.ndjson")
    api.spaces.create(space_id=SPACE, description="A conversation", rules_template="standard")
    talk = api.conversations.create(
        SPACE,
        title="The building of Live Memory",
        cwd="/home/ann/live-memory",
        host="laptop",
        # The pause between waves of calls is for providers with limits; the stand-in has none.
        parameters={"ratio": _RATIO} | ({"batch_delay_ms": 0} if service.offline_llm else {}),
    ).conversation_id
    raw = sum(len(turn["user_message"]) + len(turn["assistant_message"]) for turn in turns)
    print(f"\nA talk of {len(turns)} turns and {raw:,} characters is imported: too many to send with each question.")
    print("Its put events start the summaries, which take a while.", flush=True)
    _import(api, talk, turns)
    _await_summaries(service, talk)
    told = [[turn[name] for name in _FIELDS] for turn in api.pages("list_turns", {**_talk(talk), "order": "oldest"})]
    if told != [[turn[name] for name in _FIELDS] for turn in turns]:
        raise DemoError("The log is not what was imported.")
    _show_costs(api, talk, len(turns), raw)
    _show_top(api, talk)
    # Meanwhile the indexer embeds the turns, and a search on a busy machine may be too late for a context.
    service.wait(lambda: _is_indexed(api), "The search did not know all turns by their meaning", most=120.0)
    answered = [_ask(service, talk, question, numbers) for question, numbers in QUESTIONS.items()]
    if not all(answered):
        raise DemoError("A context holds none of the turns that answer its question.")
    print(
        f"All {len(turns)} turns are there word for word, every level is whole, and each context holds a turn that "
        f"answers. {time.monotonic() - began:.0f} s."
    )


def _import(api: Client, talk: str, left: Sequence[dict[str, str]]) -> None:
    """Import the turns. Those for which there was no time are sent again."""
    while left:
        answer = api.conversations.append_turn(SPACE, talk, items=left)
        if not (done := answer.imported + answer.repeated):
            raise DemoError("The import does not go on.")
        left = left[done:]


def _await_summaries(service: Service, talk: str) -> None:
    """Wait until the events have started all that they will start, and it is done."""
    seen: list[list[tuple[int, int]]] = []

    def look() -> list[tuple[int, int]] | None:
        levels = service.admin.conversations.get(SPACE, talk).levels
        counts = [(level.sealed, level.sealed - level.summarised) for level in levels]
        jobs = service.admin.jobs.list(space_id=SPACE, kind="summaries", subject=talk, limit=1).items
        if jobs and (failed := jobs[0].error):
            raise DemoError(f"Summaries could not be made ({failed.code}): {failed.detail}")
        running = jobs and jobs[0].status in ("queued", "running")
        whole = not running and not any(pending for _, pending in counts) and counts[0][0] > 0
        seen[:] = [*seen, counts] if whole and counts in (seen or [counts]) else []
        return counts if len(seen) > _QUIET else None

    counts = service.wait(look, "The summaries were not ready", most=120.0)
    print("  summaries: " + ", ".join(f"level {n} {sealed}" for n, (sealed, _) in enumerate(counts, 1)))


def _is_indexed(api: Client) -> bool:
    found = api.search.space(SPACE, q="consolidation", limit=1)
    return not found.view.unread and (not found.unembedded or (found.ranking == "bm25" and not found.failure))


def _show_costs(api: Client, talk: str, turns: int, raw: int) -> None:
    """Characters by level, calls and tokens; the latter are counted by the job."""
    print(f"\n{'level':9}  number  characters\n{'-' * 9}  ------  ----------\n0 (turns)  {turns:6}  {raw:10,}")
    for level in LEVELS:
        items = list(api.pages("list_summaries", {**_talk(talk), "level": level, "state": "sealed"}))
        print(f"{level:<9}  {len(items):6}  {sum(len(item['summary']) for item in items):10,}")
    jobs = list(api.pages("list_jobs", {"space_id": SPACE, "kind": "summaries", "subject": talk}))
    calls, read, written = (
        sum(job["usage"][name] for job in jobs) for name in ("calls", "prompt_tokens", "completion_tokens")
    )
    print(f"\n{calls:,} calls of the LLM in {len(jobs)} jobs; tokens: {read:,} in, {written:,} out.")


def _show_top(api: Client, talk: str) -> None:
    """Print the newest summary of the highest level, whole, and what it covers. Raises DemoError if there is none."""
    items = api.conversations.list_summaries(SPACE, talk, level=LEVELS[-1], limit=1).items
    if not items:
        raise DemoError("The talk did not reach the highest level.")
    text, (first, last) = items[0].summary or "", items[0].covers.turns
    print(f"\n── Level {LEVELS[-1]}: turns {first} to {last} in {len(text):,} characters\n")
    show([" ".join(text.split()), ""])


def _talk(conversation_id: str) -> dict[str, Any]:
    return {"space_id": SPACE, "conversation_id": conversation_id}


def _ask(service: Service, talk: str, question: str, turns: Sequence[int]) -> bool:
    """Print the context for a question; whether it holds a turn that answers."""
    answer = service.admin.search.load_context(SPACE, q=question, conversation_id=talk, **_CONTEXT)
    if answer.degraded:
        raise DemoError(f"The context came without {', '.join(answer.degraded)}: this machine is too busy.")
    found = {int(entry["number"]): entry["text"] for entry in _ENTRY.finditer(answer.markdown)}
    answering = next((number for number in turns if number in found), None)
    print(f"── {question}\n   A context of {answer.chars:,} characters; of it turn {answering}:\n")
    show([_begin(found[answering]) if answering else "(no turn that answers)", ""])
    return answering is not None


def _begin(text: str) -> str:
    """What the assistant said, as whole sentences, as far as they have room."""
    first, *others = sentences.split(text.partition("Assistant: ")[2] or text)
    for sentence in others:
        if len(first) + len(sentence) >= _SHOWN:
            return f"{first} […]"
        first += f" {sentence}"
    return first
