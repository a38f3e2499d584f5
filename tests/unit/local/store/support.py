"""What the tests of the embedded store share."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from local.store.client import FileStore

BUCKET = "bkt"
OPERATIONS = ("open", "replace", "rename", "unlink", "mkdir", "rmdir", "utime", "fsync")
"""Of `os`: all by which the store changes a disk."""


def opened(root: Path, **more: Any) -> FileStore:
    store = FileStore(root, **more)
    store.create_bucket(Bucket=BUCKET)
    return store


def put(store: FileStore, key: str, body: bytes = b"", **more: Any) -> str:
    return store.put_object(Bucket=BUCKET, Key=key, Body=body, **more)["ETag"]


def read(store: FileStore, key: str) -> bytes:
    return store.get_object(Bucket=BUCKET, Key=key)["Body"].read()


def contents(store: FileStore) -> dict[str, tuple[bytes, str, dict[str, str]]]:
    """Body, content type and metadata of each object."""
    found = {}
    for item in store.list_objects_v2(Bucket=BUCKET)["Contents"]:
        answer = store.get_object(Bucket=BUCKET, Key=item["Key"])
        assert (answer["ETag"], answer["ContentLength"]) == (item["ETag"], item["Size"])
        found[item["Key"]] = (answer["Body"].read(), answer["ContentType"], answer["Metadata"])
    return found


class KilledError(BaseException):
    """The process ends here: nothing that comes later happens."""


@contextmanager
def on_operation(patch: pytest.MonkeyPatch, act: Callable[[int], None]) -> Iterator[None]:
    """Before each operation on the disk, `act` is told its number."""
    count = 0

    def wrapped(name: str) -> Callable[..., Any]:
        original = getattr(os, name)

        def call(*arguments: Any, **named: Any) -> Any:
            nonlocal count
            count += 1
            act(count)
            return original(*arguments, **named)

        return call

    with patch.context() as inner:
        for name in OPERATIONS:
            inner.setattr(os, name, wrapped(name))
        yield
