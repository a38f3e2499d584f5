"""The service answers as docs/openapi.json says, whatever it is asked: generated requests to every operation.

Schemathesis takes a second to import, which only the process that asks should spend. So its plugin is not loaded.
"""

import json
import os
import zlib
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path

import pytest
import requests
from hypothesis import HealthCheck, settings

from tests.support import damaged, front
from tests.support.damaged import Whole
from tests.support.world import BOOTSTRAP_KEY

EXAMPLES = int(os.environ.get("OPENAPI_EXAMPLES") or 1)
"""Made-up requests to each operation, beside those at bounds. `make proof` sends more."""
WHOLE = "OPENAPI_EXAMPLES" in os.environ
"""`make test` asks three of five operations. The client reads an answer of each (test_client.py)."""
EVERY = 1 if WHOLE else 32
"""One of so many requests is sent after an operation's first success. `make proof` sends all."""
PART = {"get": 1, "post": 1} if WHOLE else {"get": 8, "post": 32}
"""One of so many operations gets requests at the bounds of its parameters. `make proof` sends all."""
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "openapi.json"


@pytest.fixture
def document(request):
    import schemathesis

    # schemathesis 4.32 names what it finds by a member that the items of pytest 9.2 have no more.
    request.node._nodeid = request.node.nodeid
    paths = json.loads(DOCUMENT.read_text())["paths"]
    ids = {told["operationId"]: method for methods in paths.values() for method, told in methods.items()}
    some = [one for one, method in ids.items() if zlib.crc32(one.encode()) % PART.get(method, PART["post"])]
    without_bounds = {"include-operation-id": some, "phases": {"coverage": {"enabled": False}}}
    left_out = {"include-operation-id": [one for one in ids if zlib.crc32(one.encode()) & 8], "enabled": False}
    config = schemathesis.Config.from_dict({"operations": [] if WHOLE else [left_out, without_bounds]})
    return schemathesis.openapi.from_path(DOCUMENT, config=config)


@pytest.fixture(scope="module")
def whole() -> Iterator[Whole]:
    """A space with every kind of document."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("livemem.memories.log.SNAPSHOT_EVERY", 2)
        # As many wrong tokens come in a second as requests do.
        patch.setattr("livemem.access.look_rate.LOOKS_A_SECOND", 10**6)
        yield damaged.built()


@pytest.fixture(scope="module")
def url(whole: Whole) -> Iterator[str]:
    """The front before the functions, which work in that space's world: of all sessions, also those of schemathesis."""
    with pytest.MonkeyPatch.context() as patch:
        agents, _ = damaged.opened(patch, whole)

        def invoke(function, event):
            return agents.invoke(function.logical_id.removesuffix("Function").lower(), event)

        adapter = front.Adapter(invoke)
        patch.setattr(requests.Session, "get_adapter", lambda *_, **__: adapter)
        yield "http://functions.invalid"


@pytest.fixture(scope="module")
def session():
    """One for all requests but those that try other credentials, and no look at the machine's proxies."""
    with requests.Session() as session:
        session.trust_env = False
        yield session


@pytest.fixture(scope="module")
def guarded():
    """The operations of which a request with the right credentials succeeded, and the same without them did not."""
    return set()


@settings(max_examples=EXAMPLES, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
def judge(case, whole, url, session, guarded):
    from schemathesis.checks import not_a_server_error
    from schemathesis.core import NOT_SET
    from schemathesis.specs.openapi import checks

    of_all = [
        not_a_server_error,
        checks.status_code_conformance,
        checks.content_type_conformance,
        checks.response_schema_conformance,
    ]
    there = {"space_id": "demo", "path": "log.md", "number": "1", "turn_index": "2", "room": "general", **whole.ids}
    if case.method != "DELETE":
        case.path_parameters.update({name: there[name] for name in case.path_parameters if name in there})
    # By what it asks, so that one that fails is sent again when Hypothesis looks whether it always does.
    body = None if case.body is NOT_SET else case.body
    asked = f"{case.path_parameters} {case.query} {case.headers} {body}"
    if case.operation.label in guarded and zlib.crc32(asked.encode(errors="replace")) % EVERY:
        return
    answer = case.call_and_validate(
        base_url=url,
        session=session,
        headers={"Authorization": f"Bearer {BOOTSTRAP_KEY}"},
        checks=of_all if case.operation.label in guarded else [*of_all, checks.ignored_auth],
        timeout=30,
    )
    if answer.status_code < HTTPStatus.MULTIPLE_CHOICES:
        guarded.add(case.operation.label)


@pytest.mark.slow
def test_every_answer_is_one_that_the_document_describes(guarded, request):
    from schemathesis.pytest import from_fixture

    document = from_fixture("document")
    # First what needs the space, then what removes it.
    for some in (document.exclude(method="DELETE"), document.include(method="DELETE")):
        some.parametrize()(judge)(request=request)
    # Others need what nobody made up: a plan that waits, a code, an upload.
    assert len(guarded) > (50 if WHOLE else 25)
