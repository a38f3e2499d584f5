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


def put_url(store: Store, key: str, size: int) -> str:
    """A URL that writes the object by PUT, of exactly `size` bytes: no request.

    The header Content-Length is part of the signature, so the store refuses every other size. Signatures of version 2
    (S3_SIGNATURE=hybrid) know no such header: there any size is taken, and is looked at when it is imported.
    """
    parameters: dict[str, Any] = {"Bucket": store.bucket, "Key": key, "ContentLength": size}
    return store.plain.generate_presigned_url("put_object", Params=parameters, ExpiresIn=SECONDS)
