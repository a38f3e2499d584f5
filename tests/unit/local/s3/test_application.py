"""What the server reads of requests and writes of answers; what the store does is proved with its client."""

import errno
import os
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from local.front.httpd import Request, Response
from local.s3.application import S3Application
from local.store.client import FileStore
from tests.unit.local.s3.support import checker, sign
from tests.unit.local.store.support import BUCKET, on_operation, opened, put


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    return opened(tmp_path)


@pytest.fixture
def send(store: FileStore) -> Any:
    def send(method: str, target: str, body: bytes = b"", **headers: str) -> Response:
        named = tuple((name.replace("_", "-"), value) for name, value in headers.items())
        return S3Application(store, checker()).answer(sign(method, target, body, headers=named))

    return send


def texts(response: Response, name: str) -> list[str | None]:
    return [element.text for element in ElementTree.fromstring(response.body).iter(name)]


def test_a_listing_goes_on_at_its_token_whatever_was_deleted_meanwhile(store, send):
    for number in range(5):
        put(store, f"k{number}")
    first = send("GET", f"/{BUCKET}?list-type=2&max-keys=2")
    (token,) = texts(first, "NextContinuationToken")
    store.delete_object(Bucket=BUCKET, Key="k2")
    second = send("GET", f"/{BUCKET}?continuation-token={token}&list-type=2&max-keys=2")

    assert (texts(first, "Key"), texts(first, "IsTruncated"), texts(first, "KeyCount")) == (
        ["k0", "k1"],
        ["true"],
        ["2"],
    )
    assert (texts(second, "Key"), texts(second, "IsTruncated")) == (["k3", "k4"], ["false"])


def test_odd_keys_survive_both_encodings(store, send):
    key = "a <&> é+%2F"
    put(store, f"{key}/x")
    for query, told in (("", f"{key}/"), ("&encoding-type=url", "a%20%3C%26%3E%20%C3%A9%2B%252F/")):
        answer = send("GET", f"/{BUCKET}?delimiter=%2F{query}&list-type=2")
        assert texts(answer, "CommonPrefixes") == [None]
        assert told in texts(answer, "Prefix")


@pytest.mark.parametrize(
    "query",
    [
        "list-type=2&max-keys=x",
        "list-type=2&max-keys=-1",
        "list-type=2&max-keys=99999999999",
        "encoding-type=x&list-type=2",
        "continuation-token=&list-type=2",
        "continuation-token=%21&list-type=2",
        "continuation-token=_w%3D%3D&list-type=2",
    ],
)
def test_a_wrong_parameter_is_a_400(send, query):
    answer = send("GET", f"/{BUCKET}?{query}")
    assert (answer.status, texts(answer, "Code")) == (400, ["InvalidArgument"])


def test_a_full_disk_is_told_as_one_and_an_unsigned_request_learns_nothing(store, send, monkeypatch):
    def act(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    assert texts(send("GET", f"/{BUCKET}?list-type=2"), "KeyCount") == ["0"]
    with on_operation(monkeypatch, act):
        answer = send("PUT", f"/{BUCKET}/a", b"x")
    assert (answer.status, texts(answer, "Code")) == (507, ["InsufficientStorage"])
    unsigned = S3Application(store, checker()).answer(Request("GET", f"/{BUCKET}/a", (("Host", "localhost"),)))
    assert (unsigned.status, texts(unsigned, "Code")) == (403, ["AccessDenied"])
