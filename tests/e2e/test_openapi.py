"""The service answers as docs/openapi.json says, whatever it is asked: generated requests to every operation."""

import os
from pathlib import Path

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    ignored_auth,
    response_schema_conformance,
    status_code_conformance,
)

from livemem_http import negotiation
from tests.e2e.spaces import fresh_space, post_notes

EXAMPLES = int(os.environ.get("OPENAPI_EXAMPLES") or 2)
"""Requests to each operation; `make proof` sends more."""
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    ignored_auth,
]


@schemathesis.serializer(negotiation.LINES)
def as_lines(_, value):
    """A body of lines as it is: what is generated is a text."""
    return value if isinstance(value, bytes) else str(value).encode()


DOCUMENT = schemathesis.openapi.from_path(Path(__file__).resolve().parents[2] / "docs" / "openapi.json")


@pytest.fixture(scope="module")
def space(service):
    """A space with live notes, a bank and a history."""
    with fresh_space(service, 0) as space_id:
        post_notes(service, space_id, 2)
        run_id = service.send("POST", f"/spaces/{space_id}/consolidations").body["run_id"]
        service.ended(space_id, run_id)
        post_notes(service, space_id, 2)
        yield space_id


@pytest.fixture(scope="module")
def conversation(service, space):
    """A conversation in it that has summaries."""
    path = f"/spaces/{space}/conversations"
    made = service.send("POST", path, {"cwd": "/home/ann/ferry"}).body["conversation_id"]
    turn = {"user_message": "Why does the import fail?", "assistant_message": "Port Kiel answers 503."}
    assert service.send("POST", f"{path}/{made}/turns", turn).status == 201
    service.wait_until(lambda: service.conversations.list_summaries(space, made, state="sealed").items, bool)
    return made


@pytest.fixture(scope="module")
def session():
    """One connection for all requests but those that try other credentials, and no look at the machine's proxies."""
    with requests.Session() as session:
        session.trust_env = False
        yield session


@pytest.mark.slow
@pytest.mark.skipif("LIVEMEM_URL" in os.environ, reason="it creates spaces that nobody removes")
@DOCUMENT.parametrize()
@settings(max_examples=EXAMPLES, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
def test_every_answer_is_one_that_the_document_describes(case, service, space, conversation, session):
    if "space_id" in case.path_parameters and case.method != "DELETE":
        case.path_parameters["space_id"] = space
        if "conversation_id" in case.path_parameters:
            case.path_parameters["conversation_id"] = conversation
    case.call_and_validate(
        base_url=service.url,
        session=session,
        headers={"Authorization": f"Bearer {service.token}"},
        checks=CHECKS,
        timeout=30,
    )
