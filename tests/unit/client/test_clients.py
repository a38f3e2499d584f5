"""Both clients as programs use them."""

import asyncio
import copy
import inspect
import json
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

import live_memory
from live_memory import AsyncClient, BadArgument, Client, LiveMemoryError, _exchange, _over_httpx, models
from live_memory.operations import OPERATIONS
from scripts import operation_table
from tests.support.cases import each
from tests.support.scripted import NOTE, Scripted, good

ROOT = Path(__file__).resolve().parents[3]
DOCUMENT = json.loads((ROOT / "docs" / "openapi.json").read_text())
TOLD = {
    told["operationId"]: (f"{method.upper()} {path}", told)
    for path, methods in DOCUMENT["paths"].items()
    for method, told in methods.items()
}
JOB = TOLD["get_job"][1]["responses"]["200"]["content"]["application/json"]["example"]


def arguments(name: str) -> dict[str, Any]:
    """Those of the documented example."""
    _, told = TOLD[name]
    given = {
        one["name"]: one["example"] for one in told.get("parameters", []) if one["in"] != "header" and "example" in one
    }
    content = told.get("requestBody", {}).get("content", {})
    return given | content.get("application/json", {}).get("example", {})


def answer(name: str) -> tuple[int, Any]:
    """The documented answer."""
    status, good_one = next((int(one), told) for one, told in TOLD[name][1]["responses"].items() if one.startswith("2"))
    return status, good_one.get("content", {}).get("application/json", {}).get("example")


def method(client: Client | AsyncClient, name: str) -> Callable[..., Any]:
    """The method of an operation."""
    operation = OPERATIONS[name]
    found: Callable[..., Any] = getattr(getattr(client, operation.tag), operation.short)
    return found


def replay(name: str) -> Scripted:
    status, body = answer(name)
    return Scripted(httpx.Response(status, content=json.dumps(body)) if body is not None else httpx.Response(status))


@each("name", TOLD)
def test_each_documented_example_can_be_sent_and_its_answer_is_a_model(name):
    service = replay(name)

    got = method(service.client(), name)(**arguments(name))

    assert (type(got).__name__ if got is not None else None) == OPERATIONS[name].answer
    verb, _, path = TOLD[name][0].partition(" ")
    (request,) = service.asked
    assert request.method == verb
    assert request.url.path == path.format(**arguments(name))
    if request.headers.get("content-type") == "application/json":
        content = TOLD[name][1]["requestBody"]["content"]["application/json"]["example"]
        sent = json.loads(request.content)
        assert {one: sent[one] for one in content} == content


def test_both_clients_send_the_same_and_understand_the_same():
    async def ask(name: str) -> tuple[Any, list[httpx.Request]]:
        service = replay(name)
        async with service.async_client() as client:
            return await method(client, name)(**arguments(name)), service.asked

    async def everything() -> None:
        for name in OPERATIONS:
            service = replay(name)
            plain = method(service.client(), name)(**arguments(name))
            awaited, asked = await ask(name)
            assert awaited == plain
            assert [(one.method, one.url) for one in asked] == [(one.method, one.url) for one in service.asked]

    asyncio.run(everything())


def test_both_clients_have_a_method_of_the_same_form_for_each_operation_and_the_same_helpers():
    assert set(OPERATIONS) == set(TOLD)
    tags = {one.tag for one in OPERATIONS.values()}
    public = [name for name in dir(Client) if not name.startswith("_")]
    helpers = set(public) - tags
    assert helpers == {"call", "close", "markdown", "pages", "url"}
    assert public == [name for name in dir(AsyncClient) if not name.startswith("_")]
    pairs = [(getattr(Client, name), getattr(AsyncClient, name)) for name in helpers - {"url"}]
    plain, awaited = Scripted().client(), Scripted().async_client()
    pairs += [(method(plain, name), method(awaited, name)) for name in OPERATIONS]
    for one, other in pairs:
        assert list(inspect.signature(one).parameters) == list(inspect.signature(other).parameters)
    for tag in tags:
        methods = {name for name in dir(getattr(plain, tag)) if not name.startswith("_")}
        assert methods - {"wait"} == {one.short for one in OPERATIONS.values() if one.tag == tag}
        assert ("wait" in methods) == (tag == "jobs")
    for operation in OPERATIONS.values():
        taken = inspect.signature(method(plain, operation.name)).parameters.values()
        places = [one.name for one in taken if one.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
        assert places == list(operation.path_parameters)


def test_a_method_is_found_by_its_kind_and_what_it_does_without_saying_the_kind_again():
    shorts = {name: f"{one.tag}.{one.short}" for name, one in OPERATIONS.items()}
    for name, short in {
        "append_note": "notes.append",
        "store_memory": "memories.store",
        "get_bank_file": "bank.get_file",
        "erase_items": "erasure.erase_items",
        "ask_question": "questions.ask",
        "search_space": "search.space",
        "get_whoami": "service.whoami",
    }.items():
        assert shorts[name] == short
    assert len(set(shorts.values())) == len(shorts)


def test_two_operations_of_a_group_can_t_have_one_name():
    document = copy.deepcopy(DOCUMENT)
    document["paths"]["/v1/about"]["get"]["operationId"] = "append_note"
    document["paths"]["/v1/about"]["get"]["tags"] = ["notes"]
    document["paths"]["/v1/spaces/{space_id}/notes"]["post"]["operationId"] = "notes_append"
    with pytest.raises(ValueError, match="append"):
        operation_table.build(document, defaultdict(lambda: "reads"))


def test_the_table_says_what_a_command_line_needs():
    note = OPERATIONS["append_note"]
    assert (note.method, note.path, note.tag, note.needs) == ("POST", "/spaces/{space_id}/notes", "notes", "write")
    assert (note.takes_key, note.markdown, note.paged) == (True, False, False)
    told = ["repository", "branch", "commit"]
    assert list(note.fields) == [
        "space_id",
        "category",
        "content",
        "tags",
        "said_at",
        "author",
        *told,
        "source",
        "items",
    ]
    assert (note.answer, note.many) == ("NoteView", "NoteList")
    category = note.body["category"]
    assert (category.type, category.required, category.choices[:2]) == ("string", True, ("observation", "decision"))
    assert (note.body["tags"].type, note.body["tags"].items) == ("array", "string")
    assert OPERATIONS["list_notes"].paged
    assert OPERATIONS["get_summary"].markdown
    assert OPERATIONS["delete_backup"].answer is None
    assert OPERATIONS["correct_memory"].body["ttl"].nullable


def page(items: list[int], cursor: str | None) -> httpx.Response:
    return good({"items": items, "next_cursor": cursor})


def test_pages_are_read_one_after_the_other_as_their_items_are_asked_for():
    service = Scripted(page([1, 2], "c1"), page([], "c2"), page([3], None))
    items = service.client().pages("list_notes", {"space_id": "demo", "limit": 2})
    assert service.asked == []
    assert next(items) == 1
    assert len(service.asked) == 1
    assert list(items) == [2, 3]
    assert service.paths == [
        "/v1/spaces/demo/notes?limit=2",
        "/v1/spaces/demo/notes?limit=2&cursor=c1",
        "/v1/spaces/demo/notes?limit=2&cursor=c2",
    ]

    async def collect() -> list[int]:
        client = Scripted(page([1, 2], "c1"), page([3], None)).async_client()
        return [item async for item in client.pages("list_notes", {"space_id": "demo"})]

    assert asyncio.run(collect()) == [1, 2, 3]


def test_a_page_that_leads_to_itself_is_an_error_not_a_loop():
    with pytest.raises(LiveMemoryError, match="names itself"):
        list(Scripted(page([1], "c1")).client().pages("list_notes", {"space_id": "demo"}))


def test_what_has_no_pages_is_refused():
    with pytest.raises(BadArgument, match="get_space has no pages"):
        list(Scripted().client().pages("get_space", {"space_id": "demo"}))


def job(status: str) -> httpx.Response:
    return good({**JOB, "status": status})


def test_a_job_is_looked_at_until_it_has_ended_whatever_came_of_it():
    for end in ("done", "failed", "cancelled", "a status of a newer service"):
        service = Scripted(job("queued"), job("running"), job(end))
        seen: list[models.JobView] = []
        got = service.client().jobs.wait("demo.backup.b", on_poll=seen.append)
        assert got.status == end
        assert [one.status for one in seen] == ["queued", "running", end]
        assert service.waited == sorted(service.waited)
        assert {one.url.path for one in service.asked} == {"/v1/jobs/demo.backup.b"}
    awaited = Scripted(job("queued"), job("done"))
    assert asyncio.run(awaited.async_client().jobs.wait("demo.backup.b")).status == "done"
    assert len(awaited.waited) == 1


def test_a_job_that_does_not_end_in_time_is_told_as_going_on():
    service = Scripted(job("running"))
    with pytest.raises(LiveMemoryError, match="still_running") as caught:
        service.client().jobs.wait("demo.backup.b", timeout=20)
    assert caught.value.curable
    assert 20 <= sum(service.waited) < 24
    assert max(service.waited) <= 3


def test_the_environment_says_where_the_service_is_and_who_asks(monkeypatch):
    monkeypatch.setenv("LIVEMEM_URL", "https://memory.example.org/v1/")
    monkeypatch.setenv("LIVEMEM_TOKEN", "lm_x\n")
    with Client() as client:
        assert repr(client) == "Client('https://memory.example.org')"
        assert client._http.headers["authorization"] == "Bearer lm_x"
    assert "authorization" not in Client("http://127.0.0.1:3000", "")._http.headers
    monkeypatch.delenv("LIVEMEM_TOKEN")
    assert "authorization" not in AsyncClient("http://127.0.0.1:3000")._http.headers


@each(
    "url",
    ["", "memory.example.org", "ftp://x", "http://", "https://ann:pw@x", "https://x?a=b", "https://x#y", "http://[", "http://x:port"],
)  # fmt: skip
def test_a_url_that_is_none_or_says_too_much_is_refused(monkeypatch, url):
    monkeypatch.delenv("LIVEMEM_URL", raising=False)
    with pytest.raises(BadArgument, match="The URL of the service") as caught:
        Client(url, "x")
    assert "pw" not in str(caught.value)


@each("token", ["lm_é", "a b", "a\r\nX: 1", "a\x00"])
def test_a_token_that_no_header_can_hold_is_refused_without_being_shown(token):
    with pytest.raises(BadArgument) as caught:
        Client("https://memory.example.org", token)
    assert token not in str(caught.value)


def test_no_proxy_is_asked_on_the_way_to_one_s_own_machine(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.example.org:3128")
    for url, trusts in (
        ("http://127.0.0.1:3000", False),
        ("http://localhost:3000", False),
        ("http://memory.lan", True),
    ):
        with Client(url, "x") as client:
            assert client._http.trust_env is trusts


def test_it_says_which_version_it_is():
    service = Scripted(good(NOTE))
    service.client().notes.get("demo", "x")
    assert service.asked[0].headers["user-agent"] == f"live-memory/{live_memory.__version__}"


@each(
    ("url", "checked"),
    [
        ("http://127.0.0.1:1", False),
        ("http://localhost", False),
        ("https://127.0.0.1:1", True),
        ("HTTPS://localhost", True),
        ("https://example.org", True),
    ],
)
def test_only_a_service_on_this_machine_over_http_has_no_certificate_to_check(url, checked):
    assert _over_httpx.options(_exchange.target(url, "token"), 5)["verify"] is checked
