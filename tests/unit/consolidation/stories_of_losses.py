"""The answers of losses/bad.yaml and losses/good.yaml, each played through a whole consolidation."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from livemem.changes.records import Record
from livemem.jobs.run import Run
from livemem.spaces import head as heads
from livemem.text.text_tokens import folded
from tests.support.world import World, forked
from tests.unit.consolidation.test_pipeline_notes import record_of

FOLDER = Path(__file__).parent / "losses"


def _load(name: str) -> Any:
    # In C: every worker reads them when it collects.
    return yaml.load((FOLDER / f"{name}.yaml").read_text("utf-8"), yaml.CSafeLoader)


WORLDS: dict[str, Any] = _load("worlds")
BAD: list[dict[str, Any]] = _load("bad")
GOOD: list[dict[str, Any]] = _load("good")


@dataclass
class Played:
    """The end of a case: the run, its record if there is one, the bank before and after, and the calls of the model."""

    run: Run
    record: Record | None
    before: dict[str, str]
    after: dict[str, str]
    calls: int
    world: World

    def kinds(self) -> list[str]:
        return [warning.kind for warning in self.record.warnings] if self.record else []


def answer(case: dict[str, Any]) -> str:
    """The answer of a case as a model writes it."""
    bank = WORLDS[case["world"]]["bank"]
    discarded = [{"note": number, "reason": why} for number, why in case.get("discarded", {}).items()]
    files = [_entry(bank, file) for file in case["files"]]
    return json.dumps({"bank_files": files, "synthesis": "Notes were folded.", "discarded": discarded})


def _entry(bank: dict[str, str], file: dict[str, Any]) -> dict[str, Any]:
    entry = {name: value for name, value in file.items() if name not in ("file", "whole", "filename")}
    entry["filename"] = file.get("file") or file["filename"]
    if "whole" in file:
        return {**entry, "action": "updated", "content": _changed(bank[file["file"]], **file["whole"])}
    return {"action": "edited" if "edits" in file else "updated", **entry}


def _changed(text: str, *, without: Sequence[str] = (), plus: Mapping[str, str] = {}, **rest: dict[str, str]) -> str:
    lines: list[str] = []
    for line in text.splitlines():
        if not any(part in line for part in without):
            lines += [line, *([plus[line]] if line in plus else [])]
    changed = "\n".join(lines) + "\n"
    for old, new in rest.get("with", {}).items():
        assert old in changed
        changed = changed.replace(old, new)
    return changed


@forked
def _begun(name: str, rules: str, *, empty: bool) -> World:
    """A space with the bank of a world."""
    world = World()
    world.create_space(rules=rules)
    if not empty:
        bank = WORLDS[name]["bank"]
        world.note("The bank was brought here.")
        files = [{"filename": path, "action": "created", "content": text} for path, text in bank.items()]
        world.llm.queue.append(json.dumps({"bank_files": files, "synthesis": "The bank."}))
        world.consolidate()
        assert world.bank() == bank
    return world


def play(case: dict[str, Any], *later: str, ends: str = "{}", bank_chars: int = 0) -> Played:
    """Fold the notes of a case. The model gives its answer, `later` ones if it is asked about files, then the same.
    `ends`: its answer to the question about loose ends. `bank_chars`: the length that the bank should have.
    """
    rules = case.get("rules", WORLDS[case["world"]]["rules"])
    world = _begun(case["world"], rules, empty=bool(case.get("empty")))
    heads.update(world.process, "demo", lambda _: {"bank_chars": bank_chars})
    for line in case["notes"]:
        said, _, text = line.partition(": ")
        world.clock.move(60)
        world.note(text, agent=folded(said.split()[0]))
    before, text = world.bank(), answer(case)
    world.llm.queue.extend([text, *later, text, text])
    world.llm.ends = ends
    run = world.consolidate()
    record = record_of(world, 1 if case.get("empty") else 2) if run.state == "done" else None
    return Played(run, record, before, world.bank(), len(world.llm.prompts), world)
