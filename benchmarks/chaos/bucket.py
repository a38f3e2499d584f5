"""The bucket as it is, read past the proxy; what has not changed since is not read again."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.support.bucket import Stored


class Bucket:
    """All objects of one bucket. For one thread."""

    def __init__(self, client: Any, name: str) -> None:
        self._client = client
        self._name = name
        self._known: dict[str, Stored] = {}

    def read(self) -> Mapping[str, Stored]:
        """What is in it now. An object that goes away under way is left out."""
        entries: dict[str, Any] = {}
        for page in self._client.get_paginator("list_objects_v2").paginate(Bucket=self._name):
            entries |= {entry["Key"]: entry for entry in page.get("Contents", [])}
        changed = [
            key
            for key, entry in entries.items()
            if key not in self._known
            or (self._known[key].etag, self._known[key].last_modified) != (entry["ETag"], entry["LastModified"])
        ]
        with ThreadPoolExecutor(max_workers=4) as executor:
            for key, stored in zip(changed, executor.map(self._get, changed), strict=True):
                if stored is None:
                    entries.pop(key)
                else:
                    self._known[key] = stored
        self._known = {key: self._known[key] for key in entries}
        return dict(self._known)

    def _get(self, key: str) -> Stored | None:
        try:
            answer = self._client.get_object(Bucket=self._name, Key=key)
            body = answer["Body"].read()
        except self._client.exceptions.NoSuchKey:
            return None
        return Stored(body, answer["ETag"], answer["LastModified"], answer["Metadata"])
