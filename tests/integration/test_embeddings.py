"""The client of embedding models against a real HTTP server: what comes back is right, or an error with a code."""

import base64
import json
import math
import time
from array import array
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from livemem.llm import embeddings, look
from livemem.llm.embeddings import EmbeddingError, Vector
from livemem.settings import Settings
from tests.support.cases import each
from tests.support.llm_server import (
    LlmServer,
    Step,
    answer,
    compressed,
    endless,
    hang_up,
    hang_up_half_way,
    not_http,
    redirect,
    serving,
    silent,
    trickling,
    unused_url,
)

KEY = "secret-key-of-the-model"


class HandTimer:
    """Seconds that only `sleep` moves on."""

    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def settings(url: str | None, **changes: Any) -> Settings:
    return Settings(
        **{"embeddings_api_url": url, "embeddings_api_key": KEY, "embeddings_model": "small"} | changes  # type: ignore[arg-type]
    )


def embed(
    url: str,
    texts: list[str] | None = None,
    *,
    query: bool = False,
    timeout: float = 10,
    timer: HandTimer | None = None,
    **changes: Any,
) -> list[Vector]:
    timer = timer or HandTimer()
    ask = embeddings.connect(settings(url, **changes), timer=timer, sleep=timer.sleep)
    assert ask is not None
    return ask(["one"] if texts is None else texts, query=query, timeout=timeout)


def row(index: Any, vector: Any) -> dict[str, Any]:
    return {"object": "embedding", "index": index, "embedding": vector}


def body(*rows: Any, **changes: Any) -> dict[str, Any]:
    return {"object": "list", "data": list(rows), "model": "small", "usage": {"prompt_tokens": 1}} | changes


def good(server: LlmServer) -> Step:
    """Answer the request that came: each text's vector points where its number in the batch says."""

    def step(handler: BaseHTTPRequestHandler) -> None:
        texts = server.asked[-1].body["input"]
        answer(body(*(row(index, [index + 1.0, 1.0]) for index in range(len(texts)))))(handler)

    return step


def packed(*numbers: float) -> str:
    return base64.b64encode(array("f", numbers).tobytes()).decode()


def test_without_an_address_there_is_no_model():
    assert embeddings.connect(settings(None)) is None


def test_a_vector_comes_back_as_32_bit_floats_of_length_1():
    with serving(answer(body(row(0, [3, 4.0])))) as server:
        (vector,) = embed(server.url)

    assert (vector.typecode, vector.itemsize) == ("f", 4)
    assert vector.tolist() == pytest.approx([0.6, 0.8])


def test_the_request_is_the_plain_openai_one_without_a_form_that_a_provider_may_not_know():
    with serving(answer(body(row(0, [1.0, 0.0])))) as server:
        embed(server.url, ["l'accès — 🦊"])

    (asked,) = server.asked
    assert (asked.method, asked.path) == ("POST", "/v1/embeddings")
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.body == {"model": "small", "input": ["l'accès — 🦊"]}


def test_dimensions_are_asked_for_where_they_are_set():
    with serving(answer(body(row(0, [1.0, 0.0, 0.0])))) as server:
        (vector,) = embed(server.url, embeddings_dimensions=3)

    assert server.asked[0].body["dimensions"] == len(vector) == 3


def test_questions_and_texts_have_prefixes_of_their_own_whose_blanks_stay():
    prefixes: dict[str, Any] = {"embeddings_query_prefix": "query: ", "embeddings_text_prefix": "passage: "}
    with serving() as server:
        server.script += [good(server), good(server)]
        embed(server.url, ["a", "b"], query=True, **prefixes)
        embed(server.url, ["a"], **prefixes)

    assert [asked.body["input"] for asked in server.asked] == [["query: a", "query: b"], ["passage: a"]]


def test_floats_in_base64_are_read_too():
    with serving(answer(body(row(0, packed(3.0, 4.0))))) as server:
        (vector,) = embed(server.url)

    assert vector.tolist() == pytest.approx([0.6, 0.8])


def test_vectors_are_put_in_the_order_of_their_index():
    rows = [row(2, [0.0, 1.0]), row(0, [1.0, 0.0]), row(1, [-1.0, 0.0])]
    with serving(answer(body(*rows))) as server:
        vectors = embed(server.url, ["a", "b", "c"])

    assert [vector.tolist() for vector in vectors] == [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]]


def test_many_texts_are_asked_for_in_batches_and_come_back_in_order():
    texts = [str(number) for number in range(300)]
    with serving() as server:
        server.script += [good(server)] * 3
        vectors = embed(server.url, texts)

    assert [asked.body["input"] for asked in server.asked] == [texts[:128], texts[128:256], texts[256:]]
    assert [round(vector[0] / vector[1]) for vector in vectors] == [*range(1, 129), *range(1, 129), *range(1, 45)]


def test_for_no_texts_nobody_is_asked():
    with serving() as server:
        assert embed(server.url, []) == []

    assert server.asked == []


@each(
    ("text", "sent"),
    [
        ("", "."),
        (" \n\t", "."),
        ("x" * 9_000, "x" * 8_000),
        ("half a pair: \ud83d!", "half a pair: ?!"),
        ("nul: \x00", "nul: \x00"),
    ],
)
def test_a_text_is_sent_so_that_it_can_be_taken(text: str, sent: str):
    with serving(answer(body(row(0, [1.0, 0.0])))) as server:
        embed(server.url, [text])

    assert server.asked[0].body["input"] == [sent]


@each(
    ("asked", "answered"),
    [
        ("small", None),
        ("small", ""),
        ("small", 7),
        ("text-embedding-3-small", "text-embedding-3-small-0001"),
        ("embed", "embed-2024-05-13"),
        ("bge-small", "bge-small-v1.5"),
        ("embed", "embed@001"),
        ("nomic-embed-text", "nomic-embed-text:latest"),
        ("nomic-embed-text:latest", "nomic-embed-text"),
        ("nomic-embed-text:v1.5", "nomic-embed-text"),
        ("BAAI/bge-m3", "bge-m3"),
        ("bge-m3", "/models/bge-m3.gguf"),
        ("gemini-embedding", "models/gemini-embedding"),
    ],
)
def test_a_model_may_answer_under_a_form_of_its_name(asked: str, answered: Any):
    with serving(answer(body(row(0, [1.0, 0.0]), model=answered))) as server:
        assert len(embed(server.url, embeddings_model=asked)) == 1


@each(
    ("asked", "answered"),
    [
        ("text-embedding-3-small", "text-embedding-ada-002"),
        ("text-embedding-3-small", "text-embedding-3-large"),
        ("text-embedding-3", "text-embedding-3-small"),
        ("bge-m3", "bge-m3-retromae"),
        ("bge-m", "bge-m3"),
        ("small", "x" * 5_000),
        ("small", "<html>"),
    ],
)
def test_another_model_is_refused(asked: str, answered: str):
    with serving(answer(body(row(0, [1.0, 0.0]), model=answered))) as server, pytest.raises(EmbeddingError) as failed:
        embed(server.url, embeddings_model=asked)

    assert failed.value.code == "embedding_other_model"
    assert len(failed.value.detail) < 250


MALFORMED = "embedding_malformed"
WRONG: dict[str, tuple[Step, str]] = {
    "400": (answer({"error": {"message": f"bad {KEY}"}}, 400), "embedding_refused_request"),
    "401": (answer({"error": {"message": f"bad key {KEY}"}}, 401), "embedding_refused_request"),
    "404": (answer(b"<html>Not Found</html>", 404, "text/html"), "embedding_refused_request"),
    "501": (answer({"error": {"message": "no such model"}}, 501), "embedding_unavailable"),
    "redirect": (redirect("http://127.0.0.1:1/v1/embeddings"), "embedding_refused_request"),
    "compressed": (compressed(b"{}"), MALFORMED),
    "html": (answer(b"<html>Welcome to nginx</html>", 200, "text/html"), MALFORMED),
    "no JSON": (answer(b"{"), MALFORMED),
    "empty body": (answer(b""), MALFORMED),
    "null": (answer(b"null"), MALFORMED),
    "a list": (answer([1.0, 0.0]), MALFORMED),
    "nested too deep": (answer(b"[" * 90_000), MALFORMED),
    "an error in a 200": (answer({"error": {"message": "quota"}}), MALFORMED),
    "no data": (answer({"object": "list", "model": "small"}), MALFORMED),
    "data null": (answer({"data": None}), MALFORMED),
    "data an object": (answer({"data": {"0": [1.0], "1": [1.0]}}), MALFORMED),
    "rows are vectors": (answer(body([1.0, 0.0], [0.0, 1.0])), MALFORMED),
    "fewer": (answer(body(row(0, [1.0, 0.0]))), MALFORMED),
    "more": (answer(body(*(row(index, [1.0, 0.0]) for index in range(3)))), MALFORMED),
    "none": (answer(body()), MALFORMED),
    "an index twice": (answer(body(row(0, [1.0, 0.0]), row(0, [0.0, 1.0]))), MALFORMED),
    "an index too high": (answer(body(row(1, [1.0, 0.0]), row(2, [0.0, 1.0]))), MALFORMED),
    "index true": (answer(body(row(0, [1.0, 0.0]), row(True, [0.0, 1.0]))), MALFORMED),
    "index text": (answer(body(row("0", [1.0, 0.0]), row("1", [0.0, 1.0]))), MALFORMED),
    "no index": (answer(body({"embedding": [1.0]}, {"embedding": [1.0]})), MALFORMED),
    "NaN": (answer(body(row(0, [1.0, 0.0]), row(1, [math.nan, 1.0]))), MALFORMED),
    "Infinity": (answer(body(row(0, [1.0, 0.0]), row(1, [-math.inf, 1.0]))), MALFORMED),
    "NaN in base64": (answer(body(row(0, packed(1, 0)), row(1, packed(math.nan, 1)))), MALFORMED),
    "beyond a float": (answer(body(row(0, [1.0, 0.0]), row(1, [10**400, 1.0]))), MALFORMED),
    "zeros": (answer(body(row(0, [1.0, 0.0]), row(1, [0.0, 0.0]))), MALFORMED),
    "next to zero": (answer(body(row(0, [1.0, 0.0]), row(1, [1e-320, 0.0]))), MALFORMED),
    "empty vector": (answer(body(row(0, []), row(1, []))), MALFORMED),
    "texts for numbers": (answer(body(row(0, ["1", "0"]), row(1, ["0", "1"]))), MALFORMED),
    "nulls for numbers": (answer(body(row(0, [None, 1.0]), row(1, [0.0, 1.0]))), MALFORMED),
    "true for a number": (answer(body(row(0, [True, 1.0]), row(1, [0.0, 1.0]))), MALFORMED),
    "a vector of vectors": (answer(body(row(0, [[1.0, 0.0]]), row(1, [[0.0, 1.0]]))), MALFORMED),
    "an object for a vector": (answer(body(row(0, {"a": 1}), row(1, [1.0]))), MALFORMED),
    "no base64": (answer(body(row(0, "§§§§"), row(1, packed(1, 0)))), MALFORMED),
    "half a float in base64": (answer(body(row(0, "AAAAAAA="), row(1, packed(1, 0)))), MALFORMED),
    "lengths differ": (answer(body(row(0, [1.0, 0.0]), row(1, [1.0]))), "embedding_wrong_dimension"),
    "too long": (answer(body(*(row(index, [1] * 8_193) for index in range(2)))), "embedding_wrong_dimension"),
}


@each(("step", "code"), WRONG.values(), ids=WRONG)
def test_nothing_wrong_gets_through_and_no_error_tells_a_key_a_page_or_an_address(step: Step, code: str):
    with serving(step) as server, pytest.raises(EmbeddingError) as failed:
        embed(server.url, ["a", "b"])

    assert failed.value.code == code
    leaks = (KEY, "nginx", "<html", "127.0.0.1")
    assert not [word for word in leaks if word in failed.value.detail]
    assert failed.value.detail.endswith(".")
    assert len(server.asked) == 1


def test_a_model_that_heeds_no_dimensions_is_told():
    with serving(answer(body(row(0, [1.0, 0.0, 0.0])))) as server, pytest.raises(EmbeddingError) as failed:
        embed(server.url, embeddings_dimensions=2)

    assert failed.value.code == "embedding_wrong_dimension"
    assert failed.value.detail == "The embedding model's vectors have 3 numbers, and 2 are requested."


def test_batches_of_different_lengths_are_refused():
    first = answer(body(*(row(index, [1.0, 0.0]) for index in range(128))))
    with serving(first, answer(body(row(0, [1.0])))) as server, pytest.raises(EmbeddingError) as failed:
        embed(server.url, ["a"] * 129)

    assert failed.value.code == "embedding_wrong_dimension"


PASSING: dict[str, Step] = {
    "429": answer({"error": {"message": "slow down"}}, 429),
    "500": answer(b"", 500),
    "503": answer(b"<html>", 503, "text/html"),
    "hangs up": hang_up,
    "hangs up half way": hang_up_half_way,
    "no HTTP": not_http,
}


@each("step", PASSING.values(), ids=PASSING)
def test_what_passes_is_tried_again_with_longer_and_longer_pauses(step: Step):
    timer = HandTimer()
    with serving(step, step, step, answer(body(row(0, [1.0, 0.0])))) as server:
        vectors = embed(server.url, timer=timer)

    assert (len(vectors), timer.slept) == (1, [0.5, 1.0, 2.0])


def test_only_the_batch_that_failed_is_asked_for_again():
    with serving() as server:
        server.script += [good(server), answer(b"", 503), good(server)]
        embed(server.url, ["a"] * 130)

    assert [len(asked.body["input"]) for asked in server.asked] == [128, 2, 2]


def test_what_does_not_pass_ends_within_the_time_and_with_its_own_code():
    timer = HandTimer()
    with serving(*[answer(b"", 500)] * 9) as server, pytest.raises(EmbeddingError) as failed:
        embed(server.url, timer=timer, timeout=3)

    assert failed.value.code == "embedding_unavailable"
    assert (timer.slept, len(server.asked)) == ([0.5, 1.0], 3)


def test_with_all_the_time_of_the_world_it_is_tried_six_times():
    timer = HandTimer()
    with serving(*[answer(b"", 500)] * 9) as server, pytest.raises(EmbeddingError) as failed:
        embed(server.url, timer=timer, timeout=9_999)

    assert failed.value.code == "embedding_unavailable"
    assert (timer.slept, len(server.asked)) == ([0.5, 1.0, 2.0, 4.0, 8.0], 6)


def throttled(value: str) -> Step:
    def step(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(429)
        handler.send_header("Retry-After", value)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return step


@each(
    ("value", "slept"),
    [("3", 3.0), ("0", 0.5), ("1.5", 1.5), ("soon", 0.5), ("-7", 0.5), ("Wed, 21 Oct 2026 07:28:00 GMT", 0.5)],
)
def test_a_provider_that_says_when_to_come_back_is_heeded(value: str, slept: float):
    timer = HandTimer()
    with serving(throttled(value), answer(body(row(0, [1.0, 0.0])))) as server:
        embed(server.url, timer=timer)

    assert timer.slept == [slept]


@pytest.mark.parametrize("value", ["11", "99999999999999999999"])
def test_nobody_waits_for_a_provider_that_asks_for_more_time_than_there_is(value: str):
    timer = HandTimer()
    with serving(throttled(value)) as server, pytest.raises(EmbeddingError) as failed:
        embed(server.url, timer=timer)

    assert (failed.value.code, timer.slept, len(server.asked)) == ("embedding_throttled", [], 1)


@pytest.mark.parametrize("step", [silent, lambda server: trickling(server, seconds=5)])
def test_an_answer_that_is_late_is_a_timeout(step: Callable[[LlmServer], Step]):
    started = time.monotonic()
    with serving() as server:
        server.script.append(step(server))
        with pytest.raises(EmbeddingError) as failed:
            embed(server.url, timeout=0.3)

        assert len(server.asked) == 1
    assert failed.value.code == "embedding_timeout"
    assert failed.value.detail == "The embedding model did not answer within 0.3 s."
    assert time.monotonic() - started < 3


def test_without_any_time_nobody_is_asked():
    with serving() as server, pytest.raises(EmbeddingError) as failed:
        embed(server.url, timeout=0)

    assert failed.value.code == "embedding_timeout"
    assert server.asked == []


def test_nobody_listening_is_unreachable():
    with pytest.raises(EmbeddingError) as failed:
        embed(unused_url(), timeout=1)

    assert failed.value.code == "embedding_unreachable"


@pytest.mark.parametrize("status", [200, 400, 500])
def test_an_answer_without_end_is_read_up_to_a_bound_of_what_was_asked_for(status: int):
    with serving() as server:
        server.script.append(endless(server, status=status))
        with pytest.raises(EmbeddingError) as failed:
            embed(server.url)

        assert failed.value.code == "embedding_too_large"
        # What the sockets of both sides hold comes on top.
        assert server.sent < 24 * 1024 * 1024


def test_a_batch_of_the_longest_vectors_fits_into_the_bound():
    numbers = [-1.2345678901234567e-05] * 8_192
    payload = json.dumps(body(*(row(index, numbers) for index in range(16))), indent=1).encode()
    with serving(answer(payload)) as server:
        vectors = embed(server.url, ["a"] * 16, timeout=60)

    assert (len(vectors), len(vectors[0])) == (16, 8_192)


@pytest.mark.parametrize("status", [301, 307, 308])
def test_a_redirect_is_not_followed_and_the_error_says_what_to_set(status: int):
    with serving() as elsewhere, serving(redirect(f"{elsewhere.url}/embeddings", status)) as server:
        with pytest.raises(EmbeddingError) as failed:
            embed(server.url)

        assert elsewhere.asked == []
    assert "set EMBEDDINGS_API_URL to the address" in failed.value.detail


def test_what_the_provider_says_is_told_without_the_key():
    said = f"Incorrect API key provided: {KEY}."
    with serving(answer({"error": {"message": said}}, 401)) as server, pytest.raises(EmbeddingError) as failed:
        embed(server.url)

    assert failed.value.detail == (
        'The embedding model\'s API answered with status 401. It says: "Incorrect API key provided: [removed].". '
        "Check EMBEDDINGS_API_KEY, and what it may use."
    )


@pytest.mark.parametrize("key", ["two\nlines", "schlüssel", "nul\x00"])
def test_a_key_that_no_header_can_carry_is_told_and_not_sent(key: str):
    with serving() as server:
        with pytest.raises(EmbeddingError) as failed:
            embed(server.url, embeddings_api_key=key)

        assert server.asked == []
    assert failed.value.code == "embedding_key_unreadable"
    assert key not in failed.value.detail


def test_without_a_key_something_harmless_is_sent_and_never_another_services_key(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-something-else")
    with serving(answer(body(row(0, [1.0, 0.0])))) as server:
        embed(server.url, embeddings_api_key="")

    assert server.asked[0].headers["authorization"] == "Bearer none"


def test_a_look_speaks_of_the_embedding_model_and_its_own_variables():
    found = settings(unused_url())
    with serving(answer({"data": [{"id": "other"}]}), answer(b"", 404)) as server:
        other = look.look(embeddings.api(settings(server.url)), "small")
        none = look.look(embeddings.api(settings(server.url)), "small")

    assert look.look(embeddings.api(found), "small").status == "unreachable"
    assert other.detail == "The embedding model's API does not list the model 'small'."
    assert "EMBEDDINGS_API_URL has a wrong path" in str(none.detail)
