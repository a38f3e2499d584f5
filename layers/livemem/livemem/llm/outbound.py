"""The HTTP client for the LLM's API: it goes where the settings say and nowhere else, and reads no more than a bound.

What answers there is not trusted. A redirect could point the service's own network position, or its key, at anything
that this process reaches; an answer could be larger than its memory.
"""

from collections.abc import Iterator

import httpx2

ANSWER_BYTES = 8 * 1024 * 1024
"""Most bytes of one answer's body. 100,000 tokens of an answer are about 400 kB, and 2.4 MB if all is escaped."""


class TooMuch(Exception):
    """The answer's body is larger than ANSWER_BYTES."""


class _Bounded(httpx2.SyncByteStream):
    """A body that ends with TooMuch where it goes beyond the bound."""

    def __init__(self, inner: httpx2.SyncByteStream) -> None:
        self._inner = inner

    def __iter__(self) -> Iterator[bytes]:
        left = ANSWER_BYTES
        for chunk in self._inner:
            left -= len(chunk)
            if left < 0:
                raise TooMuch
            yield chunk

    def close(self) -> None:
        self._inner.close()


def http_client(timeout: float) -> httpx2.Client:
    """A client that follows no redirect, asks for no compression and undoes none.

    `timeout` is in seconds, for each connection, read and write. Reading a body raises TooMuch beyond ANSWER_BYTES.
    """
    return httpx2.Client(
        timeout=timeout,
        follow_redirects=False,
        headers={"Accept-Encoding": "identity"},
        # A hook and not a transport: with a transport of one's own the proxies of the environment are not used.
        event_hooks={"response": [_bound]},
    )


def _bound(response: httpx2.Response) -> None:
    if response.headers.pop("Content-Encoding", "identity").strip().lower() != "identity":
        # Nobody asked for it, and a few kilobytes may become gigabytes: the status counts, the body does not.
        response.stream.close()  # type: ignore[union-attr]
        response.stream = httpx2.ByteStream(b"")
        return
    response.stream = _Bounded(response.stream)  # type: ignore[arg-type]
