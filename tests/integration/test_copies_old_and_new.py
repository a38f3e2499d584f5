"""Each old way to copy a space does what its new form does: the same bucket, and the same answer in another form."""

import base64
from collections.abc import Callable
from typing import Any

import pytest

from tests.support import damaged
from tests.support.archives import exported
from tests.support.damaged import SPACE, Whole

NEW = "POST /v1/spaces"
BACKUP = f"{SPACE}/backups/{{backup_id}}"
Request = tuple[str, str, dict[str, Any]]
"""A route, its space, and its body."""


@pytest.fixture(scope="module")
def whole() -> Whole:
    return damaged.built()


def outcome(monkeypatch: pytest.MonkeyPatch, whole: Whole, request: Callable[[Whole], Request]) -> Any:
    """The answers to the request and its repeat, and what the job came to; and the bucket."""
    agents, one = damaged.opened(monkeypatch, whole)
    one.world.back_up(trigger="api", description="by hand")
    ids = {**one.ids, "backup_id": one.world.process.store.folders("_backups/demo/").__iter__().__next__()}
    route, space_id, body = request(Whole(one.world, ids))
    ids["space_id"] = space_id
    arguments = {"body": body} if route.startswith("POST") else {"query": body}
    first = damaged.http(agents, "archives", route, ids, **arguments)
    one.world.settle()
    again = damaged.http(agents, "archives", route, ids, **arguments)
    objects = {key: item.body for key, item in one.world.inner.objects.items() if not key.startswith("_system/")}
    return first, again, objects


def upload(whole: Whole, archive: bytes) -> str:
    upload_id = whole.world.process.new_id()
    whole.world.store.put(f"_uploads/{upload_id}", archive)
    return str(upload_id)


def facts(answer: tuple[int, Any], old: bool) -> Any:
    """What an answer says, in one form. An error is the same in both."""
    status, body = answer
    if status >= 400:
        return status, body["code"]
    if old:
        fields = ("kind", "source_space_id", "at", "requested_by")
        return body["job"], body["status"], {name: body.get(name) for name in fields}, body.get("objects")
    result = body["result"] or {}
    return body["job"], body["status"], {**result, "at": result.get("at")}, body["progress"]["done"]


def test_each_old_way_to_make_a_space_of_something_does_what_its_new_form_does(
    whole: Whole, monkeypatch: pytest.MonkeyPatch
):
    archive = exported(damaged.forked(whole).world)
    pairs: list[tuple[Callable[[Whole], Request], Callable[[Whole], Request]]] = [
        (
            lambda _: (f"POST {SPACE}/fork", "demo", {"target_space_id": "copy"}),
            lambda _: (NEW, "", {"space_id": "copy", "from": {"space": "demo"}}),
        ),
        (
            lambda _: (f"POST {SPACE}/fork", "demo", {"target_space_id": "copy", "at": 1}),
            lambda _: (NEW, "", {"space_id": "copy", "from": {"space": "demo", "at": 1}}),
        ),
        (
            lambda _: (f"POST {SPACE}/fork", "demo", {"target_space_id": "copy", "at": 99}),
            lambda _: (NEW, "", {"space_id": "copy", "from": {"space": "demo", "at": 99}}),
        ),
        (
            lambda one: (f"POST {BACKUP}/restore", "demo", {"target_space_id": "copy"}),
            lambda one: (
                NEW,
                "",
                {"space_id": "copy", "from": {"space": "demo", "backup": one.ids["backup_id"]}},
            ),
        ),
        (
            lambda one: (f"POST {BACKUP}/restore", "demo", {}),
            lambda one: (NEW, "", {"space_id": "demo", "from": {"backup": one.ids["backup_id"]}}),
        ),
        (
            lambda one: (
                "POST /v1/spaces/import",
                "",
                {"space_id": "copy", "upload_id": upload(one, archive), "description": "Imported."},
            ),
            lambda one: (
                NEW,
                "",
                {"space_id": "copy", "from": {"archive": upload(one, archive)}, "description": "Imported."},
            ),
        ),
        (
            lambda one: ("POST /v1/spaces/import", "", {"space_id": "copy", "upload_id": upload(one, b"no archive")}),
            lambda one: (NEW, "", {"space_id": "copy", "from": {"archive": upload(one, b"no archive")}}),
        ),
    ]
    for old, new in pairs:
        before, after = outcome(monkeypatch, whole, old), outcome(monkeypatch, whole, new)
        for answer, other in zip(before[:2], after[:2], strict=True):
            assert facts(answer, old=True) == facts(other, old=False), (answer, other)
        assert before[2].keys() == after[2].keys()
        assert {key for key, item in before[2].items() if after[2][key] != item} == set()


def test_each_old_way_to_get_an_archive_does_what_its_new_form_does(whole: Whole, monkeypatch: pytest.MonkeyPatch):
    pairs: list[tuple[Callable[[Whole], Request], Callable[[Whole], Request]]] = [
        (lambda _: (f"GET {SPACE}/export", "demo", {}), lambda _: (f"POST {SPACE}/exports", "demo", {})),
        (
            lambda _: (f"GET {BACKUP}/download", "demo", {}),
            lambda one: (f"POST {SPACE}/exports", "demo", {"backup_id": one.ids["backup_id"]}),
        ),
    ]
    for old, new in pairs:
        before, after = outcome(monkeypatch, whole, old), outcome(monkeypatch, whole, new)
        for (status, answer), (other_status, other) in zip(before[:2], after[:2], strict=True):
            assert (status, other_status) == (200, 202), (answer, other)
            (made,) = other["result"]["archives"]
            same = ("backup_id", "objects", "left_out", "expires_at")
            assert {name: answer[name] for name in same} == {name: other["result"][name] for name in same}
            assert (answer["url"], answer["size"], answer["job"]) == (made["url"], made["bytes"], other["job"])
        assert before[2] == after[2]


def test_the_backups_of_a_space_are_listed_as_before(whole: Whole, monkeypatch: pytest.MonkeyPatch):
    before = outcome(monkeypatch, whole, lambda _: (f"GET {SPACE}/backups", "demo", {"limit": "1"}))
    after = outcome(monkeypatch, whole, lambda _: ("GET /v1/backups", "", {"space_id": "demo", "limit": "1"}))
    assert before[0][1]["items"] == after[0][1]["items"]
    assert len(before[0][1]["items"]) == 1


def test_what_is_no_source_of_a_space_is_refused(whole: Whole, monkeypatch: pytest.MonkeyPatch):
    upload_id = base64.b32encode(bytes(16)).decode()[:26]
    for source, field in (
        ({}, "from"),
        ({"at": 1}, "from"),
        ({"backup": "2026-02-20T02-00-00", "archive": upload_id}, "from"),
        ({"archive": upload_id, "space": "demo"}, "from"),
        ({"archive": []}, "from.archive"),
        ({"archive": [upload_id, upload_id]}, "from.archive"),
    ):
        status, body = outcome(monkeypatch, whole, lambda _: (NEW, "", {"space_id": "copy", "from": source}))[0]  # noqa: B023
        assert (status, body["errors"][0]["field"]) == (422, field)
    for more in ({"rules": "x"}, {"owner": "ann"}, {"description": "x"}):
        status, body = outcome(
            monkeypatch,
            whole,
            lambda _: (NEW, "", {"space_id": "copy", "from": {"space": "demo"}, **more}),  # noqa: B023
        )[0]
        assert (status, body["errors"][0]["field"]) == (422, next(iter(more)))
