"""The process of this Lambda environment, made once: store, LLM, clock, ids, and how functions are invoked."""

import secrets
import time
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from livemem import background, clock
from livemem.llm import client as llm
from livemem.llm import embeddings, tool_calling
from livemem.llm.last_call import Watch
from livemem.process import Function, Process
from livemem.settings import Settings, settings
from livemem.store import clients
from livemem.store.clients import open_store
from livemem_http import tracing, waiting

__all__ = ["process", "settings"]


@lru_cache(maxsize=1)
def process() -> Process:
    """What every domain call of this environment works with."""
    configured: Settings = settings()

    def enqueue(function: Function, payload: Mapping[str, Any]) -> None:
        clients.invoke_async(configured.function_name(function), waiting.stamped(tracing.onto_payload(payload)))

    store = open_store(configured)
    watch = Watch(store, configured.llmaas_model, timer=time.monotonic, in_background=background.in_background)
    return Process(
        store=store,
        settings=configured,
        ask=watch.over(llm.connect(configured, tracing.headers)),
        converse=watch.over(tool_calling.connect(configured, tracing.headers)),
        embed=embeddings.connect(configured, tracing.headers),
        enqueue=enqueue,
        new_suffix=new_suffix,
    )


def new_suffix() -> str:
    """8 hex digits for the name of a note: the millisecond, so that notes of one second keep their order, then chance.

    Two notes of one agent and category in one millisecond collide once in a million times; writing them notices.
    """
    return f"{clock.now().microsecond // 1_000:03x}{secrets.randbits(20):05x}"
