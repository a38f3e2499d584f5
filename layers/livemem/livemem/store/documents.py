"""JSON documents of the bucket: pydantic models that keep what they don't know, written for people to read."""

import json
from typing import Self

from pydantic import BaseModel, ConfigDict

JSON = "application/json"


class Document(BaseModel):
    """Base of stored JSON. Unknown fields survive a read and a write, so versions of the service can share a bucket."""

    model_config = ConfigDict(extra="allow")

    def to_bytes(self) -> bytes:
        """The document as it is stored."""
        return (json.dumps(self.model_dump(mode="json"), ensure_ascii=False, indent=2) + "\n").encode()

    @classmethod
    def from_bytes(cls, body: bytes) -> Self:
        """The document in `body`; raises pydantic's ValidationError (a ValueError)."""
        return cls.model_validate_json(body)
