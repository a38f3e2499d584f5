"""What looks like a key or a token is taken out of a text: `[redacted:<kind>]` stands in its place.

The forms are those that detect-secrets 1.5 knows, and newer ones of the same services. Its own search is quadratic in
hostile texts (benchmarks/redaction.py) and it loads an HTTP client, so it is an oracle of the tests alone.

Why no text takes long. A search is quadratic where a long run of token characters is read to its end, does not fit
after all, and is read again from the next beginning within it (`sk-sk-sk-...`). Here a pattern either gives up after a
bounded number of characters, or takes the run as a whole (a `+` behind a quantifier: nothing is given back) and asks
afterwards whether it was a secret, so that the search goes on behind it. Only blocks of private keys are read to an end
that may be missing, and never beyond the beginning of another block.

Why redacting twice changes nothing. A secret ends where no letter or digit follows, and a mark is neither part of a
secret, nor between a name and its value, nor within a block of a key. No token takes up the dashes that begin a block.
"""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

KINDS = ("aws", "github", "jwt", "openai", "private-key", "slack", "token")
_OPENAI_KINDS = ("proj-", "svcacct-", "admin-", "ant-")


@dataclass(frozen=True)
class _Rule:
    """A kind of secret. What the group `name` holds stays; the shortest match is no shorter than the mark."""

    kind: str
    pattern: re.Pattern[str]
    is_secret: Callable[[re.Match[str]], bool]

    @classmethod
    def of(cls, kind: str, pattern: str, is_secret: Callable[[re.Match[str]], bool] = lambda _: True) -> "_Rule":
        return cls(kind, re.compile(pattern, re.ASCII), is_secret)


# Escapes of JSON and of URLs end with what looks like the beginning of a word.
_ESCAPES = (r"\\[nrt]", "%[0-9A-Fa-f]{2}")


def _word(prefix: str) -> str:
    """A prefix that begins a word. It stands before the look back, so that the search leaps from one to the next."""
    escaped = "".join(f"|(?<={escape}{prefix})" for escape in _ESCAPES)
    return f"{prefix}(?:(?<![A-Za-z0-9]{prefix}){escaped})"


def _private_key(dash: str) -> str:
    """A block with its last line, or as many lines of one without as hold headers and Base64."""
    label = "(?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)? ?-{4,5}"
    # PuTTY's lines stand alone, behind nothing that a token or a mark can end with.
    putty, mac = (
        rf"{name}(?:(?<![^\s\"'`>|=]{name})|(?<=\\n{name}))" for name in ("PuTTY-User-Key-File-", "Private-MAC: ")
    )
    opening = f"(?:-{{4,5}} ?BEGIN {label}|{putty}[0-9]: ?(?:[a-z0-9]|-(?!-)){{0,40}}+)"
    closing = f"(?:-{{4,5}} ?END {label}|{mac}[0-9a-f]++)"
    # Atomic groups where repeated groups nest: Python before 3.11.5 loses characters in possessive ones.
    inside = rf"(?>(?:[^-P\[]++|{dash}|(?!{putty}|{mac})P|\[(?!redacted:private-key\]))*)"
    new_line = r"""(?:[\s"'`>|+,]|\\[nrt])*+"""
    header = rf"{new_line}[A-Za-z][A-Za-z-]{{2,20}}: [^\n\\]{{0,80}}"
    base64 = f"{new_line}[A-Za-z0-9+/]{{32,}}+={{0,2}}"
    return f"{opening}(?:{inside}{closing}|(?>(?:(?>(?:{header}){{0,8}})(?>(?:{base64})+))+))"


def _aws_secret() -> str:
    """Forty characters near their name, with large and small letters: a commit or a path has small ones alone."""
    near = r"(?:(?!\[redacted:)[\s\S]){0,20}?"
    begins = f"(?:(?<![A-Za-z0-9/+]){''.join(f'|(?<={escape})' for escape in _ESCAPES)})"
    named = rf"(?i:secret[_\s-]?(?:access[_\s-]?)?key){near}{begins}"
    # Other names say less: what they name must stand in quotes.
    quoted = f"(?i:aws{near}(?:key|password|pass|pwd|pw|token)){near}[\"'`]"
    mixed = "(?=[a-z0-9/+]{0,39}[A-Z])(?=[A-Z0-9/+]{0,39}[a-z])"
    return f"(?P<name>{named}|{quoted}){mixed}[A-Za-z0-9/+]{{40}}(?![A-Za-z0-9/+])"


@cache
def _rules() -> tuple[_Rule, ...]:
    """The rules in their order: blocks first, which begin and end with lines of theirs, whatever else they hold."""
    # A dash that does not begin a line of a block, and a URL-safe character.
    dash = "-(?!-{3,4} ?(?:BEGIN|END) )"
    safe = f"(?:[A-Za-z0-9_]|{dash})"
    hook = r"(?i:(?:https?:\\?/\\?/)?+hooks\.slack\.com\\?/(?:services|triggers|workflows))"
    return (
        _Rule.of("private-key", _private_key(dash)),
        _Rule.of(
            "jwt",
            rf"{_word('eyJ')}{safe}{{12,}}+(?>(?P<rest>\.{{1,2}}{safe}{{2,}}+(?>(?:\.{safe}++){{0,3}}))?)",
            lambda match: match["rest"] is not None,
        ),
        _Rule.of("openai", f"{_word('sk-')}(?P<run>{safe}{{20,}}+)", _looks_random),
        _Rule.of("slack", f"(?i:xox[a-z]|xapp)-[0-9]++-{safe}{{9,}}+|xoxd-(?:{safe}|[%+/]){{20,}}+"),
        _Rule.of("slack", rf"{hook}(?:\\?/[A-Za-z0-9_]++){{3,}}+"),
        _Rule.of("github", "gh[opsur]_[A-Za-z0-9]{36,}+|github_pat_[A-Za-z0-9_]{22,}+"),
        _Rule.of("token", f"{_word('lm_')}{safe}{{43}}(?![A-Za-z0-9])"),
        _Rule.of("aws", f"{_word('(?:A3T[A-Z0-9]|ABIA|ACCA|AKIA|ASIA)')}[A-Z0-9]{{16}}(?![A-Za-z0-9])"),
        _Rule.of("aws", _aws_secret()),
    )


def _looks_random(match: re.Match[str]) -> bool:
    """Whether what follows `sk-` is a key, and no name of words and numbers with hyphens."""
    run = match["run"]
    if run.startswith(_OPENAI_KINDS):
        return bool(re.search("[0-9]", run) and re.search("[A-Z]", run))
    return any(len(part) >= 20 and re.search("[0-9]", part) for part in re.split("[_-]", run))


def redact(text: str) -> tuple[str, Counter[str]]:
    """Replace what looks like a secret; returns the text and how many of each kind (one of KINDS) were replaced.

    The text grows neither in characters nor in bytes; a redacted text stays as it is. Time is linear in its length,
    and no text raises anything.
    """
    found: Counter[str] = Counter()
    for rule in _rules():
        text, count = _apply(rule, text)
        found += Counter({rule.kind: count})
    return text, found


def _apply(rule: _Rule, text: str) -> tuple[str, int]:
    count = 0

    def replace(match: re.Match[str]) -> str:
        nonlocal count
        if not rule.is_secret(match):
            return match[0]
        count += 1
        return f"{match.groupdict().get('name', '')}[redacted:{rule.kind}]"

    return rule.pattern.sub(replace, text), count
