"""Reads the input of a command: a text from an argument, from stdin or from a file, and lines of JSON."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from live_memory.cli.exits import Refused
from live_memory.cli.program import Program

MOST_BYTES = 64 * 1_048_576
"""Bytes of stdin, which may never end."""


def text(program: Program, said: str | None, what: str) -> str:
    """The text of the argument, or stdin if it is `-` or was left out. Raises Refused if there is none."""
    if said not in {None, "-"}:
        return str(said)
    if said is None and program.is_terminal(sys.stdin):
        raise Refused(f"{what}: give it as an argument, or send it to stdin.")
    found = stdin(what)
    if not found.strip():
        raise Refused(f"{what}: stdin was empty.")
    return found


def stdin(what: str) -> str:
    """All of stdin, as UTF-8 in any locale. Raises Refused."""
    body = sys.stdin.buffer.read(MOST_BYTES + 1)
    if len(body) > MOST_BYTES:
        raise Refused(f"{what}: stdin has more than {MOST_BYTES >> 20} MiB.")
    return _decoded(body, what)


def file(path: str, what: str) -> str:
    """The text of a file, `-` is stdin. Raises Refused."""
    if path == "-":
        return stdin(what)
    try:
        return _decoded(Path(path).expanduser().read_bytes(), what)
    except OSError as error:
        raise Refused(f"{what}: {path} can't be read: {error.strerror or error}.") from None


def _decoded(body: bytes, what: str) -> str:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        raise Refused(f"{what} must be text in UTF-8.") from None


def json_value(given: str, what: str) -> Any:
    """A JSON value that was given as text, as `@file`, or as `-` for stdin. Raises Refused."""
    source = stdin(what) if given == "-" else file(given[1:], what) if given.startswith("@") else given
    try:
        return json.loads(source)
    except ValueError as error:
        raise Refused(f"{what} must be JSON, or `@file`, or `-` for stdin: {error}.") from None


def json_lines(source: str, what: str) -> Iterator[tuple[int, Any]]:
    """The objects of lines of JSON with the numbers of their lines; empty lines are skipped. Raises Refused."""
    # Not splitlines: a line of JSON may hold other line ends than \n in a string.
    for number, line in enumerate(source.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except ValueError as error:
            raise Refused(f"{what}, line {number}: not JSON: {error}.") from None
        if not isinstance(value, dict):
            raise Refused(f"{what}, line {number}: must be a JSON object.")
        yield number, value
