"""Names of bank files (rules: docs/consolidation.md) and the repair of names that an LLM proposes.

Two paths that differ only in case are two S3 objects but one file on the disks of macOS and Windows; the rules allow
them, so an export of a bank must handle the clash.
"""

from __future__ import annotations

import re
import unicodedata

from livemem.errors import LiveMemoryError

MAX_LENGTH = 200

ALLOWED = re.compile(r"[A-Za-z0-9._/-]+")
# What models copy from the instructions of other memory banks, or from the keys of the bucket.
_PARASITIC_PREFIXES = ("bank/", "MEMORY_BANK/", "1.MEMORY_BANK/")
# Hyphen look-alikes that Unicode files under other categories than Pd: minus sign, hyphen bullet, modifier minus.
_MORE_HYPHENS = "\u2212\u2043\u02d7"
# Invisible, though not of category Cf: grapheme joiner, Hangul fillers, Khmer vowels, Mongolian and general variation
# selectors, blank Braille.
_MORE_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\U000e0100-\U000e01ef]"
)
# No repair makes a longer proposal fit; NFKC of megabytes would only cost time.
_MAX_PROPOSED = 5 * MAX_LENGTH


class BankPathError(LiveMemoryError, ValueError):
    """A path cannot name a bank file. The message says which rule it breaks, in words fit for an LLM."""


def check_bank_path(path: str) -> None:
    """Accept ``path`` exactly as it stands or raise.

    In: a path relative to ``{space}/bank/``. Raises BankPathError unless it consists of ``[A-Za-z0-9._/-]``, has at
    most 200 characters, no empty, ``.`` or ``..`` part, no leading ``/`` or ``_``, no folder that ends in ``.md``, and
    ends in ``.md`` itself.
    """
    broken = _broken_rule(path)
    if broken:
        raise BankPathError(f"bank path {_shown(path)}: {broken}")


def normalise_bank_path(proposed: str) -> str:
    """Return the bank path that an LLM meant by ``proposed``.

    Repairs, in this order: Unicode NFKC; invisible characters removed; every dash becomes ``-``; white space around
    the path removed; the prefixes ``bank/``, ``MEMORY_BANK/`` and ``1.MEMORY_BANK/`` removed, as often as they occur.
    All else is refused rather than guessed: a space inside, say, would make ``active context.md`` silently overwrite
    ``active-context.md``. A result is its own normal form. Raises BankPathError.
    """
    if len(proposed) > _MAX_PROPOSED:
        raise BankPathError(f"bank path {_shown(proposed)}: longer than {MAX_LENGTH} characters")
    path = "".join(_repaired(char) for char in unicodedata.normalize("NFKC", proposed))
    path = _MORE_INVISIBLE.sub("", path).strip()
    while path.startswith(_PARASITIC_PREFIXES):
        # No prefix contains another one's "/", so cutting behind the first "/" removes exactly one.
        path = path.partition("/")[2]
    broken = _broken_rule(path)
    if broken:
        raise BankPathError(f"bank path {_shown(proposed)}: {broken}")
    return path


def _repaired(char: str) -> str:
    category = unicodedata.category(char)
    if category == "Cf":
        return ""
    return "-" if category == "Pd" or char in _MORE_HYPHENS else char


def _broken_rule(path: str) -> str | None:
    if not path:
        return "empty"
    if not ALLOWED.fullmatch(path):
        return "only A-Z, a-z, 0-9 and . _ / - are allowed"
    if len(path) > MAX_LENGTH:
        return f"longer than {MAX_LENGTH} characters"
    if path.startswith(("/", "_")):
        return "must not start with / or _"
    if any(part in ("", ".", "..") for part in path.split("/")):
        return "must not have an empty part, '.' or '..'"
    if not path.endswith(".md"):
        return "must end in .md"
    if any(part.endswith(".md") for part in path.split("/")[:-1]):
        # Stores that keep objects as files can't hold a.md beside a.md/b.md: one of them vanishes from listings.
        return "must not have a folder that ends in .md"
    return None


def _shown(path: str) -> str:
    return ascii(path if len(path) <= MAX_LENGTH else path[:MAX_LENGTH] + "...")
