"""URLs that the service gives out for archives: for how long, and for what."""

import base64
import gzip
import json
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from livemem import clock, limits
from livemem.store import presigned
from tests.support.archives import targz
from tests.support.policy import BUCKET
from tests.support.service import Service
from tests.support.world import BOOTSTRAP_KEY

SPACE = "/v1/spaces/{space_id}"


def call(service: Service, method: str, route: str, status: int, **rest):
    answer = service.http("backup", method, route, **rest)
    assert answer["statusCode"] == status, answer
    return json.loads(answer["body"])


@pytest.fixture
def space(service: Service) -> Service:
    service.http("backup", "POST", "/v1/spaces", body={"space_id": "demo"})
    service.http("ingest", "POST", f"{SPACE}/notes", space_id="demo", body={"category": "todo", "content": "x"})
    return service


def of(url: str) -> tuple[str, str]:
    """The key that a URL names, and for how many seconds it works."""
    parts = urlsplit(url)
    path = unquote(parts.path).removeprefix(f"/{BUCKET}").removeprefix("/")
    return path, parse_qs(parts.query)["X-Amz-Expires"][0]


def test_14_the_url_of_an_archive_names_that_archive_alone_and_works_for_15_minutes(space: Service):
    before = clock.now()

    found = call(space, "POST", f"{SPACE}/exports", 202, space_id="demo")["result"]

    assert of(found["archives"][0]["url"]) == (f"_exports/demo/{found['backup_id']}.tar.gz", "900")
    assert 890 < (clock.parse(found["expires_at"]) - before).total_seconds() <= 901
    assert presigned.SECONDS == 900


def test_14_the_url_of_an_upload_names_that_upload_alone_and_works_for_15_minutes(service: Service):
    one, two = (call(service, "POST", "/v1/uploads", 201, body={"size": 1_000}) for _ in range(2))

    assert of(one["url"]) == (f"_uploads/{one['upload_id']}", "900")
    assert one["upload_id"] != two["upload_id"]


def test_14_the_url_of_an_upload_takes_the_size_that_was_told_and_no_other(service: Service):
    told = call(service, "POST", "/v1/uploads", 201, body={"size": 1_000})

    assert parse_qs(urlsplit(told["url"]).query)["X-Amz-SignedHeaders"] == ["content-length;host"]
    for size, status in ((0, 422), (-1, 422), ((1 << 30) + 1, 413), ("many", 422), (None, 422)):
        assert call(service, "POST", "/v1/uploads", status, body={"size": size})["status"] == status
    call(service, "POST", "/v1/uploads", 422, body={})


def test_a_small_archive_comes_with_the_request_and_is_imported_without_an_upload(service: Service):
    packed = targz([("bank/a.md", b"# A\n\nThe ferry leaves at nine.\n")])
    body = {"size": len(packed), "content": base64.b64encode(packed).decode()}

    upload = call(service, "POST", "/v1/uploads", 201, body=body)
    call(service, "POST", "/v1/spaces", 202, body={"space_id": "given", "from": {"archive": upload["upload_id"]}})

    found = service.http("reads", "GET", f"{SPACE}/bank/{{path+}}", space_id="given", path="a.md")
    assert "The ferry leaves at nine." in json.loads(found["body"])["content"]


def test_an_archive_within_a_request_has_the_size_that_was_told_and_no_more_than_its_limit(service: Service):
    def refused(status: int, content: str, size: int = 3) -> dict[str, Any]:
        return call(service, "POST", "/v1/uploads", status, body={"size": size, "content": content})["errors"][0]

    assert refused(422, base64.b64encode(b"abcd").decode())["message"] == "has 4 bytes, but `size` says 3"
    assert refused(422, "no base64!")["field"] == "content"
    most = limits.SENT_ARCHIVE_BYTES
    assert "`livemem import`" in refused(413, base64.b64encode(bytes(most + 1)).decode(), most + 1)["message"]
    assert [key for key in service.written() if key.startswith("_uploads/")] == []
    call(service, "POST", "/v1/uploads", 201, body={"size": most, "content": base64.b64encode(bytes(most)).decode()})


def test_21_what_is_above_a_cap_is_a_429_that_names_the_setting_and_when_to_come_again(
    service: Service, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SPACES_PER_TOKEN_PER_DAY", "1")
    service.http("backup", "POST", "/v1/spaces", body={"space_id": "home", "rules": "x"})
    wanted = {"name": "ann", "permissions": ["read", "write"], "space_ids": ["home"]}
    token = json.loads(service.http("admin", "POST", "/v1/tokens", body=wanted)["body"])["token"]

    answers = [
        service.http("backup", "POST", "/v1/spaces", token=token, body={"space_id": name, "rules": "x"})
        for name in ("one", "two")
    ]

    assert [answer["statusCode"] for answer in answers] == [201, 429]
    told = json.loads(answers[1]["body"])
    assert told["code"] == "spaces_per_token_per_day"
    assert "SPACES_PER_TOKEN_PER_DAY is 1" in told["detail"]
    assert 86_000 < int(answers[1]["headers"]["Retry-After"]) <= 86_400


def test_14_no_archive_holds_a_token_or_the_bootstrap_key(space: Service):
    token = space.http("admin", "POST", "/v1/tokens", body={"name": "ann", "permissions": ["read"]})["body"]
    found = call(space, "POST", f"{SPACE}/exports", 202, space_id="demo")["result"]

    packed = space.s3.get_object(Bucket=BUCKET, Key=f"_exports/demo/{found['backup_id']}.tar.gz")["Body"].read()

    archive = gzip.decompress(packed)
    assert b"demo/_rules.md" in archive
    for secret in (BOOTSTRAP_KEY, token.split('"token": "')[1].split('"')[0], "sha256:"):
        assert secret.encode() not in archive


def test_a_token_copies_lists_and_exports_only_spaces_of_its_list_and_copies_as_an_admin_alone(space: Service):
    space.http("backup", "POST", "/v1/spaces", body={"space_id": "other", "rules": "x"})
    backup = call(space, "POST", f"{SPACE}/backups", 201, space_id="other", body={})["backup_id"]

    def token(*permissions: str) -> str:
        wanted = {"name": "-".join(permissions), "permissions": permissions, "space_ids": ["demo"]}
        return str(json.loads(space.http("admin", "POST", "/v1/tokens", body=wanted)["body"])["token"])

    boss, ann, bob = token("admin", "read", "write"), token("read", "write"), token("read")
    sources: list[dict[str, Any]] = [
        {"space": "other"},
        {"space": "other", "at": 1},
        {"space": "other", "backup": backup},
    ]
    for source in sources:
        assert call(space, "POST", "/v1/spaces", 403, token=boss, body={"space_id": "copy", "from": source})
    call(space, "POST", "/v1/spaces", 403, token=boss, body={"space_id": "other", "from": {"backup": backup}})
    call(space, "GET", "/v1/backups", 403, token=boss, query={"space_id": "other"})
    for body in ({}, {"backup_id": backup}):
        call(space, "POST", f"{SPACE}/exports", 403, token=boss, space_id="other", body=body)
    assert call(space, "GET", "/v1/backups", 200, token=boss)["items"] == []

    call(space, "POST", "/v1/spaces", 403, token=ann, body={"space_id": "copy", "from": {"space": "demo"}})
    call(space, "POST", "/v1/spaces", 202, token=boss, body={"space_id": "copy", "from": {"space": "demo"}})
    call(space, "POST", "/v1/spaces", 201, token=ann, body={"space_id": "mine"})
    job = call(space, "POST", f"{SPACE}/exports", 202, token=bob, space_id="demo")
    assert call(space, "GET", "/v1/jobs/{job}", 200, token=bob, job=job["job"])["result"]["archives"]
    call(space, "GET", "/v1/jobs/{job}", 403, token=bob, job=job["job"].replace("demo.", "other."))
