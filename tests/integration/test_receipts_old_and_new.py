"""The list of erasures and a receipt are what the jobs of this kind say."""

import pytest

from tests.support import damaged
from tests.support.damaged import SPACE


def test_each_old_look_at_an_erasure_sees_what_its_new_form_sees(monkeypatch: pytest.MonkeyPatch):
    agents, one = damaged.opened(monkeypatch, damaged.built())
    body = {"ids": [one.ids["memory_id"]]}
    done = damaged.http(agents, "archives", f"POST {SPACE}/erasures", one.ids, body=body)[1]
    status, old = damaged.http(agents, "archives", f"GET {SPACE}/erasures", one.ids)
    query = {"space_id": "demo", "kind": "erasure"}
    assert (status, len(old["items"])) == (200, 2)
    _, new = damaged.http(agents, "archives", "GET /v1/jobs", one.ids, query=query)
    assert [job["result"] for job in new["items"]] == old["items"]
    for job, receipt in zip(new["items"], old["items"], strict=True):
        assert (job["job"], job["status"]) == (receipt["job"], receipt["status"])
        assert (job["started_at"], job["ended_at"]) == (receipt["started_at"], receipt["finished_at"])
        erasure_id = {"erasure_id": receipt["erasure_id"]}
        before = damaged.http(agents, "archives", f"GET {SPACE}/erasures/{{erasure_id}}", {**one.ids, **erasure_id})
        after = damaged.http(agents, "archives", "GET /v1/jobs/{job}", {**one.ids, "job": job["job"]})
        assert (after[0], after[1]["result"]) == before
    assert new["items"][0]["result"] == done
    query["limit"] = "1"
    first = damaged.http(agents, "archives", f"GET {SPACE}/erasures", one.ids, query={"limit": "1"})[1]
    assert (
        damaged.http(agents, "archives", "GET /v1/jobs", one.ids, query=query)[1]["items"][0]["result"]
        == first["items"][0]
    )
