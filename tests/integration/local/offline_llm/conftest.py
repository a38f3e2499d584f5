"""The offline server, and OpenAI's own client of it."""

from collections.abc import Iterator
from typing import Any

import pytest

from local.front.httpd import Server
from local.offline_llm.server import base_url, bind


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = bind()
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def client(server: Server) -> Iterator[Any]:
    # Here: it takes a second, which only the process that asks should spend.
    import openai

    # The embedding model is loaded for its first text.
    with openai.OpenAI(base_url=base_url(server), api_key="none", max_retries=0, timeout=60) as client:
        yield client
