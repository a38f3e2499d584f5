"""Addresses of the service itself by which a client without keys reads or writes one object, for a short time.

The address says what it is for, and has a signature of that (HMAC-SHA256) with a key that the data folder keeps.
"""

import hashlib
import hmac
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode

from botocore.exceptions import ClientError

from local.front.httpd import Request, Response, answer_json

PATH = "/_objects/"
MAX_BYTES = 512 * 1024 * 1024
"""Of one upload: it is in memory while it comes."""
_METHODS = {"get_object": ("GET", "HEAD"), "put_object": ("PUT",)}


class Links:
    """Makes such addresses, and answers requests for them."""

    def __init__(self, key: str, base: Callable[[], str], clock: Callable[[], float] = time.time) -> None:
        """`base` is the address of the service, without a slash at its end."""
        self._key = key.encode()
        self._base = base
        self._clock = clock

    def url(self, operation: str, parameters: Mapping[str, Any], seconds: int) -> str:
        """The address for an operation on the object of `parameters`: `get_object` or `put_object`."""
        said = {
            "do": operation,
            "until": str(int(self._clock()) + seconds),
            "size": str(parameters.get("ContentLength", "")),
            "disposition": parameters.get("ResponseContentDisposition", ""),
        }
        path = PATH + quote(f"{parameters['Bucket']}/{parameters['Key']}")
        return f"{self._base()}{path}?{urlencode(said | {'signature': self._sign(path, said)})}"

    def limit(self, request: Request) -> int:
        """How many bytes the body of a request may have."""
        said = self._read(request)
        size = int(said["size"] or MAX_BYTES) if said else 0
        return size if size <= MAX_BYTES else 0

    def answer(self, request: Request, store: Any) -> Response:
        """Carry out what an address says."""
        said = self._read(request)
        if said is None or request.method not in _METHODS[said["do"]]:
            return answer_json(403, {"message": "This address is wrong, or its time is over."})
        bucket, _, key = unquote(request.path.removeprefix(PATH)).partition("/")
        try:
            if request.method == "PUT":
                if said["size"] and len(request.body) != int(said["size"]):
                    return answer_json(403, {"message": f"This address takes {said['size']} bytes."})
                written = store.put_object(Bucket=bucket, Key=key, Body=request.body)
                return Response(200, (("ETag", written["ETag"]),))
            found = store.get_object(Bucket=bucket, Key=key)
        except ClientError as error:
            status = error.response["ResponseMetadata"]["HTTPStatusCode"]
            return answer_json(status, {"message": error.response["Error"]["Message"]})
        headers = {
            "Content-Type": found["ContentType"],
            "Content-Length": str(found["ContentLength"]),
            "Content-Disposition": said["disposition"],
            "ETag": found["ETag"],
        }
        with found["Body"] as body:
            content = b"" if request.method == "HEAD" else body.read()
        return Response(200, tuple((name, value) for name, value in headers.items() if value), content)

    def _read(self, request: Request) -> dict[str, str] | None:
        """What a request's address says, if it is one of ours and its time is not over."""
        said = dict(parse_qsl(request.query, keep_blank_values=True, errors="replace"))
        signature = said.pop("signature", "")
        valid = hmac.compare_digest(self._sign(request.path, said).encode(), signature.encode("utf-8", "replace"))
        return said if valid and self._clock() <= int(said["until"]) else None

    def _sign(self, path: str, said: Mapping[str, str]) -> str:
        return hmac.new(self._key, f"{path}?{urlencode(sorted(said.items()))}".encode(), hashlib.sha256).hexdigest()
