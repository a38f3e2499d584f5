"""The JSON-RPC message of a request, looked at before the SDK sees it: bounded, strict JSON, and one single message.

To clients of older versions the SDK answers an invalid message with its models' complaints and the message's content.
"""

import json
from collections.abc import Mapping
from typing import Any

import mcp_types as types

from livemem.errors import InvalidRequest, MalformedBody
from livemem_http import bodies, texts


class NoMessage(Exception):
    """The body is no message that can be answered. `answer` is the protocol's error for it."""

    def __init__(self, code: int, message: str, message_id: str | int | None = None) -> None:
        super().__init__(code)
        error = {"code": code, "message": message}
        body = json.dumps({"jsonrpc": "2.0", "id": message_id, "error": error})
        headers = {"Content-Type": "application/json"}
        self.answer = {"statusCode": 400, "headers": headers, "body": body, "isBase64Encoded": False}


def check(text: str) -> Mapping[str, Any]:
    """The request or notification of JSON-RPC 2.0 in the text. Raises NoMessage where it is none, and TooLarge."""
    if text.lstrip().startswith("["):
        raise NoMessage(types.INVALID_REQUEST, "Send one message at a time, not a batch.")
    try:
        message = bodies.parse(text)
    except MalformedBody as error:
        raise NoMessage(types.PARSE_ERROR, error.detail) from None
    message_id = message.get("id")
    known = message_id if _may_be_id(message_id) else None
    if wrong := _wrong(message):
        raise NoMessage(types.INVALID_REQUEST, wrong, known)
    try:
        texts.check(message)
    except InvalidRequest as error:
        raise NoMessage(types.INVALID_PARAMS, error.detail[:500], known) from None
    return message


def named_in_meta(message: Mapping[str, Any], name: str) -> object:
    """A member of the message's `_meta`, of any form; None if there is none."""
    meta = (message.get("params") or {}).get("_meta")
    return meta.get(name) if isinstance(meta, Mapping) else None


def _wrong(message: Mapping[str, Any]) -> str | None:
    if message.get("jsonrpc") != "2.0":
        return '`jsonrpc` must be "2.0".'
    if not isinstance(message.get("method"), str):
        # Answers are to requests of the server's, and it makes none.
        return "`method` must be a text: this is no request and no notification."
    if "id" in message and not _may_be_id(message["id"]):
        return "`id` must be a text or a whole number."
    if not isinstance(message.get("params"), dict | None):
        return "`params` must be an object."
    return None


def _may_be_id(value: Any) -> bool:
    whole = isinstance(value, str | int) and not isinstance(value, bool)
    return whole and not (isinstance(value, str) and texts.sendable(value) != value)
