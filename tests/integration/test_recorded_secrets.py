"""No secret in what is recorded is stored, answered, logged or shown to a model, whichever field it stands in."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from livemem.ask.question import EXPRESSIONS
from tests.support.agent import calls, responds
from tests.support.room_api import ASK, JOBS, SPACE, Rooms

DOCUMENT = json.loads((Path(__file__).resolve().parents[2] / "docs" / "openapi.json").read_text())
SECRETS = {
    "a token": "ghp_" + "a1B2c3" * 6,
    "a password": "correct7horse",
    "of a URL": "Tr0ub4dor&3",
    "a bearer": "q9w8e7r6t5y4",
    "a provider's": "glpat-" + "Zx9_" * 6,
}
# Short enough for every field.
LEAK = (
    "{a token} PASSWORD={a password} postgres://app:{of a URL}@db/x Authorization: Bearer {a bearer} {a provider's}"
).format(**SECRETS)
ALL = f"{SPACE}/conversations"
ONE = f"{ALL}/{{conversation_id}}"
RECORDING = {
    ALL: {},
    f"{ONE}/turns": {"user_message": "Hello."},
    f"{ONE}/messages": {"role": "user", "content": "Hello."},
    ASK: {"message": "Who?"},
}
"""Routes that record what is said, each with the least that a body must have."""
MESSAGE_LINE = {"message_id": "line", "role": "user", "content": "Hello."}
TURN_LINE = {"message_id": "line", "user_message": "Hello."}


def fields(schema: dict[str, Any], place: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Where a body may have any text."""
    if "$ref" in schema:
        schema = DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    for part in schema.get("anyOf", ()):
        yield from fields(part, place)
    if schema.get("type") == "array":
        yield from fields(schema["items"], (*place, 0))
    elif "properties" in schema:
        for name, part in schema["properties"].items():
            yield from fields(part, (*place, name))
    elif "anyOf" not in schema and "enum" not in schema and schema.get("type", "string") == "string":
        yield place


def filled(body: dict[str, Any], place: tuple[str | int, ...], leak: Any) -> dict[str, Any]:
    """The body with the leak in its place; a tool that is called has a name."""
    name, *rest = place
    assert isinstance(name, str)
    if not rest:
        return {**body, name: leak}
    (index, *deeper) = rest
    if index == 0:
        return {**body, name: [filled({"name": "run"}, tuple(deeper), leak)]}
    return {**body, name: filled({}, tuple(rest), leak)}


def leaks_in(place: tuple[str | int, ...]) -> list[Any]:
    """What stands in the field: a text, and where any JSON may stand also names and members."""
    if place[-1] not in ("arguments", "result"):
        return [LEAK, SECRETS["a token"], SECRETS["a provider's"]]
    names = {SECRETS["a token"]: 1, SECRETS["a provider's"]: [LEAK], "password": SECRETS["a password"]}
    return [
        LEAK,
        [LEAK],
        names,
        {"env": [names]},
        f"{LEAK}{'r' * 40_000}",
        "r" * 195 + SECRETS["a token"] + "r" * 40_000,
    ]


class Scene:
    """A service whose answers are all kept."""

    def __init__(self, service: Any, patch: pytest.MonkeyPatch) -> None:
        self.rooms = Rooms(service, patch)
        self.answers: list[str] = []
        self.statuses: list[tuple[str, int]] = []
        # A model that says again what it was asked, and looks for it.
        self.rooms.agent.default = self._echo
        self.begin()

    def begin(self) -> None:
        """Another conversation, with a turn."""
        self.id = json.loads(self.call("POST", ALL))["conversation_id"]
        self.call("POST", f"{ONE}/turns", body={"user_message": "Hello.", "assistant_message": "Hello."})

    @staticmethod
    def _echo(thread: list[dict[str, Any]]) -> Any:
        question = thread[1]["content"].rstrip("\n").rpartition("\n")[2]
        if len(thread) == 2:
            return calls(("search_memories", {"query": question[:900]}))
        return responds(question, EXPRESSIONS[0])

    def call(self, method: str, route: str, **rest: Any) -> str:
        path = {"space_id": "mine"} if "{space_id}" in route else {}
        path |= {"conversation_id": self.id} if "{conversation_id}" in route else {}
        functions = {ASK: "ask", JOBS: "backup"}
        function = "search" if route.endswith("/context") else functions.get(route, "conversations")
        answer = self.rooms.service.http(function, method, route, **path, **rest)
        self.answers.append(json.dumps(answer))
        self.statuses.append((route, answer["statusCode"]))
        return str(answer["body"] or "")

    def bucket(self) -> dict[str, bytes]:
        return {key: stored.body for key, stored in self.rooms.service.s3.objects.items()}


@pytest.fixture
def scene(service: Any, monkeypatch: pytest.MonkeyPatch) -> Scene:
    return Scene(service, monkeypatch)


def test_a_secret_in_any_field_of_what_is_recorded_is_neither_stored_nor_answered_nor_logged_nor_shown_to_a_model(
    scene: Scene, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
):
    # When each field of each route that records has a secret, also in a body that is refused
    for route, least in RECORDING.items():
        schema = DOCUMENT["paths"][route]["post"]["requestBody"]["content"]["application/json"]["schema"]
        places = list(fields(schema.get("anyOf", [schema])[0]))
        assert places
        scene.begin()
        for place in places:
            for leak in leaks_in(place):
                scene.call("POST", route, body=filled(least, place, leak))
                scene.call("POST", route, body=filled(least, place, {"no": leak}))
    for line in (MESSAGE_LINE, TURN_LINE):
        scene.begin()
        for name in (*line, "client_timestamp", "unknown", "role"):
            scene.call("POST", f"{ONE}/turns", body={"items": [{**line, name: LEAK}]})
        for name in ("name", "arguments", "result", "timestamp", "unknown"):
            call = {"name": "run", name: LEAK}
            scene.call("POST", f"{ONE}/turns", body={"items": [{**line, "message_id": name, "tool_calls": [call]}]})
    scene.call("POST", ASK, body={"message": LEAK, "user": LEAK}, headers={"idempotency-key": LEAK})
    scene.rooms.work()
    # and all of it is read again
    for listed in json.loads(scene.call("GET", ALL, query={"limit": "500"}))["items"]:
        scene.id = listed["conversation_id"]
        scene.call("GET", ONE)
        scene.call("GET", f"{ONE}/turns", query={"limit": "100"}, headers={"accept": "text/markdown"})
        for turn in json.loads(scene.call("GET", f"{ONE}/turns", query={"limit": "100"}))["items"]:
            scene.call("GET", f"{ONE}/turns/{{turn_index}}", turn_index=str(turn["turn_index"]))
        scene.call("GET", f"{ONE}/context", query={"q": "PASSWORD"})
        query = {"space_id": "mine", "kind": "summaries", "subject": scene.id}
        scene.call("GET", JOBS, query=query)
    scene.call("GET", ALL, query={"cwd": LEAK, "host": LEAK})

    # Then it stands nowhere
    bucket = scene.bucket()
    logged = capfd.readouterr()
    told = "\n".join([*scene.answers, logged.out, logged.err, caplog.text])
    shown = json.dumps([scene.rooms.agent.asked, scene.rooms.listener.asked], default=str)
    for what, secret in SECRETS.items():
        assert not [key for key, body in bucket.items() if secret in key or secret.encode() in body], what
        assert secret not in told, what
        assert secret not in shown, what
    # though it was recorded: each route took what it takes.
    assert {route for route, status in scene.statuses if status in (200, 201)} >= {*RECORDING}
    assert len([key for key in bucket if key.endswith(".turn.json")]) > 40
    assert len([key for key in bucket if "/_asks/" in key]) > 5


def test_what_was_taken_out_is_counted_and_a_repeat_is_the_same_turn_conversation_and_question(scene: Scene):
    body = {"user_message": f"My key is {SECRETS['a token']}.", "message_id": f"m {SECRETS['a token']}"}

    first = json.loads(scene.call("POST", f"{ONE}/turns", body=body))
    again = json.loads(scene.call("POST", f"{ONE}/turns", body=body))
    shown = json.loads(scene.call("POST", f"{ONE}/turns", body={**body, "message_id": first["message_id"]}))
    other = json.loads(scene.call("POST", f"{ONE}/turns", body={**body, "message_id": f"m {SECRETS['a token']}x"}))

    assert first["redacted"] == {"github": 2}
    assert (again, shown["turn_index"]) == (first, first["turn_index"])
    # Two ids are two, although what is left of them is the same.
    assert other["turn_index"] == first["turn_index"] + 1
    assert other["message_id"] != first["message_id"]

    folder = {"cwd": f"/home/{SECRETS['a token']}/x", "host": f"h-{SECRETS['a token']}"}
    made = json.loads(scene.call("POST", ALL, body={**folder, "title": f"PASSWORD={SECRETS['a password']}"}))
    found = json.loads(scene.call("GET", ALL, query=folder))["items"]
    assert made["redacted"] == {"github": 2, "password": 1}
    assert [one["conversation_id"] for one in found] == [made["conversation_id"]]
    assert json.loads(scene.call("GET", ALL, query={**folder, "cwd": f"/home/{SECRETS['a token']}y/x"}))["items"] == []
    by_what_is_shown = {"cwd": found[0]["cwd"], "host": found[0]["host"]}
    assert json.loads(scene.call("GET", ALL, query=by_what_is_shown))["items"] == found
    scene.rooms.service.http("conversations", "DELETE", ONE, space_id="mine", conversation_id=made["conversation_id"])
    assert not [key for key in scene.rooms.service.written() if "/_by_cwd/" in key]

    asking = {"message": f"PASSWORD={SECRETS['a password']}?", "user": f"u {SECRETS['a token']}"}
    headers = {"idempotency-key": SECRETS["a token"]}
    one = json.loads(scene.call("POST", ASK, body=asking, headers=headers))
    assert one["result"]["redacted"] == {"github": 1, "password": 1}
    assert json.loads(scene.call("POST", ASK, body=asking, headers=headers)) == one
    # A session is that of the user who was named, and of no other.
    two = json.loads(scene.call("POST", ASK, body={**asking, "session": one["result"]["session"]}))
    assert two["result"]["session"] == one["result"]["session"]
    three = json.loads(scene.call("POST", ASK, body={**asking, "user": f"u {SECRETS['a token']}z"}))
    assert three["result"]["session"] != one["result"]["session"]

    lines = [{"message_id": f"i{number}", "role": "user", "content": LEAK} for number in range(2)]
    imported = json.loads(scene.call("POST", f"{ONE}/turns", body={"items": lines}))
    assert (imported["imported"], imported["redacted"]["github"]) == (2, 2)
    assert json.loads(scene.call("POST", f"{ONE}/turns", body={"items": lines}))["repeated"] == 2


def test_with_the_setting_no_other_text_that_is_written_keeps_a_secret(
    service: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setenv("REDACT_SECRETS", "true")
    service.cold = True
    Rooms(service, monkeypatch)
    space, answers = "/v1/spaces/{space_id}", []

    def good(function: str, method: str, route: str, **rest: Any) -> Any:
        named = {"space_id": "mine"} if "{space_id}" in route else {}
        answer = service.http(function, method, route, **named | rest)
        answers.append(answer["body"] or "")
        assert answer["statusCode"] < 300, answer
        return json.loads(answer["body"]) if answer["body"] else None

    # When each text of a space, its rules, bank, notes, memories, rooms and backups has a secret
    file, bank = {"path": "log.md"}, f"{space}/bank/{{path+}}"
    new = {"space_id": "other", "description": LEAK, "owner": LEAK, "rules": f"Keep a log. {LEAK}"}
    good("backup", "POST", "/v1/spaces", body=new)
    good("admin", "PATCH", space, body={"description": LEAK, "owner": LEAK})
    good("admin", "PUT", f"{space}/rules", body={"rules": f"Keep it. {LEAK}", "reason": LEAK})
    good("admin", "PUT", bank, **file, body={"content": f"# Log\n\n## A\n\n{LEAK}\n", "reason": LEAK})
    edit = {"op": "append_to_section", "heading": "## A", "content": LEAK}
    good("admin", "PATCH", bank, **file, body={"edits": [edit], "reason": LEAK})
    good("admin", "DELETE", bank, **file, query={"reason": LEAK})
    good("ingest", "POST", f"{space}/notes", body={"category": "todo", "content": LEAK, "tags": [SECRETS["a token"]]})
    fact = {"content": LEAK, "category": SECRETS["a token"], "subjects": [SECRETS["a token"]]}
    memory = good("memories", "POST", f"{space}/memories", body=fact)
    changed = {"content": f"No: {LEAK}", "subjects": [SECRETS["a token"], "key"]}
    one = {"memory_id": memory["memory_id"]}
    good("memories", "PATCH", f"{space}/memories/{{memory_id}}", **one, body=changed)
    good("memories", "DELETE", f"{space}/memories/{{memory_id}}", **one, query={"reason": LEAK})
    said = {"author": SECRETS["a token"], "content": LEAK, "message_id": LEAK}
    for repeated in (False, True):
        posted = good("rooms", "POST", f"{space}/rooms/{{room}}/messages", room="salon", body=said)
        assert (posted["repeated"], posted["redacted"]["github"]) == (repeated, 3)
    good("backup", "POST", f"{space}/backups", body={"description": LEAK})

    # Then it stands nowhere
    bodies = {key: stored.body for key, stored in service.s3.objects.items()}
    for what, secret in SECRETS.items():
        small = secret.lower().encode()
        assert not [key for key, body in bodies.items() if small in body.lower() or secret in key], what
        assert secret not in "".join(answers) + caplog.text, what
