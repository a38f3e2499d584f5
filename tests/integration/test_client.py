"""The client on the real routes: HTTP through the front of the local runtime, the template's routes, our handlers."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from live_memory import Client, LiveMemoryError
from live_memory.operations import OPERATIONS
from tests.support import front
from tests.support.service import Service
from tests.support.world import BOOTSTRAP_KEY

DOCUMENT = json.loads((Path(__file__).resolve().parents[2] / "docs" / "openapi.json").read_text())
FIRST = ("create_space", "append_note", "put_bank_file", "store_memory", "post_message")
LAST = ("delete_bank_file", "delete_space")
CERTAIN = {"get_space", "get_summary", "list_notes", "list_bank", "get_bank_file", "list_messages", "append_note"}
"""Operations that must succeed by their documented examples, whatever else is there."""


OTHER_FORMS = {
    "search_space": ("conversation_id", "cwd", "host", "room", "kind"),
    "load_context": ("conversation_id", "room", "lang", "limit", "max_turns", "raw_chars"),
    "search_memories": ("order",),
}
"""Arguments that do not go with the others of an operation."""


def examples() -> dict[str, dict[str, Any]]:
    """The documented arguments of each operation."""
    found = {}
    for methods in DOCUMENT["paths"].values():
        for told in methods.values():
            given = (
                {one["name"]: one["example"] for one in told["parameters"] if "example" in one}
                if "parameters" in told
                else {}
            )
            others = OTHER_FORMS.get(told["operationId"], ())
            for name in ("If-None-Match", "Idempotency-Key", "at", "cursor", "ids", *others):
                given.pop(name, None)
            content = told.get("requestBody", {}).get("content", {})
            found[told["operationId"]] = given | content.get("application/json", {}).get("example", {})
    return found


def tried(call: Callable[..., Any], *values: Any, **named: Any) -> Any:
    """What it gives, or the error."""
    try:
        return call(*values, **named)
    except LiveMemoryError as error:
        return error


def method(client: Client, name: str) -> Callable[..., Any]:
    """The method of an operation."""
    operation = OPERATIONS[name]
    found: Callable[..., Any] = getattr(getattr(client, operation.tag), operation.short)
    return found


@pytest.fixture
def client(service: Service, monkeypatch: pytest.MonkeyPatch):
    # Without it there are no connections.
    monkeypatch.setenv("OAUTH_ISSUER", "https://memory.example.org")
    with (
        front.opened(service) as door,
        Client(f"http://127.0.0.1:{door.port}", BOOTSTRAP_KEY, retries=1, sleep=lambda _: None) as client,
    ):
        yield client


ELSE = {"exchange_page_code": 401, "answer_job": 422}
"""The code of an example was never made, and its job is of another kind."""


def test_every_operation_is_understood_by_the_service_and_its_answer_by_the_client(client: Client):
    given = examples()
    middle = [name for name in OPERATIONS if name not in (*FIRST, *LAST)]
    succeeded = set()
    for name in (*FIRST, *middle, *LAST):
        answer = tried(method(client, name), **given[name])
        if isinstance(answer, LiveMemoryError):
            # What is named in an example need not be there; that the service knows the operation is what counts.
            assert answer.status in (ELSE.get(name, 404), 409), (name, answer)
            assert answer.code not in ("route_not_found", "not_the_service", "unexpected_answer"), (name, answer)
            assert answer.request_id, name
        else:
            succeeded.add(name)
            assert type(answer).__name__ == (OPERATIONS[name].answer or "NoneType")
    assert succeeded >= {*FIRST, *LAST, *CERTAIN}
    assert len(succeeded) > len(OPERATIONS) / 2, sorted(succeeded)


def test_every_form_in_markdown_is_one(client: Client):
    given = examples()
    for name in FIRST:
        method(client, name)(**given[name])
    shown = 0
    for name in (name for name, one in OPERATIONS.items() if one.markdown):
        text = tried(client.markdown, name, given[name])
        if isinstance(text, LiveMemoryError):
            assert text.status == ELSE.get(name, 404), (name, text)
        else:
            shown += 1
            assert not text.startswith("{"), name
    assert shown > 5


def test_a_note_whose_answer_was_lost_is_there_once(service: Service, monkeypatch: pytest.MonkeyPatch):
    with (
        front.opened(service) as door,
        Client(f"http://127.0.0.1:{door.port}", BOOTSTRAP_KEY, sleep=lambda _: None) as client,
    ):
        client.spaces.create(space_id="demo", rules_template="standard")
        lost = _Losing(service, monkeypatch)

        written = client.notes.append("demo", category="todo", content="Once, please.")

        assert lost.count == 1
        assert [note["note_id"] for note in client.pages("list_notes", {"space_id": "demo"})] == [written.note_id]


class _Losing:
    """Carries out the next invocation, and loses its answer."""

    def __init__(self, service: Service, patch: pytest.MonkeyPatch) -> None:
        self.count = 0
        carried_out = service.invoke

        def invoke(function: str, event: dict[str, Any]) -> Any:
            answer = carried_out(function, event)
            if self.count == 0:
                self.count += 1
                return {"statusCode": 502, "headers": {"content-type": "text/html"}, "body": "<html>"}
            return answer

        patch.setattr(service, "invoke", invoke)


def test_pages_hold_every_note_once(client: Client):
    client.spaces.create(space_id="demo", rules_template="standard", consolidation_threshold=0)
    written = client.notes.append("demo", items=[{"category": "todo", "content": str(n)} for n in range(5)]).items
    read = [note["note_id"] for note in client.pages("list_notes", {"space_id": "demo", "limit": 2})]
    assert sorted(read) == sorted(note.note_id for note in written)


def test_hostile_ids_are_refused_by_the_service_as_what_they_are(client: Client):
    for space_id in ("a?b", "%2e%2e", "é", "a b", "x" * 65, "a#b"):
        with pytest.raises(LiveMemoryError) as caught:
            client.spaces.get(space_id)
        assert (caught.value.status, caught.value.code) == (422, "invalid_request"), space_id
        assert [one.field for one in caught.value.fields] == ["space_id"]
    # A slash is one to whoever decodes the path before it looks for the route.
    with pytest.raises(LiveMemoryError, match=r"404 route_not_found|422 invalid_request"):
        client.spaces.get("a/b")


def test_a_wrong_token_is_told(client: Client):
    with Client(client.url, "lm_wrong") as stranger, pytest.raises(LiveMemoryError) as caught:
        stranger.service.whoami()
    assert (caught.value.status, caught.value.code) == (401, "unauthenticated")


def test_with_read_alone_the_client_is_told_that_it_asks_in_its_own_name(client: Client, service: Service):
    client.call("create_space", {"space_id": "demo", "description": "d"})
    made = client.call("create_token", {"name": "ann", "permissions": ["read"], "space_ids": ["demo"]})
    with (
        front.opened(service) as door,
        Client(f"http://127.0.0.1:{door.port}", made["token"], retries=0) as reader,
        pytest.raises(LiveMemoryError) as refused,
    ):
        reader.call("ask_question", {"space_id": "demo", "message": "Who?", "user": "zoé"})

    assert (refused.value.status, refused.value.code) == (403, "user_not_allowed")
    assert not [key for key in service.written() if "/_asks/" in key]
