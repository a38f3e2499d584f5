"""The parts that `init` puts into a file, of two kinds: entries of a JSON document, or a marked block of text.

Each piece can be added to any text that it fits. Adding it twice changes nothing more. It can be removed again without
a change to the text of others, also text that they wrote later.
"""

import json
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from live_memory.cli.init import blocks, jsontext
from live_memory.cli.init.blocks import Marks
from live_memory.cli.init.problems import NotPlain

HOOK_COMMANDS = ("livemem hook ", "command -v livemem >/dev/null 2>&1 || exit 0; livemem hook ")
"""The beginnings of commands of ours, now and formerly: they mark a hook as ours, even if its user wrote it by hand."""
HOOKS = "hooks"
"""The member of a client's document with an array of hooks for each event."""


class Piece(Protocol):
    """A part of a file that is ours."""

    def add(self, text: str) -> str:
        """The text with the piece. Raises NotPlain."""

    def remove(self, text: str, before: str | None) -> str:
        """The text without it; `before` is the text of the file before `init`, if that is known. Raises NotPlain."""

    def is_bare(self, text: str) -> bool:
        """Whether the text holds only what `init` itself puts around the piece."""

    def snippet(self) -> str:
        """The piece for a user who adds it by hand."""


@dataclass(frozen=True)
class Key:
    """A member at a path of keys. `optional`: added only if there is none, and kept as long as the others exist."""

    path: tuple[str, ...]
    value: Any
    optional: bool = False


@dataclass(frozen=True)
class Element:
    """An element of the array at a path; ours are known by how their `field` begins, here or in a list `hooks`. A text
    is ours unless it was there before.
    """

    path: tuple[str, ...]
    value: Any
    field: str = "command"
    begins: str | tuple[str, ...] = HOOK_COMMANDS

    def is_ours(self, element: Any) -> bool:
        """Whether an element of the array is ours."""
        if isinstance(self.value, str):
            return bool(element == self.value)
        return isinstance(element, dict) and str(element.get(self.field, "")).startswith(self.begins)


@dataclass(frozen=True)
class JsonPiece:
    """Entries of a JSON document."""

    entries: tuple[Key | Element, ...]

    def add(self, text: str) -> str:
        """The text with all entries, and no other hook of ours. Existing entries stay untouched."""
        for hook in self._other_hooks(text):
            text = _without_elements(text, hook, {})
        for entry in self.entries:
            document = jsontext.parse(text)
            found = jsontext.get(document, entry.path)
            if isinstance(entry, Element):
                text = _with_element(text, entry, found)
            elif found is None or (found != entry.value and not entry.optional):
                text = jsontext.put(text, entry.path, entry.value)
        return text

    def remove(self, text: str, before: str | None) -> str:
        """The text without the entries and the containers that they leave empty; an earlier value comes back."""
        earlier = jsontext.parse(before) if before is not None else {}
        for entry in (*self.entries, *self._other_hooks(text)):
            if isinstance(entry, Element):
                text = _without_elements(text, entry, earlier)
            elif not entry.optional:
                text = _without_key(text, entry, earlier)
        return text if before is None else self._without_optional(text, earlier)

    def _other_hooks(self, text: str) -> list[Element]:
        """Our hooks at events that this piece has none for, as an `init` with other options wrote them."""
        hooks = jsontext.get(jsontext.parse(text), (HOOKS,))
        named = {entry.path for entry in self.entries}
        if not isinstance(hooks, dict) or not any(path[0] == HOOKS for path in named):
            return []
        others = [Element((HOOKS, event), None) for event in hooks if (HOOKS, event) not in named]
        return [hook for hook in others if _strip(text, hook) != text]

    def _without_optional(self, text: str, earlier: Any) -> str:
        """The text without the optional members that were not there before, if nothing else needs them."""
        left = jsontext.parse(text)
        theirs = {entry.path[0] for entry in self.entries if not _is_optional(entry)}
        if any(name in left and left[name] != earlier.get(name) for name in theirs):
            return text
        for entry in self.entries:
            if _is_optional(entry) and left.get(entry.path[0]) == entry.value and entry.path[0] not in earlier:
                text = jsontext.remove(text, entry.path)
        return text

    def is_bare(self, text: str) -> bool:
        """Whether only optional members are left."""
        optional = {entry.path[0]: entry.value for entry in self.entries if _is_optional(entry)}
        return all(key in optional and optional[key] == value for key, value in jsontext.parse(text).items())

    def snippet(self) -> str:
        """The document with nothing but the entries."""
        return self.add("")


def _is_optional(entry: Key | Element) -> bool:
    return isinstance(entry, Key) and entry.optional


def _with_element(text: str, entry: Element, found: Any) -> str:
    if isinstance(found, list):
        ours = [element for element in found if entry.is_ours(element) or _inner(entry, element)]
        if ours == [entry.value] or (ours and isinstance(entry.value, str)):
            return text
        text = _strip(text, entry)
    return jsontext.append(text, entry.path, entry.value)


def _inner(entry: Element, element: Any) -> list[int]:
    """Which of the `hooks` of a group are ours (a group may hold those of others too)."""
    hooks = element.get("hooks") if isinstance(element, dict) else None
    return [index for index, hook in enumerate(hooks) if entry.is_ours(hook)] if isinstance(hooks, list) else []


def _strip(text: str, entry: Element) -> str:
    """The text without our elements. Of a group only our hooks are removed, unless all of them are ours."""
    array = jsontext.get(jsontext.parse(text), entry.path)
    if not isinstance(array, list):
        return text
    for index in reversed(range(len(array))):
        element = array[index]
        inner = _inner(entry, element)
        if entry.is_ours(element) or (inner and len(inner) == len(element["hooks"])):
            text = jsontext.remove(text, (*entry.path, index))
            continue
        for hook in reversed(inner):
            text = jsontext.remove(text, (*entry.path, index, "hooks", hook))
    return text


def _without_elements(text: str, entry: Element, earlier: Any) -> str:
    before = jsontext.get(earlier, entry.path)
    if isinstance(entry.value, str) and isinstance(before, list) and entry.value in before:
        return text
    return _pruned(_strip(text, entry), entry.path, earlier)


def _without_key(text: str, entry: Key, earlier: Any) -> str:
    if not jsontext.has(jsontext.parse(text), entry.path):
        return text
    if jsontext.has(earlier, entry.path):
        return jsontext.put(text, entry.path, jsontext.get(earlier, entry.path))
    return _pruned(jsontext.remove(text, entry.path), entry.path[:-1], earlier)


def _pruned(text: str, path: Sequence[str], earlier: Any) -> str:
    """The text without the container at a path, and those around it, if they are empty and did not exist before."""
    for length in range(len(path), 0, -1):
        outer = path[:length]
        if jsontext.get(jsontext.parse(text), outer) not in ({}, []):
            return text
        if jsontext.has(earlier, outer):
            value = jsontext.get(earlier, outer)
            return text if value else jsontext.put(text, outer, value)
        text = jsontext.remove(text, outer)
    return text


@dataclass(frozen=True)
class BlockPiece:
    """A marked block. In a file of its own, `header` is before it."""

    body: str
    marks: Marks = blocks.MARKDOWN
    header: str = ""
    own: bool = False
    """Nothing else may be in the file: it is a program, and a block at its end would not repair it."""

    def add(self, text: str) -> str:
        """The text with the block."""
        if not text.strip():
            return self.header + blocks.put("", self.marks, self.body)
        if self.own and not blocks.find(text, self.marks):
            raise NotPlain("it exists already, and livemem did not write it")
        return blocks.put(text, self.marks, self.body)

    def remove(self, text: str, before: str | None) -> str:  # noqa: ARG002 - an earlier text needs no block back
        """The text without the block."""
        return blocks.take_out(text, self.marks)

    def is_bare(self, text: str) -> bool:
        """Whether only the header is left."""
        return text.split() in ([], self.header.split())

    def snippet(self) -> str:
        """The file as it would be new."""
        return self.add("")


@dataclass(frozen=True)
class TomlPiece:
    """A marked block of tables at the end of a TOML document. Comments and order of the document stay."""

    body: str
    name: tuple[str, ...]
    """The path of the one table that the block defines."""

    def add(self, text: str) -> str:
        """The text with the block. The other content must still parse to the same values. Raises NotPlain."""
        others = _toml(blocks.take_out(text, blocks.HASH))
        if jsontext.get(others, self.name) is not None:
            raise NotPlain(f"it has its own table [{'.'.join(self.name)}]")
        after = blocks.put(text, blocks.HASH, self.body)
        if _merged(others, _toml(self.body)) != _toml(after):
            raise NotPlain("a table at its end would change the content before it")
        return after

    def remove(self, text: str, before: str | None) -> str:  # noqa: ARG002 - `add` refuses what had the table before
        """The text without the block."""
        return blocks.take_out(text, blocks.HASH)

    def is_bare(self, text: str) -> bool:
        """Whether nothing is left."""
        return not text.strip()

    def snippet(self) -> str:
        """The tables."""
        return self.body.strip("\n") + "\n"


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.replace("\r\n", "\n"))
    except (ValueError, RecursionError) as error:
        raise NotPlain(f"it is not valid TOML ({error})") from None


def _merged(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    both = dict(one)
    for key, value in other.items():
        held = both.get(key)
        both[key] = _merged(held, value) if isinstance(held, dict) and isinstance(value, dict) else value
    return both


def as_json(value: Any) -> str:
    """A JSON string or value on one line, for use inside TOML, where basic strings are written the same way."""
    return json.dumps(value, ensure_ascii=True)
