"""What contexts give for small talk and for questions, over HTTP: the part of the evidence that is there, the cases
that are given nothing, characters, results, requests.

    .venv/bin/python -m benchmarks.contexts

Each of two sets has a space of its own, filled by the service itself. Each case is what a user says, with a piece of
the text that answers it. Small talk and what the space knows nothing of have none. The embedding model is that of the
local runtime.

- `project`: notes of `examples/build-log.jsonl`, most of them folded by the offline LLM, the messages of
  `examples/room.ndjson`, the first turns of `examples/conversation.ndjson` as single messages, and some memories. The
  floor of relevance was chosen beside this set.
- `held out`: `held_out_contexts.jsonl`, about a bakery, in English and French. It was written after the floor, and
  first measured with the floor as it was. Nothing is chosen by its single cases.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from benchmarks.build_log import EXAMPLES
from benchmarks.given import consolidate, fill
from benchmarks.requests import SPACE, Bench, running, timed

HELD_OUT = Path(__file__).with_name("held_out_contexts.jsonl")
HELD_OUT_SPACE = "mill"
NOTED = 70
TURNS = 25
MEMORIES = (
    "dev = Mickael",
    "Mickael s'est cassé l'épaule le 12 novembre.",
    "Ines looks after the ferry timetable.",
    "Bob is allergic to peanuts.",
    "La réunion d'équipe a lieu le mardi à 9 h.",
    "The staging server is called heron.",
    "Ann prefers short answers in French.",
    "Le chat de Zoé s'appelle Gribouille.",
)
LIVE = "The harbour crane in Kiel is booked for the third of December."


@dataclass(frozen=True)
class Case:
    """What somebody says, and a piece of what is to be known of it; None for small talk."""

    kind: str
    says: str
    evidence: str | None = None


CASES = (
    *(
        Case("small talk", says)
        for says in (
            *("ok thanks", "Thank you very much!", "Hello, how are you?", "Great, go on please.", "yes, do it", "👍"),
            *("merci beaucoup !", "d'accord, parfait", "Salut, ça va ?", "ok c'est bon, on continue", "bonne nuit"),
        )
    ),
    Case("memory", "Who is dev?", "dev = Mickael"),
    Case("memory", "Qui s'est cassé l'épaule ?", "s'est cassé l'épaule"),
    Case("memory", "What is Bob allergic to?", "peanuts"),
    Case("memory", "Comment s'appelle le chat de Zoé ?", "Gribouille"),
    Case("room", "What do restores, forks and exports rest on?", "immutable backups"),
    Case("turn", "How do we lock the packages for both CPU architectures?", "uv pip compile --universal"),
    Case("turn", "Can the tests end up with other versions than Lambda runs with?", "constrained by"),
    Case("section", "Why does the SAM CLI live in its own venv?", "clash with those of the layer"),
    Case("section", "How long does the first make setup take?", "58 s"),
    Case("note", "When is the harbour crane booked?", "third of December"),
    Case("note", "Quand la grue du port de Kiel est-elle réservée ?", "third of December"),
)


def prepare(bench: Bench) -> str:
    """Fill the space of the project; gives the id of the conversation."""
    below = f"/spaces/{SPACE}"
    fill(bench, NOTED)
    bench.ok("POST", f"{below}/notes", {"category": "observation", "content": LIVE})
    for content in MEMORIES:
        bench.ok("POST", f"{below}/memories", {"content": content})
    for line in (EXAMPLES / "room.ndjson").read_text("utf-8").splitlines():
        message = json.loads(line)
        bench.ok(
            "POST", f"{below}/rooms/harbour/messages", {"author": message["author"], "content": message["content"]}
        )
    talk: str = bench.ok("POST", f"{below}/conversations", {})["conversation_id"]
    for line in (EXAMPLES / "conversation.ndjson").read_text("utf-8").splitlines()[:TURNS]:
        turn = json.loads(line)
        for role in ("user", "assistant"):
            content = turn[f"{role}_message"]
            message = {"message_id": f"{turn['message_id']}-{role}", "role": role, "content": content}
            bench.ok("POST", f"{below}/conversations/{talk}/messages", message)
    return talk


def held_out() -> tuple[list[dict[str, str]], list[Case]]:
    """What the second set knows, and its cases."""
    rows = [json.loads(line) for line in HELD_OUT.read_text("utf-8").splitlines()]
    known = [row for row in rows if "put" in row]
    return known, [Case(row["case"], row["says"], row.get("evidence")) for row in rows if "says" in row]


def prepare_held_out(bench: Bench, known: Sequence[Mapping[str, str]]) -> str:
    """Fill the space of the second set; gives the id of the conversation."""
    below = f"/spaces/{HELD_OUT_SPACE}"
    new = {"space_id": HELD_OUT_SPACE, "description": "", "consolidation_threshold": 0, "rules_template": "standard"}
    bench.ok("POST", "/spaces", new)
    talk: str = bench.ok("POST", f"{below}/conversations", {})["conversation_id"]
    for row in (row for row in known if row["put"] == "note"):
        bench.ok("POST", f"{below}/notes", {"category": row["category"], "content": row["text"]})
    consolidate(bench, HELD_OUT_SPACE)
    for row in known:
        if row["put"] == "live":
            bench.ok("POST", f"{below}/notes", {"category": row["category"], "content": row["text"]})
        elif row["put"] == "memory":
            bench.ok("POST", f"{below}/memories", {"content": row["text"]})
        elif row["put"] == "message":
            bench.ok("POST", f"{below}/rooms/bakery/messages", {"author": row["author"], "content": row["text"]})
        elif row["put"] == "turn":
            said = {"user_message": row["user"], "assistant_message": row["assistant"]}
            bench.ok("POST", f"{below}/conversations/{talk}/turns", said)
    return talk


def ways(bench: Bench, space: str, talk: str) -> Iterator[tuple[str, Callable[[str], Any]]]:
    """Each way to ask for a context."""
    below = f"/spaces/{space}"
    in_talk = f"{below}/context?conversation_id={talk}&limit=5&q="
    yield "context of a conversation", lambda q: bench.ok("GET", in_talk + quote(q))
    yield "context", lambda q: bench.ok("GET", f"{below}/context?q={quote(q)}")


def results(answer: Any) -> int:
    """How many results were found."""
    return len(answer["items"])


def show(bench: Bench, name: str, get: Callable[[str], Any], cases: Sequence[Case]) -> None:
    """Print a row for each kind of case."""
    for kind in dict.fromkeys(case.kind for case in cases):
        some = [case for case in cases if case.kind == kind]
        get(some[0].says)
        bench.seen()
        answers: list[Any] = []
        times = [timed(lambda: answers.append(get(case.says))) for case in some]  # noqa: B023
        requests = len(bench.seen()) / len(some)
        there = [case.evidence in one["markdown"] for case, one in zip(some, answers, strict=True) if case.evidence]
        evidence = f"{sum(there)} of {len(there)}" if there else "-"
        characters = [one["chars"] for one in answers]
        counts = [results(one) for one in answers]
        nothing = f"{counts.count(0)} of {len(counts)}"
        shown = (
            f"{nothing} | {statistics.mean(characters):,.0f} | {max(characters):,} | "
            f"{statistics.mean(counts):.1f} | {max(counts)}"
        )
        print(
            f"| {name} | {kind} | {evidence} | {shown} | {requests:.1f} | {statistics.median(times):.0f} |", flush=True
        )


def main() -> None:
    """Measure and print."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    known, cases = held_out()
    with running(0, 1, offline_llm=True) as bench:
        sets = (
            ("project", SPACE, prepare(bench), CASES),
            ("held out", HELD_OUT_SPACE, prepare_held_out(bench, known), cases),
        )
        # The vectors of what was said last come by events.
        time.sleep(5)
        columns = "set, context | case | evidence | given nothing | characters, mean | most | results, mean | most"
        print(f"| {columns} | requests | p50 ms |")
        print("|---|---|---|---|---:|---:|---:|---:|---:|---:|")
        for name, space, talk, said in sets:
            for way, get in ways(bench, space, talk):
                show(bench, f"{name}, {way}", get, said)


if __name__ == "__main__":
    main()
