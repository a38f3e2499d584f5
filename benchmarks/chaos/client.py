"""The service's API as a client sees it that takes no error for an answer, and none for certain."""

import http.client
import json
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any

_SECONDS = 40.0
_NO_PROXY = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass(frozen=True)
class Reply:
    """An answer; `status` is 0 where there was none, and then nobody knows what was done."""

    status: int
    body: Any = None

    @property
    def ok(self) -> bool:
        """Whether it was done."""
        return 200 <= self.status < 300

    @property
    def code(self) -> str:
        """What the answer is, in a word."""
        if self.ok:
            return "ok"
        found = self.body.get("code") if isinstance(self.body, dict) else None
        return str(found or self.status or "no answer")

    @property
    def certain(self) -> bool:
        """Whether it was done or not is certain."""
        return 200 <= self.status < 500


@dataclass(frozen=True)
class Client:
    """The API with one token."""

    url: str
    token: str

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Reply:
        """One request, never repeated."""
        data = json.dumps(body).encode() if body is not None else None
        sent = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        request = urllib.request.Request(f"{self.url}/v1{path}", data=data, headers=sent, method=method)
        try:
            with _NO_PROXY.open(request, timeout=_SECONDS) as response:
                return Reply(response.status, _parse(response.read()))
        except urllib.error.HTTPError as error:
            with error:
                return Reply(error.code, _parse(error.read()))
        except (OSError, http.client.HTTPException, ValueError):
            return Reply(0)

    def invoke(self, function: str, payload: Any, *, later: bool, seconds: float = _SECONDS) -> bool:
        """Invoke a function past the API; whether it was taken (`later`), or done without an error."""
        headers = {"X-Amz-Invocation-Type": "Event" if later else "RequestResponse"}
        url = f"{self.url}/2015-03-31/functions/{function}/invocations"
        request = urllib.request.Request(url, json.dumps(payload).encode(), headers)
        try:
            with _NO_PROXY.open(request, timeout=seconds) as response:
                return response.headers.get("X-Amz-Function-Error") is None
        except (OSError, http.client.HTTPException):
            return False


def _parse(data: bytes) -> Any:
    try:
        return json.loads(data) if data else None
    except ValueError:
        return None
