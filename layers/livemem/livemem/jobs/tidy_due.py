"""Whether a tidy run should start by itself: one that shortens a bank which has grown too long. The head alone says so,
so a look costs no request.
"""

from livemem.process import Process
from livemem.settings import Settings
from livemem.spaces.head import Head, Meta

TIDY_ABOVE = 1.15
"""A bank that is longer than this many times the length that it should have is shortened by a tidy run."""
GROWN = 1.05
"""Since the last one it must have grown by as much: what a model could not take out then, it hardly can now."""


def is_due(process: Process, head: Head) -> bool:
    """Whether one should start now, by the length of the bank that the head names."""
    return why_not(process, head, head.meta.bank_length or 0) is None


def why_not(process: Process, head: Head, length: int, run_id: str | None = None) -> str | None:
    """Why the run `run_id` may not tidy a bank of `length` characters by itself, as a sentence. None: it may.

    At most one run a day does (UTC, by the store's clock).
    """
    meta, last = head.meta, head.meta.tidied
    if not meta.automatic(process.settings) or meta.tidy_paused:
        return "Automatic consolidation or tidying is switched off or paused."
    if last and last.run_id != run_id:
        if last.at[:10] == (head.seen_at or process.clock()).date().isoformat():
            return "The bank was tidied on this day (UTC) already."
        if length <= GROWN * last.chars:
            return "The bank has hardly grown since it was tidied."
    return cannot(process.settings, meta) or (None if length > TIDY_ABOVE * meta.bank_chars else fits(meta, length))


def cannot(settings: Settings, meta: Meta) -> str | None:
    """Why no tidy run at all can work in the space, as a sentence."""
    if not meta.bank_chars:
        return "The space has no length that its bank should have (`bank_chars` is 0)."
    if settings.has_offline_llm():
        return "The offline LLM follows fixed rules, and cannot shorten a bank."
    return None


def fits(meta: Meta, length: int) -> str:
    """The sentence that a bank is short enough."""
    return f"The bank has {length} characters, and should have {meta.bank_chars}."
