"""What the service asks: JSON values, each on a line below its heading. All other lines are prose for a language model.

The service writes each value on one line of its own, so no text inside of one can look like a heading.
"""

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")


class PromptError(ValueError):
    """A value is not of the form that the service gives it."""


@dataclass(frozen=True)
class Prompt:
    """A user message: its text, its values by the first words of their headings, and the system message before it."""

    text: str
    values: Mapping[str, Any]
    system: str = ""

    def value(self, name: str, form: type[T]) -> T:
        """The value below a heading. Raises PromptError if it is of another form."""
        value = self.values.get(name)
        if not isinstance(value, form):
            raise PromptError(f"Below the heading {name!r} must be a JSON value of the form {form.__name__!r}.")
        return value

    def items(self, name: str) -> list[dict[str, Any]]:
        """The objects of the array below a heading. Raises PromptError if there is none."""
        return [item for item in self.value(name, list) if isinstance(item, dict)]


def read_prompts(messages: Sequence[Mapping[str, Any]]) -> Iterator[Prompt]:
    """The user messages of a chat in their order; a content in parts is joined."""
    system = "\n".join(text_of(message) for message in messages if message.get("role") == "system")
    for message in messages:
        if message.get("role") == "user":
            text = text_of(message)
            yield Prompt(text, dict(_values(text)), system)


def text_of(message: Mapping[str, Any]) -> str:
    """The text of a message, joined where it is in parts."""
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"text": content}]
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))


def parse(text: str) -> Any:
    """A JSON value, None where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _values(text: str) -> Iterator[tuple[str, Any]]:
    # Split at \n alone: JSON may hold U+2028 and its like unescaped, and str.splitlines would cut there.
    lines = [line for line in text.split("\n") if line.strip()]
    for line, below in itertools.pairwise(lines):
        if line.startswith("# "):
            yield line[2:].partition(" (")[0].partition(",")[0], parse(below)
