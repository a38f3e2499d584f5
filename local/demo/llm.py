"""Whether the LLM that the caller has set answers at all: asked before anything is started, so that nobody waits."""

import http.client
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from local.demo.service import DemoError

_SECONDS = 10.0


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """The key goes to nobody but the server that was named."""

    def redirect_request(self, *_: Any) -> None:
        return None


def check_llm(variables: Mapping[str, str]) -> None:
    """Return if the LLM of LLMAAS_API_URL answers, or none is set.

    Raises:
        DemoError: nobody answers there, or the key is refused; says what to do.
    """
    url = variables.get("LLMAAS_API_URL")
    if not url:
        return
    otherwise = "or unset LLMAAS_API_URL to see the demo with the offline stand-in."
    headers = {"Authorization": f"Bearer {variables.get('LLMAAS_API_KEY') or 'none'}"}
    request = urllib.request.Request(f"{url.rstrip('/')}/models", headers=headers)
    try:
        urllib.request.build_opener(_NoRedirects).open(request, timeout=_SECONDS).close()
    except urllib.error.HTTPError as error:
        error.close()
        # Not every server lists its models; that it answers is what counts.
        if error.code in {401, 403}:
            raise DemoError(
                f"The LLM at {show_url(url)} refuses the key ({error.code}): correct LLMAAS_API_KEY, {otherwise}"
            ) from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise DemoError(
            f"No LLM answers at {show_url(url)}: start it, correct LLMAAS_API_URL (with /v1), {otherwise}"
        ) from error


def show_url(url: str) -> str:
    """A URL without user and password, which may stand in it."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
