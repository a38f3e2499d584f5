"""Front matter: the YAML head of a Markdown file. Any writer of the bucket may have written it, so reading has bounds.

YAML can be a bomb: aliases and merge keys multiply a text that is written once, and deep nesting overflows the C stack.
Front matter needs only a mapping of plain values. So the events of the parser are checked before anything is built.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import yaml
from frontmatter.default_handlers import SafeLoader, YAMLHandler

HEAD_CHARACTERS = 16_384
"""Most characters of a head. The longest head of a note has 20 tags of 50 characters, each escaped by ten in YAML."""
PLAIN_CHARACTERS = 1_000
"""Most characters of an unquoted value. A number of that length can be printed (int has a limit of 4,300 digits)."""
NODES = 200
DEPTH = 4
"""Far above the need of notes: five fields, one of them a list of at most 20 tags."""


class _Handler(YAMLHandler):
    # The library's pattern also swallows blank lines and takes any number of dashes, which would change bodies.
    FM_BOUNDARY = re.compile(r"^---[ \t]*\r?\n", re.MULTILINE)


_HANDLER = _Handler()


def read(text: str, *, typed: bool = True) -> tuple[dict[str, Any], str]:
    """The fields of the front matter, and the text below it byte for byte without one empty line. `typed`: whether
    values become numbers, times and the like (YAML 1.1 has many of them). Else each is text, as it is written.

    Raises ValueError if there is none, or none within the bounds and without anchors, aliases, merge keys and tags.
    """
    if not _HANDLER.detect(text):
        raise ValueError("no front matter")
    head, content = _HANDLER.split(text)
    if len(head) > HEAD_CHARACTERS:
        raise ValueError("front matter too long")
    try:
        _check(head)
        fields = _HANDLER.load(head, Loader=SafeLoader if typed else yaml.BaseLoader)
    except (yaml.YAMLError, ArithmeticError, LookupError, TypeError) as error:
        raise ValueError("front matter is not YAML that can be read") from error
    if not isinstance(fields, dict):
        raise ValueError("front matter is not a mapping")  # noqa: TRY004
    return fields, re.sub(r"\A\r?\n", "", content)


def format_field(name: str, value: Any) -> str:
    """One line of front matter. Texts are in quotes, with escapes for characters that would break out of them."""
    return _format_kept(name, value) if isinstance(value, str | tuple) else _format(name, value)


def _format(name: str, value: Any) -> str:
    return f"{name}: {_HANDLER.export(value, default_style=chr(34), default_flow_style=True, width=10**9)}\n"


# The same agent, category, space and tags come with each note, and YAML takes a tenth of an append.
_format_kept = lru_cache(256)(_format)


def _check(head: str) -> None:
    nodes = depth = 0
    for event in yaml.parse(head, Loader=SafeLoader):
        if isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if not isinstance(event, yaml.NodeEvent):
            continue
        nodes += 1
        depth += isinstance(event, yaml.CollectionStartEvent)
        if nodes > NODES or depth > DEPTH:
            raise ValueError("front matter has too many parts")
        if event.anchor is not None or getattr(event, "tag", None) is not None:
            raise ValueError("front matter has anchors, aliases or tags")
        unquoted = event.value if isinstance(event, yaml.ScalarEvent) and not event.style else ""
        if unquoted == "<<" or len(unquoted) > PLAIN_CHARACTERS:
            raise ValueError("front matter has a merge key or a long value without quotes")
