"""What the LLM says of two memories that are nearly the same: one call, asked once for each pair.

Nothing waits for it longer than some seconds, and nothing depends on it: without an answer both memories stand.
"""

import hashlib
import json
import threading
from datetime import datetime
from functools import cache, lru_cache
from importlib import resources
from string import Template
from typing import Any

from cachetools import LRUCache

from livemem import clock
from livemem.consolidation import budget, prompt
from livemem.errors import PreconditionLost, RunError, StoreUnavailable
from livemem.llm import contract
from livemem.llm.client import LlmError, Messages
from livemem.llm.contract import ContractError, Part
from livemem.memories.merging import Verdict
from livemem.process import Process, Timer
from livemem.store import documents
from livemem.store import memory_keys as keys
from livemem.store.documents import Document, Moment

LONGEST = 10.0
"""Seconds that an answer may take: somebody waits for the memory to be stored."""
SHORTEST = 1.0
"""Seconds below which asking is pointless."""
MARGIN = 2.0
"""Seconds before the end of the time that are kept to store the memory."""
ANSWER_TOKENS = 500
"""Kept for the answer in the model's window: some think first."""
MOST_KNOWN = 10_000
LATER = "Memories that are nearly the same are kept apart."


class _Answer(Part):
    """The whole answer."""

    verdict: Verdict


class _Kept(Document):
    """`_verdicts/{sha256}.json`: nothing of the contents, which may have to be forgotten."""

    verdict: Verdict
    model: str
    at: Moment


class _Known:
    """The verdicts that this process has seen."""

    def __init__(self, _: Timer) -> None:
        self._verdicts = LRUCache[str, Verdict](MOST_KNOWN)
        self._lock = threading.Lock()

    def get(self, key: str) -> Verdict | None:
        with self._lock:
            return self._verdicts.get(key)

    def put(self, key: str, verdict: Verdict) -> None:
        with self._lock:
            self._verdicts[key] = verdict


def ask(process: Process, space_id: str, new: str, old: str, until: datetime | None) -> Verdict | None:
    """Whether a new content says the same as a former one; None: nobody knows, and nothing is kept of that.

    None as well where there is no LLM, no time, or no budget left. 1 GET for a pair that this process has not seen;
    with a call of the LLM 1 PUT more, and what the call takes that is counted (consolidation/budget.py).
    """
    if not process.settings.llmaas_api_url:
        return None
    key = keys.verdict(space_id, _digest(process, new, old))
    known = process.cache(_Known)
    found = known.get(key) or _kept(process, key)
    if found is None:
        found = _asked(process, space_id, _messages(new, old), until)
        if found is not None:
            found = _keep(process, key, found)
    if found is not None:
        known.put(key, found)
    return found


def _digest(process: Process, new: str, old: str) -> str:
    """Of all that the answer depends on. JSON, so that no two pairs run into one."""
    pair = json.dumps([process.settings.llmaas_model, version(), new, old])
    return hashlib.sha256(pair.encode()).hexdigest()


def _kept(process: Process, key: str) -> Verdict | None:
    try:
        found = process.store.get(key)
        return _Kept.from_bytes(found.body).verdict if found else None
    except (StoreUnavailable, ValueError):
        # It can be asked for again.
        return None


def _keep(process: Process, key: str, verdict: Verdict) -> Verdict:
    """Keep a verdict; the one that stands, which is that of whoever was first."""
    kept = _Kept(verdict=verdict, model=process.settings.llmaas_model, at=clock.iso_millis(process.clock()))
    try:
        process.store.put(key, kept.to_bytes(), if_none_match=True, content_type=documents.JSON)
    except PreconditionLost:
        return _kept(process, key) or verdict
    except StoreUnavailable:
        return verdict
    return verdict


def _asked(process: Process, space_id: str, messages: Messages, until: datetime | None) -> Verdict | None:
    settings, now = process.settings, process.clock()
    timeout = min(LONGEST, (until - now).total_seconds() - MARGIN) if until else LONGEST
    room = settings.llmaas_context_tokens - prompt.size(messages)
    if timeout < SHORTEST or room < ANSWER_TOKENS:
        return None
    limit = min(settings.llmaas_max_tokens, room) if settings.llmaas_max_tokens else None
    with budget.metered(process, space_id, LATER) as meter:
        try:
            meter.before_call(prompt.size(messages), limit, timeout)
            reply = process.ask(messages, limit, timeout, _schema())
        except LlmError as error:
            meter.failed(error)
            return None
        except RunError:
            # The day's tokens are used up.
            return None
        meter.answered(reply.usage, len(reply.text))
    try:
        # Of a prompt that was cut it has not read both.
        return None if reply.cut else contract.parse(reply.text, _Answer).verdict
    except ContractError:
        return None


def _messages(new: str, old: str) -> Messages:
    user = Template(_text("verdict_user")).substitute(old=prompt.json_line(old), new=prompt.json_line(new))
    return [{"role": "system", "content": _text("verdict_system")}, {"role": "user", "content": user}]


@lru_cache(maxsize=2)
def _text(name: str) -> str:
    return resources.files("livemem.memories").joinpath("prompts", f"{name}.md").read_text("utf-8")


@lru_cache(maxsize=1)
def version() -> str:
    """A short hash of the prompt's texts."""
    texts = "\0".join(_text(name) for name in ("verdict_system", "verdict_user"))
    return hashlib.sha256(texts.encode()).hexdigest()[:12]


@cache
def _schema() -> dict[str, Any]:
    return contract.schema(_Answer)
