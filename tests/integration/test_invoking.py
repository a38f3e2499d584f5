"""How one function asks another and waits for its answer."""

import pytest

from livemem.errors import StoreUnavailable
from livemem.store import aws, clients
from tests.support.functions import LambdaApi


@pytest.fixture
def api(monkeypatch):
    found = LambdaApi()
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL_LAMBDA", found.url)
    aws.lambda_client.cache_clear()
    yield found
    aws.lambda_client.cache_clear()
    found.close()


def test_a_function_is_asked_with_the_event_and_its_answer_comes_back(api):
    api.answer = {"statusCode": 200, "body": "x"}

    assert clients.invoke("live-memory-reads", {"rawPath": "/v1/about"}) == api.answer
    assert api.waited == [("live-memory-reads", {"rawPath": "/v1/about"})]


def test_what_may_have_been_done_is_asked_for_once_and_the_caller_is_told_to_look(api):
    api.unavailable = True

    with pytest.raises(StoreUnavailable, match="check before you repeat it"):
        clients.invoke("live-memory-admin", {})

    assert len(api.waited) == 1


def test_a_function_that_failed_has_not_answered(api):
    api.function_fails = True

    with pytest.raises(StoreUnavailable, match="failed"):
        clients.invoke("live-memory-reads", {})


@pytest.mark.parametrize("answer", [None, "text", ["list"]])
def test_what_is_no_object_is_no_answer_of_a_function(api, answer):
    api.answer = answer

    with pytest.raises(StoreUnavailable, match="failed"):
        clients.invoke("live-memory-reads", {})
