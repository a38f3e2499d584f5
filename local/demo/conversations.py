"""`make demo-conversations`: a long conversation is taken in, summarised in layers, and asked for its context.

Starts the local runtime on an empty store, imports `examples/conversation.ndjson` over HTTP, lets the put events of its
turns start the summaries, and prints a context for three questions, with what it all took. The exit status is 0 only if
every turn is there with its words, every level is whole, and each question's context holds a turn that answers it.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from live_memory import Client
from local.demo import stage
from local.demo.report import Progress, table, width
from local.demo.service import ROOT, DemoError, Service

SPACE = "talk"
Profile = Literal["turns", "windows"]
TALK = ROOT / "examples" / "conversation.ndjson"
LEVELS = (1, 2, 3)
_IMPORT_BYTES = 500_000
_POLL_SECONDS = 0.5
_QUIET = 3
"""Looks in a row that find nothing more to do."""
_CONTEXT = {"max_chars": 4_000, "max_turns": 1, "raw_chars": 1_000, "max_results": 3}


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
    options = parser.parse_args()
    began = time.monotonic()

    def show(service: Service, _data: Path) -> None:
        _run(service, options.profile, full=options.full, began=began)

    return stage.play(show, "demo-conversations")


def _run(service: Service, profile: Profile, *, full: bool, began: float) -> None:
    lines = [line for line in TALK.read_text("utf-8").split("\n") if line.strip()]
    api = service.admin
    print(f"Live Memory runs at {api.url}, with its own S3 server.")
    print(stage.describe_llm(service))
    print(stage.describe_embeddings(service))
    api.spaces.create(space_id=SPACE, description="A conversation", rules_template="standard")
    # Groups that are a tenth of the usual size, so that a talk of this length reaches level 3. The pause between waves
    # of calls is for providers with limits; the stand-in has none.
    parameters = {"group_chars": 1_000} | ({"batch_delay_ms": 0} if service.offline_llm else {})
    talk = api.conversations.create(
        SPACE,
        title="The building of Live Memory",
        cwd="/home/ann/live-memory",
        host="laptop",
        profile=profile,
        parameters=parameters,
    ).conversation_id
    print(f"Conversation {talk}, profile `{profile}`; {len(lines)} turns are imported.")
    print(f"Groups of {parameters['group_chars']:,} characters, so that this talk reaches level 3 (usually 10,000).\n")
    progress = Progress(every=10)
    _import(api, talk, lines)
    _await_summaries(api, talk, progress, patience=60.0 if service.offline_llm else 1_800.0)
    _check_turns(api, talk, lines)
    print(f"\n{_levels(api, talk)}\n\nWhat it took\n\n{_costs(api, talk, lines)}\n")
    found = [_ask(api, talk, question, full=full) for question in QUESTIONS]
    if not all(found):
        raise DemoError("A context holds none of the turns that answer its question.")
    print(
        f"All {len(lines)} turns are there word for word, every level is whole, and each context holds a turn that "
        f"answers. {time.monotonic() - began:.0f} s."
    )


def _import(api: Client, talk: str, lines: Sequence[str]) -> None:
    """Import the lines in calls of a bounded size; lines for which there was no time are sent again."""
    left = list(lines)
    while left:
        size, count = 0, 0
        while count < len(left) and size + len(left[count].encode()) < _IMPORT_BYTES:
            size += len(left[count].encode()) + 1
            count += 1
        answer = api.conversations.import_turns(SPACE, talk, left[:count])
        done = answer.imported + answer.repeated
        if not done:
            raise DemoError("The import does not go on.")
        left = left[done:]


def _await_summaries(api: Client, talk: str, progress: Progress, *, patience: float) -> None:
    """Wait until the events have started all that they will start, and it is done."""
    deadline = time.monotonic() + patience
    quiet, before = 0, None
    while quiet < _QUIET:
        if time.monotonic() > deadline:
            raise DemoError(f"The summaries were not ready after {patience:.0f} s.")
        levels = api.conversations.get(SPACE, talk).levels
        counts = [(level.sealed, level.sealed - level.summarised) for level in levels]
        jobs = api.conversations.list_summary_jobs(SPACE, talk, limit=1).items
        running = bool(jobs) and jobs[0].status in ("queued", "running")
        failed = jobs[0].error if jobs else None
        if failed:
            raise DemoError(f"Summaries could not be made ({failed.code}): {failed.detail}")
        whole = not running and not any(pending for _, pending in counts) and counts[0][0] > 0
        quiet = quiet + 1 if whole and counts == before else 0
        before = counts
        progress.show("summaries: " + ", ".join(f"level {n} {sealed}" for n, (sealed, _) in enumerate(counts, 1)))
        time.sleep(_POLL_SECONDS)
    progress.tell("  every block has its summary")


def _check_turns(api: Client, talk: str, lines: Sequence[str]) -> None:
    """Compare the imported turns with the log."""
    told = api.pages("list_turns", {**_talk(talk), "order": "oldest"})
    sent = [json.loads(line) for line in lines]
    names = ("message_id", "user_message", "assistant_message")
    if [[turn[name] for name in names] for turn in told] != [[turn[name] for name in names] for turn in sent]:
        raise DemoError("The log is not what was imported.")


def _levels(api: Client, talk: str) -> str:
    """A summary of each level, the newest, and what it covers."""
    shown = []
    for level in reversed(LEVELS):
        for item in api.conversations.list_summaries(SPACE, talk, level=level, limit=1).items:
            first, last = item.covers.turns
            text = " ".join((item.summary or "").split())
            text = text if len(text) <= 3 * width() else f"{text[: 3 * width()]} ..."
            shown.append(f"Level {level}, number {item.number}, turns {first} to {last}:\n  {text}")
    return "\n\n".join(shown)


def _costs(api: Client, talk: str, lines: Sequence[str]) -> str:
    """Calls, tokens and characters by level; tokens are counted by the job."""
    turns = [json.loads(line) for line in lines]
    raw = sum(len(turn["user_message"]) + len(turn["assistant_message"]) for turn in turns)
    jobs = list(api.pages("list_summary_jobs", _talk(talk)))
    rows: list[list[object]] = [["0 (turns)", len(turns), raw, 0]]
    for level in LEVELS:
        items = list(api.pages("list_summaries", {**_talk(talk), "level": level, "state": "sealed"}))
        made = sum(job["generated"].get(str(level), 0) for job in jobs)
        rows.append([str(level), len(items), sum(len(item["summary"]) for item in items), made])
    used = [sum(job["usage"][name] for job in jobs) for name in ("calls", "prompt_tokens", "completion_tokens")]
    return (
        f"{table(['level', 'number', 'characters', 'calls'], rows)}\n\n"
        f"{used[0]:,} calls of the LLM in {len(jobs)} jobs; tokens: {used[1]:,} in, {used[2]:,} out."
    )


def _talk(conversation_id: str) -> dict[str, Any]:
    return {"space_id": SPACE, "conversation_id": conversation_id}


def _ask(api: Client, talk: str, question: Question, *, full: bool) -> bool:
    """Print the context for a question; whether it holds a turn that answers, or a summary that covers one."""
    answer = api.search.load_conversation_context(SPACE, talk, q=question.text, **_CONTEXT)
    text = answer.markdown
    shown = text if full or len(text) <= 1_800 else f"{text[:1_800]}\n..."
    print(f"── {question.text}\n   ({answer.chars:,} characters)\n\n{shown}\n")
    return any(f"[Turn {number} - " in text for number in question.turns)


if __name__ == "__main__":
    sys.exit(main())
