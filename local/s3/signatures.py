"""Whether a request was signed with the server's key: Signature Version 4, as headers or as a presigned URL.

botocore's own signers compute what the signature should be, so what boto3 signs is what is checked. Uploads in signed
chunks (`STREAMING-...`) are refused: boto3 sends none over plain HTTP.
"""

import hashlib
import hmac
import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qsl

from botocore.auth import S3SigV4Auth, S3SigV4QueryAuth, SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from local.front.httpd import Request
from local.s3.operations import S3Error

MAX_SKEW = timedelta(minutes=15)
"""How far a client's clock may be off, as S3 has it."""
MAX_EXPIRES = 7 * 24 * 3600
"""Seconds that a presigned URL may live, as S3 has it."""
UNSIGNED = "UNSIGNED-PAYLOAD"

_ALGORITHM = "AWS4-HMAC-SHA256"
_V4 = re.compile(rf"^{_ALGORITHM} +Credential=([^,\s]+), *SignedHeaders=([^,\s]+), *Signature=([0-9a-f]{{64}})$")
_SCOPE = re.compile(r"^(?P<key>.+)/(?P<day>\d{8})/(?P<region>[a-z0-9-]+)/s3/aws4_request$")
_SHA256 = re.compile(r"^[0-9a-f]{64}$")
_V4_QUERY = ("X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Date", "X-Amz-Expires", "X-Amz-SignedHeaders")
_TIMESTAMP = "%Y%m%dT%H%M%SZ"


def utc_now() -> datetime:
    """The time of this machine."""
    return datetime.now(UTC)


class Signatures:
    """Knows the one key of the server."""

    def __init__(self, access_key: str, secret_key: str, clock: Callable[[], datetime] = utc_now) -> None:
        self._credentials = Credentials(access_key, secret_key)
        self._clock = clock

    def check(self, request: Request) -> None:
        """Return if the request is signed with the key, at about this time, and holds the body that was signed.

        Raises:
            S3Error: it is not; status and code are those of S3.
        """
        query = dict(parse_qsl(request.query, keep_blank_values=True, errors="replace"))
        authorization = request.header("Authorization")
        in_query = "X-Amz-Signature" in query
        if authorization is not None and in_query:
            raise S3Error(400, "InvalidArgument", "Only one auth mechanism allowed.")
        if authorization is not None and (found := _V4.match(authorization)):
            self._check_v4(request, *found.groups())
        elif in_query:
            self._check_v4_url(request, query)
        else:
            raise _denied("Access Denied")

    def _check_v4(self, request: Request, credential: str, signed: str, signature: str) -> None:
        day, region = self._read_scope(credential)
        timestamp = request.header("X-Amz-Date") or ""
        self._check_skew(_read_timestamp(timestamp, day))
        payload = request.header("X-Amz-Content-SHA256") or ""
        if payload.startswith("STREAMING-"):
            raise S3Error(501, "NotImplemented", "The embedded S3 server does not do uploads in signed chunks.")
        if payload != UNSIGNED and not _SHA256.match(payload):
            raise _denied("The header x-amz-content-sha256 has to hold the SHA-256 of the body, or UNSIGNED-PAYLOAD.")
        signer = S3SigV4Auth(self._credentials, "s3", region)
        self._compare_v4(signer, request, request.target, timestamp, signed, signature)
        if payload != UNSIGNED and not _equal(hashlib.sha256(request.body).hexdigest(), payload):
            text = "The provided 'x-amz-content-sha256' header does not match what was computed."
            raise S3Error(400, "XAmzContentSHA256Mismatch", text)

    def _check_v4_url(self, request: Request, query: dict[str, str]) -> None:
        if any(name not in query for name in _V4_QUERY) or query["X-Amz-Algorithm"] != _ALGORITHM:
            raise S3Error(400, "AuthorizationQueryParametersError", "A parameter of the signature is missing or wrong.")
        day, region = self._read_scope(query["X-Amz-Credential"])
        begin = _read_timestamp(query["X-Amz-Date"], day)
        seconds = query["X-Amz-Expires"]
        if not re.fullmatch(r"-?\d{1,9}", seconds) or int(seconds) > MAX_EXPIRES:
            text = f"X-Amz-Expires must be a number of seconds up to {MAX_EXPIRES}."
            raise S3Error(400, "AuthorizationQueryParametersError", text)
        # The signature is of the URL as it was before the signature was added.
        target = re.sub(r"([?&])X-Amz-Signature=[^&]*(&|$)", r"\1", request.target).rstrip("&")
        signer = S3SigV4QueryAuth(self._credentials, "s3", region)
        signed = query["X-Amz-SignedHeaders"]
        self._compare_v4(signer, request, target, query["X-Amz-Date"], signed, query["X-Amz-Signature"])
        if begin - self._clock() > MAX_SKEW:
            raise _denied("Request is not valid yet")
        if self._clock() > begin + timedelta(seconds=int(seconds)):
            raise _denied("Request has expired")

    def _compare_v4(
        self, signer: SigV4Auth, request: Request, target: str, timestamp: str, signed: str, signature: str
    ) -> None:
        names = set(signed.split(";"))
        unsigned = {name.lower() for name, _ in request.headers if name.lower().startswith("x-amz-")} - names
        if unsigned or "host" not in names:
            raise _denied("There were headers present in the request which were not signed")
        chosen = [(name, value) for name, value in request.headers if name.lower() in names]
        aws_request = _build_request(request.method, target, chosen)
        aws_request.context["timestamp"] = timestamp
        text = signer.string_to_sign(aws_request, signer.canonical_request(aws_request))
        _compare(signer.signature(text, aws_request), signature)

    def _read_scope(self, credential: str) -> tuple[str, str]:
        """Day and region of a credential of this server's key."""
        found = _SCOPE.match(credential)
        if found is None:
            raise S3Error(400, "AuthorizationHeaderMalformed", "The credential is malformed.")
        self._check_key(found["key"])
        return found["day"], found["region"]

    def _check_key(self, access_key: str) -> None:
        if not _equal(access_key, self._credentials.access_key):
            text = "The AWS Access Key Id you provided does not exist in our records."
            raise S3Error(403, "InvalidAccessKeyId", text)

    def _check_skew(self, moment: datetime) -> None:
        if abs(self._clock() - moment) > MAX_SKEW:
            text = "The difference between the request time and the current time is too large."
            raise S3Error(403, "RequestTimeTooSkewed", text)


def _build_request(method: str, target: str, headers: Iterable[tuple[str, str]]) -> AWSRequest:
    # The host is signed as a header; here it only makes the target a URL.
    built = AWSRequest(method=method, url=f"http://localhost{target}")
    for name, value in headers:
        built.headers[name] = value  # adds, where there is one already
    return built


def _read_timestamp(text: str, day: str) -> datetime:
    try:
        moment = datetime.strptime(text, _TIMESTAMP).replace(tzinfo=UTC)
    except ValueError as error:
        raise _denied("AWS authentication requires a valid x-amz-date") from error
    if not text.startswith(day):
        raise _denied("The day of the credential is not that of x-amz-date")
    return moment


def _compare(expected: str, given: str) -> None:
    if not _equal(expected, given):
        text = "The request signature we calculated does not match the signature you provided."
        raise S3Error(403, "SignatureDoesNotMatch", text)


def _equal(left: str, right: str) -> bool:
    """Compare in a time that does not depend on where two texts differ."""
    return hmac.compare_digest(left.encode("utf-8", "replace"), right.encode("utf-8", "replace"))


def _denied(text: str) -> S3Error:
    return S3Error(403, "AccessDenied", text)
