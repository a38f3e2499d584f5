"""What every demo stands on: a running service on an empty store, and errors as sentences."""

import argparse
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import httpx

from live_memory import LiveMemoryError
from local import ROOT, terminal
from local.config import WRONG_VARIABLE, ConfigError
from local.demo.service import DemoError, Service, running_service

_LLM_SECONDS = 10.0


def play(
    show: Callable[[Service, Path, argparse.Namespace], None], folder: str, parser: argparse.ArgumentParser
) -> int:
    """Run a demo with a service of its own, whose data is in `folder`; returns the exit status.

    `show` gets the service, its folder and the options, and raises DemoError if it can't show what it is to show.
    """
    terminal.protect()
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, _interrupt)
    data = Path(os.environ.get("LIVEMEM_DATA_DIR") or ROOT / ".local").expanduser().absolute() / folder
    try:
        _check_llm()
        with running_service(data) as service:
            print(describe_models(service))
            show(service, data, options)
    except ConfigError as error:
        print(error, file=sys.stderr)
        return WRONG_VARIABLE
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


def describe_models(service: Service) -> str:
    """Which LLM and which embedding model work, for people."""
    if service.offline_llm:
        llm = (
            "the rule-based offline stand-in (model offline-rules). It is no language model; it works by "
            "fixed rules.\n     Set LLMAAS_API_URL, LLMAAS_API_KEY and LLMAAS_MODEL to see a real one at work."
        )
    else:
        llm = f"{_shown(service.llm_url)} (model {os.environ.get('LLMAAS_MODEL') or 'of the settings'})."
    if service.offline_embeddings:
        embeddings = "a small model of 16 languages (offline-fuse). EMBEDDINGS_API_URL sets another, or off."
    elif service.embeddings_url:
        model = os.environ.get("EMBEDDINGS_MODEL") or "of the settings"
        embeddings = f"{_shown(service.embeddings_url)} (model {model})."
    else:
        embeddings = "none; search goes by words alone."
    return f"LLM: {llm}\nEmbeddings: {embeddings}"


def _check_llm() -> None:
    """Ask the LLM that the caller has set, before anything is started. Raises DemoError: nobody answers, or the key is
    refused.
    """
    url = os.environ.get("LLMAAS_API_URL")
    if not url:
        return
    otherwise = "or unset LLMAAS_API_URL to see the demo with the offline stand-in."
    headers = {"Authorization": f"Bearer {os.environ.get('LLMAAS_API_KEY') or 'none'}"}
    try:
        status = httpx.get(f"{url.rstrip('/')}/models", headers=headers, timeout=_LLM_SECONDS).status_code
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise DemoError(
            f"No LLM answers at {_shown(url)}: start it, correct LLMAAS_API_URL (with /v1), {otherwise}"
        ) from error
    # Not every server lists its models; that it answers is what counts.
    if status in {401, 403}:
        raise DemoError(f"The LLM at {_shown(url)} refuses the key ({status}): correct LLMAAS_API_KEY, {otherwise}")


def _shown(url: str) -> str:
    """A URL without user and password, which may stand in it."""
    scheme, separator, rest = url.rpartition("://")
    host, slash, path = rest.partition("/")
    return scheme + separator + host.rpartition("@")[2] + slash + path


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
