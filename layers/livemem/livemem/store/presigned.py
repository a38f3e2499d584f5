"""URLs by which a client that has no key of the store reads or writes one object, for a short time."""

from typing import Any

from livemem.store.objects import Store

SECONDS = 900
"""For how long such a URL works (security.md, 14)."""


def get_url(store: Store, key: str, filename: str) -> str:
    """A URL that reads the object, and is saved under `filename`: no request."""
    parameters: dict[str, Any] = {
        "Bucket": store.bucket,
        "Key": key,
        "ResponseContentDisposition": f'attachment; filename="{filename}"',
    }
    return store.plain.generate_presigned_url("get_object", Params=parameters, ExpiresIn=SECONDS)


def put_url(store: Store, key: str) -> str:
    """A URL that writes the object by PUT: no request."""
    parameters = {"Bucket": store.bucket, "Key": key}
    return store.plain.generate_presigned_url("put_object", Params=parameters, ExpiresIn=SECONDS)
