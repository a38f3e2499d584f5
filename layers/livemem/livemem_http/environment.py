"""The process of this Lambda environment, made once: store, LLM, clock, ids, and how the next run is started."""

import secrets
import time
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from livemem import background, clock
from livemem.llm import client as llm
from livemem.llm import embeddings, tools
from livemem.llm.last_call import Watch
from livemem.process import Process
from livemem.settings import Settings, settings
from livemem.store import clients
from livemem.store.objects import open_store

__all__ = ["process", "settings"]


@lru_cache(maxsize=1)
def process() -> Process:
    """What every domain call of this environment works with."""
    configured: Settings = settings()

    def start(payload: Mapping[str, Any]) -> None:
        clients.invoke_async(configured.consolidate_function_name, payload)

    def later(payload: Mapping[str, Any]) -> None:
        clients.invoke_async(configured.backup_function_name, payload)

    def reindex(space_id: str) -> None:
        clients.invoke_async(configured.indexer_function_name, {"space_id": space_id})

    def summarize(payload: Mapping[str, Any]) -> None:
        clients.invoke_async(configured.summarize_function_name, payload)

    def digest(payload: Mapping[str, Any]) -> None:
        clients.invoke_async(configured.digest_function_name, payload)

    def answer(payload: Mapping[str, Any]) -> None:
        clients.invoke_async(configured.ask_function_name, payload)

    store = open_store(configured)
    watch = Watch(store, timer=time.monotonic, aside=background.aside)
    return Process(
        store=store,
        settings=configured,
        ask=watch.over(llm.connect(configured)),
        converse=watch.over(tools.connect(configured)),
        embed=embeddings.connect(configured),
        start=start,
        later=later,
        reindex=reindex,
        summarize=summarize,
        digest=digest,
        answer=answer,
        new_suffix=new_suffix,
    )


def new_suffix() -> str:
    """8 hex digits for the name of a note: the millisecond, so that notes of one second keep their order, then chance.

    Two notes of one agent and category in one millisecond collide once in a million times; writing them notices.
    """
    return f"{clock.now().microsecond // 1_000:03x}{secrets.randbits(20):05x}"
