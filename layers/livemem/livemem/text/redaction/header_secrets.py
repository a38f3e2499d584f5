"""Secrets in headers of HTTP: the values of `Cookie` and `Set-Cookie`, and keys such as `X-Api-Key: ...`.

Time is linear: a name has a bounded length, and each value is read once.
"""

import re
from collections.abc import Iterator

from livemem.text.redaction import named_secrets
from livemem.text.redaction.named_secrets import compiled

LEAST = 6
"""Fewest characters of a value that is a secret."""
_ATTRIBUTES = frozenset("path domain expires max-age samesite version priority comment".split())
_COOKIE = r"""(?i:(?<![A-Za-z0-9])(?:set-)?cookie)(?:\\{0,3}["'])?[ \t]{0,4}[:=][ \t]{0,4}(?:\\{0,3}["'])?"""
_PAIR = (
    r"""[ \t]{0,4}(?P<name>[A-Za-z0-9!#$%&*+.^_|~\[\]-]{1,100})"""
    r"""(?:=(?P<value>(?:(?!\[redacted:)[^\s;,"'`\\<>])*+)(?P<date>,[ \t][^;\n"'\\]{0,40})?)?[ \t]{0,4}(?P<more>;?)"""
)
_TELLING = re.compile(r"sess|sid|auth|token|jwt|csrf|xsrf|login|remember|secret|key", re.IGNORECASE)
_KEY = "(?:api|auth|access|subscription|functions|admin|secret|master|account|app|client)-?key|xi-api-key"
_OF_SESSIONS = "(?:auth|access|private|vault|api|session|security|job|deploy|registry|refresh|user|github|gitlab)-token"
_OTHER = "(?:client|api|app|webhook)-secret|ocp-apim-subscription-key|proxy-authorization|authorization"
_KEY_NAME = rf"(?i:(?<![A-Za-z0-9_-])(?:x-(?:[a-z0-9]{{1,20}}-){{0,3}})?(?:{_KEY}|{_OF_SESSIONS}|{_OTHER}))"
_WORDS = "key", "token", "ecret", "author"
"""Stand in such names in any spelling: a pattern takes some other signs for i and s too."""
_KEYED = (
    rf"(?P<name>{_KEY_NAME})"
    r"""(?:\\{0,3}["'])?[ \t]{0,4}:[ \t]{0,4}(?:\\{0,3}["'])?(?P<value>(?:(?!\[redacted:)[^\s"'`\\,;<>(){}]){6,}+)"""
)
_HEADER = rf"{_KEY_NAME}|(?i:(?:set-)?cookie)"
_SENT = re.compile(r"""(?:-H|--header)[ =]{0,4}(?:\\{0,3}["'])?\Z""")
_SCHEME = re.compile("[ \t]+[A-Za-z0-9]")
"""What follows the name of a scheme, such as `Digest`, and no value."""
_MIXED = re.compile(r"(?=.*[0-9])(?=.*[A-Za-z])")


def places(text: str) -> Iterator[tuple[int, int]]:
    """The places of secrets in cookies, from the first to the last."""
    at = 0 if "cook" in text.lower() else len(text)
    while at < len(text) and (match := compiled(_COOKIE).search(text, at)):
        at = match.end()
        for start, end in pairs(text, at, len(text)):
            at = end
            yield start, end


def is_name(name: str) -> bool:
    """Whether it is the name of such a header."""
    return bool(re.fullmatch(_HEADER, name))


def pairs(text: str, at: int, most: int) -> Iterator[tuple[int, int]]:
    """The places of secrets in `name=value; name=value` from a place on."""
    first = True
    while (pair := compiled(_PAIR).match(text, at, most)) and (pair["value"] is not None or not first):
        first, at = False, pair.end()
        if pair["value"] and pair["name"].lower() not in _ATTRIBUTES and _is_secret(pair["name"], pair["value"]):
            yield pair.span("value")
        if not pair["more"]:
            return


def keys(text: str) -> Iterator[tuple[int, int]]:
    """The places of keys and tokens in headers of their own, from the first to the last."""
    for match in re.finditer(_KEYED, text) if any(word in text.lower() for word in _WORDS) else ():
        value = match["value"]
        start, end = match.start("value"), match.start("value") + len(value.rstrip(".:!?*"))
        sent = _SENT.search(text, max(0, match.start() - 12), match.start())
        if _SCHEME.match(text, match.end()) and match["name"].lower().endswith("authorization"):
            continue
        if end - start >= LEAST and (sent or _MIXED.match(value)) and named_secrets.is_own(value) and value.isascii():
            yield start, end


def _is_secret(name: str, value: str) -> bool:
    """Whether the value is none of a preference, such as `theme=dark-mode`."""
    telling = not value.replace("-", "").replace("_", "").isalpha() or _TELLING.search(name)
    return len(value) >= LEAST and bool(telling) and named_secrets.is_own(value)
