"""What can happen to an account, told through its functions alone: each story on an empty bucket.

Together they ask of AWS whatever the functions ever ask; tests/integration/test_roles.py says what is missing here, or
too much in the template.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import sha256
from http.server import BaseHTTPRequestHandler
from itertools import count
from json import dumps, loads
from typing import Any

import boto3
import pytest
from moto import mock_aws
from moto.core.config import DefaultConfig

from livemem import clock as clocks
from livemem.errors import StoreUnavailable
from livemem.process import Process
from livemem.spaces import lifecycle
from livemem.store import due_keys
from livemem.store.clients import open_store
from livemem.store.due_keys import DueEntry, DueKind
from livemem_http import environment
from tests.support.bucket import FakeS3
from tests.support.counting import Killed
from tests.support.functions import sample
from tests.support.llm_server import LlmServer, answer, completion, serving
from tests.support.part import of_proof, part
from tests.support.policy import BUCKET, Request, Role, object_arn
from tests.support.service import Service, running
from tests.support.world import BOOTSTRAP_KEY, HandClock, Ids, append_everything, read_prompt

LLM_KEY = "/live-memory/llm-api-key"
EMBEDDINGS_KEY = "/live-memory/embeddings-api-key"
HOUR = 3_600
SECOND, DAY = timedelta(seconds=1), timedelta(days=1)
NOON = datetime(2026, 2, 20, 12, tzinfo=UTC)
"""Of any day."""
SPACE = "/v1/spaces/{space_id}"
FILE = f"{SPACE}/bank/{{path+}}"
RUNS = f"{SPACE}/consolidations"
PLAN = f"{SPACE}/plan"
AS_SENT = ("arguments", "result")
"""Of a call of a tool: any JSON of a caller's."""


def _null_fields(value: Any, name: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for inner, part in value.items():
            if inner not in AS_SENT:
                yield from _null_fields(part, inner)
    elif isinstance(value, list):
        for part in value:
            yield from _null_fields(part, name)
    elif value is None:
        yield name


@dataclass
class Account:
    """The service with its clock and its LLM in our hands. The space is `demo`."""

    service: Service
    clock: HandClock
    llm: LlmServer
    called: set[tuple[str, str]] = field(default_factory=set)
    """Method and path of the routes that were called."""
    nulls: set[str] = field(default_factory=set)
    """Where an answer had a null: the route or the tool, and the field."""

    def tell(self, story: "Story") -> None:
        """Let it happen, on an empty bucket."""
        FakeS3(self.clock).copy_to(self.service.s3)
        self.service.lambda_api.invoked.clear()
        self.service.lambda_api.indexing.clear()
        self.service.lambda_api.status = 202
        self.service.cold = True
        self.service.recorder.deadly = lambda request: False
        self.llm.script.clear()
        # At noon, so that what counts by days is all of one.
        self.clock.move((NOON - self.clock.moment) % DAY / SECOND)
        story(self)

    def call(
        self, function: str, method: str, route: str, status: int, *, token: str | None = BOOTSTRAP_KEY, **rest: Any
    ) -> Any:
        """The body of the answer, which must have this status."""
        self.called.add((method, route))
        path = {"space_id": "demo"} if "{space_id}" in route else {}
        got = self.service.http(function, method, route, token=token, **path, **rest)
        assert got["statusCode"] == status, got
        found = loads(got["body"]) if got.get("body") else None
        self.look_for_nulls(f"{method} {route}", found)
        return found

    def look_for_nulls(self, door: str, answer: Any) -> None:
        """Note the null fields of an answer. What a tool of somebody was given and gave is as it was sent."""
        self.nulls |= {f"{door}: {name}" for name in _null_fields(answer or {})}

    def create(self, status: int = 201, *, threshold: int = 0, token: str = BOOTSTRAP_KEY) -> None:
        wanted = {"space_id": "demo", "rules": "Keep a log.", "consolidation_threshold": threshold}
        self.call("backup", "POST", "/v1/spaces", status, token=token, body=wanted)

    def delete(self) -> None:
        self.call("admin", "DELETE", SPACE, 204, query={"confirm": "demo"})

    def note(self, status: int = 201, *, content: str = "x", key: str | None = None, **rest: Any) -> str:
        """The id of a new note, or of the one that the Idempotency-Key stands for."""
        body, headers = {"category": "todo", "content": content}, {"idempotency-key": key} if key else {}
        found = self.call("ingest", "POST", f"{SPACE}/notes", status, body=body, headers=headers, **rest)
        return str(found["note_id"])

    def correct(self, content: str = "# Hand\n", status: int = 201) -> None:
        self.call("admin", "PUT", FILE, status, path="hand.md", body={"content": content})

    def change_rules(self) -> None:
        self.call("admin", "PUT", f"{SPACE}/rules", 200, body={"rules": "Keep two logs."})

    def undo(self, number: int) -> None:
        self.call("admin", "POST", f"{RUNS}/{{number}}/undo", 200, number=str(number))

    def plan(self) -> Any:
        """The plan that waits for approval."""
        return self.call("reads", "GET", SPACE, 200).get("pending_plan")

    def approve(self, plan: Any, status: int = 200) -> None:
        body = {"job": plan["job"], "plan_revision": plan["plan_revision"]}
        self.call("admin", "POST", f"{PLAN}/approve", status, body=body)

    def refuse(self, **more: str) -> None:
        self.call("admin", "POST", f"{PLAN}/refuse", 200, body={"job": self.plan()["job"], **more})

    def jobs(self, kind: str, **query: str) -> list[Any]:
        """The jobs of a kind."""
        return list(
            self.call("backup", "GET", "/v1/jobs", 200, query={"space_id": "demo", "kind": kind, **query})["items"]
        )

    def job(self, job: str) -> Any:
        """A job, with its result beside the rest."""
        found = self.call("backup", "GET", "/v1/jobs/{job}", 200, job=job)
        return {**found.get("result", {}), **found}

    def start(self, status: int = 202, *, token: str = BOOTSTRAP_KEY, **order: Any) -> None:
        """Start a run by hand, when the last one is long enough ago."""
        self.clock.move(10)
        self.call("consolidate", "POST", RUNS, status, token=token, body=order)

    def work(self, expected: str = "done") -> None:
        """Work off the oldest queued run, with an LLM that appends all notes to `log.md`."""

        def fold(handler: BaseHTTPRequestHandler) -> None:
            prompt = read_prompt(self.llm.asked[-1].body["messages"])
            answer(completion(append_everything(prompt)))(handler)

        self.llm.script.clear()
        self.llm.script.append(fold)
        assert self.service.work()["status"] == expected

    def written(self, note_id: str) -> Any:
        """What the counter does with the note's put event."""
        event = sample("counter-put")
        event["Records"][0]["s3"]["object"]["key"] = f"demo/live/{note_id}.md"
        return self.service.invoke("counter", event)["demo"]

    def sweep(self, *, failed: Sequence[str] = (), everything: bool = False) -> Any:
        """What the sweep did in the marked spaces, or in all."""
        report = self.service.invoke("sweep", sample("sweep-all" if everything else "sweep-schedule"))
        assert report["failed"] == [*failed]
        return report["done"]

    def put(self, key: str, body: str = "x") -> None:
        """Somebody writes to the bucket without the service."""
        self.service.s3.put_object(Bucket=BUCKET, Key=key, Body=body)

    @contextmanager
    def dying(self, action: str, key: str, *, time: int = 1) -> Iterator[None]:
        """The process dies within, before it does this to a key that begins so for the first (second, ...) time."""
        seen = count(1)

        def deadly(request: Request) -> bool:
            hit = request.action == action and request.resource.startswith(object_arn(key))
            return hit and next(seen) >= time

        recorder = self.service.recorder
        recorder.deadly = deadly
        # Powertools warns that who died had no metrics to tell.
        with warnings.catch_warnings(action="ignore", category=UserWarning), pytest.raises(Killed):
            yield
        recorder.deadly = lambda request: False
        self.clock.move(HOUR)


Story = Callable[[Account], None]


PARAMETERS: DefaultConfig = {"core": {"passthrough": {"urls": [r"http://127\.0\.0\.1.*"]}}}
"""moto has them; all that is on loopback is real."""


@contextmanager
def opened(roles: dict[str, Role]) -> Iterator[Account]:
    """An account whose functions start anew with each invocation, so that each asks for all that it needs."""
    clock = HandClock(clocks.now())
    with (
        pytest.MonkeyPatch.context() as patch,
        serving() as llm,
        running(roles, patch, clock) as service,
        mock_aws(config=PARAMETERS),
    ):
        patch.setenv("LLMAAS_API_URL", llm.url)
        patch.setenv("LLMAAS_API_KEY", LLM_KEY)
        patch.setenv("EMBEDDINGS_API_URL", llm.url)
        patch.setenv("EMBEDDINGS_API_KEY", EMBEDDINGS_KEY)
        # Handlers take the time from the module, processes from their field.
        patch.setattr(clocks, "now", clock)
        # Runs are entered below the day of the clock, and looked for below that of their ids.
        patch.setattr(environment, "Process", partial(Process, clock=clock, new_id=Ids(clock)))
        patch.setattr(environment, "open_store", lambda settings: replace(open_store(settings), sleep=clock.move))
        # So few that whoever stores memories comes to a snapshot of them.
        patch.setattr("livemem.memories.log.SNAPSHOT_EVERY", 2)
        patch.setattr("livemem.memories.memory_vectors.WORTH_KEEPING", 1)
        for name in (LLM_KEY, EMBEDDINGS_KEY):
            boto3.client("ssm").put_parameter(Name=name, Value="key", Type="SecureString")
        yield Account(service, clock, llm)


def tokens_with_a_list_of_spaces(account: Account) -> None:
    digest = f"sha256:{sha256(b'lm_ann').hexdigest()}"
    token = {"hash": digest, "name": "ann", "permissions": ["read", "write"], "space_ids": ["other"]}
    account.put("_system/tokens.json", dumps({"version": 1, "tokens": [token]}))
    account.create(token="lm_ann")
    account.call("reads", "GET", SPACE, 200, token="lm_ann")
    account.note(token="lm_ann")
    account.start(token="lm_ann")
    account.call("conversations", "POST", f"{SPACE}/conversations", 201, token="lm_ann")
    account.delete()
    account.call("reads", "GET", SPACE, 403, token="lm_ann")


def a_token_from_its_making_to_its_end(account: Account) -> None:
    wanted = {"name": "ann", "permissions": ["read", "write"], "space_ids": ["demo"]}
    made = account.call("admin", "POST", "/v1/tokens", 201, body=wanted)
    account.create(token=BOOTSTRAP_KEY)
    account.note(token=made["token"])
    assert [entry["name"] for entry in account.call("admin", "GET", "/v1/tokens", 200)["items"]] == ["ann"]
    one = {"token_hash": made["hash"][7:23]}
    token = "/v1/tokens/{token_hash}"
    account.call("admin", "PATCH", token, 200, body={"permissions": ["read"]}, **one)
    new = account.call("admin", "POST", "/v1/tokens/self/rotate", 201, token=made["token"])
    code = account.call("admin", "POST", "/v1/page-codes", 201, token=new["token"])["page_code"]
    exchange = "/v1/page-codes/exchange"
    assert account.call("admin", "POST", exchange, 200, token=None, body={"code": code})["token"] == new["token"]
    account.call("admin", "POST", exchange, 401, token=None, body={"code": code})
    assert account.call("admin", "DELETE", token, 200, query={"forget": "true"}, **one)["others"]
    account.call("reads", "GET", SPACE, 401, token=new["token"])
    collected = account.call("backup", "POST", "/v1/admin/gc", 200, body={"dry_run": False})
    assert len(collected["tokens_removed"]) == 1
    account.clock.move(48 * HOUR)
    account.sweep(everything=True)


def a_space_from_its_creation_to_its_deletion(account: Account) -> None:
    account.start(404)
    account.create(threshold=2)
    account.create(409)
    first = account.note(key="k")
    account.note(200, key="k")
    assert account.written(first) == "below_threshold"
    notes = [{"category": "todo", "content": content} for content in "ab"]
    account.call("ingest", "POST", f"{SPACE}/notes", 201, body={"items": notes})
    assert account.written(first) == "started"
    assert account.written(first) == "busy"
    account.work()
    account.note(200, key="k")
    account.note(content="another")
    account.call("admin", "PATCH", SPACE, 200, body={"description": "changed"})
    account.start()
    account.work()
    everything_is_read(account, first)
    account.put("demo/photo.png")
    account.put("demo/_passed_on/01ARZ3NDEKTSV4RRFFQ69G5FAV/team/20260220T140000_ann_todo_00000000")
    account.put("demo/_search/1-000001.sqlite")
    account.put("demo/_vectors/m-3/00000001.vec")
    account.put("demo/_system/tokens.json")
    account.start(dry_run=True)
    account.work()
    account.delete()
    assert [key for key in account.service.written() if not key.startswith("_")] == ["demo/_meta.json"]


def a_budget_that_a_deleted_space_has_used(account: Account) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LLM_DAILY_TOKEN_BUDGET", "1")
        account.create()
        account.note()
        account.start()
        account.work()
        account.delete()
        used = account.call("reads", "GET", "/v1/usage", 200)
        assert used["budget"]["exhausted"]
        # A budget is that of a day, and the id is blocked for 21 minutes: there may be no more left of it.
        patch.setattr(lifecycle, "TOMBSTONE_LIFE", timedelta())
        account.create()
        account.note()
        account.start()
        account.service.work()
        account.call("reads", "GET", "/v1/health", 200)


def everything_is_read(account: Account, first: str) -> None:
    live = account.note(content="live")
    (*_, oldest) = account.jobs("consolidation")
    account.job(oldest["job"])
    reads: dict[str, dict[str, Any]] = {
        "/v1/health": {},
        "/v1/about": {},
        "/v1/whoami": {},
        "/v1/spaces": {},
        SPACE: {},
        f"{SPACE}/rules": {},
        f"{SPACE}/summary": {},
        f"{SPACE}/synthesis": {},
        f"{SPACE}/notes": {},
        f"{SPACE}/notes/{{note_id}}": {"note_id": live},
        f"{SPACE}/bank": {"query": {"content": "true"}},
        FILE: {"path": "log.md", "query": {"sources": "true"}},
        RUNS: {},
        f"{RUNS}/{{number}}": {"number": "1"},
        "/v1/usage": {"query": {"space_id": "demo"}},
    }
    for route, path in reads.items():
        account.call("reads", "GET", route, 200, **path)
    account.call("reads", "GET", f"{SPACE}/notes/{{note_id}}", 200, note_id=first)
    account.call("reads", "GET", FILE, 200, path="log.md", query={"at": "1"})
    account.call("reads", "GET", FILE, 404, path="none.md")


def corrections_and_their_undo(account: Account) -> None:
    account.create()
    account.correct()
    account.correct("# Other\n", 200)
    account.call("admin", "DELETE", FILE, 204, path="hand.md")
    for number in (3, 2, 1):
        account.undo(number)


def the_undo_of_a_consolidation(account: Account) -> None:
    account.create()
    account.note()
    account.start()
    account.work()
    account.undo(1)


def plans_that_wait(account: Account) -> None:
    """One is approved, one refused, one outdated, one replaced; at last nobody has to approve any more."""
    account.create(threshold=1)
    account.call("admin", "PATCH", SPACE, 200, body={"consolidation_mode": "review"})
    first = account.note()
    assert account.written(first) == "started"
    account.work("awaiting_approval")
    assert account.written(first) == "not_automatic"
    account.start(409)
    account.call("reads", "GET", "/v1/health", 200)
    plan = account.plan()
    assert account.job(plan["job"])["pending_plan"]["plan_revision"] == plan["plan_revision"]
    account.approve(plan)
    assert account.plan() is None
    account.written(account.note(content="another"))
    account.work("awaiting_approval")
    account.refuse(reason="not so")
    account.start()
    account.work("awaiting_approval")
    account.correct()
    account.approve(account.plan(), 409)
    account.work("awaiting_approval")
    account.start(replace=True)
    account.work("awaiting_approval")
    account.call("admin", "PATCH", SPACE, 200, body={"consolidation_mode": "auto", "auto_paused": False})
    account.work()


def an_agent_that_folds(account: Account) -> None:
    """It asks again, corrects its answer, folds, comes too late, is overtaken, and asks too often."""

    def begin(status: int = 202) -> Any:
        return account.call("consolidate", "POST", RUNS, status, body={"by": "agent"})

    def say(begun: Any, text: str, status: int = 200) -> Any:
        return account.call(
            "consolidate", "POST", "/v1/jobs/{job}/answer", status, job=begun["job"], body={"text": text}
        )

    def folded(begun: Any) -> str:
        return append_everything(read_prompt([{}, {"content": begun["prompt"]}]))

    account.create()
    account.note()
    begin(403)
    account.call("admin", "PATCH", SPACE, 200, body={"agent_folds": True})
    begun = begin()
    assert begin()["prompt"] == begun["prompt"], "a lost reply comes again"
    asked = say(begun, "I would rather not.")
    assert "JSON" in asked["prompt"]
    ends = [say(begun, folded(begun)) for _ in range(2)]
    assert [(end["status"], end["detail"]) for end in ends] == [("done", "Folded notes: 1.")] * 2
    assert begin()["status"] == "done"
    account.note(content="another")
    late = begin()
    account.correct()
    assert "superseded" in say(late, folded(late), 409)["detail"]
    account.note(content="one more")
    begin(429)
    account.clock.move(HOUR + 1)
    late = begin()
    account.clock.move(700)
    say(late, folded(late), 409)
    account.sweep()
    assert account.job(late["job"])["code"] == "superseded"


def a_plan_is_proposed_and_not_told(account: Account, recover: Story) -> None:
    account.create()
    account.call("admin", "PATCH", SPACE, 200, body={"consolidation_mode": "review"})
    account.note()
    account.start()
    with account.dying("s3:PutObject", "demo/_runs/", time=3):
        account.work()
    recover(account)


def an_approval_that_dies_after_its_commit(account: Account, recover: Story) -> None:
    account.create()
    account.call("admin", "PATCH", SPACE, 200, body={"consolidation_mode": "review"})
    account.note()
    account.start()
    account.work("awaiting_approval")
    with account.dying("s3:PutObject", "demo/_consolidations/"):
        account.approve(account.plan())
    recover(account)


def a_refusal_that_dies_after_its_swap(account: Account, recover: Story) -> None:
    account.create()
    account.call("admin", "PATCH", SPACE, 200, body={"consolidation_mode": "review"})
    account.note()
    account.start()
    account.work("awaiting_approval")
    with account.dying("s3:PutObject", "demo/_runs/"):
        account.refuse()
    recover(account)


class Patience:
    """In the place of the time that must be left: there is enough of it at so many looks."""

    def __init__(self, looks: int) -> None:
        self.looks = looks

    def __lt__(self, left: timedelta) -> bool:
        self.looks -= 1
        return self.looks >= 0


def searches_and_their_index(account: Account) -> None:
    def embed(handler: BaseHTTPRequestHandler) -> None:
        texts = account.llm.asked[-1].body["input"]
        data = [
            {"object": "embedding", "index": place, "embedding": [1.0, len(text) % 7, 0.5]}
            for place, text in enumerate(texts)
        ]
        answer({"object": "list", "model": "text-embedding-3-small", "data": data})(handler)

    def search(route: str = f"{SPACE}/search", token: str = BOOTSTRAP_KEY, **query: str) -> Any:
        account.llm.script.extend([embed] * 3)
        return account.call("search", "GET", route, 200, token=token, query={"q": "store", **query})

    def index() -> Any:
        account.llm.script.extend([embed] * 3)
        return account.service.index()

    account.create()
    account.note(content="the store")
    wanted = {"name": "ann", "permissions": ["read"], "space_ids": ["demo"]}
    token = account.call("admin", "POST", "/v1/tokens", 201, body=wanted)["token"]
    assert search(token=token)["ranking"] == "hybrid"
    account.correct("# Hand\n\nA line.\n")
    assert index()["embedded"] == 2
    account.start()
    account.work()
    assert index()["snapshot"]
    assert search(scope="all")["items"]
    begun = search(f"{SPACE}/start", token=token)
    read = partial(account.call, "search", "GET", f"{SPACE}/read", 200, token=token)
    for one in [*{item["source"] for item in begun["parts"] if "source" in item}, "rules", "bank"]:
        assert read(query={"id": one})["text"]
    for hit in search(scope="archive")["items"]:
        assert read(query={"id": hit["id"]})["kind"] == "note"
    assert account.call("search", "GET", f"{SPACE}/stale", 200, token=token)["count"] == 0
    assert search(f"{SPACE}/context", token=token)["items"]
    assert search("/v1/search", spaces="demo")["items"]
    *_, newest = [key for key in account.service.written() if "/_search/" in key]
    account.put(newest)
    for number in range(17):
        account.put(f"demo/_vectors/text-embedding-3-small-3/{number + 100:08d}.vec")
    account.put("demo/_search/0-000001.sqlite")
    assert search()["items"]
    assert index()["snapshot"]
    # There is time to read what is new, and none to embed it.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("livemem.recall.indexing.MARGIN", Patience(1))
        account.note(content="more")
        account.llm.script.extend([embed] * 2)
        assert account.service.invoke("indexer", {"space_id": "demo"})["status"] == "unfinished"
    assert account.service.lambda_api.indexing.pop()["space_id"] == "demo"
    account.service.lambda_api.indexing.clear()
    for key in account.service.written():
        if "/_search/" in key:
            account.service.s3.delete_object(Bucket=BUCKET, Key=key)
    account.sweep(everything=True)
    assert len(account.service.lambda_api.indexing) == 1


def what_no_route_matches(account: Account) -> None:
    answered = account.service.http("reads", "GET", "/v1/nowhere")
    account.called.add(("ANY", "$default"))
    assert answered["statusCode"] == 404


def a_change_of_the_rules(account: Account) -> None:
    account.create()
    account.change_rules()
    account.undo(1)


def sections_that_are_corrected(account: Account) -> None:
    account.create()
    account.correct("# Hand\n\n## Log\n\n- one\n")
    edit = {"op": "append_to_section", "heading": "## Log", "content": "- two"}
    body = {"edits": [edit], "reason": "it was left out"}
    account.call("admin", "PATCH", FILE, 200, path="hand.md", body=body)


def a_pause_that_ends(account: Account) -> None:
    account.create(threshold=1)
    account.call("admin", "PATCH", SPACE, 200, body={"auto_paused": True})
    account.note()
    account.call("admin", "PATCH", SPACE, 200, body={"auto_paused": False})
    account.work()


def corrections_at_the_threshold(account: Account) -> None:
    account.create(threshold=1)
    account.note()
    account.correct()
    account.work()


def more_notes_than_one_run_takes(account: Account) -> None:
    account.create(threshold=2)
    for content in "abcd":
        account.note(content=content)
    account.start(max_notes=2)
    account.work()
    account.work()


def entered(account: Account, kind: DueKind) -> dict[str, DueEntry]:
    """What of a kind stands in the due index, by its keys."""
    found = {key: due_keys.parse_due(key) for key in account.service.written()}
    return {key: entry for key, entry in found.items() if entry and entry.kind == kind}


def notes_that_wait(account: Account) -> None:
    account.create(threshold=9)
    first = account.note()
    account.written(first)
    passes_on = {"category": "todo", "content": "x", "source": {"space_id": "demo", "id": first}}
    account.call("ingest", "POST", f"{SPACE}/notes", 201, body=passes_on)
    account.clock.move(HOUR)
    account.sweep()
    (waits,) = entered(account, "notes")
    account.call("admin", "PATCH", SPACE, 200, body={"auto_paused": True})
    account.clock.move(HOUR)
    account.sweep()
    assert waits not in account.service.written()


def more_spaces_than_a_sweep_looks_at_in_one_round(account: Account) -> None:
    for number in range(65):
        account.put(due_keys.due(f"space-{number:02}", "space", "", account.clock()))
    account.sweep()
    assert "_system/sweeps/due.json" in account.service.written()


def an_event_that_never_came(account: Account) -> None:
    account.create(threshold=1)
    account.note()
    assert account.sweep() == {}
    assert account.sweep(everything=True)["started"] == {"demo": 1}
    account.work()


def an_llm_that_fails(account: Account) -> None:
    account.create(threshold=1)
    account.note()
    account.start()
    account.llm.script.append(answer({}, 500))
    assert account.service.work()["status"] == "failed"
    assert account.sweep().get("started") is None


def runs_that_can_not_be_queued(account: Account) -> None:
    account.create(threshold=1)
    note_id = account.note()
    # An answer after which boto3 does not try again.
    account.service.lambda_api.status = 404
    account.start(503)
    with pytest.raises(StoreUnavailable):
        account.written(note_id)
    # What is committed stands; the sweep starts the run.
    account.correct()
    account.sweep(failed=["demo"])


def idempotency_keys_that_expire(account: Account) -> None:
    account.create()
    account.note(key="k")
    account.clock.move(7.5 * 24 * HOUR)
    account.note(key="k")
    account.clock.move(9 * 24 * HOUR)
    account.sweep(everything=True)
    assert [key for key in account.service.written() if "_idempotency" in key] == []


def a_deletion_that_is_interrupted(account: Account, recover: Story) -> None:
    account.create(threshold=1)
    account.correct()
    account.note(key="k")
    account.start()
    account.work()
    account.note(content="late")
    account.put("demo/photo.png")
    account.put("demo/_passed_on/01ARZ3NDEKTSV4RRFFQ69G5FAV/team/20260220T140000_ann_todo_00000000")
    account.put("demo/_search/1-000001.sqlite")
    account.put("demo/_vectors/m-3/00000001.vec")
    account.put("demo/_system/tokens.json")
    account.put("demo/_lease.json")
    account.put("demo/_erasures/01HZZZZZZZ0000000000000001.json")
    with account.dying("s3:DeleteObject", "demo/"):
        account.delete()
    recover(account)


def a_creation_that_is_interrupted(account: Account, recover: Story) -> None:
    with account.dying("s3:PutObject", "demo/_meta.json"):
        account.create()
    recover(account)


def a_note_that_is_written_once_more(account: Account, recover: Story) -> None:
    account.create()
    note_id = account.note()
    account.start()
    account.work()
    account.put(f"demo/live/{note_id}.md")
    account.clock.move(1)
    account.call("reads", "GET", f"{SPACE}/notes", 200)
    recover(account)


def an_undo_that_late_requests_disturb(account: Account, recover: Story) -> None:
    account.create()
    note_id = account.note()
    account.start()
    account.work()
    account.correct("# Hand\n")
    account.change_rules()
    for number in (3, 2, 1):
        account.undo(number)
    account.service.s3.delete_object(Bucket=BUCKET, Key=f"demo/live/{note_id}.md")
    for name in ("bank/log.md", "bank/hand.md", "_rules.md", "_synthesis.md"):
        account.service.s3.put_object(
            Bucket=BUCKET, Key=f"demo/{name}", Body=b"# Late\n", Metadata={"consolidation": "1"}
        )
    recover(account)


def a_space_whose_holder_is_silent(account: Account, kind: str) -> None:
    account.create(threshold=1)
    note_id = account.note()
    held = {"owner": "01HZZZZZZZ0000000000000001", "kind": kind, "seconds": 90, "expires_at": "2026-02-20T14:00:00Z"}
    account.put("demo/_lease.json", dumps(held))
    account.clock.move(80)
    account.written(note_id)
    account.call("reads", "GET", "/v1/health", 200)
    account.call("admin", "PUT", FILE, 409, path="hand.md", body={"content": "# Hand\n"})
    account.call("admin", "PATCH", SPACE, 200, body={"consolidation_threshold": 1})
    account.sweep()


def a_run_that_nobody_ever_starts(account: Account) -> None:
    account.create()
    account.note()
    account.start()
    account.service.lambda_api.invoked.clear()
    account.clock.move(2 * HOUR)
    account.sweep()
    account.sweep()


def notes_of_a_space_that_is_gone(account: Account) -> None:
    account.create()
    note_id = account.note()
    account.delete()
    account.put(f"demo/live/{note_id}.md")
    account.clock.move(HOUR)
    assert account.sweep()["cleaned"] == {"demo": 1}


def a_run_that_dies_before_its_commit(account: Account, recover: Story) -> None:
    account.create()
    account.note()
    account.start()
    with account.dying("s3:PutObject", "demo/_meta.json"):
        account.work()
    recover(account)


def a_run_that_dies_after_its_commit(account: Account, recover: Story) -> None:
    account.create()
    account.note()
    account.start()
    account.work()
    account.note(content="second")
    account.start()
    with account.dying("s3:PutObject", "demo/_consolidations/"):
        account.work()
    account.put("demo/bank/log.md", "# Changed without the service\n")
    recover(account)


def a_run_that_dies_before_it_closes(account: Account, recover: Story) -> None:
    account.create()
    account.note()
    account.start()
    with account.dying("s3:PutObject", "demo/_meta.json", time=2):
        account.work()
    recover(account)


def an_undo_that_dies_after_its_commit(account: Account, recover: Story) -> None:
    account.create()
    account.note()
    account.start()
    account.work()
    with account.dying("s3:PutObject", "demo/_consolidations/"):
        account.undo(1)
    recover(account)


def a_change_of_the_rules_that_dies_after_its_commit(account: Account, recover: Story) -> None:
    account.create()
    account.note()
    with account.dying("s3:PutObject", "demo/_consolidations/"):
        account.change_rules()
    recover(account)


def a_correction_recovers(account: Account) -> None:
    account.correct()


def a_consolidation_recovers(account: Account) -> None:
    account.start()
    run = account.service.lambda_api.invoked[-1]
    account.service.lambda_api.invoked[:] = [run]
    account.llm.script.clear()
    account.service.work()


def an_agent_that_begins_recovers(account: Account) -> None:
    account.call("admin", "PATCH", SPACE, 200, body={"agent_folds": True})
    account.call("consolidate", "POST", RUNS, 202, body={"by": "agent"})


def the_sweep_recovers(account: Account) -> None:
    done = account.sweep() or account.sweep(everything=True)
    assert done.get("recovered") or done.get("cleaned")


def a_sweep_comes_by(account: Account) -> None:
    account.sweep()


def a_creation_recovers(account: Account) -> None:
    account.create()


def a_creation_clears_up(account: Account) -> None:
    account.create(409)
    account.clock.move(HOUR)
    account.create()


def name_of(story: Story) -> str:
    """The story's title."""
    if isinstance(story, partial):
        chosen = next(iter(story.keywords.values()))
        return f"{story.func.__name__}, {getattr(chosen, '__name__', chosen)}"
    return story.__name__


STORIES: list[Story] = [
    a_token_from_its_making_to_its_end,
    tokens_with_a_list_of_spaces,
    a_space_from_its_creation_to_its_deletion,
    corrections_and_their_undo,
    plans_that_wait,
    an_agent_that_folds,
    more_notes_than_one_run_takes,
    notes_that_wait,
    more_spaces_than_a_sweep_looks_at_in_one_round,
    searches_and_their_index,
    runs_that_can_not_be_queued,
    *(partial(a_space_whose_holder_is_silent, kind=kind) for kind in ("consolidation", "manual")),
    *part(
        (
            partial(story, recover=recover)
            for story in (a_note_that_is_written_once_more, an_undo_that_late_requests_disturb)
            for recover in (a_correction_recovers, a_consolidation_recovers, a_sweep_comes_by)
        ),
        4,
    ),
    what_no_route_matches,
    sections_that_are_corrected,
    *(
        partial(a_deletion_that_is_interrupted, recover=recover)
        for recover in (the_sweep_recovers, a_creation_clears_up)
    ),
    *(
        partial(a_creation_that_is_interrupted, recover=recover)
        for recover in (the_sweep_recovers, a_creation_recovers)
    ),
    *part(
        (
            partial(story, recover=recover)
            for story in (
                a_run_that_dies_before_its_commit,
                a_run_that_dies_after_its_commit,
                a_run_that_dies_before_it_closes,
                an_undo_that_dies_after_its_commit,
                a_change_of_the_rules_that_dies_after_its_commit,
                an_approval_that_dies_after_its_commit,
                a_refusal_that_dies_after_its_swap,
            )
            for recover in (the_sweep_recovers, a_correction_recovers, a_consolidation_recovers)
        ),
        3,
    ),
    *(
        partial(story, recover=an_agent_that_begins_recovers)
        for story in (an_undo_that_dies_after_its_commit, a_change_of_the_rules_that_dies_after_its_commit)
    ),
    *(
        partial(a_plan_is_proposed_and_not_told, recover=recover)
        for recover in (a_correction_recovers, the_sweep_recovers)
    ),
    # They ask for nothing that no other story asks for.
    *of_proof(
        a_budget_that_a_deleted_space_has_used,
        the_undo_of_a_consolidation,
        corrections_at_the_threshold,
        an_event_that_never_came,
        an_llm_that_fails,
        idempotency_keys_that_expire,
        notes_of_a_space_that_is_gone,
        a_run_that_nobody_ever_starts,
        a_change_of_the_rules,
        a_pause_that_ends,
    ),
]
