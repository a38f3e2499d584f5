"""Each old operation about long work and its new form, sent side by side wherever a story sends the old one."""

from itertools import chain
from typing import Any

import pytest

from livemem.access import request_rate
from tests.support import broken_stories, memory_stories, stories, talk_stories
from tests.support.policy import Role
from tests.support.stories import SPACE, Account

RUN, ASKED, DIGEST = f"{SPACE}/runs/{{run_id}}", f"{SPACE}/ask/{{request_id}}", f"{SPACE}/digests/{{slot}}"
TALK = f"{SPACE}/conversations/{{conversation_id}}/jobs"
PLAN = f"{RUN}/plan"
LISTS = {f"{SPACE}/runs": "consolidation", f"{SPACE}/ask": "question", f"{SPACE}/digests": "digest", TALK: "summaries"}
RENAMED = {"queued_at": "created_at", "finished_at": "ended_at"}
IN_ID = {"run_id", "request_id", "slot", "job_id"}
ELSEWHERE = {"settled", "chunks", "counts"}
"""Of a digest: its counts are in the result, its chunks in the progress."""


def old(job: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    """What the new answer says of the fields that the old one has."""
    flat = {**job, **job.get("result", {})}
    same = {name: flat.get(RENAMED.get(name, name)) for name in answer if name not in ELSEWHERE}
    same |= {name: answer[name] for name in IN_ID & answer.keys() if job["job"].endswith(answer[name])}
    if job["status"] == "waiting" and "finished_at" in answer:
        same["finished_at"] = answer["finished_at"]
    if isinstance(answer.get("error"), str):
        same["error"] = flat["error"]["code"]
    return same


def compare(job: dict[str, Any], answer: dict[str, Any], *, listed: bool = False) -> None:
    expected = {name: value for name, value in answer.items() if name not in ELSEWHERE}
    found = old(job, answer)
    for name in {"plan", "rules", "given_up"} if listed else ():
        expected.pop(name, None), found.pop(name, None)
    assert found == expected
    if counts := answer.get("counts"):
        assert {name: {**job, **job["result"]}[name] for name in counts if name != "chunks"} == {
            name: value for name, value in counts.items() if name != "chunks"
        }
    if "settled" in answer and answer["chunks"]:
        assert job["progress"] == {"done": answer["settled"], "total": answer["chunks"]}


class Both:
    """Sends the new form after each old one."""

    def __init__(self, account: Account) -> None:
        self.account, self.send = account, account.call
        self.compared: set[str] = set()
        self.flip = False

    def new(self, method: str, route: str, **rest: Any) -> tuple[int, Any]:
        from json import loads  # noqa: PLC0415

        function = "backup" if method == "GET" else "admin"
        path = {"space_id": "demo"} if "{space_id}" in route else {}
        got = self.account.service.http(function, method, route, **path, **rest)
        return got["statusCode"], loads(got["body"])

    def call(self, function: str, method: str, route: str, status: int, **rest: Any) -> Any:
        token = {"token": rest["token"]} if "token" in rest else {}
        decides = method == "POST" and route.startswith(PLAN)
        before = None
        self.flip = not self.flip
        if decides and self.flip:
            before = self.decide(route, rest, token)
        answer = self.send(function, method, route, status, **rest)
        if decides:
            self.compared.add(f"{route} {status}")
            sent = before or self.decide(route, rest, token)
            assert sent[0] == status or (status == 409 and sent[0] in (403, 409)), (sent, status)
            if status == 200:
                assert sent[1] == (
                    answer if route.endswith("approve") else {"job": answer["job"], "status": answer["status"]}
                )
        elif method == "GET" and status == 200:
            self.look(route, rest, answer, token)
        return answer

    def decide(self, route: str, rest: dict[str, Any], token: dict[str, Any]) -> tuple[int, Any]:
        job = f"demo.consolidation.{rest['run_id']}"
        body = {**(rest.get("body") or {}), "job": job}
        return self.new("POST", f"{SPACE}/plan/{route.rpartition('/')[2]}", body=body, **token)

    def look(self, route: str, rest: dict[str, Any], answer: Any, token: dict[str, Any]) -> None:
        one = {RUN: "run_id", ASKED: "request_id", DIGEST: "slot", PLAN: "run_id", f"{TALK}/{{job_id}}": "job_id"}
        kinds = {RUN: "consolidation", PLAN: "consolidation", ASKED: "question", DIGEST: "digest"}
        if route in one:
            name = rest[one[route]]
            if route.startswith(TALK):
                name = f"{rest['conversation_id']}.{name}"
            job = f"demo.{kinds.get(route, 'summaries')}.{name}"
            status, found = self.new("GET", "/v1/jobs/{job}", job=job, **token)
            assert status == 200
            if route == PLAN:
                plan = {**found["result"], **found["result"]["pending_plan"], "run_id": name}
                plan["notes_count"] = len(plan["sources"])
                assert {name: plan.get(name) for name in answer} == answer
            else:
                compare(found, answer)
        elif route in LISTS and "query" not in rest:
            query = {"space_id": "demo", "kind": LISTS[route]}
            query |= {"subject": rest["conversation_id"]} if route == TALK else {}
            status, found = self.new("GET", "/v1/jobs", query=query, **token)
            assert status == 200
            assert [job["job"] for job in found["items"]] == [item["job"] for item in answer["items"]]
            for job, item in zip(found["items"], answer["items"], strict=True):
                compare(job, item, listed=True)
        else:
            return
        self.compared.add(route)


@pytest.mark.slow
def test_every_old_operation_about_long_work_says_what_its_new_form_says(roles: dict[str, Role]):
    with pytest.MonkeyPatch.context() as patch, stories.opened(roles) as account:
        patch.setattr(request_rate, "UNCOUNTED", 1)
        both = Both(account)
        patch.setattr(account, "call", both.call)
        for story in chain(stories.STORIES, talk_stories.STORIES, memory_stories.STORIES, broken_stories.STORIES):
            account.tell(story)

    assert both.compared >= {RUN, ASKED, DIGEST, PLAN, f"{TALK}/{{job_id}}", *LISTS}
    assert both.compared >= {f"{PLAN}/approve 200", f"{PLAN}/refuse 200", f"{PLAN}/approve 409"}
