"""What the edge does with a handler's answer, on a function with routes of its own."""

import json
import re

import pytest
from aws_lambda_powertools.event_handler import Response
from pydantic import BaseModel

from livemem import limits
from livemem.errors import Conflict
from livemem_http.api import Api
from tests.support.functions import Context, request


class Text(BaseModel):
    text: str


@pytest.fixture
def api():
    made = Api()

    @made.route("GET", "/v1/half", needs="nothing", summary="Half a pair")
    def get_half() -> dict[str, str]:
        return {"text": "a\ud800b"}

    @made.route("GET", "/v1/text", needs="nothing", markdown=lambda text: f"# {text.text}", summary="Get a text")
    def get_text() -> Text:
        return Text(text="ü")

    @made.route("POST", "/v1/text", needs="nothing", markdown=lambda text: text.text, summary="Make a text")
    def make_text() -> Response[Text]:
        return made.json(201, Text(text="x" * 50), headers={"Location": "/v1/text"})

    @made.route("PUT", "/v1/text", needs="nothing", summary="Refuse a text")
    def put_text() -> Text:
        raise Conflict("x" * 100)

    return made


def ask(api, method, path, accept=None):
    event = request(method, path, token=None)
    event["headers"] |= {"accept": accept} if accept else {}
    return api.handle(event, Context())


def test_half_a_surrogate_pair_cannot_leave(api):
    answer = ask(api, "GET", "/v1/half")

    assert answer["statusCode"] == 200
    assert json.loads(answer["body"]) == {"text": "a\ufffdb"}


def test_a_renderer_gets_the_model_that_the_handler_returned(api):
    assert ask(api, "GET", "/v1/text", "text/markdown")["body"] == "# ü"
    assert ask(api, "GET", "/v1/text")["body"] == '{"text": "ü"}'


def test_markdown_keeps_the_status_and_the_headers_of_the_answer(api):
    answer = ask(api, "POST", "/v1/text", "text/markdown")

    assert (answer["statusCode"], answer["body"]) == (201, "x" * 50)
    cost = answer["headers"].pop("Server-Timing")
    assert answer["headers"] == {
        "Location": "/v1/text", "Content-Type": "text/markdown; charset=utf-8", "Vary": "Accept"
    }  # fmt: skip
    assert re.fullmatch(r'store;desc="none", total;dur=\d+\.\d', cost)


@pytest.mark.parametrize(
    ("method", "status", "carried_out"), [("GET", 413, False), ("PUT", 409, False), ("POST", 413, True)]
)
def test_only_a_change_that_succeeded_is_said_to_be_carried_out(api, monkeypatch, method, status, carried_out):
    monkeypatch.setattr(limits, "ANSWER_BYTES", 10)

    answer = ask(api, method, "/v1/text")

    assert answer["statusCode"] == json.loads(answer["body"])["status"] == status
    assert ("carried out" in answer["body"]) is carried_out


def test_control_characters_count_as_long_as_they_are_in_json(api, monkeypatch):
    monkeypatch.setattr(limits, "ANSWER_BYTES", 32)

    @api.route("GET", "/v1/bells", needs="nothing", markdown=lambda text: "\a" * 6, summary="Ring")
    def get_bells() -> Text:
        return Text(text="")

    assert ask(api, "GET", "/v1/bells", "text/markdown")["statusCode"] == 413
