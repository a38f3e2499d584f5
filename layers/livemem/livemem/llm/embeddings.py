"""Texts to vectors, by an embedding model behind any OpenAI-compatible API. An answer must have one vector of numbers
for each text, all of one length. Any other answer is an error.
"""

import base64
import hashlib
import math
import re
import sys
import time
from array import array
from collections.abc import Callable, Iterator, Sequence, Sized
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from livemem.background import within
from livemem.llm.api import ApiError, Headers, LlmApi, call, key_of
from livemem.settings import Settings
from livemem.text.excerpt import excerpt

if TYPE_CHECKING:
    import openai

Vector: TypeAlias = "array[float]"
"""32-bit floats (typecode `f`) of length 1, as bytes in the machine's order: `numpy.frombuffer` takes it as it is."""

BATCH_TEXTS = 128
BATCH_CHARACTERS = 200_000
"""Of one request's texts. OpenAI takes 300,000 tokens, and a text of any language has more characters than tokens."""
TEXT_CHARACTERS = 8_000
"""Of a text with its prefix. The rest is not read. OpenAI's models take 8,192 tokens, others a part of that."""
MOST_DIMENSIONS = 8_192
BYTES_PER_NUMBER = 32
"""More than a number takes in JSON, with its comma and its line's indentation."""
LEAST_NORM = 1e-6
"""A shorter vector points nowhere: its direction is rounding."""

TRIES = 6
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 8.0
"""Seconds between tries: the first, doubled each time up to the longest, or as long as the answer asks."""
PASSING = ("embedding_throttled", "embedding_unavailable", "embedding_unreachable")
"""Errors that may pass in a moment."""

SLUG_CHARACTERS = 64
HASHED = re.compile(r"-[0-9a-f]{8}\Z")
VERSION = re.compile(r"[-:@._]v?\d[\w.-]*\Z")
"""How a provider names the version of the model that answered."""


class EmbeddingError(ApiError):
    """The embedding model gave no usable vectors."""


class Embed(Protocol):
    """Texts to vectors."""

    def __call__(self, texts: Sequence[str], *, query: bool, timeout: float) -> list[Vector]:
        """One vector for each text, in their order, all of one length, each of length 1. Raises EmbeddingError.

        `query`: the texts are questions, not documents. Each kind gets its own prefix of the settings. `timeout` is in
        seconds, for all texts and all tries. A caller with many texts sends some at a time.
        """
        ...


def api(settings: Settings, headers: Headers = dict) -> LlmApi:
    """The embedding model's API as the settings define it."""
    return LlmApi(
        "embedding",
        "embedding model",
        "EMBEDDINGS",
        EmbeddingError,
        settings.embeddings_api_url,
        settings.embeddings_api_key,
        headers,
    )


def connect(
    settings: Settings,
    headers: Headers = dict,
    *,
    timer: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Embed | None:
    """A function that asks the settings' embedding model, or None where there is none.

    It retries errors that may pass (429, 5xx, no connection) within the time of the call.
    """
    if not settings.embeddings_api_url:
        return None
    target = api(settings, headers)

    def embed(texts: Sequence[str], *, query: bool, timeout: float) -> list[Vector]:
        end = timer() + timeout
        key = _key(target, timeout)
        prefix = settings.embeddings_query_prefix if query else settings.embeddings_text_prefix
        vectors: list[Vector] = []
        for batch in batches([prepare(prefix + text) for text in texts]):
            vectors += _patiently(partial(_ask, settings, target, key, batch), end, timer, sleep)
        if len({len(vector) for vector in vectors}) > 1:
            raise target.failed("wrong_dimension", "The embedding model's vectors are not all of one length.")
        return vectors

    return embed


def check_length(settings: Settings, vectors: Sequence[Sized], length: int) -> None:
    """Raise EmbeddingError unless all vectors have the length of those that they are compared with. A model, or what
    stands before several of them, may change it between two calls.
    """
    other = next((len(vector) for vector in vectors if len(vector) != length), None)
    if other is not None:
        raise api(settings).failed(
            "wrong_dimension", f"The embedding model gave vectors of {length} numbers, and then of {other}."
        )


def name(settings: Settings) -> str:
    """The model's name made fit for a key: lower case letters, digits, dots and hyphens, different for each model."""
    model = settings.embeddings_model
    slug = re.sub(r"[^a-z0-9.-]+", "-", model.lower()).strip("-.")[:SLUG_CHARACTERS]
    # A name that ends like a hashed one is hashed itself: else it could be another model's.
    if slug == model and not HASHED.search(slug):
        return slug
    return f"{slug or 'model'}-{hashlib.sha256(model.encode()).hexdigest()[:8]}"


def prepare(text: str) -> str:
    """The text as it is sent: cut to TEXT_CHARACTERS, valid in UTF-8, and not empty, which providers refuse."""
    cut = text[:TEXT_CHARACTERS].encode(errors="replace").decode()
    return cut if cut.strip() else "."


def batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """The texts in their order, in parts of at most BATCH_TEXTS and BATCH_CHARACTERS."""
    batch: list[str] = []
    size = 0
    for text in texts:
        if batch and (len(batch) == BATCH_TEXTS or size + len(text) > BATCH_CHARACTERS):
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += len(text)
    if batch:
        yield batch


def _patiently(
    ask: Callable[[float], list[Vector]], end: float, timer: Callable[[], float], sleep: Callable[[float], None]
) -> list[Vector]:
    """The result of `ask`, which gets the remaining seconds. It is tried again until `end` if the error may pass."""
    pause = FIRST_PAUSE
    for tried in range(1, TRIES + 1):
        try:
            return ask(end - timer())
        except EmbeddingError as error:
            wait = max(pause, error.wait or 0)
            # The time to answer counts as well: a call with no time left would only return a timeout instead.
            # 501: the server has no such thing, and will not have it in a moment.
            passes = error.code in PASSING and error.http_status != 501
            if not passes or tried == TRIES or timer() + wait >= end:
                raise
        sleep(wait)
        pause = min(2 * pause, LONGEST_PAUSE)
    raise AssertionError("unreachable")


def _key(target: LlmApi, timeout: float) -> str:
    # Where it is a parameter, reading it may take longer than a search may wait.
    try:
        return within(timeout, lambda: key_of(target))
    except TimeoutError as error:
        raise target.failed("timeout", "The embedding model's key could not be read in time.") from error


def _ask(settings: Settings, target: LlmApi, key: str, texts: list[str], timeout: float) -> list[Vector]:
    """One request; raises EmbeddingError."""
    if timeout <= 0:
        raise target.failed("timeout", "There was no time left to ask the embedding model.")
    body: dict[str, Any] = {"model": settings.embeddings_model, "input": texts}
    if settings.embeddings_dimensions is not None:
        body["dimensions"] = settings.embeddings_dimensions

    # Not the client's own method: it asks for base64, which some providers refuse or take for numbers. Without a word
    # about the form each gives what it knows.
    def request(client: "openai.OpenAI") -> object:
        return client.post("/embeddings", cast_to=object, body=body)

    most = 65_536 + len(texts) * MOST_DIMENSIONS * BYTES_PER_NUMBER
    return call(
        target, key, timeout, request, lambda answer: _read(settings, target, answer, len(texts), key), most=most
    )


def _read(settings: Settings, target: LlmApi, answer: Any, count: int, key: str) -> list[Vector]:
    """The vectors of an answer to `count` texts; raises EmbeddingError, or the error of reading another form."""
    answered = answer.get("model")
    if isinstance(answered, str) and answered and not is_same_model(settings.embeddings_model, answered):
        message = excerpt(answered, key)[:80]
        raise target.failed(
            "other_model",
            f'The embedding model that answered is another one ("{message}"): set EMBEDDINGS_MODEL to it.',
        )
    rows = answer["data"]
    if len(rows) != count:
        raise target.failed("malformed", f"The embedding model gave {len(rows)} vectors for {count} texts.")
    by_index = {row["index"]: row["embedding"] for row in rows if type(row["index"]) is int}
    if by_index.keys() != set(range(count)):
        raise target.failed("malformed", "The embedding model did not say which text each vector belongs to.")
    vectors = [_vector(target, by_index[index]) for index in range(count)]
    lengths = {len(vector) for vector in vectors}
    dimensions = settings.embeddings_dimensions
    if len(lengths) > 1:
        raise target.failed("wrong_dimension", "The embedding model's vectors are not all of one length.")
    (length,) = lengths
    if length > MOST_DIMENSIONS or (dimensions is not None and length != dimensions):
        least = f"{dimensions} are requested" if dimensions is not None else f"at most {MOST_DIMENSIONS} are allowed"
        raise target.failed("wrong_dimension", f"The embedding model's vectors have {length} numbers, and {least}.")
    return vectors


def _vector(target: LlmApi, value: object) -> Vector:
    """A list of numbers, or 32-bit floats in base64, as a vector of length 1."""
    numbers: Sequence[float]
    if isinstance(value, str):
        numbers = array("f", base64.b64decode(value, validate=True))
        if sys.byteorder == "big":
            numbers.byteswap()
    elif isinstance(value, list) and {type(number) for number in value} <= {int, float}:
        numbers = value
    else:
        raise target.failed("malformed", "The embedding model gave something other than numbers.")
    norm = math.hypot(*numbers)
    if not math.isfinite(norm):
        raise target.failed("malformed", "The embedding model gave a vector with something other than finite numbers.")
    if norm < LEAST_NORM:
        raise target.failed("malformed", "The embedding model gave a vector of zeros.")
    return array("f", [number / norm for number in numbers])


def is_same_model(model: str, answered: str) -> bool:
    """Whether the model that answered is the one asked for, by its name.

    Providers add a version (`text-embedding-3-small-0001`), `:latest`, the owner's or a folder's name, or an ending.
    """
    name, other = _plain(model), _plain(answered)
    return name == other or _adds_version(name, other) or _adds_version(other, name)


def _plain(model: str) -> str:
    last = model.strip().lower().rpartition("/")[2]
    return last.removesuffix(":latest").removesuffix(".gguf")


def _adds_version(short: str, long: str) -> bool:
    return long.startswith(short) and VERSION.match(long[len(short) :]) is not None
