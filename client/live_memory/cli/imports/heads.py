"""Front matter of Markdown files, as other tools and people write it. Each value is the text that the file has: `1.10`,
`yes` and `2026-01-05` are words here.
"""

import re
from collections.abc import Mapping
from typing import Any

import yaml

from live_memory import _front_matter
from live_memory.cli.imports import chats

UNREADABLE = "has its front matter in its text: it can't be read"
_NOTHING = ("", "~", "null")
_TICKS = re.compile("`{3,}")


def read(text: str) -> tuple[dict[str, Any], str] | None:
    """The fields that hold something, and the text below. None if there is no front matter, or none that can be read
    within the bounds (no aliases, no tags of YAML, no field twice, at most 16,384 characters).
    """
    # A file may end with the last line of its front matter.
    end = "\n" if text.endswith("---") else ""
    try:
        fields, below = _front_matter.read(text + end, typed=False)
    except ValueError:
        return None
    node = yaml.compose(_head(text, below.removesuffix(end)), Loader=yaml.BaseLoader)
    if not isinstance(node, yaml.MappingNode) or len(node.value) != len(fields):
        # The library keeps the last of two fields with one name.
        return None
    return {name: value for name, value in fields.items() if value not in _NOTHING}, below.removesuffix(end)


def _head(text: str, below: str) -> str:
    """The lines between the lines `---`."""
    return text.removesuffix(below).strip().split("\n", 1)[1].removesuffix("---").rstrip()


def taken(fields: Mapping[str, Any], *names: str) -> list[str]:
    """Those of the fields whose values are texts, and `tags` if there are words in it: what a note has a place for."""
    tags = ["tags"] if words(fields.get("tags")) else []
    return [*tags, *(name for name in names if isinstance(fields.get(name), str))]


def begins(text: str) -> bool:
    """Whether the first line is one that front matter begins with."""
    return text.split("\n", 1)[0].rstrip() == "---"


def words(value: object) -> list[str]:
    """The words of a field: of a list, of a text with commas, or of one in brackets."""
    listed = value if isinstance(value, list) else chats.text_of(value).strip("[]").split(",")
    tidy = (chats.text_of(word).strip().strip("\"'").removeprefix("#") for word in listed)
    return [word for word in tidy if word not in _NOTHING]


def as_bank_file(text: str) -> tuple[str, str | None]:
    """The text of a bank file, which can't begin with front matter (bank/files.py of the service), and how it was
    changed: its front matter becomes a block of code.
    """
    if not begins(text):
        return text, None
    found = read(text)
    if not found:
        return f"\n{text}", "got an empty first line, because it begins with `---`"
    head = _head(text, found[1])
    fence = max(["``", *_TICKS.findall(head)], key=len) + "`"
    return f"{fence}yaml\n{head}\n{fence}\n\n{found[1]}", "has its front matter as a block of code"
