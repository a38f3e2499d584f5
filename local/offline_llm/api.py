"""What chat and embeddings share of OpenAI's API: its errors, its list of models, its count of tokens."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

CHARACTERS_PER_TOKEN = 4
"""The planning bound of docs/consolidation.md; there is no tokenizer here."""


@dataclass
class ApiError(Exception):
    """A request that OpenAI's API would refuse: HTTP status, its `param` and `code`, and a message for people."""

    status: int
    message: str
    param: str | None = None
    code: str | None = None

    def body(self) -> dict[str, Any]:
        """The error object that OpenAI clients expect."""
        kind = "server_error" if self.status >= 500 else "invalid_request_error"
        return {"error": {"message": self.message, "type": kind, "param": self.param, "code": self.code}}


def list_models(models: Mapping[str, str], created: int) -> dict[str, Any]:
    """The answer to `GET /v1/models`; `models` has the maker of each, by its name."""
    return {"object": "list", "data": [describe_model(models, name, created) for name in models]}


def describe_model(models: Mapping[str, str], model: str, created: int) -> dict[str, Any]:
    """The answer to `GET /v1/models/{model}`; raises ApiError for one that is not here."""
    if model not in models:
        here = " and ".join(map(repr, models))
        raise ApiError(
            404, f"The model {model[:80]!r} does not exist; this server has only {here}.", "model", "model_not_found"
        )
    return {"id": model, "object": "model", "created": created, "owned_by": models[model]}


def count_tokens(text: str) -> int:
    """An estimate of the text's tokens, rounded up."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)
