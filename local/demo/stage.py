"""What every demo stands on: a running service on an empty store, and errors as sentences."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from live_memory import LiveMemoryError
from local.config import LAYERS, WRONG_VARIABLE
from local.demo.llm import check_llm, show_url
from local.demo.service import ROOT, DemoError, Service, running_service, runtime_variables
from local.embeddings import read_embeddings
from local.service_settings import find_problems


def play(show: Callable[[Service, Path], None], folder: str) -> int:
    """Run a demo with a service of its own, whose data is in `folder`; returns the exit status.

    `show` gets the service and its folder, and raises DemoError if it can't show what it is to show.
    """
    signal.signal(signal.SIGTERM, _interrupt)
    data = Path(os.environ.get("LIVEMEM_DATA_DIR") or ROOT / ".local").expanduser().absolute() / folder
    try:
        variables = runtime_variables()
        read_embeddings(variables)
        if problems := find_problems(variables, LAYERS):
            print("\n".join(problems), file=sys.stderr)
            return WRONG_VARIABLE
        check_llm(os.environ)
        with running_service(data) as service:
            show(service, data)
    except (DemoError, LiveMemoryError) as error:
        print(f"\nThe demo failed. {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nThe demo was stopped.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # Who watches has seen enough (`make demo | head`). What is still buffered must not raise it again at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def describe_llm(service: Service) -> str:
    """Which LLM works, for people."""
    if service.offline_llm:
        return (
            "LLM: the rule-based offline stand-in (model offline-rules). It is no language model; it works by "
            "fixed rules.\n     Set LLMAAS_API_URL, LLMAAS_API_KEY and LLMAAS_MODEL to see a real one at work."
        )
    return f"LLM: {show_url(service.llm_url)} (model {os.environ.get('LLMAAS_MODEL') or 'of the settings'})."


def describe_embeddings(service: Service) -> str:
    """Which embedding model works, for people."""
    if service.offline_embeddings:
        return "Embeddings: a small model of 16 languages (offline-fuse). EMBEDDINGS_API_URL sets another, or off."
    if service.embeddings_url is None:
        return "Embeddings: none; search goes by words alone."
    model = os.environ.get("EMBEDDINGS_MODEL") or "of the settings"
    return f"Embeddings: {show_url(service.embeddings_url)} (model {model})."


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
