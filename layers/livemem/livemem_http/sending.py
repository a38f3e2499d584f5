"""The last steps of an answer: not sent again to a client that has it (RFC 9110, 13), compressed if the client accepts
that (12.5.3).

Both look at the finished body alone. So only a client that would get the 200 gets the 304, and an ETag stands for the
body that would be sent. No token, erasure or clock can make the two differ.
"""

import base64
import json
import re
import zlib
from hashlib import sha256
from typing import Any

from livemem import limits
from livemem_http import negotiation

COMPRESSED_TO = 32 * 1024 * 1024
"""Bytes of the largest body that is compressed: a function has neither time nor memory for more."""
COMPRESSED_FROM = 1_024
"""Bytes of the smallest body that is compressed: below that the header of gzip and the size of a packet cost what
compression saves.
"""
LEVEL = 5
"""Of zlib: level 6 takes a third more time on Markdown, for 1 % less."""
CACHE_CONTROL = "private, no-cache"
"""The client may keep the answer, and asks again each time. No cache in between may keep it."""

_ETAG = re.compile(r'(?:W/)?("[\x21\x23-\x7e\x80-\xff]*")')


def revalidated(answer: dict[str, Any], if_none_match: str | None) -> dict[str, Any]:
    """The answer with an ETag; 304 without a body where `if_none_match` names it, or is `*`.

    The ETag is weak, one for the compressed body and the plain one. Invalid ETags in the header are ignored.
    """
    headers = answer["headers"]
    # The type too: JSON and Markdown of one thing are two representations.
    digest = sha256(f"{headers['Content-Type']}\n{answer['body']}".encode()).hexdigest()[:32]
    headers |= {"ETag": f'W/"{digest}"', "Cache-Control": CACHE_CONTROL, "Vary": _vary(headers, "Authorization")}
    if if_none_match is None or not names(if_none_match, f'"{digest}"'):
        return answer
    # The type stays: API Gateway would write another one, and a cache would take it for that of what it has.
    return {**answer, "statusCode": 304, "body": "", "headers": {**headers, "Vary": _vary(headers, "Accept-Encoding")}}


def names(header: str, tag: str) -> bool:
    """Whether an If-None-Match header names an ETag, given with its quotation marks, or any."""
    return header.strip() == "*" or tag in _ETAG.findall(header)


def compressed(answer: dict[str, Any], accept_encoding: str | None) -> dict[str, Any]:
    """The answer with its body in gzip, if it is long enough, the client takes it, and it gets shorter."""
    body = answer["body"].encode()
    if len(body) <= COMPRESSED_FROM:
        return answer
    headers = {**answer["headers"], "Vary": _vary(answer["headers"], "Accept-Encoding")}
    if len(body) > COMPRESSED_TO or not negotiation.takes_gzip(accept_encoding):
        return {**answer, "headers": headers}
    packed = zlib.compress(body, LEVEL, wbits=31)
    if len(packed) >= len(body):
        return {**answer, "headers": headers}
    return {
        **answer,
        "body": base64.b64encode(packed).decode(),
        "isBase64Encoded": True,
        "headers": {**headers, "Content-Encoding": "gzip"},
    }


def is_too_large(answer: dict[str, Any]) -> bool:
    """Whether Lambda would refuse it: what counts is the JSON that leaves the function, so compressed more fits."""
    body = answer["body"]
    if answer["isBase64Encoded"]:
        return len(body) > limits.ANSWER_BYTES
    # Quick for all usual bodies: in JSON a character takes at most 6 bytes.
    return (
        len(body) * 6 > limits.ANSWER_BYTES
        and len(json.dumps(body, ensure_ascii=False).encode(errors="replace")) > limits.ANSWER_BYTES
    )


def _vary(headers: dict[str, Any], name: str) -> str:
    named = [part for part in str(headers.get("Vary", "")).split(", ") if part]
    return ", ".join([*named, *([] if name in named else [name])])
