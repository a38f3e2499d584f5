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
    with contextlib.ExitStack() as stack:
        if choice.take_own_model(variables):
            os.environ |= _own_model(variables, stack)
        elif os.environ.get("LLMAAS_API_URL") == OFFLINE:
            server = offline_llm.bind()
            server.start()
            stack.callback(server.stop)
            os.environ |= {"LLMAAS_API_URL": offline_llm.base_url(server), "LLMAAS_MODEL": MODEL}
        found = settings()
        if not found.llmaas_api_url:
            raise NotConfigured("No model is configured: set LLMAAS_API_URL, or give --llm.")
        yield found


@contextlib.contextmanager
def empty_store() -> Iterator[Store]:
    """The embedded store in a folder of its own, for as long as the block lasts."""
    with tempfile.TemporaryDirectory(prefix="livemem-trial-") as name:
        files: Any = FileStore(Path(name))
        files.create_bucket(Bucket=BUCKET)
        yield Store(BUCKET, files, files)


def _own_model(variables: dict[str, str], stack: contextlib.ExitStack) -> dict[str, str]:
    try:
        chosen = choice.OwnModelChoice(choice.read_program(variables[choice.PROGRAM]), for_all=True)
    except ValueError as error:
        raise NotConfigured(str(error)) from error
    record = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "process.json"
    url, key = stack.enter_context(completions.serving(chosen, variables, record))
    return {
        "LLMAAS_API_URL": url,
        "LLMAAS_API_KEY": key,
        "LLMAAS_MODEL": chosen.model(variables.get("LLMAAS_MODEL", "")),
    }
