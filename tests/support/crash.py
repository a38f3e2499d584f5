"""Kills or breaks an operation at every single S3 request, lets it recover, and audits the bucket.

Used by the tests and by benchmarks/crash_table.py.
"""

import json
from collections.abc import Callable, Hashable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from typing import Any

from livemem.bank import corrections, review
from livemem.changes import rules
from livemem.changes.records import Record
from livemem.changes.rules import NewRules
from livemem.errors import LiveMemoryError, PlanOutdated
from livemem.markdown.edits import Edit
from livemem.runs import space_change
from livemem.runs.space_change import SpaceChange
from livemem.spaces import head as heads
from livemem.spaces import life
from livemem.store import keys
from tests.support.audit import Audit, audit, records_of, standing, text_of
from tests.support.counting import Killed
from tests.support.rest import QUIET, check_alive, check_deserted, check_rest, come_to_rest
from tests.support.world import EVERYONE, World

SPACE = "demo"
NOTES = 6
LATER = 20 * 60
"""Seconds after which every lease of a dead process has run out."""


@dataclass(frozen=True)
class Operation:
    """What is killed. `prepare` makes the world just before it, `act` does it. Where it `works` off an invocation it is
    repeated if it failed, and only then. `begun`: something was under way before, and its marker is there; else all
    markers of before are gone, and it has to leave its own. `unheard`: before it does so, and begins anything, nothing
    tells that the space is due.
    """

    name: str
    prepare: Callable[[World], None]
    act: Callable[[World], Any]
    deletes: bool = False
    works: bool = False
    begun: bool = False
    unheard: bool = False

    def prepared(self, world: World) -> World:
        """The world just before it."""
        self.prepare(world)
        if not self.works and not self.begun:
            world.store.delete_many(world.keys(keys.MARKERS))
        return world


@dataclass(frozen=True)
class Fault:
    """How a request goes wrong. `done`: the store did it, but the answer got lost."""

    name: str
    done: bool
    code: str | None = None
    status: int = 0

    def arm(self, world: World, point: int) -> None:
        if self.code is None:
            world.client.kill_at(point, done=self.done)
        else:
            world.client.break_at(point, self.code, self.status, done=self.done)


KILLS = (Fault("killed before", done=False), Fault("killed after", done=True))
ERRORS = (
    Fault("409 conflict", done=False, code="ConditionalRequestConflict", status=409),
    Fault("412 on a write that happened", done=True, code="PreconditionFailed", status=412),
    Fault("412 on a write that did not", done=False, code="PreconditionFailed", status=412),
    Fault("500", done=False, code="InternalError", status=500),
    Fault("500 on a request that happened", done=True, code="InternalError", status=500),
    Fault("503 slow down", done=False, code="SlowDown", status=503),
)


@dataclass
class Result:
    """What came of one operation over all its crash points."""

    operation: str
    fault: str
    recovery: str
    points: int = 0
    audits: list[Audit] = field(default_factory=list)
    repeated_calls: int = 0

    def count(self, what: str) -> int:
        """Sum over all crash points of one list of the audits."""
        return sum(len(getattr(found, what)) for found in self.audits)

    def clean(self) -> bool:
        return not self.repeated_calls and all(found.clean() for found in self.audits)


def _space(world: World) -> None:
    world.create_space(SPACE, threshold=NOTES)


def _write(world: World, count: int = NOTES) -> None:
    for index in range(count):
        world.note(f"note {world.ids.count}", agent="ann" if index % 2 else "bob")
        world.clock.move(1)


def _consolidated(world: World) -> None:
    _space(world)
    _write(world)
    world.consolidate()


def _queued(world: World) -> None:
    _consolidated(world)
    _write(world)
    world.count()


def _at_the_threshold(world: World) -> None:
    _consolidated(world)
    _write(world)


def _below_the_threshold(world: World) -> None:
    _consolidated(world)
    _write(world, 1)


def _undone_once(world: World) -> None:
    _queued(world)
    world.settle()
    world.undo(2)


def _change_rules(world: World) -> None:
    rules.change(world.process, "admin", SPACE, NewRules("Keep a log, newest first."))


def _with_changed_rules(world: World) -> None:
    _consolidated(world)
    _change_rules(world)


def _queued_with_changed_rules(world: World) -> None:
    _with_changed_rules(world)
    _write(world)
    world.count()


def _paused(world: World) -> None:
    _consolidated(world)
    world.undo(1)


def _after_a_dead_run(world: World) -> None:
    """A worker died just after its commit, and its invocation is given up."""
    _queued(world)
    die_behind_the_commit(world)
    world.clock.move(LATER)


def die_behind_the_commit(world: World) -> None:
    """Work off the oldest invocation, by a worker that dies when its commit is made."""

    def die(index: int, verb: str) -> None:
        if world.client.requests[index] == ("PUT", keys.meta(SPACE)):
            raise Killed

    world.new_process()
    world.client.after = die
    with suppress(Killed):
        world.work()
    world.new_process()


def _at_rest(world: World) -> None:
    """One note waits, and the marker of its event is old enough to go."""
    _below_the_threshold(world)
    world.count()
    world.clock.move(QUIET)


def several_files(prompt: dict[str, Any]) -> str:
    """A model that writes two files, discards the last note and edits sections."""
    notes = prompt["notes"]
    exists = {file["filename"] for file in prompt["bank"]}
    files: list[dict[str, Any]] = []
    for name, chosen in (("log.md", notes[:-1:2]), ("people/all.md", notes[1:-1:2])):
        bullets = "\n".join(f"- {note['content']}" for note in chosen)
        cited = [note["number"] for note in chosen]
        if name in exists:
            edit = {"op": "append_to_section", "heading": "## Log", "content": bullets, "notes": cited}
            files.append({"filename": name, "action": "edited", "edits": [edit]})
        else:
            content = f"# Title\n\n## Log\n\n{bullets}\n"
            files.append({"filename": name, "action": "created", "content": content, "notes": cited})
    discarded = [{"note": notes[-1]["number"], "reason": "of no use"}]
    return json.dumps({"bank_files": files, "synthesis": "Two files.", "discarded": discarded})


def _queued_first(world: World) -> None:
    world.llm.default = several_files
    _space(world)
    _write(world)
    world.count()


def _queued_several(world: World) -> None:
    world.llm.default = several_files
    _queued(world)


def _reviewed(world: World) -> None:
    """A space with a bank, in which runs wait for approval from now on."""
    _consolidated(world)
    space_change.change(world.process, EVERYONE, SPACE, SpaceChange(consolidation_mode="review"))


def _queued_for_review(world: World) -> None:
    _reviewed(world)
    _write(world)
    world.count()


def _planned(world: World) -> None:
    _queued_for_review(world)
    world.settle()


def _planned_and_corrected(world: World) -> None:
    _planned(world)
    corrections.write_file(world.process, "admin", SPACE, "new.md", "# New\n", None)


def _to_be_replaced(world: World) -> None:
    _planned(world)
    world.order(SPACE, replace=True)


def _after_a_dead_approval(world: World) -> None:
    """Somebody approved, and died just after the commit."""
    _planned(world)

    def die(index: int, verb: str) -> None:
        if world.client.requests[index] == ("PUT", keys.meta(SPACE)):
            raise Killed

    world.new_process()
    world.client.after = die
    with suppress(Killed):
        _approve(world)
    world.new_process()


def _approve(world: World) -> None:
    """Approve the newest plan, also if that has happened already."""
    run_id, revision = _newest_plan(world)
    review.approve(world.process, EVERYONE, SPACE, run_id, revision)


def _approve_in_vain(world: World) -> None:
    with suppress(PlanOutdated):
        _approve(world)


def _refuse(world: World) -> None:
    review.refuse(world.process, EVERYONE, SPACE, _newest_plan(world)[0], "not so")


def _newest_plan(world: World) -> tuple[str, str]:
    """The run whose plan waits, or waited, and its revision: as somebody knows who looked at it before."""
    objects = world.inner.objects
    waits = json.loads(objects[keys.meta(SPACE)].body)["review"]
    if waits:
        return waits["run_id"], waits["revision"]
    runs = sorted(found[0] for key in objects if key.startswith(f"{SPACE}/") and (found := keys.parse_run(key)))
    return runs[-1], "as it was"


OPERATIONS = (
    Operation("first consolidation", _queued_first, lambda world: world.work(world.queued[0]), works=True),
    Operation("consolidation", _queued, lambda world: world.work(world.queued[0]), works=True),
    Operation("consolidation, 2 files", _queued_several, lambda world: world.work(world.queued[0]), works=True),
    Operation("put event at the threshold", _at_the_threshold, World.count, unheard=True),
    Operation("undo", _consolidated, lambda world: world.undo(1)),
    Operation("second undo", _undone_once, lambda w: w.undo(1)),
    Operation(
        "manual edit of a file",
        _consolidated,
        lambda world: corrections.write_file(
            world.process, "admin", SPACE, "log.md", "# Log\n\n## Log\n\nRewritten.\n", None
        ),
    ),
    Operation(
        "manual new file",
        _consolidated,
        lambda world: corrections.write_file(world.process, "admin", SPACE, "new.md", "# New\n", None),
    ),
    Operation(
        "manual deletion of a file",
        _consolidated,
        lambda world: corrections.delete_file(world.process, "admin", SPACE, "log.md", None),
    ),
    Operation(
        "edit of a section",
        _consolidated,
        lambda world: corrections.edit_sections(
            world.process, EVERYONE, SPACE, "log.md", [Edit("add_section", "## New", "Text.")], "it was missing"
        ),
    ),
    Operation("change of the rules", _consolidated, _change_rules),
    Operation("undo of a change of the rules", _with_changed_rules, lambda world: world.undo(2)),
    Operation(
        "consolidation, changed rules",
        _queued_with_changed_rules,
        lambda world: world.work(world.queued[0]),
        works=True,
    ),
    Operation(
        "end of a pause",
        _paused,
        lambda world: space_change.change(world.process, EVERYONE, SPACE, SpaceChange(auto_paused=False)),
    ),
    Operation(
        "deletion of a space",
        _queued,
        lambda world: life.delete(world.process, SPACE, SPACE),
        deletes=True,
        begun=True,
    ),
    Operation("plan for approval", _queued_for_review, lambda world: world.work(world.queued[0]), works=True),
    Operation("approval", _planned, _approve),
    Operation("refusal", _planned, _refuse),
    Operation("approval of an outdated plan", _planned_and_corrected, _approve_in_vain),
    Operation("sweep after a dead approval", _after_a_dead_approval, World.sweep, begun=True),
    Operation("plan in place of another", _to_be_replaced, lambda world: world.work(world.queued[0]), works=True),
    Operation(
        "end of review",
        _planned,
        lambda world: space_change.change(world.process, EVERYONE, SPACE, SpaceChange(consolidation_mode="auto")),
    ),
    Operation("run by hand", _below_the_threshold, World.order),
    Operation("sweep after a dead run", _after_a_dead_run, World.sweep, begun=True),
    Operation("sweep of a space at rest", _at_rest, World.sweep, begun=True),
    Operation("daily sweep of a threshold that no event noticed", _at_the_threshold, World.sweep_all, unheard=True),
)


def retry(world: World, operation: Operation) -> None:
    """The caller repeats: Lambda's asynchronous retry, or a client that got an error."""
    try:
        operation.act(world)
    except LiveMemoryError:
        # A repeated undo or deletion finds itself done, or still under way: the sweep settles that later.
        return


def sweep_later(world: World, _: Operation) -> None:
    """Nobody repeats; the leases run out and the sweep comes by."""
    world.clock.move(LATER)
    world.sweep()


def next_run(world: World, _: Operation) -> None:
    """The leases run out and somebody starts a run by hand, before any sweep."""
    world.clock.move(LATER)
    try:
        world.order(SPACE)
    except LiveMemoryError:
        return
    world.work(world.queued.pop())


RECOVERIES: tuple[tuple[str, Callable[[World, Operation], None]], ...] = (
    ("retry", retry),
    ("sweep", sweep_later),
    ("next run", next_run),
)


@cache
def _prepared(operation: Operation) -> World:
    return operation.prepared(World())


def _world(operation: Operation, new_world: Callable[[], World]) -> World:
    """The world just before the operation."""
    if new_world is World:
        return _prepared(operation).fork()
    return operation.prepared(new_world())


def requests_of(operation: Operation, new_world: Callable[[], World] = World) -> int:
    """How many S3 requests the operation makes undisturbed."""
    world = _world(operation, new_world)
    world.new_process()
    operation.act(world)
    return len(world.client.requests)


def crash(
    operation: Operation,
    fault: Fault,
    recovery: Callable[[World, Operation], None],
    point: int,
    new_world: Callable[[], World] = World,
) -> tuple[Audit, int]:
    """One crash at request `point`: what the audit says after recovery, and how often the LLM was asked again for
    notes that were committed already. `new_world` may give worlds on a real store, empty ones."""
    if new_world is not World:
        return _recover(_struck(operation, fault, point, _world(operation, new_world)), operation, recovery)
    struck = _struck_in_memory(operation, fault, point)
    # Many points leave one state: what follows is then the same.
    state = (operation, recovery, struck.failed, struck.lost, struck.world.state())
    if state not in _RECOVERED:
        _RECOVERED[state] = _recover(replace(struck, world=struck.world.fork()), operation, recovery)
    return _RECOVERED[state]


_RECOVERED: dict[Hashable, tuple[Audit, int]] = {}


@dataclass(frozen=True)
class _Struck:
    """A world whose process has met a fault. `unique`: each text was posted once."""

    world: World
    acknowledged: list[str]
    unique: bool
    failed: bool
    lost: bool


@lru_cache(maxsize=100)
def _struck_in_memory(operation: Operation, fault: Fault, point: int) -> _Struck:
    """To be forked: every recovery begins with it."""
    return _struck(operation, fault, point, _world(operation, World))


def _struck(operation: Operation, fault: Fault, point: int, world: World) -> _Struck:
    acknowledged = _acknowledged(world)
    unique = not audit(world.inner.objects, SPACE, acknowledged, unique=True).doubled
    world.new_process()
    before = set(world.inner.objects) if operation.unheard else set()
    fault.arm(world, point)
    failed = _fails(world, operation)
    lost = operation.unheard and set(world.inner.objects) == before
    world.new_process()
    if operation.works and not failed:
        # Nobody delivers again what did not fail.
        world.queued.popleft()
    return _Struck(world, acknowledged, unique, failed, lost)


def _recover(struck: _Struck, operation: Operation, recovery: Callable[[World, Operation], None]) -> tuple[Audit, int]:
    world = struck.world
    committed = _committed(world)
    asked = len(world.llm.prompts)
    found = check_deserted(world, SPACE)
    if struck.failed or not operation.works:
        recovery(world, operation)
    found += come_to_rest(world, SPACE, lost=struck.lost)
    gone = operation.deletes and not heads.find(world.process, SPACE)
    again = sum(
        any(f'"content": {json.dumps(text)}' in prompt[1]["content"] for text in committed)
        for prompt in world.llm.prompts[asked:]
    )
    expected = [] if gone else struck.acknowledged
    found += check_rest(world, SPACE, expected, unique=struck.unique) + check_alive(world, SPACE)
    return found + check_rest(world, SPACE, expected, unique=struck.unique), again


def _fails(world: World, operation: Operation) -> bool:
    try:
        operation.act(world)
    except (Killed, LiveMemoryError):
        return True
    return False


def _acknowledged(world: World) -> list[str]:
    held = {source.note_id for record in standing(records_of(world.inner.objects, SPACE)) for source in record.notes}
    return [*world.live_ids(SPACE), *held]


def _committed(world: World) -> set[str]:
    """The contents of all notes that are folded by a committed change, applied or not, and not taken back."""
    objects = world.inner.objects
    meta = objects.get(f"{SPACE}/_meta.json")
    records = records_of(objects, SPACE)
    run_id = json.loads(meta.body)["committed_run"] if meta else None
    plan = objects.get(f"{SPACE}/_runs/{run_id}.plan.json")
    if plan and run_id not in {record.run_id for record in records}:
        records.append(Record.from_bytes(plan.body))
    return {text_of(source.raw) for record in standing(records) for source in record.notes}


def table(points_of: Callable[[Operation], range] | None = None) -> Iterator[Result]:
    """The results for every operation, fault and recovery."""
    for operation in OPERATIONS:
        points = points_of(operation) if points_of else range(requests_of(operation))
        for fault in (*KILLS, *ERRORS):
            for name, recovery in RECOVERIES:
                result = Result(operation.name, fault.name, name)
                for point in points:
                    found, again = crash(operation, fault, recovery, point)
                    result.points += 1
                    result.audits.append(found)
                    result.repeated_calls += again
                yield result
