"""The model that is tried: that of the variables LLMAAS_*, or the offline LLM."""

import contextlib
import os
from collections.abc import Iterator

from livemem.errors import NotConfigured
from livemem.settings import Settings, settings
from local.offline_llm import server as offline_llm
from local.offline_llm.api import MODEL

OFFLINE = "offline"


@contextlib.contextmanager
def given_model() -> Iterator[Settings]:
    """The settings of the model. `LLMAAS_API_URL=offline` starts the offline LLM for as long as the block lasts.

    Raises NotConfigured.
    """
    if os.environ.get("LLMAAS_API_URL") != OFFLINE:
        found = settings()
        if not found.llmaas_api_url:
            raise NotConfigured("No model is configured: set LLMAAS_API_URL, or give --llm.")
        yield found
        return
    server = offline_llm.bind()
    server.start()
    try:
        os.environ |= {"LLMAAS_API_URL": offline_llm.base_url(server), "LLMAAS_MODEL": MODEL}
        yield settings()
    finally:
        server.stop()
