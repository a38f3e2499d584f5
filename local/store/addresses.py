"""Addresses of single objects of the embedded store, on the service itself. A client that has one needs no token.

An address says what it is for: one operation on one key, until a moment. It is signed with a key of this process, so
nobody can make or change one, and none outlives the service.
"""

import base64
import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Callable
from typing import Any

from livemem.store.failures import ClientError
from local.front.httpd import Request, Response, answer_json
from local.store.client import FileStore

PREFIX = "/objects/"
_METHODS = {"get_object": "GET", "put_object": "PUT"}
_REFUSED = answer_json(403, {"message": "This address is not valid, or its time is over."})


class AddressedStore:
    """The embedded store, with addresses for others below `url`."""

    def __init__(self, store: FileStore, url: str, clock: Callable[[], float] = time.time) -> None:
        self._store, self._url, self._clock = store, url, clock
        self._key = secrets.token_bytes(32)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def generate_presigned_url(self, operation: str, *, Params: dict[str, Any], ExpiresIn: int) -> str:
        """An address for `get_object` or `put_object`, for so many seconds, as a client of botocore makes it."""
        wanted = {"method": _METHODS[operation], "until": self._clock() + ExpiresIn, **Params}
        text = base64.urlsafe_b64encode(json.dumps(wanted).encode()).decode()
        return f"{self._url}{PREFIX}{text}.{self._sign(text)}"

    def most_bytes(self, path: str) -> int:
        """How long a body sent to this path may be: that of an upload has the size for which its address was made."""
        return int((self._read(path) or {}).get("ContentLength", 0))

    def answer(self, request: Request) -> Response:
        """Answer a request for an address."""
        wanted = self._read(request.path)
        if wanted is None or wanted["method"] != request.method:
            return _REFUSED
        where = {"Bucket": wanted["Bucket"], "Key": wanted["Key"]}
        try:
            if request.method == "GET":
                return self._get(where, request.header("Range") or "", wanted["ResponseContentDisposition"])
            if len(request.body) != wanted["ContentLength"]:
                return answer_json(403, {"message": f"The upload has to have {wanted['ContentLength']} bytes."})
            return Response(200, (("ETag", self._store.put_object(**where, Body=request.body)["ETag"]),))
        except ClientError as error:
            status = error.response["ResponseMetadata"]["HTTPStatusCode"]
            return answer_json(status, {"message": error.response["Error"]["Message"]})

    def _get(self, where: dict[str, str], wanted: str, disposition: str) -> Response:
        found = self._store.get_object(**where, Range=wanted)
        with found["Body"] as body:
            content = body.read()
        # It comes from the service's own origin: a browser must keep it, and never show it.
        headers = [
            ("Content-Type", "application/octet-stream"),
            ("Content-Disposition", disposition),
            ("X-Content-Type-Options", "nosniff"),
            ("Cache-Control", "no-store"),
            ("ETag", found["ETag"]),
            ("Accept-Ranges", "bytes"),
        ]
        part = found.get("ContentRange")
        return Response(206 if part else 200, (*headers, *((("Content-Range", part),) if part else ())), content)

    def _read(self, path: str) -> dict[str, Any] | None:
        """What an address says; None if it was not made here, or its time is over."""
        text, _, signature = path.removeprefix(PREFIX).partition(".")
        if not hmac.compare_digest(self._sign(text).encode(), signature.encode()):
            return None
        wanted: dict[str, Any] = json.loads(base64.urlsafe_b64decode(text))
        return wanted if self._clock() < wanted["until"] else None

    def _sign(self, text: str) -> str:
        return hmac.digest(self._key, text.encode(), hashlib.sha256).hex()
