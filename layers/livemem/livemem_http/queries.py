"""Names in a query: an unknown or a repeated one is an error, since ignoring it would answer another question."""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import parse_qsl

from livemem.errors import FieldError, InvalidRequest


def check_names(event: Mapping[str, Any], known: Collection[str]) -> None:
    """Raise InvalidRequest, which names each parameter that the route does not know or that was given twice."""
    given = event.get("queryStringParameters") or {}
    sent = Counter(name for name, _ in parse_qsl(str(event.get("rawQueryString") or ""), keep_blank_values=True))
    allowed = f"this route takes {', '.join(sorted(known))}" if known else "this route takes none"
    wrong = [FieldError(name, f"unknown query parameter; {allowed}") for name in given if name not in known]
    wrong += [FieldError(name, "given more than once") for name in given if name in known and sent[name] > 1]
    if wrong:
        raise InvalidRequest("; ".join(f"{item.field}: {item.message}" for item in wrong[:3]), fields=wrong)
