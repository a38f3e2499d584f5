"""JSON documents of the bucket: pydantic models that keep what they don't know, written for people to read."""

import json
import threading
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict

from livemem import clock

JSON = "application/json"
_BUILDING = threading.RLock()
"""Of the interpreter, as the models are. One document may hold another one."""


def _check_moment(text: str) -> str:
    clock.parse(text)
    return text


Moment = Annotated[str, AfterValidator(_check_moment)]
"""A time in ISO 8601. A document with a bad one can't be read, which is found here and not where it is used."""


def dump(value: object) -> bytes:
    """A JSON value as it is stored."""
    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode()


class Document(BaseModel):
    """Base of stored JSON. Unknown fields survive a read and a write, so versions of the service can share a bucket."""

    # Built when one is first read or written: that is what a cold start of most functions never does.
    model_config = ConfigDict(extra="allow", defer_build=True)

    @classmethod
    def model_rebuild(cls, **how: Any) -> bool | None:
        """Build the model if it is not built yet, as pydantic does when it is first needed; by one thread at a time.

        Pydantic takes a half-built model apart before it builds it. Another thread that needs it then fails.
        """
        with _BUILDING:
            return super().model_rebuild(**how)

    def to_bytes(self) -> bytes:
        """The document as it is stored."""
        return self.model_dump_json(indent=2).encode() + b"\n"

    @classmethod
    def from_bytes(cls, body: bytes) -> Self:
        """The document in `body`; raises pydantic's ValidationError (a ValueError)."""
        return cls.model_validate_json(body)
