"""What is found in the memory of a project, and whether what holds now comes first, over HTTP.

`python -m benchmarks.recall_memory [--vectors local,none]` starts the local runtime and asks two sets of our own.

`recall_project.jsonl`: notes of five weeks, of which four are folded, memories and talks of a project. 60 questions
with an answer, 10 near its subjects and 10 far from them without one, and 16 French ones that English texts answer.
`right` names what answers, for each piece of the answer the documents that hold it. A section answers too if its
snippet shows the `line` of such a note. `after` names the note that it makes a former one.

`near_misses.jsonl`: 56 more near the project's subjects that nothing answers. The rule for them was chosen on every
second one of the first 36, the given ones. The 20 later ones were written after it.

`recall_changing.jsonl`: 25 facts that are stated and then change one to three times within five weeks. Each is asked
for where all of them are folded, where the last week is not, and as live notes without a bank.

The bank is written in the sets: a server in the place of the model puts each note's line where it belongs.
"""

import argparse
import contextlib
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

from benchmarks.given import consolidate
from benchmarks.recall_http import WITHOUT_PAUSES, Taken, repeat_import, wait_for_vectors
from benchmarks.requests import Api, Bench, InstantLlm, running

PROJECT = Path(__file__).with_name("recall_project.jsonl")
NEAR_MISSES = Path(__file__).with_name("near_misses.jsonl")
CHANGING = Path(__file__).with_name("recall_changing.jsonl")
FIRST_DAY = datetime(2025, 3, 3, 8, tzinfo=UTC)
WEEK = 7
LIMITS = (3, 10, 25)
GIVEN, HELD_OUT, LATER = "given", "held out", "later"
CROSSING, NEAR, NONSENSE = "crossing", "near", "nonsense"
"""Kinds of questions that are counted apart: French ones about English texts, and those without an answer."""
VECTORS = {"local": "bundled model", "none": "by words"}


@dataclass(frozen=True)
class Said:
    """A note of a set. `place`: the bank file and the section of its `line`. `after`: the note that it makes former."""

    name: str
    day: int
    by: str
    says: str
    category: str = "observation"
    line: str = ""
    place: tuple[str, str] = ("", "")
    after: str = ""


class Keeper:
    """Answers in the place of a model: puts the line of each note into its section, instead of the one before it."""

    def __init__(self, notes: Sequence[Said]) -> None:
        self._by_text = {one.says: one for one in notes}
        self._lines = {one.name: one.line for one in notes}

    def answer(self, prompt: dict[str, Any]) -> str:
        """The answer to the prompt of a consolidation."""
        there = prompt["bank"]
        cited = {note["number"]: self._by_text[note["content"]] for note in prompt["notes"]}
        placed: dict[str, dict[str, dict[int, Said]]] = defaultdict(lambda: defaultdict(dict))
        for number, note in cited.items():
            placed[note.place[0]][note.place[1]][number] = note
        files = [self._file(path, sections, there.get(path)) for path, sections in placed.items()]
        return json.dumps({"bank_files": files, "synthesis": f"{len(cited)} notes."})

    def _file(self, path: str, sections: Mapping[str, Mapping[int, Said]], before: str | None) -> dict[str, Any]:
        edits: list[dict[str, Any]] = []
        text = before or ""
        for title, notes in sections.items():
            heading, new = f"## {title}", f"## {title}\n" not in text
            for number, note in notes.items():
                line, former = f"- {note.line}", f"- {self._lines.get(note.after)}"
                if f"{former}\n" in text:
                    edit = {"op": "replace_line", "heading": heading, "line": former}
                    text = text.replace(former, line)
                else:
                    edit = {"op": "add_section" if new else "append_to_section", "heading": heading}
                    text += f"{heading}\n" * new + f"{line}\n"
                    new = False
                edits.append({**edit, "content": line, "notes": [number]})
        if before is not None:
            return {"filename": path, "action": "edited", "edits": edits}
        parts = [f"# {path.removesuffix('.md').capitalize()}\n"]
        for title, notes in sections.items():
            # A value that changed within the week stands there once.
            gone = {one.after for one in notes.values()}
            lines = [f"- {one.line}\n" for one in notes.values() if one.name not in gone]
            parts.append(f"\n## {title}\n\n{''.join(lines)}")
        numbers = [number for notes in sections.values() for number in notes]
        return {"filename": path, "action": "created", "content": "".join(parts), "notes": numbers}


@dataclass
class Memory:
    """A space with the texts of a set: of each the id that a search gives, and the sections that hold lines now."""

    space: str
    ids: dict[str, str] = field(default_factory=dict)
    texts: dict[str, set[str]] = field(default_factory=dict)
    """Of each what a page shows of it."""
    sections: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Of notes whose line stands in the bank its file and section."""
    lines: dict[str, str] = field(default_factory=dict)
    former: dict[str, list[str]] = field(default_factory=dict)
    """Of each note those that it makes former ones."""

    def held_by(self, hit: Mapping[str, Any]) -> set[str]:
        """The names of what a hit tells: of a section, the lines that its snippet shows."""
        if hit["kind"] == "bank":
            path, *_, title = hit["title"].split(" > ")
            here = (name for name, place in self.sections.items() if place == (path, title))
            return {name for name in here if self.lines[name] in hit["snippet"]}
        return {name for name, one in self.ids.items() if one == hit["id"]}

    def befores(self, name: str) -> set[str]:
        """The names of all values that a note has made former ones."""
        return {older for one in self.former.get(name, ()) for older in (one, *self.befores(one))}


def take_in(bench: Bench, space: str, notes: Sequence[Said], *, folded: int) -> Memory:
    """Write the notes into a new space, and fold the first weeks of them."""
    bench.ok("POST", "/spaces", {"space_id": space, "description": "", "consolidation_threshold": 0, "rules": "# R\n"})
    apis = {}
    for name in {one.by for one in notes}:
        wanted = {"name": name, "permissions": ["read", "write"], "space_ids": [space]}
        apis[name] = Api(int(bench.url.rpartition(":")[2]), bench.ok("POST", "/tokens", wanted)["token"])
    memory = Memory(space)
    for week in range(max(one.day for one in notes) // WEEK + 1):
        for hour, note in enumerate(one for one in notes if one.day // WEEK == week):
            moment = FIRST_DAY + timedelta(days=note.day, minutes=7 * hour)
            body = {"category": note.category, "content": note.says, "said_at": moment.isoformat()}
            status, answer, _ = apis[note.by].call("POST", f"/spaces/{space}/notes", body)
            assert status < 400, answer
            memory.ids[note.name], memory.texts[note.name] = answer["note_id"], {note.says}
            memory.former[note.name] = [note.after] if note.after else []
            if week < folded:
                memory.sections[note.name], memory.lines[note.name] = note.place, note.line
                memory.texts[note.name].add(note.line)
                memory.sections.pop(note.after, None)
        if week < folded:
            consolidate(bench, space)
    return memory


def project(rows: Sequence[Mapping[str, Any]]) -> list[Said]:
    """The notes of the project."""
    return [
        Said(
            row["note"], row["day"], row["by"], row["says"], row["cat"], row.get("line", ""), _place(row),
            row.get("after", ""),
        )
        for row in rows
        if "note" in row
    ]  # fmt: skip


def changing(rows: Sequence[Mapping[str, Any]]) -> list[Said]:
    """The statements of the changing facts, by day."""
    notes = [
        Said(
            f"{row['fact']}.{number}", day, by, says, "observation", line, _place(row),
            f"{row['fact']}.{number - 1}" if number else "",
        )
        for row in rows
        for number, (day, by, says, line) in enumerate(row["said"])
    ]  # fmt: skip
    return sorted(notes, key=lambda one: one.day)


def _place(row: Mapping[str, Any]) -> tuple[str, str]:
    path, _, title = row.get("in", "").partition("/")
    return path, title


def add_others(bench: Bench, memory: Memory, rows: Sequence[Mapping[str, Any]]) -> None:
    """Store the memories and import the talks of the project."""
    below = f"/spaces/{memory.space}"
    for row in rows:
        moment = FIRST_DAY + timedelta(days=row.get("day", 0), hours=2)
        if "memory" in row:
            body = {"content": row["says"], "subjects": row["subjects"], "said_at": moment.isoformat()}
            memory.ids[row["memory"]] = bench.ok("POST", f"{below}/memories", body)["memory_id"]
        elif "talk" in row:
            talk = bench.ok("POST", f"{below}/conversations", {"parameters": WITHOUT_PAUSES})["conversation_id"]
            lines = []
            for number, (who, said) in enumerate(row["turns"], 1):
                role = "assistant" if who == "bot" else "user"
                at = (moment + timedelta(minutes=number)).isoformat()
                line = {"message_id": f"m{number}", "role": role, "content": said, "client_timestamp": at}
                lines.append(line if who == "bot" else line | {"author": who})
                memory.ids[f"{row['talk']}.{number}"] = f"{talk}/{number}/{role}"
            repeat_import(bench, f"{below}/conversations/{talk}/turns", lines)


def search(bench: Bench, memory: Memory, question: str, limit: int, scope: str = "all") -> list[dict[str, Any]]:
    """The hits."""
    path = f"/spaces/{memory.space}/search?q={quote(question)}&scope={scope}&limit={limit}"
    found: list[dict[str, Any]] = bench.ok("GET", path)["items"]
    return found


@dataclass
class Findings:
    """What the questions of the project found."""

    first: Counter[int] = field(default_factory=Counter)
    """By limit: questions whose first hit is right."""
    evidence: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    """By number of hits: the share of the pieces that are among them."""
    former_above: int = 0
    """Questions for which a former value stands above the right one, or alone."""
    silent: Counter[str] = field(default_factory=Counter)
    crossing: Counter[str] = field(default_factory=Counter)
    again: int = 0
    """Notes among the first ten whose line a section shows there too."""
    hits: int = 0
    missed: list[str] = field(default_factory=list)


def ask_project(bench: Bench, memory: Memory, rows: Sequence[Mapping[str, Any]]) -> Findings:
    """Ask all questions of the project."""
    found = Findings()
    for row in rows:
        if "ask" not in row:
            continue
        if not row["right"]:
            found.silent[row["kind"]] += not search(bench, memory, row["ask"], 10)
            continue
        pieces = [set(piece) for piece in row["right"]]
        right = set[str]().union(*pieces)
        former = set[str]().union(*map(memory.befores, right))
        if row["kind"] == CROSSING:
            for scope in ("all", "bank,live"):
                hits = search(bench, memory, row["ask"], 10, scope)
                ok = any(right & memory.held_by(hit) for hit in hits[:5])
                found.crossing[scope] += ok
            continue
        for limit in LIMITS:
            hits = search(bench, memory, row["ask"], limit)
            held = [memory.held_by(hit) for hit in hits]
            good = [bool(right & one) for one in held]
            found.first[limit] += good[:1] == [True]
            if limit == 10:
                if good[:1] != [True]:
                    found.missed.append(f"{row['ask']} {[sorted(one)[:2] for one in held[:3]]}")
                bad = [bool(former & one) and not right & one for one in held]
                found.former_above += True in bad[: good.index(True) if True in good else len(bad)]
                for most in (5, 10):
                    there = set[str]().union(*held[:most])
                    found.evidence[most].append(100 * sum(bool(piece & there) for piece in pieces) / len(pieces))
                shown = " ".join(hit["snippet"] for hit in hits if hit["kind"] == "bank")
                found.hits += len(hits)
                found.again += sum(
                    bool(memory.lines.get(name)) and memory.lines[name] in shown
                    for hit, one in zip(hits, held, strict=True)
                    if hit["kind"] in ("archive", "note")
                    for name in one
                )
    return found


def ask_changing(
    bench: Bench, llm: InstantLlm, memory: Memory, rows: Sequence[Mapping[str, Any]]
) -> dict[str, Counter[str]]:
    """By way in, how often the present value, a former one, or something else came first; and of the search how often a
    former one stands above the present one. `ask`: in its first message to the model.
    """
    counted: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        present = f"{row['fact']}.{len(row['said']) - 1}"
        former = memory.befores(present)
        held = [memory.held_by(hit) for hit in search(bench, memory, row["ask"], 10)]
        first = [_which(one, present, former) for one in held]
        counted["search"][first[0] if first else "nothing"] += 1
        above = first[: first.index("present") if "present" in first else len(first)]
        counted["search"]["former above"] += "former" in above
        below = f"/spaces/{memory.space}"
        for name in ("context", "start"):
            page = bench.ok("GET", f"{below}/{name}?q={quote(row['ask'])}")["markdown"]
            counted[name][_first_on(page, memory, present, former)] += 1
        bench.ok("POST", f"{below}/ask", {"message": row["ask"], "user": row["fact"]})
        counted["ask"][_first_on(llm.messages[1]["content"], memory, present, former)] += 1
    return counted


def _which(held: set[str], present: str, former: set[str]) -> str:
    return "present" if present in held else "former" if held & former else "other"


def _first_on(page: str, memory: Memory, present: str, former: set[str]) -> str:
    """Which of the values stands first on a page."""
    now = memory.texts[present]
    at = _at(page, now)
    if at is None and not any(_at(page, memory.texts[one]) for one in former):
        return "nothing"
    before = [_at(page, memory.texts[one] - now) for one in former]
    return "former" if any(one is not None and (at is None or one < at) for one in before) else "present"


def _at(page: str, texts: set[str]) -> int | None:
    return min((place for text in texts if (place := page.find(text)) >= 0), default=None)


def rows_of(path: Path) -> list[dict[str, Any]]:
    """The lines of a set."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def measured(vectors: str, *, missed: bool) -> Iterator[str]:
    """The lines of the tables, with vectors of the bundled model or by words alone."""
    of_project, of_changing = rows_of(PROJECT), rows_of(CHANGING)
    notes = [*project(of_project), *changing(of_changing)]
    with contextlib.ExitStack() as stack:
        llm = InstantLlm(Keeper(notes).answer)
        llm.start()
        variables = {"LLMAAS_API_URL": llm.url, "LLMAAS_API_KEY": "none"}
        variables |= {"EMBEDDINGS_API_URL": "off"} if vectors == "none" else {}
        bench = stack.enter_context(running(0, 1, variables=variables))
        memory = take_in(bench, "project", project(of_project), folded=4)
        add_others(bench, memory, of_project)
        facts = {
            name: take_in(bench, name, changing(of_changing), folded=weeks)
            for name, weeks in (("folded", 5), ("four-weeks-folded", 4), ("live", 0))
        }
        if vectors != "none":
            for space in (memory, *facts.values()):
                wait_for_vectors(bench, Taken(space.space, "all", [], []))
        near = [
            {"ask": row["ask"], "kind": row["set"], "right": []}
            for row in rows_of(NEAR_MISSES)
            if row["of"] == "project"
        ]
        found = ask_project(bench, memory, [*of_project, *near])
        asked = len(found.evidence[5])
        yield f"project, {VECTORS[vectors]}: {asked} questions"
        yield f"  first hit right at limits {LIMITS}: {' / '.join(str(found.first[one]) for one in LIMITS)}"
        yield f"  evidence @5 / @10: {' / '.join(f'{sum(some) / asked:.1f}' for some in found.evidence.values())}"
        yield f"  a former value above the right one: {found.former_above}"
        yield f"  nothing for near questions: {found.silent[NEAR]} of 10, for nonsense: {found.silent[NONSENSE]} of 10"
        yield f"  for near misses: given {found.silent[GIVEN]} of 18, held out {found.silent[HELD_OUT]} of 18"
        yield f"  for those written later: {found.silent[LATER]} of 20"
        yield f"  French on English @5, all / bank,live: {' / '.join(map(str, found.crossing.values()))} of 16"
        yield f"  said twice among the first ten: {found.again} of {found.hits} hits"
        if missed:
            yield from (f"    {one}" for one in found.missed)
        for name, space in facts.items():
            for way, counted in ask_changing(bench, llm, space, of_changing).items():
                told = ", ".join(f"{which} {counted[which]}" for which in ("present", "former", "other", "nothing"))
                more = f"; a former one above: {counted['former above']}" if way == "search" else ""
                yield f"facts, {name}, {way}: {told}{more}"


def main(arguments: Sequence[str]) -> int:
    """The program; its exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vectors", default="local,none", help="some of local,none")
    parser.add_argument("--missed", action="store_true", help="name the questions whose first hit is not right")
    options = parser.parse_args(arguments)
    for vectors in options.vectors.split(","):
        for line in measured(vectors, missed=options.missed):
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
