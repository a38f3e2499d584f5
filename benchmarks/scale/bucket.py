"""A bucket in memory for hundreds of thousands of objects: its keys are always in order."""

from bisect import bisect_left, bisect_right, insort
from typing import Any

from tests.support.bucket import LAST, FakeS3, Stored


class Ordered(dict[str, Stored]):
    """Objects by key, with the keys in order."""

    def __init__(self) -> None:
        super().__init__()
        self.order: list[str] = []

    def __setitem__(self, key: str, stored: Stored) -> None:
        if key not in self:
            insort(self.order, key)
        super().__setitem__(key, stored)

    def __delitem__(self, key: str) -> None:
        super().__delitem__(key)
        del self.order[bisect_left(self.order, key)]

    def pop(self, key: str, *default: Any) -> Any:
        """Remove an object, and return it."""
        if key in self:
            del self.order[bisect_left(self.order, key)]
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
