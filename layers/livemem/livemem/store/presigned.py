"""URLs by which a client without keys of the store reads or writes one object, for a short time."""

from typing import Any

from livemem.store.objects import Store

SECONDS = 900
"""How long such a URL works (security.md, 14)."""


def get_url(store: Store, key: str, filename: str) -> str:
    """A URL that reads the object. Browsers save it as `filename`. No request."""
    parameters: dict[str, Any] = {
        "Bucket": store.bucket,
        "Key": key,
        "ResponseContentDisposition": f'attachment; filename="{filename}"',
    }
    return store.plain.generate_presigned_url("get_object", Params=parameters, ExpiresIn=SECONDS)


def put_url(store: Store, key: str, size: int) -> str:
    """A URL that writes the object by PUT, of exactly `size` bytes: no request.

    The header Content-Length is part of the signature, so the store refuses every other size. Signatures of version 2
    (S3_SIGNATURE=hybrid) do not cover the header. Such a store takes any size, and the import checks it.
    """
    parameters: dict[str, Any] = {"Bucket": store.bucket, "Key": key, "ContentLength": size}
    return store.plain.generate_presigned_url("put_object", Params=parameters, ExpiresIn=SECONDS)
