"""The spaces' own part of upkeep."""

from collections.abc import Mapping

from livemem.jobs import tidy_due
from livemem.jobs.lease import Lease
from livemem.jobs.maintainable import MORE_WORK, HealthProblem, Maintainable, Space
from livemem.process import Process
from livemem.spaces.head import Meta
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


MAINTAINABLE = Maintainable(
    maintain=maintain,
    problems=problems,
    objects={
        HEAD: Meta.from_bytes,
        LEASE: Lease.from_bytes,
    },
)
