"""A world in which nobody works any more: how it comes to rest, and what users and operators are shown of a space.

What the bucket alone tells is checked in tests/support/audit.py.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from livemem.changes import rules_change
from livemem.changes.orphans import QUIET_AFTER
from livemem.changes.rules_change import NewRules
from livemem.errors import Busy, LiveMemoryError
from livemem.notes import pages
from livemem.notes.pages import NotesFilter
from livemem.spaces import due_index
from livemem.spaces import head as heads
from livemem.spaces.head import Head
from livemem.store import due_keys
from livemem.store.bucket import BACKUP_OBJECT, HEAD, LEASE
from livemem.upkeep import health, invariants
from tests.support.audit import Audit, audit, live, records_of, standing
from tests.support.bucket import FakeS3
from tests.support.world import EVERYONE, ScriptedLlm, World

ROUNDS = (1_200, 1_200, 3_700)
"""Seconds before each sweep: every lease has run out, at last everything that can wait in a queue."""
NOTICED = 90
"""Seconds after which a space that nobody works on is free, or health says that it is not."""
WAITED = 900
"""Seconds after which automatic runs start again, or health says that they don't."""
PAGE = 100
QUIET = (QUIET_AFTER + (due_index.RELIED_ON + due_index.KEPT)).total_seconds()
"""Seconds after which nothing that has ended is looked after any more."""
LASTING = {"oversized_notes"}
"""Problems that rest does not end."""


@dataclass
class Told:
    """What users were told: `notes` as note id -> uid of the space's life in which it was accepted; `space` is the uid
    of a life that was created, and that nobody has asked to end.
    """

    notes: dict[str, str] = field(default_factory=dict)
    space: str | None = None

    def of(self, uid: str | None) -> list[str]:
        """The notes accepted in one life."""
        return [note_id for note_id, life in self.notes.items() if life == uid]


def uid_of(world: World, space_id: str) -> str | None:
    """The uid of the space's present life; None where there is none."""
    head = _head(world, space_id)
    return head.meta.uid if head else None


def _head(world: World, space_id: str) -> Head | None:
    return heads.find(world.with_parts(), space_id)


def check_deserted(world: World, space_id: str) -> Audit:
    """Check what can be seen as soon as nobody works any more, with whatever is left half done."""
    head = _head(world, space_id)
    if not head:
        return Audit()
    said = list(_problems(world, space_id))
    silent = head.meta.committed_run and "commit_unfinished" not in said
    unsaid = [f"a commit is unfinished, and health says {said}"] if silent else []
    return Audit(wrong_health=unsaid, blocked=_blocked(world, space_id))


def _blocked(world: World, space_id: str) -> list[str]:
    """Whether work is refused although nobody works, and health does not say so."""
    if not isinstance(world.inner, FakeS3) or LEASE.key(space_id) not in world.inner.objects:
        return []
    return [*_refused_by_hand(world.fork(), space_id), *_refused_event(world.fork(), space_id)]


def _refused_event(later: World, space_id: str) -> list[str]:
    if later.queued:
        # Somebody will come.
        return []
    later.pass_time(WAITED)
    said = list(_problems(later, space_id))
    refused = later.count(space_id).result == "busy" and "blocked" not in said
    return [f"no run starts, and health says {said}"] if refused else []


def _refused_by_hand(later: World, space_id: str) -> list[str]:
    later.pass_time(NOTICED)
    said = list(_problems(later, space_id))
    try:
        rules_change.change(later.process, "admin", space_id, NewRules("Others."))
    except Busy as busy:
        return [] if "blocked" in said else [f"{busy.detail} Health says {said}"]
    except LiveMemoryError as error:
        return [f"{error.code}: {error.detail}"]
    return []


def come_to_rest(world: World, space_id: str, *, lost: bool = False) -> Audit:
    """Let happen what would happen by itself, and give it time: queued runs, sweeps. Returns what was wrong on the way.

    That is what nobody sees as long as the sweep has not mended it: what users read before it must be right as well.
    The due index alone must lead the sweeps to all that waits, but where an entry, or an event, may be `lost`: then
    the first one is that of once a day. At the end another one of these must find nothing to do.
    """
    world.settle()
    if "last_run_failed" in _problems(world, space_id):
        # The model answers again, and an operator who is told of the failure starts a run by hand.
        world.order(space_id, replace=True)
        world.settle()
    found = Audit(wrong_reads=_wrong_reads(world, space_id))
    for number, seconds in enumerate(ROUNDS):
        world.pass_time(seconds)
        world.expire()
        if lost and not number:
            world.sweep_all()
        else:
            world.sweep()
        world.settle()
    before = _apart_from_notices(world, space_id)
    world.sweep_all()
    changed = {key for key, _ in before ^ _apart_from_notices(world, space_id)}
    return found + Audit(left_behind=[f"{key}, of which no entry of the due index told" for key in changed])


def _apart_from_notices(world: World, space_id: str) -> set[tuple[str, str]]:
    """The keys and ETags of all but what the sweep itself takes note of: the due index, and in the head the runs it
    saw; and but backups, whose orphans nobody enters.
    """
    own = (due_keys.DUE, BACKUP_OBJECT.prefix(), HEAD.key(space_id))
    return {(key, stored.etag) for key, stored in world.inner.objects.items() if not key.startswith(own)}


def check_rest(world: World, space_id: str, acknowledged: Iterable[str], *, unique: bool = True) -> Audit:
    """Check a world that has come to rest. `unique`: each text was posted once."""
    found = audit(world.inner.objects, space_id, acknowledged, unique=unique)
    wrong = [f"at rest: {code}" for code in _problems(world, space_id) if code not in LASTING]
    wrong_reads = [*_wrong_reads(world, space_id), *_broken_invariants(world, space_id)]
    return found + Audit(wrong_reads=wrong_reads, wrong_health=wrong)


def _broken_invariants(world: World, space_id: str) -> Iterator[str]:
    """The invariants that the service itself says are broken, or that it can't tell."""
    if _head(world, space_id):
        for one in invariants.page(world.with_parts(), space_id, limit=PAGE).invariants:
            if not one.holds:
                yield f"{one.name} {one.holds}: {one.detail} {', '.join(one.evidence)}"


def check_alive(world: World, space_id: str) -> Audit:
    """Check that a space at rest still does what it is for: notes that are posted now are folded."""
    head = _head(world, space_id)
    if not head:
        return Audit()
    world.new_process()
    # A model that uses all notes, whatever the test's own did.
    world.llm = ScriptedLlm(prompts=world.llm.prompts)
    posted = {world.note(f"at last {world.ids.count}", space_id=space_id).note_id for _ in range(_enough(head))}
    if head.meta.automatic(world.settings):
        world.count(space_id)
        world.settle()
    else:
        world.order(space_id, replace=True)
        world.settle()
    world.approve(space_id)
    # The bank may be too long now.
    world.settle()
    folded = {
        source.note_id for record in standing(records_of(world.inner.objects, space_id)) for source in record.notes
    }
    left = sorted(posted - folded)
    return Audit(blocked=[f"at rest it does not fold {note_id}" for note_id in left])


def _enough(head: Head) -> int:
    return max(head.meta.consolidation_threshold, 1)


def _wrong_reads(world: World, space_id: str) -> list[str]:
    """Notes that a standing record holds and that are shown as live."""
    objects = world.inner.objects
    held = {source.note_id for record in standing(records_of(objects, space_id)) for source in record.notes}
    late_duplicates = held & live(objects, space_id)
    if not late_duplicates or not _head(world, space_id):
        return []
    wrong = [
        f"{note_id} is on a page of live notes" for note_id in _shown(world, space_id) if note_id in late_duplicates
    ]
    reader = world.with_parts()
    read = {note_id: pages.get(reader, space_id, note_id).status for note_id in late_duplicates}
    return sorted([*wrong, *(f"{note_id} is read as {status}" for note_id, status in read.items() if status == "live")])


def _shown(world: World, space_id: str) -> Iterator[str]:
    reader = world.with_parts()
    after: str | None = None
    while True:
        page = pages.page(reader, space_id, NotesFilter(), limit=PAGE, after=after)
        yield from (note.note_id for note in page.items)
        after = page.next_after
        if after is None:
            return


def _problems(world: World, space_id: str) -> Iterator[str]:
    # No LLM is asked whether it is there: that would leave the world.
    process = world.with_parts(settings=world.settings.model_copy(update={"llmaas_api_url": ""}))
    for problem in health.deep(process, EVERYONE).problems:
        if problem.space_id == space_id and problem.wrong:
            yield problem.code
