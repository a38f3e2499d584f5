"""Who may do what with the embedded S3 server, request by request."""

from dataclasses import replace
from datetime import timedelta

import pytest

from local.front.httpd import Request
from local.s3.operations import S3Error
from local.s3.signatures import MAX_SKEW
from tests.support.cases import each
from tests.unit.local.s3.support import ACCESS_KEY, HOST, NOW, SECRET_KEY, checker, presign, sign

SECOND = timedelta(seconds=1)
CREDENTIAL = "ours/20261121/us-east-1/s3/aws4_request"


def refusal(request: Request, now=NOW) -> tuple[int, str]:
    with pytest.raises(S3Error) as error:
        checker(now).check(request)
    return error.value.status, error.value.code


def with_header(request: Request, name: str, value: str) -> Request:
    return replace(request, headers=(*((k, v) for k, v in request.headers if k.lower() != name.lower()), (name, value)))


def test_what_was_signed_with_the_key_is_let_in():
    checker().check(
        sign("PUT", "/b/a%20b%2B%C3%A9?x=1&list-type=2&empty", b"body", headers=(("x-amz-meta-a", "1  2"),))
    )
    checker().check(sign("GET", "/b//double//slash/../dots"))
    checker().check(sign("PUT", "/b/k", b"body", payload="UNSIGNED-PAYLOAD"))


@each(
    ("keys", "code"),
    [
        ((ACCESS_KEY, "guessed"), "SignatureDoesNotMatch"),
        (("local", "local"), "InvalidAccessKeyId"),
        (("", SECRET_KEY), "AuthorizationHeaderMalformed"),
        (("our\u0219", SECRET_KEY), "InvalidAccessKeyId"),
    ],
)
def test_another_key_is_refused(keys, code):
    status, found = refusal(sign("PUT", "/b/_system/tokens.json", b"{}", keys=keys))
    assert (status, found) == (400 if code == "AuthorizationHeaderMalformed" else 403, code)


@each(
    "change",
    [
        {"method": "DELETE"},
        {"target": "/b/other"},
        {"target": "/b/k?x-id=PutObject"},
        {"headers": (("Host", "127.0.0.1:9001"),)},
    ],
)
def test_a_request_that_was_changed_after_it_was_signed_is_refused(change):
    request = sign("PUT", "/b/k", b"body")
    if "headers" in change:
        change = {"headers": with_header(request, *change["headers"][0]).headers}
    assert refusal(replace(request, **change)) == (403, "SignatureDoesNotMatch")


def test_a_body_that_was_exchanged_is_refused():
    request = sign("PUT", "/b/k", b"body")
    assert refusal(replace(request, body=b"evil")) == (400, "XAmzContentSHA256Mismatch")
    digest = sign("PUT", "/b/k", b"evil").header("x-amz-content-sha256")
    assert refusal(with_header(replace(request, body=b"evil"), "x-amz-content-sha256", str(digest))) == (
        403,
        "SignatureDoesNotMatch",
    )


@each("payload", ["", "UNSIGNED", "abc", "A" * 64])
def test_a_request_says_what_its_body_is(payload):
    assert refusal(sign("PUT", "/b/k", b"body", payload=payload)) == (403, "AccessDenied")


@pytest.mark.parametrize("payload", ["STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "STREAMING-UNSIGNED-PAYLOAD-TRAILER"])
def test_uploads_in_chunks_are_refused(payload):
    assert refusal(sign("PUT", "/b/k", b"0\r\n\r\n", payload=payload)) == (501, "NotImplemented")


@pytest.mark.parametrize("name", ["x-amz-copy-source", "X-Amz-Meta-Evil"])
def test_an_amz_header_that_was_added_is_refused(name):
    assert refusal(with_header(sign("PUT", "/b/k", b"x"), name, "/b/secret")) == (403, "AccessDenied")
    assert refusal(with_header(presign("PUT", "/b/k"), name, "/b/secret")) == (403, "AccessDenied")


@pytest.mark.parametrize("direction", [-1, 1])
def test_a_clock_may_be_a_quarter_of_an_hour_off(direction):
    checker(NOW + direction * MAX_SKEW).check(sign("GET", "/b/k"))
    late = NOW + direction * (MAX_SKEW + SECOND)
    assert refusal(sign("GET", "/b/k"), late) == (403, "RequestTimeTooSkewed")
    assert timedelta(minutes=15) == MAX_SKEW


@each(
    "authorization",
    [
        "",
        "AWS",
        "AWS a",
        "Bearer x",
        "AWS4-HMAC-SHA256",
        "AWS4-HMAC-SHA256 Credential=" + CREDENTIAL + ", Signature=0",
        "AWS4-HMAC-SHA256 Credential=" + CREDENTIAL + ", SignedHeaders=host, Signature=0",
        "AWS4-HMAC-SHA512 Credential=ours/20261121/us-east-1/s3/aws4_request, SignedHeaders=host, Signature="
        + "0" * 64,
    ],
)
def test_an_authorization_of_another_form_is_refused(authorization):
    assert refusal(with_header(sign("GET", "/b/k"), "Authorization", authorization)) == (403, "AccessDenied")


@each(
    "credential",
    [
        "ours/20261121/us-east-1/sqs/aws4_request",
        "ours/20261121/us-east-1/s3",
        "ours",
        "ours/x/us-east-1/s3/aws4_request",
    ],
)
def test_a_credential_of_another_form_is_malformed(credential):
    request = sign("GET", "/b/k")
    changed = request.header("Authorization").replace(CREDENTIAL, credential)
    assert refusal(with_header(request, "Authorization", changed)) == (400, "AuthorizationHeaderMalformed")


def test_the_host_belongs_to_what_is_signed():
    request = sign("GET", "/b/k")
    changed = request.header("Authorization").replace("SignedHeaders=host;", "SignedHeaders=")
    assert refusal(with_header(request, "Authorization", changed)) == (403, "AccessDenied")


def test_a_request_without_a_signature_is_refused():
    assert refusal(Request("GET", "/b/k", (HOST,))) == (403, "AccessDenied")


def test_a_presigned_url_is_good_for_one_request_until_it_expires():
    url = presign("GET", "/b/a%20b?response-content-type=x%2Fy")
    checker(NOW + 60 * SECOND).check(url)
    assert refusal(url, NOW + 61 * SECOND) == (403, "AccessDenied")
    checker(NOW - MAX_SKEW).check(url)
    assert refusal(url, NOW - MAX_SKEW - SECOND) == (403, "AccessDenied")
    assert refusal(replace(url, method="PUT")) == (403, "SignatureDoesNotMatch")
    assert refusal(replace(url, target=url.target.replace("/b/a", "/b/c"))) == (403, "SignatureDoesNotMatch")
    assert refusal(replace(url, target=url.target.replace("=60", "=61"))) == (403, "SignatureDoesNotMatch")
    assert refusal(replace(url, target=url.target + "&uploadId=1")) == (403, "SignatureDoesNotMatch")
    assert refusal(replace(url, target=url.target + "&X-Amz-Expires=600")) == (403, "SignatureDoesNotMatch")


def test_a_presigned_url_lives_a_week_at_most():
    checker().check(presign("GET", "/b/k", seconds=604_800))
    assert refusal(presign("GET", "/b/k", seconds=604_801)) == (400, "AuthorizationQueryParametersError")


def test_one_request_has_one_signature():
    url = presign("GET", "/b/k")
    both = with_header(url, "Authorization", str(sign("GET", "/b/k").header("Authorization")))
    assert refusal(both) == (400, "InvalidArgument")


@pytest.mark.parametrize("target", ["/b/k", "/b/k?Signature=x&AWSAccessKeyId=ours&Expires=9999999999"])
def test_version_2_opens_nothing(target):
    headers = (HOST, *((("Authorization", "AWS ours:eA=="),) if "?" not in target else ()))
    assert refusal(Request("GET", target, headers)) == (403, "AccessDenied")
