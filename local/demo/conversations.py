"""`make demo-conversations`: a long conversation is taken in, summarised in layers, and asked for its context.

Starts the local runtime on an empty store, imports `examples/conversation.ndjson` over HTTP, lets the put events of
its turns start the summaries, prints what it took and the highest summary, and asks for the context of three
questions. The exit status is 0 only if every turn is there with its words, every level is whole, and each question's
context holds a turn that answers it.
"""

import argparse
import json
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from live_memory import Client
from local import ROOT
from local.demo import stage
from local.demo.report import table, width, wrap
from local.demo.service import DemoError, Service
from local.offline_llm import sentences

SPACE = "talk"
TALK = ROOT / "examples" / "conversation.ndjson"
LEVELS = (1, 2, 3)
_POLL_SECONDS = 0.5
_QUIET = 3
"""Looks in a row that find nothing more to do."""
_CONTEXT: dict[str, Any] = {"max_chars": 4_000, "max_turns": 1, "raw_chars": 1_000, "limit": 3}
_RATIO = 0.15
"""Of a summary to its source. With the usual tenth a talk of this length just reaches level 3."""
_SHOWN = 400
"""Characters of a turn that is shown, in whole sentences."""
_ENTRY = re.compile(r"^\[Turn (?P<number>\d+) - [^\n]*\n(?P<text>.*?)(?=\n\n\[|\n\n## |\Z)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Question:
    """A question about the conversation, and the turns that answer it."""

    text: str
    turns: tuple[int, ...]


QUESTIONS = (
    Question(
        "Why does a consolidation commit by a compare-and-swap of _meta.json instead of a lock, and what is the lease "
        "for then?",
        (10, 93),
    ),
    Question("Why must VersityGW not be run with --sidecar, and why does the probe not notice?", (49, 70)),
    Question(
        "Pourquoi un espace supprimé garde-t-il une pierre tombale, et pourquoi son identifiant reste-t-il bloqué "
        "21 minutes ?",
        (81, 98),
    ),
)


def main() -> int:
    """Run the demo; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m local.demo.conversations", description="Conversation memory.")
    parser.add_argument("--profile", choices=("turns", "windows"), default="turns", help="how turns are summarised")
    parser.add_argument("--full", action="store_true", help="print each context as a whole")
    return stage.play(_run, "demo-conversations", parser)


def _run(service: Service, _data: Path, options: argparse.Namespace) -> None:
    began = time.monotonic()
    lines = [line for line in TALK.read_text("utf-8").split("\n") if line.strip()]
    api = service.admin
    api.spaces.create(space_id=SPACE, description="A conversation", rules_template="standard")
    # The pause between waves of calls is for providers with limits; the stand-in has none.
    parameters = {"ratio": _RATIO} | ({"batch_delay_ms": 0} if service.offline_llm else {})
    talk = api.conversations.create(
        SPACE,
        title="The building of Live Memory",
        cwd="/home/ann/live-memory",
        host="laptop",
        profile=options.profile,
        parameters=parameters,
    ).conversation_id
    raw = sum(len(turn["user_message"]) + len(turn["assistant_message"]) for turn in map(json.loads, lines))
    print(f"\nA talk of {len(lines)} turns and {raw:,} characters is imported: too many to send with each question.")
    print("Its put events start the summaries, which take a while.", flush=True)
    _import(api, talk, lines)
    _await_summaries(api, talk, patience=60.0 if service.offline_llm else 1_800.0)
    _check_turns(api, talk, lines)
    print(f"\n{_costs(api, talk, lines)}\n\n{_top(api, talk)}\n")
    found = [_ask(api, talk, question, full=options.full) for question in QUESTIONS]
    if not all(found):
        raise DemoError("A context holds none of the turns that answer its question.")
    print(
        f"All {len(lines)} turns are there word for word, every level is whole, and each context holds a turn that "
        f"answers. {time.monotonic() - began:.0f} s."
    )


def _import(api: Client, talk: str, lines: Sequence[str]) -> None:
    """Import the lines. Those for which there was no time are sent again."""
    left = [json.loads(line) for line in lines]
    while left:
        answer = api.conversations.append_turn(SPACE, talk, items=left)
        done = answer.imported + answer.repeated
        if not done:
            raise DemoError("The import does not go on.")
        left = left[done:]


def _await_summaries(api: Client, talk: str, *, patience: float) -> None:
    """Wait until the events have started all that they will start, and it is done."""
    deadline = time.monotonic() + patience
    quiet, before = 0, None
    while quiet < _QUIET:
        if time.monotonic() > deadline:
            raise DemoError(f"The summaries were not ready after {patience:.0f} s.")
        levels = api.conversations.get(SPACE, talk).levels
        counts = [(level.sealed, level.sealed - level.summarised) for level in levels]
        jobs = api.jobs.list(space_id=SPACE, kind="summaries", subject=talk, limit=1).items
        running = bool(jobs) and jobs[0].status in ("queued", "running")
        failed = jobs[0].error if jobs else None
        if failed:
            raise DemoError(f"Summaries could not be made ({failed.code}): {failed.detail}")
        whole = not running and not any(pending for _, pending in counts) and counts[0][0] > 0
        quiet = quiet + 1 if whole and counts == before else 0
        before = counts
        time.sleep(_POLL_SECONDS)
    print("  summaries: " + ", ".join(f"level {n} {sealed}" for n, (sealed, _) in enumerate(counts, 1)))


def _check_turns(api: Client, talk: str, lines: Sequence[str]) -> None:
    """Compare the imported turns with the log."""
    told = api.pages("list_turns", {**_talk(talk), "order": "oldest"})
    sent = [json.loads(line) for line in lines]
    names = ("message_id", "user_message", "assistant_message")
    if [[turn[name] for name in names] for turn in told] != [[turn[name] for name in names] for turn in sent]:
        raise DemoError("The log is not what was imported.")


def _top(api: Client, talk: str) -> str:
    """The newest summary of the highest level, whole, and what it covers. Raises DemoError if that is not the last."""
    items = api.conversations.list_summaries(SPACE, talk, level=LEVELS[-1], limit=1).items
    if not items:
        raise DemoError("The talk did not reach the highest level.")
    item = items[0]
    first, last = item.covers.turns
    text = "\n".join(wrap(" ".join((item.summary or "").split()), width()))
    return f"── Level {item.level}: turns {first} to {last} in {len(item.summary or ''):,} characters\n\n{text}"


def _costs(api: Client, talk: str, lines: Sequence[str]) -> str:
    """Characters by level, calls and tokens; the latter are counted by the job."""
    turns = [json.loads(line) for line in lines]
    raw = sum(len(turn["user_message"]) + len(turn["assistant_message"]) for turn in turns)
    jobs = list(api.pages("list_jobs", {"space_id": SPACE, "kind": "summaries", "subject": talk}))
    rows: list[list[object]] = [["0 (turns)", len(turns), raw]]
    for level in LEVELS:
        items = list(api.pages("list_summaries", {**_talk(talk), "level": level, "state": "sealed"}))
        rows.append([str(level), len(items), sum(len(item["summary"]) for item in items)])
    used = [sum(job["usage"][name] for job in jobs) for name in ("calls", "prompt_tokens", "completion_tokens")]
    return (
        f"{table(['level', 'number', 'characters'], rows)}\n\n"
        f"{used[0]:,} calls of the LLM in {len(jobs)} jobs; tokens: {used[1]:,} in, {used[2]:,} out."
    )


def _talk(conversation_id: str) -> dict[str, Any]:
    return {"space_id": SPACE, "conversation_id": conversation_id}


def _ask(api: Client, talk: str, question: Question, *, full: bool) -> bool:
    """Print the context for a question; whether it holds a turn that answers, or a summary that covers one."""
    answer = api.search.load_context(SPACE, q=question.text, conversation_id=talk, **_CONTEXT)
    found = {int(entry["number"]): entry["text"] for entry in _ENTRY.finditer(answer.markdown)}
    answering = next((number for number in question.turns if number in found), None)
    if full:
        shown = answer.markdown
    else:
        shown = "\n".join(wrap(_begin(found[answering]), width())) if answering else "(no turn that answers)"
    print(f"── {question.text}")
    print(f"   A context of {answer.chars:,} characters; of it turn {answering}:\n\n{shown}\n")
    return answering is not None


def _begin(text: str) -> str:
    """What the assistant said, as whole sentences, as far as they have room."""
    said = sentences.split(text.partition("Assistant: ")[2] or text)
    kept = said[:1]
    for sentence in said[1:]:
        if len(" ".join(kept)) + len(sentence) >= _SHOWN:
            return " ".join([*kept, "[…]"])
        kept.append(sentence)
    return " ".join(kept)


if __name__ == "__main__":
    sys.exit(main())
