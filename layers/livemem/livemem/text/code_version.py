"""The version of the code that an agent had before it when it wrote: a repository, a branch and a commit in it."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from livemem import limits
from livemem.errors import InvalidRequest, TooLarge
from livemem.text.invisible import has_controls
from livemem.text.redaction import identifier

BRANCH_CHARACTERS = 200
BRANCH = re.compile(rf"[\w./@#+=,%-]{{1,{BRANCH_CHARACTERS}}}")
"""No blank, quote, bracket or backtick: the name stands in texts for agents, and may be anybody's."""
HEADER = "livemem-code"
"""The header of a request by which its agent names the version that it works on, as JSON."""
_HEADER_CHARACTERS = 4_000
_COMMIT = re.compile(r"([0-9a-f]{12})[0-9a-f]{0,52}")


@dataclass(frozen=True)
class CodeVersion:
    """The known fields of it. `commit` has 12 hex digits."""

    repository: str | None = None
    branch: str | None = None
    commit: str | None = None

    def fields(self) -> dict[str, str]:
        """The known fields by their names, in their order."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @classmethod
    def of(cls, source: object) -> Self:
        """The fields of a document or a request that has all three."""
        return cls(*(getattr(source, name) for name in FIELDS))

    @classmethod
    def read(cls, fields: Mapping[str, Any]) -> Self:
        """The valid ones of some stored fields."""
        return cls(*(_valid(name, fields.get(name)) for name in FIELDS))

    def as_header(self) -> str:
        """The value of the header; empty if nothing is known."""
        return json.dumps(self.fields()) if self.fields() else ""

    @classmethod
    def of_header(cls, text: str | None) -> Self:
        """The valid fields of a header. A program made it, so nothing is refused."""
        try:
            fields = json.loads(text) if text and len(text) <= _HEADER_CHARACTERS else None
        except (ValueError, RecursionError):
            fields = None
        return cls.read(fields) if isinstance(fields, dict) else cls()

    def checked(self, where: str = "") -> Self:
        """The same with the commit cut to 12 digits, and without what looks like a secret.

        Raises InvalidRequest, TooLarge, which name the field below `where`.
        """
        found = {name: check(f"{where}{name}", name, value) for name, value in self.fields().items()}
        return type(self)(**{name: value for name, value in found.items() if identifier(value) == value})


UNKNOWN = CodeVersion()
FIELDS = tuple(CodeVersion.__dataclass_fields__)


def line_key(line: str) -> str:
    """A short hash of the words of a line: lines that differ in blanks alone have the same."""
    return hashlib.sha256(" ".join(line.split()).encode(errors="replace")).hexdigest()[:8]


def check(field: str, name: str, value: str) -> str:
    """The valid value of a field, which errors call `field`. Raises InvalidRequest, TooLarge."""
    if name == "repository":
        limits.check_text(field, value, limits.REPOSITORY_BYTES)
        if has_controls(value):
            raise InvalidRequest.of(field, "must be on one line, without control characters")
    elif name == "branch":
        if not BRANCH.fullmatch(value):
            raise InvalidRequest.of(field, f"must have 1 to {BRANCH_CHARACTERS} letters, digits and ./@#+=,%-_")
    elif commit := _COMMIT.fullmatch(value):
        return commit[1]
    else:
        raise InvalidRequest.of(field, "must have 12 to 64 hex digits")
    return value


def _valid(name: str, value: Any) -> str | None:
    try:
        return check(name, name, value) if isinstance(value, str) else None
    except (InvalidRequest, TooLarge):
        return None
