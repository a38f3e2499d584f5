"""A provider's message about its refusal, made fit for an error's detail: short, on one line, without secrets."""

import re
import unicodedata

CHARACTERS = 300
READ_CHARACTERS = 4_000
"""Characters that are read. Later ones would be cut off in any case."""
REMOVED = "[removed]"
SHORTEST_SECRET = 8
"""A shorter key (`none`, `ollama`) is no secret, and may well be a word of the message."""

SECRETS = re.compile(
    r"""
    \b(?:bearer|basic)\s+(?:\S{16,}|(?=\S*\d)\S{6,})      # a header's value, and not "bearer token"
    | \bsk-[\w*.-]{6,}                                     # keys by their usual beginnings, also masked ones
    | \b(?:pk|rk|gsk|xai|hf|key|api)[-_](?=\S*[\d*])[\w*.-]{6,}
    | \beyJ[\w-]{8,}(?:\.[\w-]+)*                          # a JSON web token
    | (?<=://)[^\s/@]+@                                    # user and password of a URL
    | \b(?=\w*\d)(?=\w*[a-z])\w{32,}                       # whatever is long and random
    """,
    re.VERBOSE | re.IGNORECASE,
)


def excerpt(body: object, key: str) -> str:
    """The message in the parsed body (an object as OpenAI's, or text) of an answer that is an error, or "".

    At most CHARACTERS characters on one line. `key`, and all that looks like a credential, is replaced. HTML is a
    proxy's page for people, and left out.
    """
    text = _message(body)
    if text.lstrip()[:1] == "<":
        return ""
    if len(key) >= SHORTEST_SECRET:
        text = text.replace(key, REMOVED)
    plain = "".join(" " if unicodedata.category(sign)[0] in "CZ" else sign for sign in text[:READ_CHARACTERS])
    text = SECRETS.sub(REMOVED, " ".join(plain.split()))
    return text if len(text) <= CHARACTERS else text[: CHARACTERS - 1].rstrip() + "…"


def _message(body: object) -> str:
    for name in ("error", "message", "detail"):
        if isinstance(body, dict) and body.get(name):
            body = body[name]
    return body if isinstance(body, str) else ""
