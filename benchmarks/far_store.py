"""A store that is further away: passes HTTP requests on to another address, each after a delay, and writes them down.

    .venv/bin/python -m benchmarks.far_store --to 127.0.0.1:9000 --delay-ms 20

It prints its port. `GET /-/requests` gives all requests since the last such question, as JSON: of each the method, the
target, and when it came and was answered, in seconds.
"""

import argparse
import asyncio
import json
import time

_HEAD_BYTES = 128 * 1024
_MOST_LOGGED = 100_000
LOG = "/-/requests"


class FarStore:
    """The proxy; one connection to the store for each of a client."""

    def __init__(self, host: str, port: int, seconds: float) -> None:
        self._address = (host, port)
        self._seconds = seconds
        self._log: list[tuple[str, str, float, float]] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        try:
            behind = await asyncio.open_connection(*self._address, limit=_HEAD_BYTES)
            while await self._pass_on(reader, writer, *behind):
                pass
            behind[1].close()
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()

    async def _pass_on(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        from_store: asyncio.StreamReader,
        to_store: asyncio.StreamWriter,
    ) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        method, target, _ = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
        fields = _fields(head)
        if target == LOG:
            found, self._log = self._log, []
            body = json.dumps(found).encode()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            await writer.drain()
            return True
        if fields.get(b"expect"):
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            head = b"\r\n".join(line for line in head.split(b"\r\n") if not line.lower().startswith(b"expect:"))
        body = await reader.readexactly(int(fields.get(b"content-length", b"0")))
        begin = time.monotonic()
        if self._seconds:
            await asyncio.sleep(self._seconds)
        to_store.write(head + body)
        answer = await from_store.readuntil(b"\r\n\r\n")
        length = 0 if method == "HEAD" else int(_fields(answer).get(b"content-length", b"0"))
        body = await from_store.readexactly(length)
        if len(self._log) < _MOST_LOGGED:
            self._log.append((method, target, begin, time.monotonic()))
        writer.write(answer + body)
        await writer.drain()
        return True


def _fields(head: bytes) -> dict[bytes, bytes]:
    lines = [line.partition(b":") for line in head.split(b"\r\n")[1:]]
    return {name.lower(): value.strip() for name, _, value in lines if name}


async def _run(to: str, seconds: float) -> None:
    host, _, port = to.rpartition(":")
    server = await asyncio.start_server(FarStore(host, int(port), seconds).serve, "127.0.0.1", 0, limit=_HEAD_BYTES)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


def main() -> None:
    """Serve until the process is ended."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", required=True, help="host:port of the store")
    parser.add_argument("--delay-ms", type=float, default=0)
    arguments = parser.parse_args()
    asyncio.run(_run(arguments.to, arguments.delay_ms / 1_000))


if __name__ == "__main__":
    main()
