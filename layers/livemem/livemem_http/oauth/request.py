"""A request to an endpoint of OAuth, read from an HTTP API event, and the forms of its answers.

Parameters are read once, from the query or from the form, and each may come once (RFC 6749, 3.1). A repeated one would
let two readers see two requests.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from livemem import limits
from livemem.errors import TooLarge
from livemem.signin.refusal import Refused
from livemem_http import bodies
from livemem_http.routing import request_context

FORM_BYTES = 64 * 1024
"""Of a query or a form. A consent with 1,000 chosen spaces fits."""
MOST_FIELDS = limits.TOKEN_SPACES + 50
NOT_KEPT = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}

Answer = dict[str, Any]


@dataclass(frozen=True)
class Sent:
    """The parameters of a query or a form, in their order."""

    pairs: Sequence[tuple[str, str]]

    @classmethod
    def read(cls, text: str) -> "Sent":
        """Raises TooLarge, and Refused for text that is no form."""
        if len(text) > FORM_BYTES:
            raise TooLarge.of("body", len(text), FORM_BYTES)
        try:
            return cls(parse_qsl(text, keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict"))
        except ValueError:
            raise Refused("invalid_request", "The parameters can't be read.") from None

    def all(self, name: str) -> list[str]:
        """All values of a parameter."""
        return [value for one, value in self.pairs if one == name]

    def one(self, name: str) -> str:
        """The value of a parameter, empty without one. Raises Refused for one that comes twice."""
        values = self.all(name)
        if len(values) > 1:
            raise Refused("invalid_request", f"{name} is given more than once.")
        return values[0] if values else ""

    def only(self, *names: str) -> dict[str, str]:
        """The values of these parameters, of those alone that are there. Raises Refused as `one` does."""
        return {name: value for name in names if (value := self.one(name))}


@dataclass(frozen=True)
class Request:
    """What the endpoints read of an event."""

    event: Mapping[str, Any]
    headers: Mapping[str, str]

    @classmethod
    def of(cls, event: Mapping[str, Any]) -> "Request":
        """The request of an HTTP API event (payload 2.0)."""
        # API Gateway hands names over in lower case; `sam local` capitalises them.
        return cls(event, {name.lower(): str(value) for name, value in (event.get("headers") or {}).items()})

    def query(self) -> Sent:
        """The parameters in the URL. Raises TooLarge, Refused."""
        return Sent.read(str(self.event.get("rawQueryString") or ""))

    def form(self) -> Sent:
        """The parameters in the body. Raises TooLarge, MalformedBody, Refused."""
        return Sent.read(bodies.read_text(self.event) or "")

    def json(self) -> dict[str, Any]:
        """The body as a JSON object. Raises TooLarge, MalformedBody."""
        return bodies.parse(bodies.read_text(self.event) or "")

    def cookie(self, name: str) -> str:
        """The value of a cookie, empty without one."""
        # API Gateway takes cookies out of the headers; `sam local` may not.
        sent = [*(self.event.get("cookies") or []), *self.headers.get("cookie", "").split(";")]
        found = (str(one).strip().partition("=") for one in sent)
        return next((value for key, _, value in found if key == name), "")

    def address(self) -> str:
        """The address that the request came from."""
        http = request_context(self.event).get("http")
        return str(http.get("sourceIp", "")) if isinstance(http, Mapping) else ""


def json_answer(status: int, value: Any, headers: Mapping[str, str] | None = None) -> Answer:
    """An answer in JSON that nobody keeps, unless `headers` say otherwise."""
    return answer(status, json.dumps(value), "application/json", headers)


def answer(status: int, body: str, media_type: str, headers: Mapping[str, str] | None = None) -> Answer:
    """An answer as an HTTP API takes it from a function."""
    return {
        "statusCode": status,
        "headers": {"Content-Type": media_type, **NOT_KEPT, **(headers or {})},
        "body": body,
        "isBase64Encoded": False,
    }
