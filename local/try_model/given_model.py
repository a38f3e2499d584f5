"""The model that is tried: that of the variables LLMAAS_*, or the offline LLM; and an empty store for its questions."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from livemem.errors import NotConfigured
from livemem.settings import Settings, settings
from livemem.store.objects import Store
from local.offline_llm import server as offline_llm
from local.offline_llm.api import MODEL
from local.own_model import choice, completions
from local.store.client import FileStore

OFFLINE = "offline"
BUCKET = "trial"


@contextlib.contextmanager
def given_model() -> Iterator[Settings]:
    """The settings of the model. `LLMAAS_API_URL=offline` starts the offline LLM for as long as the block lasts, and
    `cli:claude` the program of LIVEMEM_LLM_PROGRAM for each question.

    Raises NotConfigured.
    """
    variables = dict(os.environ)
    if choice.take_own_model(variables):
        with _own_model(variables) as own:
            os.environ |= own
            yield settings()
        return
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


@contextlib.contextmanager
def empty_store() -> Iterator[Store]:
    """The embedded store in a folder of its own, for as long as the block lasts."""
    with tempfile.TemporaryDirectory(prefix="livemem-trial-") as name:
        files: Any = FileStore(Path(name))
        files.create_bucket(Bucket=BUCKET)
        yield Store(BUCKET, files, files)


@contextlib.contextmanager
def _own_model(variables: dict[str, str]) -> Iterator[dict[str, str]]:
    try:
        chosen = choice.OwnModelChoice(choice.read_program(variables[choice.PROGRAM]), for_all=True)
    except ValueError as error:
        raise NotConfigured(str(error)) from error
    with (
        tempfile.TemporaryDirectory() as folder,
        completions.serving(chosen, variables, Path(folder) / "process.json") as (url, key),
    ):
        model = chosen.model(variables.get("LLMAAS_MODEL", ""))
        yield {"LLMAAS_API_URL": url, "LLMAAS_API_KEY": key, "LLMAAS_MODEL": model}
