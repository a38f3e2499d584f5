"""How much of what an agent is given is right, and how much of what is right it is given, over HTTP.

`python -m benchmarks.precision` asks the 100 questions of `precision_cases.jsonl` (English and French) of a space with
the notes and memories of that file: what must not come is about other people, other environments, or no longer holds.
Then it asks questions of `near_misses.jsonl`, which are near the subjects and have no answer.
`--data FOLDER` asks the cases of PrecisionMemBench (tenurehq/precisionMemBench, MIT) by the rules of its authors' own
runner. `--vectors local,none`: with the bundled embedding model, and by words alone.

Precision is the mean over the questions for which something is right or something came: of what came the part that is
right, 0 where nothing did. Recall is the mean over the questions for which something is right. A question is passed if
just what is right came.
"""

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from benchmarks.recall_http import Taken, wait_for_vectors
from benchmarks.requests import Bench, running, timed

OWN = Path(__file__).with_name("precision_cases.jsonl")
NEAR = Path(__file__).with_name("near_misses.jsonl")
SPACE = "precision"
MOST = 20
"""Beliefs that the runner of PrecisionMemBench asks for, pinned ones included."""
BATCH = 50
VECTORS = {"local": "with the bundled model", "none": "by words"}

Ask = Callable[[str], set[str]]
"""A question to the names of what was found."""


@dataclass
class Tally:
    """What came for each question, and what it cost."""

    name: str
    precision: list[float] = field(default_factory=list)
    recall: list[float] = field(default_factory=list)
    passed: int = 0
    silent: int = 0
    """Questions without an answer for which nothing came."""
    unanswerable: int = 0
    forbidden: int = 0
    """What came although the case names it as wrong."""
    hits: list[int] = field(default_factory=list)
    requests: int = 0
    milliseconds: list[float] = field(default_factory=list)

    def add(self, found: set[str], right: set[str], wrong: set[str] | frozenset[str] = frozenset()) -> None:
        """Count what was found for a question."""
        common = len(found & right)
        self.hits.append(len(found))
        self.forbidden += len(found & wrong)
        if found or right:
            self.precision.append(common / len(found) if found else 0.0)
        if right:
            self.recall.append(common / len(right))
            self.passed += found == right
        else:
            self.unanswerable += 1
            self.silent += not found

    def cells(self) -> list[str]:
        """The row of the table."""
        asked = len(self.milliseconds)
        return [
            self.name,
            f"{self.passed} of {len(self.recall)}",
            f"{_mean(self.precision):.2f}",
            f"{_mean(self.recall):.2f}",
            f"{self.silent} of {self.unanswerable}",
            f"{_mean(self.hits):.1f}",
            str(self.forbidden),
            f"{self.requests / asked:.1f}" if asked else "-",
            f"{statistics.median(self.milliseconds):.0f}" if asked else "-",
        ]


HEAD = (
    *("way in", "passed", "precision", "recall", "nothing where nothing is right", "hits", "named wrong ones"),
    *("requests of a question", "p50 ms"),
)


def _mean(some: Sequence[float]) -> float:
    return statistics.mean(some) if some else 0.0


@dataclass(frozen=True)
class Case:
    """A question of PrecisionMemBench: who may come, and how many."""

    query: str
    scope: str
    right: frozenset[str]
    most: int


@dataclass(frozen=True)
class Beliefs:
    """What PrecisionMemBench adds: each belief that is not pinned, by its name, as a memory. `drawn` names the beliefs
    that its runner adds where a relation came.
    """

    memories: dict[str, dict[str, Any]]
    drawn: dict[str, tuple[str, ...]]
    cases: Sequence[Case]


def read_beliefs(folder: Path) -> Beliefs:
    """The data of a folder. As in the authors' runner, pinned beliefs come by another way and take places of `most`."""
    beliefs = {one["_id"]: one for one in json.loads((folder / "beliefs.seed.json").read_text("utf-8"))}
    memories = {
        name: {
            "content": " ".join([one["canonical_name"], *one["aliases"], one["content"], one["why_it_matters"]]),
            "subjects": one["scope"],
        }
        for name, one in beliefs.items()
        if not one["pinned"]
    }
    drawn = {
        name: tuple(two for two in one.get("participants", ()) if beliefs[two]["type"] != "open_question")
        for name, one in beliefs.items()
        if one["type"] == "relation"
    }
    cases = []
    for one in json.loads((folder / "retrieval.cases.json").read_text("utf-8")):
        (scope,) = one["scope"]
        shown = [two for two in beliefs.values() if two["pinned"] and scope in two["scope"] and _is_shown(two)]
        most = one.get("budget", {}).get("maxBeliefs", MOST)
        right = one["expect"]["relevantBeliefs"]["shouldOnlyInclude"]
        cases.append(Case(one["query"], scope, frozenset(right), max(0, most - min(len(shown), most))))
    return Beliefs(memories, drawn, cases)


def _is_shown(belief: dict[str, Any]) -> bool:
    mine = belief["user_id"] == "test-user" and belief["type"] != "open_question"
    return mine and not belief["superseded_by"] and not belief["resolved_at"]


def store(bench: Bench, memories: dict[str, dict[str, Any]]) -> dict[str, str]:
    """Store memories; gives the name of each by its id."""
    names = list(memories)
    ids: dict[str, str] = {}
    for start in range(0, len(names), BATCH):
        some = names[start : start + BATCH]
        told = bench.ok("POST", f"/spaces/{SPACE}/memories", {"items": [memories[name] for name in some]})
        assert not told["failed"], told
        ids |= {one["memory"]["memory_id"]: name for one, name in zip(told["items"], some, strict=True)}
    return ids


def of_beliefs(bench: Bench, beliefs: Beliefs) -> Iterator[Tally]:
    """The cases of PrecisionMemBench, asked of the list of memories: of those that answer, and of all."""
    ids = store(bench, beliefs.memories)
    for more in ("", "&everything=true"):
        yield _of_beliefs(bench, beliefs, ids, more)


def _of_beliefs(bench: Bench, beliefs: Beliefs, ids: dict[str, str], more: str) -> Tally:
    tally = Tally(f"`GET memories?q=&subject={more}`")
    for case in beliefs.cases:
        found: list[str] = []
        # As its runner does: where no question is asked or no place is left, nothing comes.
        if case.query.strip() and case.most:
            path = f"/spaces/{SPACE}/memories?q={quote(case.query)}&subject={quote(case.scope)}&limit={MOST}{more}"
            found = [ids[one["memory_id"]] for one in _asked(bench, tally, path)["items"]]
            found += [two for one in found for two in beliefs.drawn.get(one, ()) if two not in found]
        tally.add(set(found[: case.most]), set(case.right))
    return tally


def _asked(bench: Bench, tally: Tally, path: str) -> Any:
    bench.seen()
    answers: list[Any] = []
    tally.milliseconds.append(timed(lambda: answers.append(bench.ok("GET", path))))
    tally.requests += len(bench.seen())
    return answers[0]


def of_own(bench: Bench, lines: Sequence[dict[str, Any]], vectors: str) -> Iterator[Tally]:
    """The project's own questions, asked of the list of memories, of the search of memories, and of that of notes."""
    memories = {one["keep"]: one for one in lines if one.get("as") == "memory"}
    first = {
        name: {"content": one.get("was", one["says"]), "subjects": one["subjects"]} for name, one in memories.items()
    }
    ids = store(bench, first)
    for memory_id, name in ids.items():
        if "was" in memories[name]:
            told = {"content": memories[name]["says"]}
            bench.ok("PATCH", f"/spaces/{SPACE}/memories/{memory_id}", told)
    notes = {one["keep"]: one for one in lines if one.get("as") == "note"}
    sent = {"items": [{"category": one["category"], "content": one["says"]} for one in notes.values()]}
    written = bench.ok("POST", f"/spaces/{SPACE}/notes", sent)["items"]
    ids |= {one["note_id"]: name for one, name in zip(written, notes, strict=True)}
    below = f"/spaces/{SPACE}"
    for scope in ("memories", "live"):
        if vectors != "none":
            wait_for_vectors(bench, Taken(SPACE, scope, [], []))
    ways = {
        "`GET memories?q=`": (f"{below}/memories?limit=10&q=", "memory_id", memories),
        "`GET memories?q=&everything=true`": (f"{below}/memories?limit=10&everything=true&q=", "memory_id", memories),
        "search of memories": (f"{below}/search?scope=memories&limit=10&q=", "id", memories),
        "search of notes": (f"{below}/search?scope=live&limit=10&q=", "id", notes),
        "search of both": (f"{below}/search?scope=live,memories&limit=10&q=", "id", memories | notes),
    }
    for name, (path, by, kept) in ways.items():
        tally = Tally(name)
        for case in lines:
            if "ask" in case:
                answer = _asked(bench, tally, path + quote(case["ask"]))
                found = {ids[one[by]] for one in answer["items"]}
                tally.add(found, {one for one in case["right"] if one in kept}, set(case["wrong"]))
        yield tally
    yield from _near_misses(bench, ids)


def _near_misses(bench: Bench, ids: dict[str, str]) -> Iterator[Tally]:
    near = [one for one in map(json.loads, NEAR.read_text("utf-8").splitlines()) if one["of"] == "memories"]
    for part in ("given", "held out"):
        tally = Tally(f"near misses, {part}, `GET memories?q=`")
        for case in near:
            if case["set"] == part:
                answer = _asked(bench, tally, f"/spaces/{SPACE}/memories?limit=10&q={quote(case['ask'])}")
                tally.add({ids[one["memory_id"]] for one in answer["items"]}, set())
        yield tally


def main(arguments: Sequence[str]) -> int:
    """The program; its exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="PrecisionMemBench; else the project's own cases")
    parser.add_argument("--half", choices=["first", "second"], help="only every second case, from the first or second")
    parser.add_argument("--vectors", default="local,none", help="some of local,none")
    options = parser.parse_args(arguments)
    print(f"| {' | '.join(HEAD)} |\n{'|---' * len(HEAD)}|")
    part = slice(options.half == "second", None, 2 if options.half else 1)
    for vectors in options.vectors.split(","):
        variables = {"EMBEDDINGS_API_URL": "off"} if vectors == "none" else {}
        with running(0, 1, offline_llm=True, variables=variables) as bench:
            new = {"space_id": SPACE, "description": "", "consolidation_threshold": 0, "rules": "# R\n"}
            bench.ok("POST", "/spaces", new)
            if options.data:
                beliefs = read_beliefs(options.data)
                rows = of_beliefs(bench, Beliefs(beliefs.memories, beliefs.drawn, beliefs.cases[part]))
            else:
                lines = [json.loads(line) for line in OWN.read_text("utf-8").splitlines()]
                kept, asked = ([one for one in lines if name in one] for name in ("keep", "ask"))
                rows = of_own(bench, [*kept, *asked[part]], vectors)
            for tally in rows:
                tally.name += f", {VECTORS[vectors]}"
                print(f"| {' | '.join(tally.cells())} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
