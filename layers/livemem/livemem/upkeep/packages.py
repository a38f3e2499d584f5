"""All packages that keep something in a space or have jobs. A new one is named here. Then sweep, health, deletion and
the list of jobs know it.
"""

from collections.abc import Mapping

from livemem.ask import maintenance as ask
from livemem.bank import plans as bank
from livemem.changes import maintenance as changes
from livemem.conversations import maintenance as conversations
from livemem.copies import maintenance as copies
from livemem.erasure import maintenance as erasure
from livemem.jobs import maintenance as jobs
from livemem.jobs import tidy_due
from livemem.jobs.describable import Describable
from livemem.jobs.lease import Lease
from livemem.jobs.package import MORE_WORK, HealthProblem, Package, Reader, Space
from livemem.memories import maintenance as memories
from livemem.notes import maintenance as notes
from livemem.process import Process
from livemem.recall import maintenance as recall
from livemem.rooms import maintenance as rooms
from livemem.spaces.head import Meta
from livemem.store import bucket
from livemem.store.bucket import HEAD, LEASE

PROMPT_CUT = (
    "The model read only a part of the last prompt, so it may have missed notes that it said it used. Raise the "
    "provider's own context length (Ollama: OLLAMA_CONTEXT_LENGTH), or lower LLMAAS_CONTEXT_TOKENS to it."
)
PAUSED = (
    "Automatic consolidation is paused: {0}. A consolidation started by hand (`livemem consolidate -s {1}`) ends the "
    "pause when it succeeds; `livemem space set {1} --resume` ends it at once."
)
TIDY_PAUSED = (
    "Tidy runs are paused, since one was undone or refused: the bank is no longer shortened by itself. A tidy run that "
    "is started by hand (`livemem consolidate --tidy -s {0}`) ends the pause when it succeeds; `livemem space set {0} "
    "--resume-tidy` ends it at once."
)
TOO_LONG = (
    "The bank has {0:,} characters and should have {1:,}, and a tidy run could not shorten it enough. Give it a larger "
    "length (`livemem space set {2} --bank-chars N`), or let the rules ask for less."
)


def maintain(_: Process, space: Space) -> Mapping[str, float]:
    """Nothing is to be done, but a worker that holds the space may die."""
    return {MORE_WORK: 1} if space.busy else {}


def problems(_: Process, space: Space) -> list[HealthProblem]:
    """A prompt that the provider cut; a bank that stays too long; and pauses, which are somebody's decision: they are
    shown, but nothing is wrong.
    """
    result = []
    if space.head.meta.prompt_cut:
        result.append(HealthProblem(space.space_id, "prompt_cut", PROMPT_CUT))
    if space.head.meta.auto_paused:
        why = space.head.meta.pause_reason or "a change was undone or a plan refused"
        result.append(HealthProblem(space.space_id, "auto_paused", PAUSED.format(why, space.space_id), wrong=False))
    return [*result, *_of_the_length(space)]


def _of_the_length(space: Space) -> list[HealthProblem]:
    meta, space_id = space.head.meta, space.space_id
    if meta.bank_chars and meta.tidy_paused:
        return [HealthProblem(space_id, "tidy_paused", TIDY_PAUSED.format(space_id), wrong=False)]
    # A run at work has said already what it found, and has not shortened it yet.
    rest = None if space.busy else meta.tidied and min(meta.tidied.chars, meta.bank_length or 0)
    if not rest or rest <= tidy_due.TIDY_ABOVE * meta.bank_chars or not meta.bank_chars:
        return []
    detail = TOO_LONG.format(meta.bank_length, meta.bank_chars, space_id)
    return [HealthProblem(space_id, "bank_too_long", detail, wrong=False)]


SPACES = Package(
    maintain=maintain,
    problems=problems,
    objects={
        HEAD: Meta.from_bytes,
        LEASE: Lease.from_bytes,
    },
)

PACKAGES = (
    SPACES,
    changes.PACKAGE,
    bank.PACKAGE,
    jobs.PACKAGE,
    notes.PACKAGE,
    copies.PACKAGE,
    erasure.PACKAGE,
    conversations.PACKAGE,
    memories.PACKAGE,
    rooms.PACKAGE,
    recall.PACKAGE,
    ask.PACKAGE,
)
"""In the order in which they are maintained: a committed change is finished before a new run is started."""


def reader(name: str) -> Reader | None:
    """The reader of the document that has to be under this key below a space; None where any body can be read."""
    kind = bucket.kind_of(name)
    readers = (package.objects.get(kind) for package in PACKAGES) if kind else ()
    return next((read for read in readers if read), None)


def is_readable(name: str, body: bytes) -> bool:
    """Whether the body of the object with this key below a space can be read."""
    read = reader(name)
    if not read:
        return True
    try:
        read(body)
    except (ValueError, RecursionError):
        return False
    return True


JOBS: Mapping[str, Describable] = {kind: item for package in PACKAGES for kind, item in package.jobs.items()}
"""The kinds of jobs by their names."""
