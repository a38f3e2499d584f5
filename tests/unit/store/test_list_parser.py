"""A listing is read as the client itself reads it, and what is none is left to the client."""

from collections.abc import Iterator
from datetime import UTC, datetime
from io import BytesIO
from typing import Any
from xml.sax.saxutils import escape

import botocore.session
from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders
from botocore.parsers import create_parser
from hypothesis import given
from hypothesis import strategies as st

from livemem.settings import Settings
from livemem.store import aws
from tests.support.cases import each

MODEL: Any = botocore.session.get_session().get_service_model("s3").operation_model("ListObjectsV2").output_shape
SPACE = 'xmlns="http://s3.amazonaws.com/doc/2006-03-01/"'

characters = st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff")
listed = st.tuples(
    st.text(characters, min_size=1),
    st.datetimes(datetime(2006, 1, 1), datetime(2200, 1, 1)),  # noqa: DTZ001 - it adds none itself
    st.text("0123456789abcdef-", min_size=32, max_size=36),
    st.integers(0, 5 << 40),
)


ONE = ("k", datetime(2026, 1, 1), "e", 1)  # noqa: DTZ001


class RawAnswer(BytesIO):
    """The body of an answer, as the client reads it."""

    def stream(self, **_: Any) -> Iterator[bytes]:
        yield self.read()


def answer(objects: list[tuple[str, datetime, str, int]], space: str = SPACE, millis: bool = True) -> bytes:
    exact = "milliseconds" if millis else "seconds"
    contents = "".join(
        f"<Contents><Key>{escape(key)}</Key><LastModified>{moment.isoformat(timespec=exact)}Z</LastModified>"
        f"<ETag>&quot;{etag}&quot;</ETag><ChecksumAlgorithm>CRC32</ChecksumAlgorithm><Size>{size}</Size>"
        "<Owner><ID>x</ID></Owner><StorageClass>STANDARD</StorageClass></Contents>"
        for key, moment, etag, size in objects
    )
    head = "<Name>b</Name><Prefix>a/</Prefix><MaxKeys>1000</MaxKeys><IsTruncated>true</IsTruncated>"
    tail = (
        "<NextContinuationToken>t&amp;u</NextContinuationToken><CommonPrefixes><Prefix>a/b/</Prefix></CommonPrefixes>"
    )
    return f"<ListBucketResult {space}>{head}{contents}{tail}</ListBucketResult>".encode()


def parse(body: bytes, *, ours: bool, status: int = 200) -> dict[str, Any]:
    response = {"status_code": status, "headers": {}, "body": body}
    custom: dict[str, Any] = {}
    if ours:
        aws.read_objects(response, custom)
    return {**create_parser("rest-xml").parse(response, MODEL), **custom}


@given(st.lists(listed, max_size=8), st.sampled_from([SPACE, ""]), st.booleans())
def test_it_is_read_as_the_client_reads_it(objects: list[tuple[str, datetime, str, int]], space: str, millis: bool):
    body = answer(objects, space, millis)
    expected, found = parse(body, ours=False), parse(body, ours=True)

    for item in expected.get("Contents", []):
        del item["ChecksumAlgorithm"], item["Owner"]
    assert found == expected


@each(
    "body",
    [b"", b"<", b"no XML", b"<a/>", answer([]).replace(b"</Name>", b""), b"<Error><Code>SlowDown</Code></Error>"],
)
def test_what_is_no_listing_is_left_to_the_client(body: bytes):
    response, custom = {"status_code": 200, "headers": {}, "body": body}, {}

    aws.read_objects(response, custom)

    assert (response["body"], custom) == (body, {})


@each("missing", ["Key", "LastModified", "ETag", "Size"])
def test_objects_that_are_not_as_s3_tells_them_are_left_to_the_client(missing: str):
    body = answer([ONE]).replace(f"<{missing}>".encode(), f"<x{missing}>".encode())
    body = body.replace(f"</{missing}>".encode(), f"</x{missing}>".encode())
    response, custom = {"status_code": 200, "headers": {}, "body": body}, {}

    aws.read_objects(response, custom)

    assert (response["body"], custom) == (body, {})


def test_an_error_is_left_to_the_client():
    response, custom = {"status_code": 503, "headers": {}, "body": answer([ONE])}, {}

    aws.read_objects(response, custom)

    assert custom == {}


@each("text", ["Sun, 22 Nov 2026 11:00:00 GMT", "2026-11-22T11:00:00Z", "2026-11-22T11:00:00.000Z", 1_795_345_200])
def test_times_of_every_form_are_told_alike(text: str | int):
    assert aws._moment(text) == datetime(2026, 11, 22, 11, tzinfo=UTC)


def test_the_objects_are_taken_out_before_the_client_looks_at_the_answer():
    """It parses each answer once more to look for an error in it."""
    client: Any = aws.s3_client(
        Settings(s3_access_key_id="a", s3_secret_access_key="b", s3_bucket_name="b", s3_region_name="us-east-1"),
        "s3v4",
        None,
    )
    body, seen = answer([ONE] * 1_000), []
    client.meta.events.register(
        "before-send.s3", lambda request, **_: AWSResponse(request.url, 200, HTTPHeaders(), RawAnswer(body))
    )
    client.meta.events.register_first(
        "before-parse.s3.*", lambda response_dict, **_: seen.append(response_dict["body"])
    )

    found = client.list_objects_v2(Bucket="b")

    assert len(found["Contents"]) == 1_000
    assert len(seen[0]) < len(body) / 100
