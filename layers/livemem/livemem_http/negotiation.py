"""Which form of an answer the client asks for (RFC 9110, 12.5): JSON, or Markdown where a route has it; compressed; in
which language its headings are.
"""

from urllib.request import parse_http_list

from livemem.text.language import LANGUAGES, Lang

MARKDOWN = "text/markdown"
JSON = "application/json"
LANGUAGES_READ = 1_000
"""Characters of an Accept-Language header that are read; browsers send fewer than a hundred."""


def prefers_markdown(accept: str | None) -> bool:
    """Whether an Accept header wants Markdown more than JSON, which is the default.

    Of equal weights the type that is named more exactly wins: `text/markdown, */*` means Markdown.
    """
    ranges = [_range(part) for part in parse_http_list(accept or "")]
    markdown, json = _weight(MARKDOWN, ranges), _weight(JSON, ranges)
    return markdown > json and markdown[0] > 0


def takes_gzip(accept_encoding: str | None) -> bool:
    """Whether an Accept-Encoding header takes gzip, with at least the weight of the uncompressed answer. Without the
    header: no.
    """
    codings = dict(_range(part) for part in parse_http_list(accept_encoding or ""))
    gzip = codings.get("gzip", codings.get("x-gzip", codings.get("*", 0.0)))
    return gzip > 0 and gzip >= codings.get("identity", 0.0)


def language(accept_language: str | None) -> Lang | None:
    """The language of headings that an Accept-Language header likes best (RFC 9110, 12.5.4), the first of equals; None
    if the service has none of them.
    """
    named = [_range(part) for part in parse_http_list((accept_language or "")[:LANGUAGES_READ])]
    known = [(weight, lang) for tag, weight in named for lang in LANGUAGES if lang == tag.partition("-")[0]]
    best = max((weight for weight, _ in known), default=0.0)
    return next((lang for weight, lang in known if weight == best > 0), None)


def _weight(media_type: str, ranges: list[tuple[str, float]]) -> tuple[float, int]:
    """The weight of the most exact range that holds the type, and how exact that range is."""
    fitting = {media_type: 3, f"{media_type.partition('/')[0]}/*": 2, "*/*": 1}
    exactness, weight = max(((fitting.get(name, 0), weight) for name, weight in ranges), default=(0, 0.0))
    return (weight, exactness) if exactness else (0.0, 0)


def _range(text: str) -> tuple[str, float]:
    name, *parameters = (part.strip().lower() for part in text.split(";"))
    weight = next((part[2:] for part in parameters if part.startswith("q=")), "1")
    try:
        number = float(weight)
    except ValueError:
        return "", 0.0
    return (name, number) if 0 <= number <= 1 else ("", 0.0)
