"""Changes a JSON text and leaves every other byte of it as it is: order, indentation, numbers, escapes.

Parsing and writing a document again would lose its owner's form, and values that JSON parsers read differently (large
numbers, duplicate keys). So this module only computes the position of a change, and inserts text there.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from live_memory.cli.init.problems import NotPlain

Path = Sequence[str | int]
"""Keys of objects and indexes of arrays, from the outside in."""

_SPACE = " \t\r\n"
_BOM = "\ufeff"
_DECODER = json.JSONDecoder()


@dataclass(frozen=True)
class _Child:
    """A member of an object (with its key) or an element of an array, by positions in the text."""

    key: str | None
    start: int
    value: int
    end: int


def parse(text: str) -> dict[str, Any]:
    """The document, which must be an object. Text of only white space counts as an empty object.

    Raises NotPlain: comments, or no JSON at all.
    """
    bare = text.removeprefix(_BOM)
    if not bare.strip(_SPACE):
        return {}
    try:
        document = json.loads(bare)
    except RecursionError:
        raise NotPlain("it is nested too deeply") from None
    except ValueError as error:
        raise NotPlain(_why_not(bare, error)) from None
    if not isinstance(document, dict):
        raise NotPlain("it does not have a JSON object")
    return document


def _why_not(text: str, error: ValueError) -> str:
    if any(line.lstrip().startswith(("//", "/*")) for line in text.splitlines()) or " //" in text:
        return "it has comments, which would be lost"
    return f"it is not valid JSON ({error})"


def put(text: str, path: Sequence[str], value: Any) -> str:
    """The text with a value at a path of keys. Missing objects on the path are added. Raises NotPlain."""
    parse(text)
    text = _with_root(text)
    at = _root(text)
    for depth, key in enumerate(path):
        if text[at] != "{":
            raise NotPlain(f"`{'.'.join(path[:depth])}` is not an object")
        child = _named(text, at, key)
        if child is None:
            for inner in reversed(path[depth + 1 :]):
                value = {inner: value}
            return _insert(text, at, key, value)
        if depth == len(path) - 1:
            return text[: child.value] + _replacement(text, at, child, value) + text[child.end :]
        at = child.value
    return text


def _replacement(text: str, at: int, child: _Child, value: Any) -> str:
    if "\n" not in text[at : child.start]:
        return json.dumps(value, ensure_ascii=False)
    return _render(value, _indent_of_line(text, child.start), _unit(text), _eol(text))


def append(text: str, path: Sequence[str], value: Any) -> str:
    """The text with one more element at the end of the array at a path. A missing array is added. Raises NotPlain."""
    array = get(parse(text), path)
    if array is None:
        return put(text, path, [value])
    if not isinstance(array, list):
        raise NotPlain(f"`{'.'.join(path)}` is not an array")
    return _insert(text, _find(text, path), None, value)


def remove(text: str, path: Path) -> str:
    """The text without the member or element at a path, which must exist."""
    at = _find(text, path[:-1])
    children, end = _children(text, at)
    last = path[-1]
    index = last if isinstance(last, int) else max(i for i, child in enumerate(children) if child.key == last)
    child = children[index]
    if len(children) == 1:
        return text[: at + 1] + text[end:]
    if index:
        return text[: children[index - 1].end] + text[child.end :]
    return text[: child.start] + text[children[1].start :]


def get(document: Any, path: Path) -> Any:
    """The value at a path of a parsed document, None if there is none."""
    if not has(document, path):
        return None
    for step in path:
        document = document[step]
    return document


def has(document: Any, path: Path) -> bool:
    """Whether there is a value at a path of a parsed document. Null is a value."""
    for step in path:
        inside = isinstance(document, list) and step in range(len(document))
        if not inside and not (isinstance(document, dict) and step in document):
            return False
        document = document[step]
    return True


def _with_root(text: str) -> str:
    return text if text.removeprefix(_BOM).strip(_SPACE) else "{}\n"


def _root(text: str) -> int:
    return _skip(text, len(text) - len(text.removeprefix(_BOM)))


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _children(text: str, at: int) -> tuple[list[_Child], int]:
    """The children of the object or array that opens at a position, and the position of its end. The text is valid."""
    closing = "}" if text[at] == "{" else "]"
    found = []
    at = _skip(text, at + 1)
    while text[at] != closing:
        start, key = at, None
        if closing == "}":
            key, at = _DECODER.raw_decode(text, at)
            at = _skip(text, _skip(text, at) + 1)
        _, end = _DECODER.raw_decode(text, at)
        found.append(_Child(key, start, at, end))
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return found, at


def _named(text: str, at: int, key: str) -> _Child | None:
    # Of duplicate keys the last one counts, as in most parsers.
    return next((child for child in reversed(_children(text, at)[0]) if child.key == key), None)


def _find(text: str, path: Path) -> int:
    at = _root(text)
    for step in path:
        if isinstance(step, int):
            at = _children(text, at)[0][step].value
        else:
            child = _named(text, at, step)
            if child is None:
                raise KeyError(step)
            at = child.value
    return at


def _insert(text: str, at: int, key: str | None, value: Any) -> str:
    """The text with one more child at the end of the object or array that opens at a position."""
    children, end = _children(text, at)
    lead = "" if key is None else json.dumps(key, ensure_ascii=False) + ": "
    unit, eol = _unit(text), _eol(text)
    if not children:
        outer = _indent_of_line(text, at)
        inner = outer + unit
        shown = lead + _render(value, inner, unit, eol)
        return text[: at + 1] + eol + inner + shown + eol + outer + text[end:]
    before = text[at + 1 : children[0].start]
    cut = children[-1].end
    if "\n" not in before:
        return text[:cut] + ", " + lead + json.dumps(value, ensure_ascii=False) + text[cut:]
    indent = before.rpartition("\n")[2]
    return text[:cut] + "," + eol + indent + lead + _render(value, indent, unit, eol) + text[cut:]


def _render(value: Any, indent: str, unit: str, eol: str) -> str:
    lines = json.dumps(value, ensure_ascii=False, indent=unit).split("\n")
    return (eol + indent).join(lines)


def _indent_of_line(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at].removeprefix(_BOM)
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    """The indentation of the text: the space before its first indented line."""
    for line in text.split("\n")[1:]:
        bare = line.lstrip(" \t")
        if bare.strip() and len(bare) < len(line):
            return line[: len(line) - len(bare)]
    return "  "


def _eol(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
