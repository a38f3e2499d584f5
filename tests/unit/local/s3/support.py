"""Signs requests as boto3 would, at any time."""

from datetime import UTC, datetime
from typing import Any

from botocore import auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from local.front.httpd import Headers, Request
from local.s3.signatures import Signatures

ACCESS_KEY, SECRET_KEY = "ours", "secret"
NOW = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)
HOST = ("Host", "127.0.0.1:9000")


def checker(now: datetime = NOW) -> Signatures:
    """The server's side, at a time."""
    return Signatures(ACCESS_KEY, SECRET_KEY, lambda: now)


def sign(
    method: str,
    target: str,
    body: bytes = b"",
    *,
    headers: Headers = (),
    at: datetime = NOW,
    keys: tuple[str, str] = (ACCESS_KEY, SECRET_KEY),
    payload: str | None = None,
) -> Request:
    """A request with a signature of version 4 in its headers; `payload` is what it says of its body."""
    request = AWSRequest(method, f"http://{HOST[1]}{target}", data=body, headers=dict(headers))
    signer: Any = auth.S3SigV4Auth(Credentials(*keys), "s3", "us-east-1")
    request.context["timestamp"] = at.strftime("%Y%m%dT%H%M%SZ")
    signer._modify_request_before_signing(request)
    if payload is not None:
        request.headers.replace_header("X-Amz-Content-SHA256", payload)
    text = signer.string_to_sign(request, signer.canonical_request(request))
    signer._inject_signature_to_request(request, signer.signature(text, request))
    return Request(method, target, (HOST, *request.headers.items()), body)


def presign(method: str, target: str, *, at: datetime = NOW, seconds: int = 60, headers: Headers = ()) -> Request:
    """A request for a presigned URL of version 4."""
    request = AWSRequest(method, f"http://{HOST[1]}{target}", headers=dict(headers))
    signer: Any = auth.S3SigV4QueryAuth(Credentials(ACCESS_KEY, SECRET_KEY), "s3", "us-east-1", expires=seconds)
    request.context["timestamp"] = at.strftime("%Y%m%dT%H%M%SZ")
    signer._modify_request_before_signing(request)
    text = signer.string_to_sign(request, signer.canonical_request(request))
    signer._inject_signature_to_request(request, signer.signature(text, request))
    return Request(method, request.url.removeprefix(f"http://{HOST[1]}"), (HOST, *headers))
