"""Embeddings in the form of OpenAI's API, from the parsed body of a request. Pure but for the model, which is given."""

from base64 import b64encode
from collections.abc import Callable, Sequence
from typing import Any

from local.offline_llm.api import ApiError, count_tokens
from local.offline_llm.encoder import DIMENSIONS, MODEL, Unavailable, Vector

BATCH_TEXTS = 256
BATCH_CHARACTERS = 1_000_000


def embed(body: object, encode: Callable[[Sequence[str]], list[Vector]]) -> dict[str, Any]:
    """The answer to `POST /v1/embeddings`. Raises ApiError for what this server cannot answer."""
    texts, packed = _checked(body)
    try:
        vectors = encode(texts)
    except Unavailable as error:
        raise ApiError(
            501, f"The model {MODEL!r} can't run on this machine; the server's log says why.", None, "model_unavailable"
        ) from error
    tokens = sum(count_tokens(text) for text in texts)
    return {
        "object": "list",
        "model": MODEL,
        "data": [
            # In base64 as every system of today has them: 32-bit floats, little-endian.
            {
                "object": "embedding",
                "index": index,
                "embedding": b64encode(vector.tobytes()).decode() if packed else vector.tolist(),
            }
            for index, vector in enumerate(vectors)
        ],
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }


def _checked(body: object) -> tuple[list[str], bool]:
    """The texts, and whether vectors are wanted in base64."""
    if not isinstance(body, dict):
        raise ApiError(400, "The body must be a JSON object.")
    if body.get("model") != MODEL:
        raise ApiError(404, f"This server embeds with {MODEL!r} alone.", "model", "model_not_found")
    if body.get("dimensions") not in (None, DIMENSIONS):
        raise ApiError(400, f"{MODEL} has {DIMENSIONS} dimensions.", "dimensions", "unsupported_value")
    if body.get("encoding_format") not in (None, "float", "base64"):
        raise ApiError(400, "Supported values are 'float' and 'base64'.", "encoding_format", "invalid_value")
    texts = [body["input"]] if isinstance(body.get("input"), str) else body.get("input")
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
        raise ApiError(400, "'input' must be a string or an array of strings, at least one.", "input")
    if len(texts) > BATCH_TEXTS or sum(map(len, texts)) > BATCH_CHARACTERS:
        most = f"{BATCH_TEXTS} texts and {BATCH_CHARACTERS} characters"
        raise ApiError(400, f"'input' may have at most {most}.", "input", "invalid_value")
    return texts, body.get("encoding_format") == "base64"
