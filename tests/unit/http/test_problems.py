"""Problem documents stay small, are UTF-8 as it is, and leave a log line when the service is at fault."""

import json
import logging

import pytest
from aws_lambda_powertools.event_handler.openapi.exceptions import RequestValidationError

from livemem.errors import Busy, FieldError, InvalidRequest, NotFound, StoreUnavailable
from livemem_http import problems


def told(error):
    answer = problems.response(error, "request-1")
    return answer, json.loads(answer.body or "")


def test_of_many_errors_twenty_are_told_and_the_rest_is_counted():
    errors = [{"loc": ("body", "notes", index), "msg": "Field required"} for index in range(20_000)]

    _, problem = told(RequestValidationError(errors))

    assert [item["field"] for item in problem["errors"]] == [f"notes.{index}" for index in range(20)]
    assert problem["detail"].endswith("notes.2: Field required (and 19997 more)")


def test_of_long_names_and_texts_the_beginning_is_told():
    errors = [{"loc": ("body", "x" * 50_000), "msg": "y" * 50_000} for _ in range(20)]

    assert len(told(RequestValidationError(errors))[0].body) < 25_000


@pytest.mark.parametrize("error", [NotFound("note", "x" * 1_000_000), InvalidRequest.of("y" * 1_000_000, "is wrong")])
def test_no_text_of_the_client_makes_the_answer_long(error):
    assert len(told(error)[0].body) < 2_000


def test_an_answer_is_utf_8_as_it_is_and_never_half_a_surrogate_pair():
    answer, problem = told(InvalidRequest("Grüße \ud800", fields=[FieldError("ü\udfff", "ist falsch")]))

    assert "Grüße \ufffd" in answer.body
    assert problem["errors"] == [{"field": "ü\ufffd", "message": "ist falsch"}]
    answer.body.encode()


@pytest.mark.parametrize(
    ("error", "level"),
    [(StoreUnavailable("Down."), "WARNING"), (ValueError("secret"), "ERROR"), (RecursionError(), "ERROR")],
)
def test_every_5xx_is_logged_with_the_id_that_the_client_gets(caplog, error, level):
    with caplog.at_level(logging.INFO):
        _, problem = told(error)

    (record,) = caplog.records
    assert record.levelname == level
    assert record.request_id == problem["request_id"] == "request-1"
    assert "secret" not in str(vars(record)) + str(problem)


def test_what_the_client_did_wrong_is_not_logged(caplog):
    with caplog.at_level(logging.INFO):
        told(Busy("Busy."))

    assert caplog.records == []
