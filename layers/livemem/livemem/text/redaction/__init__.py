"""Text that looks like a secret is replaced by `[redacted:<kind>]`, or by `***` where that mark is longer.

A secret is recognised by its own form, by its provider's prefix (provider_keys.py), by the text before it (`Bearer`,
the user in a URL), by its name (named_secrets.py), by the program that takes it (command_secrets.py), or by its header
(header_secrets.py). The forms are those that detect-secrets 1.5 knows, and newer ones
of the same services. The search of detect-secrets is quadratic in hostile texts (benchmarks/redaction.py) and loads an
HTTP client. Therefore only the tests use it, as an oracle.

Why no text takes long. A search is quadratic where a long run of token characters is read to its end, does not fit
after all, and is read again from the next beginning within it (`sk-sk-sk-...`). Here a pattern either gives up after a
bounded number of characters, or takes the run as a whole (a `+` behind a quantifier: nothing is given back) and asks
afterwards whether it was a secret, so that the search continues behind it. Only blocks of private keys are read to an
end that may be missing, and never beyond the beginning of another block.

Why redacting twice changes nothing. A secret ends where no letter or digit follows, and a mark is neither part of a
secret, nor between a name and its value, nor within a block of a key. No token takes up the dashes that begin a block.

The client has a copy (scripts/client.py): hooks take secrets out before they send anything.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar

from livemem.text.redaction import command_secrets, header_secrets, named_secrets, provider_keys, repeats
from livemem.text.redaction.named_secrets import compiled

KINDS = ("api-key", "aws", "bearer", "github", "jwt", "openai", "password", "private-key", "slack", "token")
SHORT_MARK = "***"
OF_HASH = 12
"""Hex digits of the hash in an identifier: two of a space are the same by accident once in 10^14."""
T = TypeVar("T")
_PLACES: tuple[tuple[str, Callable[[str], Iterable[tuple[int, int]]]], ...] = (
    ("bearer", header_secrets.places),
    ("api-key", header_secrets.keys),
    ("password", command_secrets.places),
    ("password", named_secrets.places),
)
"""What finds the places of secrets that are known by the text around them, and of which kind they are."""
_AWS = "ABIA|ACCA|AKIA|ASIA"
_OPENAI_KINDS = ("proj-", "svcacct-", "admin-", "ant-")


@dataclass(frozen=True)
class _Rule:
    """A kind of secret. What the group `name` holds stays. Without one of `hints` in it no text is searched."""

    kind: str
    source: str
    hints: str
    is_secret: Callable[[re.Match[str]], bool] = lambda _: True

    def may_be_in(self, text: str) -> bool:
        """Whether a text has a hint. A pattern for any case has hints in small letters."""
        read = text.lower() if "(?i:" in self.source else text
        return any(hint in read for hint in self.hints.split("|"))


# Escapes of JSON and of URLs end with characters that look like the beginning of a word.
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
    near = r"(?:(?!\[redacted:|\*\*\*)[\s\S]){0,20}?"
    begins = f"(?:(?<![A-Za-z0-9/+]){''.join(f'|(?<={escape})' for escape in _ESCAPES)})"
    key_name = rf"(?i:secret[_\s-]?(?:access[_\s-]?)?key){near}{begins}"
    # Other names say less: their value must stand in quotes.
    quoted = f"(?i:aws{near}(?:key|password|pass|pwd|pw|token)){near}[\"'`]"
    mixed = "(?=[a-z0-9/+]{0,39}[A-Z])(?=[A-Z0-9/+]{0,39}[a-z])"
    return f"(?P<name>{key_name}|{quoted}){mixed}[A-Za-z0-9/+]{{40}}(?![A-Za-z0-9/+])"


@cache
def _rules() -> tuple[_Rule, ...]:
    """The rules in their order: blocks first, which begin and end with lines of their own and may hold any text."""
    # A dash that does not begin a line of a block, and a URL-safe character.
    dash = "-(?!-{3,4} ?(?:BEGIN|END) )"
    safe = f"(?:[A-Za-z0-9_]|{dash})"
    hook = r"(?i:(?:https?:\\?/\\?/)?+hooks\.slack\.com\\?/(?:services|triggers|workflows))"
    return (
        _Rule("private-key", _private_key(dash), "PRIVATE KEY|PuTTY-User-Key-File-|Private-MAC: "),
        _Rule(
            "jwt",
            rf"{_word('eyJ')}{safe}{{12,}}+(?>(?P<rest>\.{{1,2}}{safe}{{2,}}+(?>(?:\.{safe}++){{0,3}}))?)",
            "eyJ",
            lambda match: match["rest"] is not None,
        ),
        _Rule("openai", f"{_word('sk-')}(?P<run>{safe}{{20,}}+)", "sk-", _looks_random),
        _Rule("slack", f"(?i:xox[a-z]|xapp)-[0-9]++-{safe}{{9,}}+|xoxd-(?:{safe}|[%+/]){{20,}}+", "xox|xapp"),
        _Rule("slack", rf"{hook}(?:\\?/[A-Za-z0-9_]++){{3,}}+", "hooks.slack.com"),
        _Rule("github", "gh[opsur]_[A-Za-z0-9]{36,}+", "gho_|ghp_|ghs_|ghu_|ghr_"),
        _Rule("github", "github_pat_[A-Za-z0-9_]{22,}+", "github_pat_"),
        _Rule("token", f"{_word('lm_')}{safe}{{43}}(?![A-Za-z0-9])", "lm_"),
        _Rule("aws", f"{_word(f'(?:{_AWS}|A3T[A-Z0-9])')}[A-Z0-9]{{16}}(?![A-Za-z0-9])", f"{_AWS}|A3T"),
        _Rule("aws", _aws_secret(), "secret|aws"),
        *(
            _Rule("api-key", f"{_word(re.escape(prefix))}{tail}(?![A-Za-z0-9])", prefix)
            for prefix, tail in provider_keys.PREFIXED
        ),
        *(_Rule("api-key", f"{pattern}(?![A-Za-z0-9])", hint) for hint, pattern in provider_keys.ELSEWHERE),
        _Rule("password", _in_a_url(), "://", _is_no_placeholder),
        _Rule("bearer", _bearer(), "bearer|authorization", _has_letters_and_digits),
    )


def _in_a_url() -> str:
    """The text between a user and the last `@` before the path: `scheme://user:password@host`."""
    user = r"""[^\s/?#@:\[\]"'`<>]{0,100}"""
    return rf"""(?P<name>://{user}:)(?P<run>(?:(?!\[redacted:)[^\s/?#"'`<>]){{2,200}})(?=@)"""


def _bearer() -> str:
    """A token of HTTP's Authorization header (RFC 6750, 2.1; RFC 7617)."""
    run = r"(?P<run>(?:[A-Za-z0-9_~+/=-]|\.(?=[A-Za-z0-9_~+/=-])){8,}+)"
    other = r"""authorization(?:\\{0,3}["'])?[ \t]{0,4}[:=][ \t]{0,4}(?:\\{0,3}["'])?(?:basic|token|apikey)"""
    return rf"(?P<name>(?i:\bbearer|{other})[ \t]{{1,4}}){run}"


def _is_no_placeholder(match: re.Match[str]) -> bool:
    return not re.match(r"[${]|[*.x]+\Z", match["run"])


def _has_letters_and_digits(match: re.Match[str]) -> bool:
    return bool(re.search("[0-9]", match["run"]) and re.search("[A-Za-z]", match["run"]))


def _looks_random(match: re.Match[str]) -> bool:
    """Whether what follows `sk-` is a key, and no name of words and numbers with hyphens."""
    run = match["run"]
    if run.startswith(_OPENAI_KINDS) and re.search("[0-9]", run) and re.search("[A-Z]", run):
        return True
    return any(len(part) >= 20 and re.search("[0-9]", part) for part in re.split("[_-]", run))


def redact(text: str) -> tuple[str, Counter[str]]:
    """Replace text that looks like a secret. Returns the text and how many of each kind (one of KINDS) were replaced.

    The text grows neither in characters nor in bytes. A redacted text stays unchanged. Time is linear in its length,
    and no text raises anything.
    """
    redaction = Redaction()
    return redaction.text(text), redaction.found


def identifier(text: str) -> str:
    """A name by which a caller finds something again (a message's id, a user, a folder), without secrets.

    The hash of the sent name is appended, so that the same names stay the same and different ones differ. The result
    does not change if it is sent again: a reader who sees it can search by it.
    """
    clean, counts = redact(text)
    return named(clean, text) if counts else text


def named(clean: str, sent: str) -> str:
    """The shown part of a name, with the hash of the sent name."""
    return f"{clean} {hashlib.sha256(sent.encode()).hexdigest()[:OF_HASH]}"


def when(enabled: bool, text: T) -> T:
    """The text without secrets if `enabled` (REDACT_SECRETS). A value that is no text stays unchanged."""
    return redact(text)[0] if enabled and isinstance(text, str) else text  # type: ignore[return-value]


def mark(kind: str, length: int) -> str:
    """The mark in the place of a secret of `length` characters."""
    mark = f"[redacted:{kind}]"
    return mark if len(mark) <= length else SHORT_MARK[:length]


def _apply(rule: _Rule, text: str, values: set[str]) -> tuple[str, int]:
    count = 0

    def replace(match: re.Match[str]) -> str:
        nonlocal count
        if not rule.is_secret(match):
            return match[0]
        count += 1
        name = match.groupdict().get("name")
        if name is not None:
            values.add(match[0][len(name) :])
        return f"{name or ''}{mark(rule.kind, len(match[0]) - len(name or ''))}"

    return compiled(f"(?a){rule.source}").sub(replace, text), count


def _without(
    text: str, kind: str, places: Iterable[tuple[int, int]], values: set[str] | None = None
) -> tuple[str, int]:
    parts, at, count = [], 0, 0
    for start, end in places:
        parts += [text[at:start], mark(kind, end - start)]
        if values is not None:
            values.add(text[start:end])
        at, count = end, count + 1
    return "".join([*parts, text[at:]]), count


@dataclass
class Redaction:
    """Texts and JSON values without secrets, and the count of all secrets that were taken out."""

    found: Counter[str] = field(default_factory=Counter)
    _values: set[str] = field(default_factory=set)
    """Secrets that are known by the text around them. Without it they would not be known again."""

    def text(self, text: str) -> str:
        """The text without secrets, also those that were found before in another one."""
        for rule in _rules():
            if rule.may_be_in(text):
                text, count = _apply(rule, text, self._values)
                self._count(rule.kind, count)
        for kind, places in _PLACES:
            text, count = _without(text, kind, places(text), self._values)
            self._count(kind, count)
        return self.again(text)

    def again(self, text: str) -> str:
        """A redacted text, without the secrets that were found since in another one: what people call a password in one
        sentence stands in a command a line before.
        """
        text, count = _without(text, "password", repeats.places(text, self._values))
        self._count("password", count)
        return text

    def whole(self, value: Any) -> Any:
        """The same as `value`, where a secret of one part is taken out of the parts before it, too."""
        once = self.value(value)
        return self.value(once) if self._values else once

    def _count(self, kind: str, count: int) -> None:
        if count:
            self.found[kind] += count

    def identifier(self, text: str) -> str:
        """The name without secrets (identifier)."""
        self.found += redact(text)[1]
        return identifier(text)

    def value(self, value: Any) -> Any:
        """The JSON value without secrets: in its texts, in its names, and in values that are secrets by their names."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return self._command([self.value(item) for item in value])
        return self._members(value) if isinstance(value, Mapping) else value

    def _command(self, words: list[Any]) -> list[Any]:
        """A list whose words are a command line without its secrets. Another list is returned unchanged."""
        if not words or not all(isinstance(word, str) for word in words) or not command_secrets.is_program(words[0]):
            return words
        with suppress(ValueError):
            done: list[Any] = json.loads(self.text(json.dumps(words, ensure_ascii=False)))
            return done
        return words

    def _members(self, members: Mapping[str, Any]) -> dict[str, Any]:
        done: dict[str, Any] = {}
        for name, value in members.items():
            clean = base = self.text(name)
            # Two names that are secrets are two members still.
            place = 2
            while clean in done:
                clean, place = f"{base} {place}", place + 1
            done[clean] = self._member(name, value)
        return done

    def _member(self, name: str, value: Any) -> Any:
        value = self.value(value)
        if not isinstance(value, str):
            return value
        if named_secrets.is_secret(name, value):
            self._values.add(value)
            self.found["password"] += 1
            return mark("password", len(value))
        line = f"{name}: "
        return self.text(line + value).removeprefix(line) if header_secrets.is_name(name) else value

    def counted(self) -> dict[str, int]:
        """How many of each kind were taken out, by kind."""
        return dict(sorted(self.found.items()))
