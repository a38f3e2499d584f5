"""Clients that register themselves (RFC 7591). A client's id *is* its registration, so nothing is stored.

Anybody may register anything, so a registration proves nothing, and a stored one would only be a way to fill the
bucket.
"""

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from livemem.process import Process
from livemem.signin import client_documents
from livemem.signin.client_metadata import Client, described
from livemem.signin.refusal import Refused

PREFIX = "lmc_"
ID_CHARACTERS = 2_000


def register(metadata: Mapping[str, Any]) -> Client:
    """The client of a registration. No request. Raises Refused.

    Every such client is a public one, also one that asks for a secret. The answer says that (RFC 7591, 3.2.1).
    """
    client = described("", metadata)
    client_id = _encode(client.name, client.redirect_uris)
    if len(client_id) > ID_CHARACTERS:
        raise Refused("invalid_client_metadata", "The registration is too long: name fewer redirect addresses.")
    return replace(client, client_id=client_id)


def find(process: Process, client_id: str) -> Client:
    """The client of an id: the address of its document, or what `register` gave.

    Requests as `client_documents.find`, or none. Raises Refused, StoreUnavailable.
    """
    if client_id.startswith("https://"):
        return client_documents.find(process, client_id)
    try:
        if len(client_id) > ID_CHARACTERS or not client_id.startswith(PREFIX):
            raise ValueError
        text = client_id.removeprefix(PREFIX)
        name, uris = json.loads(base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True))
        client = register({"client_name": name, "redirect_uris": uris})
    except (ValueError, TypeError, RecursionError, binascii.Error, Refused):
        raise Refused("invalid_client", "The client is not known: register it again.") from None
    if client.client_id != client_id:
        raise Refused("invalid_client", "The client is not known: register it again.")
    return client


def _encode(name: str, uris: tuple[str, ...]) -> str:
    text = json.dumps([name, list(uris)], separators=(",", ":")).encode()
    return PREFIX + base64.urlsafe_b64encode(text).decode().rstrip("=")
