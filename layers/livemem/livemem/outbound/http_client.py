"""The HTTP client for servers that the settings name, such as the APIs of models. It reads at most a bound.

The server there is not trusted. A redirect could send requests, or the key, to any address that this process reaches.
An answer could be larger than its memory.
"""

import ssl
from collections.abc import Callable, Iterator
from functools import lru_cache

import httpx2


class TooMuch(Exception):
    """The answer's body is larger than its bound."""


class _Bounded(httpx2.SyncByteStream):
    """A body that ends with TooMuch where it goes beyond the bound."""

    def __init__(self, inner: httpx2.SyncByteStream, most: int) -> None:
        self._inner = inner
        self._most = most

    def __iter__(self) -> Iterator[bytes]:
        rest = self._most
        for chunk in self._inner:
            rest -= len(chunk)
            if rest < 0:
                raise TooMuch
            yield chunk

    def close(self) -> None:
        self._inner.close()


def http_client(timeout: float, most: int) -> httpx2.Client:
    """A client that follows no redirect, asks for no compression and undoes none.

    `timeout` is in seconds, for each connection, read and write. Reading a body raises TooMuch beyond `most` bytes.
    """
    return httpx2.Client(
        verify=trust(),
        timeout=timeout,
        follow_redirects=False,
        headers={"Accept-Encoding": "identity"},
        # A hook and not a transport: with a transport of one's own the proxies of the environment are not used.
        event_hooks={"response": [_bound(most)]},
    )


@lru_cache(maxsize=1)
def trust() -> ssl.SSLContext:
    """The authorities that are trusted."""
    # Reading the authorities takes 50 ms, which a search would spend on each question.
    return httpx2.create_ssl_context()


def _bound(most: int) -> Callable[[httpx2.Response], None]:
    def bound(response: httpx2.Response) -> None:
        if response.headers.pop("Content-Encoding", "identity").strip().lower() != "identity":
            # Not requested, and a few kilobytes may become gigabytes: the status counts, the body does not.
            response.stream.close()  # type: ignore[union-attr]
            response.stream = httpx2.ByteStream(b"")
            return
        response.stream = _Bounded(response.stream, most)  # type: ignore[arg-type]

    return bound
