"""A bucket in memory for hundreds of thousands of objects: its keys are always in order."""

from bisect import bisect_left, bisect_right, insort
from typing import Any

from tests.support.bucket import LAST, FakeS3, Stored


class Ordered(dict[str, Stored]):
    """Objects by key, with the keys in order. Removed keys leave the order when it is asked for, many at a time."""

    def __init__(self) -> None:
        super().__init__()
        self._order: list[str] = []
        self._removed: set[str] = set()

    @property
    def order(self) -> list[str]:
        """The keys."""
        if self._removed:
            removed = sorted(self._removed)
            place = bisect_left(self._order, removed[0])
            if self._order[place : place + len(removed)] == removed:
                del self._order[place : place + len(removed)]
            else:
                self._order = [key for key in self._order if key not in self._removed]
            self._removed.clear()
        return self._order

    def __setitem__(self, key: str, stored: Stored) -> None:
        if key in self._removed:
            self._removed.discard(key)
        elif key not in self:
            insort(self._order, key)
        super().__setitem__(key, stored)

    def __delitem__(self, key: str) -> None:
        super().__delitem__(key)
        self._removed.add(key)

    def pop(self, key: str, *default: Any) -> Any:
        """Remove an object, and return it."""
        if key in self:
            self._removed.add(key)
        return super().pop(key, *default)


class LargeBucket(FakeS3):
    """The fake bucket, whose listings cost as much as they show."""

    def __init__(self, *clock: Any) -> None:
        super().__init__(*clock)
        self.objects: Ordered = Ordered()

    def _in_order(self) -> list[str]:
        return self.objects.order

    def list_objects_v2(self, **wanted: Any) -> dict[str, Any]:
        """As S3 does it. Below a folder that is shown as one name, no key is looked at."""
        prefix, delimiter = wanted.get("Prefix", ""), wanted.get("Delimiter", "")
        if not delimiter:
            return super().list_objects_v2(**wanted)
        after = wanted.get("ContinuationToken") or wanted.get("StartAfter", "")
        most, every = min(wanted.get("MaxKeys", 1_000), self.most_keys), self.objects.order
        place = max(
            bisect_left(every, prefix), bisect_right(every, after + LAST if after.endswith(delimiter) else after)
        )
        contents: list[dict[str, Any]] = []
        folders: list[str] = []
        while place < len(every) and every[place].startswith(prefix) and len(contents) + len(folders) < most:
            key = every[place]
            name, found, _ = key[len(prefix) :].partition(delimiter)
            if found:
                folders.append(f"{prefix}{name}{delimiter}")
                place = bisect_right(every, folders[-1] + LAST)
                continue
            stored = self.objects[key]
            contents.append(
                {"Key": key, "Size": len(stored.body), "ETag": stored.etag, "LastModified": stored.last_modified}
            )
            place += 1
        more = place < len(every) and every[place].startswith(prefix)
        answer: dict[str, Any] = {
            "Contents": contents,
            "CommonPrefixes": [{"Prefix": folder} for folder in folders],
            "IsTruncated": more,
            **self._answered(),
        }
        last = max([*folders[-1:], *(entry["Key"] for entry in contents[-1:])], default=after)
        return {**answer, "NextContinuationToken": last} if more else answer
