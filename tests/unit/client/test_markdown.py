"""Markdown that says nothing, and what is no Markdown."""

import httpx
import pytest

from live_memory import Client, LiveMemoryError
from tests.support.cases import each

URL = "http://127.0.0.1:3000"


def _client(answer: httpx.Response) -> Client:
    return Client(URL, "token", retries=0, transport=httpx.MockTransport(lambda _request: answer))


def test_empty_markdown_of_the_service_is_an_answer():
    answer = httpx.Response(200, headers={"Content-Type": "text/markdown; charset=utf-8"})

    with _client(answer) as client:
        assert client.markdown("load_context", {"space_id": "demo", "q": "unknown"}) == ""


@each("headers", [{}, {"Content-Type": "text/html"}, {"Content-Type": "application/json"}])
def test_an_empty_answer_of_another_kind_is_none(headers: dict[str, str]):
    with _client(httpx.Response(200, headers=headers)) as client, pytest.raises(LiveMemoryError, match="it is empty"):
        client.markdown("load_context", {"space_id": "demo", "q": "unknown"})


@each("content_type", ["text/html", "application/json", "text/plain; charset=utf-8"])
def test_a_page_of_somebody_else_is_never_taken_for_a_memory(content_type: str):
    page = httpx.Response(200, text="<html>Sign in</html>", headers={"Content-Type": content_type})

    with _client(page) as client, pytest.raises(LiveMemoryError, match="it is not Markdown"):
        client.markdown("get_summary", {"space_id": "demo"})
