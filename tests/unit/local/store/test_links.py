from urllib.parse import urlsplit

import pytest

from local.front.httpd import Request, Response
from local.store.links import MAX_BYTES, PATH, Links
from tests.unit.local.store.support import BUCKET, opened, put, read


@pytest.fixture
def now() -> list[float]:
    return [1_000.0]


@pytest.fixture
def links(now) -> Links:
    return Links("secret", lambda: "http://127.0.0.1:3000", lambda: now[0])


@pytest.fixture
def store(tmp_path, links):
    return opened(tmp_path, links=links)


def target(url: str) -> str:
    assert url.startswith(f"http://127.0.0.1:3000{PATH}")
    split = urlsplit(url)
    return f"{split.path}?{split.query}"


def url_of(store, operation: str, key: str, **more) -> str:
    return target(store.generate_presigned_url(operation, Params={"Bucket": BUCKET, "Key": key, **more}, ExpiresIn=60))


@pytest.fixture
def send(store, links):
    def send(method: str, target: str, body: bytes = b"") -> Response:
        return links.answer(Request(method, target, (), body), store)

    return send


def test_an_address_reads_its_object_until_its_time_is_over(store, send, now):
    put(store, "a b/é.tar", b"archive", ContentType="x/y")
    url = url_of(store, "get_object", "a b/é.tar", ResponseContentDisposition='attachment; filename="é.tar"')

    answer = send("GET", url)
    assert (answer.status, answer.body) == (200, b"archive")
    assert dict(answer.headers)["Content-Disposition"] == 'attachment; filename="é.tar"'
    assert dict(answer.headers)["Content-Type"] == "x/y"
    assert dict(send("HEAD", url).headers)["Content-Length"] == "7"
    now[0] += 60
    assert send("GET", url).status == 200
    now[0] += 1
    assert send("GET", url).status == 403


def test_an_address_is_good_for_what_it_says_and_nothing_else(store, send, links):
    put(store, "open", b"x")
    put(store, "secret", b"y")
    url = url_of(store, "get_object", "open")
    others = [
        url.replace("/open?", "/secret?"),
        url.replace("get_object", "put_object"),
        url.replace("until=1060", "until=9999"),
        url.replace("size=", "size=5"),
        url.replace("disposition=", "disposition=inline"),
        url.partition("&signature=")[0],
        url.partition("?")[0],
        f"{url}&more=1",
    ]
    for other in others:
        assert send("GET", other).status == 403
        assert links.limit(Request("PUT", other, ())) == 0
    for method in ("PUT", "POST", "DELETE"):
        assert send(method, url, b"z").status == 403
    assert (
        send(
            "GET",
            target(
                Links("other", lambda: "http://127.0.0.1:3000", lambda: 1e3).url(
                    "get_object", {"Bucket": BUCKET, "Key": "open"}, 60
                )
            ),
        ).status
        == 403
    )
    assert (read(store, "open"), read(store, "secret")) == (b"x", b"y")


def test_an_upload_has_the_size_that_was_signed(store, send, links):
    url = url_of(store, "put_object", "a", ContentLength=3)
    assert links.limit(Request("PUT", url, ())) == 3
    assert send("PUT", url, b"1234").status == 403
    assert send("PUT", url, b"123").status == 200
    assert read(store, "a") == b"123"
    large = url_of(store, "put_object", "a", ContentLength=MAX_BYTES + 1)
    assert links.limit(Request("PUT", large, ())) == 0
    assert send("GET", url_of(store, "get_object", "none")).status == 404
