"""The texts that prompts are made of: files `prompts/{name}.md` of a package, and JSON values that stand in them."""

import hashlib
import json
from collections.abc import Iterable
from functools import cache
from importlib import resources

from livemem.text.invisible import json_escaped


@cache
def text(room: str, name: str) -> str:
    """The file of this name in a package (`digests`)."""
    return resources.files(f"livemem.{room}").joinpath("prompts", f"{name}.md").read_text("utf-8")


def version(texts: Iterable[str]) -> str:
    """A short hash of the texts of a prompt, for what is made with it."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:12]


def json_line(value: object) -> str:
    """A JSON value on one line, for every reader's idea of a line's end. No text in it can forge the text around it,
    and invisible characters are escaped.
    """
    return json_escaped(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
