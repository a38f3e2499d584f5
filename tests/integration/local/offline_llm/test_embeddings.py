"""The offline embedding model as any OpenAI client sees it: the real server on loopback, the real model."""

import base64
import json
import math
from array import array
from typing import Any

import pytest

from livemem.llm import embeddings
from livemem.llm.embeddings import EmbeddingError
from livemem.settings import Settings
from local.front.httpd import Server
from local.offline_llm.encoder import Encoder
from local.offline_llm.server import base_url, bind
from tests.integration.local.offline_llm.test_openai_client import post
from tests.support.cases import each

MODEL = "offline-fuse"


def embed(url: str, texts: list[str], **changes: Any) -> list[Any]:
    ask = embeddings.connect(Settings(embeddings_api_url=url, embeddings_model=MODEL, **changes))
    assert ask is not None
    return list(ask(texts, query=False, timeout=60))


def cosine(one: Any, other: Any) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def test_the_services_own_client_gets_vectors_in_which_a_translation_is_near_and_another_matter_is_not(server: Server):
    question = "Pourquoi la connexion à la base expire-t-elle ?"
    near = "The database connection times out."
    far = "The logo on the start page is now green."
    asked, one, other = embed(base_url(server), [question, near, far])

    assert len(asked) == 512
    assert cosine(asked, one) > cosine(asked, other) + 0.2


@pytest.mark.parametrize("form", ["float", "base64"])
def test_openais_client_gets_the_same_vector_in_both_forms(client: Any, form: Any):
    answered = client.embeddings.create(model=MODEL, input="Bonjour", encoding_format=form)

    (given,) = (item.embedding for item in answered.data)
    vector: Any = given if form == "float" else array("f", base64.b64decode(given))  # type: ignore[arg-type]
    (plain,) = embed(str(client.base_url), ["Bonjour"])
    assert list(vector) == pytest.approx(list(plain), abs=2e-6)
    assert (answered.model, answered.object, answered.usage.prompt_tokens) == (MODEL, "list", 2)


def test_without_a_form_openais_client_asks_for_base64_and_gets_numbers(client: Any):
    answered = client.embeddings.create(model=MODEL, input=["a", "b"])

    assert [item.index for item in answered.data] == [0, 1]
    assert all(math.isclose(math.hypot(*item.embedding), 1, abs_tol=1e-3) for item in answered.data)


HOSTILE = ["", " ", "\x00", "a\x00b", "🦊", "\u200b\u202e", "half a pair: \ud83d", "x" * 10_000, "мир 世界 " * 1_000]


def test_whatever_the_text_there_is_a_vector_of_length_1(server: Server):
    body = {"model": MODEL, "input": HOSTILE}
    status, answered = post(server, "/embeddings", json.dumps(body).encode())

    assert status == 200
    vectors = [row["embedding"] for row in answered["data"]]
    assert len(vectors) == len(HOSTILE)
    assert all(math.isclose(math.hypot(*vector), 1, abs_tol=1e-3) for vector in vectors)


def test_the_same_texts_have_the_same_vectors_again_and_alone_all_but_the_same(server: Server):
    texts = ["read_file renvoie le contenu", "tokenBudget est dépassé", "x"]
    first, again = embed(base_url(server), texts), embed(base_url(server), texts)
    alone = [embed(base_url(server), [text])[0] for text in texts]

    assert first == again
    assert all(cosine(one, other) > 0.999_99 for one, other in zip(first, alone, strict=True))


@each(
    ("changes", "status", "param"),
    [
        ({"model": "text-embedding-3-small"}, 404, "model"),
        ({"model": None}, 404, "model"),
        ({"dimensions": 256}, 400, "dimensions"),
        ({"encoding_format": "int8"}, 400, "encoding_format"),
        ({"input": []}, 400, "input"),
        ({"input": None}, 400, "input"),
        ({"input": [1, 2, 3]}, 400, "input"),
        ({"input": {"a": 1}}, 400, "input"),
        ({"input": ["a"] * 257}, 400, "input"),
        ({"input": ["a" * 500_001] * 2}, 400, "input"),
    ],
)
def test_what_it_cannot_answer_names_the_parameter(server: Server, changes: dict[str, Any], status: int, param: str):
    answered = post(server, "/embeddings", json.dumps({"model": MODEL, "input": "a"} | changes).encode())

    assert (answered[0], answered[1]["error"]["param"]) == (status, param)


def test_its_dimensions_may_be_asked_for(server: Server):
    assert len(embed(base_url(server), ["a"], embeddings_dimensions=512)[0]) == 512


@each("body", [b"", b"{", b"[]", b"null", b'"a"'])
def test_a_body_that_is_no_object_is_a_400(server: Server, body: bytes):
    assert post(server, "/embeddings", body)[0] == 400


def test_it_is_listed_beside_the_stand_in_for_a_language_model(client: Any):
    assert [model.id for model in client.models.list()] == ["offline-rules", MODEL]


def test_where_the_model_cannot_run_it_says_so_at_once_and_is_listed_no_more():
    def load() -> Any:
        raise ImportError("no wheel for this machine")

    server = bind(encoder=Encoder(load))
    server.start()
    try:
        for _ in range(2):
            status, answered = post(server, "/embeddings", json.dumps({"model": MODEL, "input": "a"}).encode())
            assert (status, answered["error"]["code"]) == (501, "model_unavailable")
            assert "wheel" not in answered["error"]["message"]
        with pytest.raises(EmbeddingError) as failed:
            embed(base_url(server), ["a"])
        assert (failed.value.code, failed.value.http_status) == ("embedding_unavailable", 501)
        assert [model["id"] for model in post(server, "/models", None, "GET")[1]["data"]] == ["offline-rules"]
    finally:
        server.stop()
