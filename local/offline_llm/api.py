"""What chat and embeddings share of OpenAI's API: errors, a completion, the chat model's name, the count of tokens."""

import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MODEL = "offline-rules"
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


def count_tokens(text: str) -> int:
    """An estimate of the text's tokens, rounded up."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def completion(
    model: str, message: Mapping[str, Any], reason: str, prompt_tokens: int, completion_tokens: int, **used: float
) -> dict[str, Any]:
    """A chat completion in the form of OpenAI's API, made now."""
    told = {"role": "assistant", "refusal": None, **message}
    usage = {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens, **used}
    return {
        "id": f"chatcmpl-{uuid.uuid4().hex}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": [{"index": 0, "message": told, "logprobs": None, "finish_reason": reason}],
        "usage": usage | {"total_tokens": prompt_tokens + completion_tokens},
    }
