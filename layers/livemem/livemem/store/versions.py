"""Former versions of objects, which a bucket may keep behind the present ones: lists, reads and removes them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from livemem.errors import StoreUnavailable, VersionsUnreachable
from livemem.store import failures
from livemem.store.objects import DELETE_BATCH, Store

_REFUSED = {"AccessDenied", "403", "MethodNotAllowed", "405"}

NO_ID = "null"
"""The id of a version in a bucket that keeps none."""


@dataclass(frozen=True)
class Version:
    """One version of an object, or a `marker` that says that it was deleted. `latest`: the version that a GET meets."""

    key: str
    version_id: str
    etag: str = ""
    size: int = 0
    latest: bool = False
    marker: bool = False


def below(store: Store, prefix: str) -> Iterator[Version]:
    """All versions below `prefix`, the present ones among them: 1 ListObjectVersions per 1,000. None at all where the
    store does not support versions.

    Raises VersionsUnreachable where the store refuses to list them, StoreUnavailable.
    """
    behind: dict[str, Any] = {}
    while True:
        try:
            page = store.v4.list_object_versions(Bucket=store.bucket, Prefix=prefix, **behind)
        except failures.CLIENT_ERRORS as error:
            if failures.code(error) in failures.UNSUPPORTED:
                return
            raise _own(error) from error
        for item in page.get("Versions", []):
            yield Version(
                item["Key"], item.get("VersionId", NO_ID), item["ETag"], item["Size"], latest=bool(item.get("IsLatest"))
            )
        for gone in page.get("DeleteMarkers", []):
            yield Version(gone["Key"], gone["VersionId"], latest=bool(gone.get("IsLatest")), marker=True)
        if not page.get("IsTruncated"):
            return
        behind = {"KeyMarker": page["NextKeyMarker"]}
        if page.get("NextVersionIdMarker"):
            behind["VersionIdMarker"] = page["NextVersionIdMarker"]


def read(store: Store, version: Version) -> bytes | None:
    """The content of one version, None where it is gone: 1 GET. Raises VersionsUnreachable, StoreUnavailable."""
    try:
        answer = store.plain.get_object(Bucket=store.bucket, Key=version.key, VersionId=version.version_id)
        return answer["Body"].read()
    except failures.CLIENT_ERRORS as error:
        if failures.code(error) in failures.MISSING | {"NoSuchVersion"}:
            return None
        raise _own(error) from error


def remove(store: Store, doomed: Sequence[Version]) -> None:
    """Remove exactly these versions, 1,000 a request. Raises VersionsUnreachable, StoreUnavailable."""
    for start in range(0, len(doomed), DELETE_BATCH):
        names = [
            {"Key": version.key, "VersionId": version.version_id} for version in doomed[start : start + DELETE_BATCH]
        ]
        try:
            answer = store.v4.delete_objects(Bucket=store.bucket, Delete={"Objects": names, "Quiet": True})  # type: ignore[typeddict-item]
        except failures.CLIENT_ERRORS as error:
            raise _own(error) from error
        refused = {str(item.get("Code", "")) for item in answer.get("Errors", [])}
        if refused & _REFUSED:
            raise VersionsUnreachable("The store does not let the service remove former versions.")
        if refused:
            raise StoreUnavailable("The store could not delete everything.")


def _own(error: Exception) -> Exception:
    if failures.code(error) in _REFUSED:
        return VersionsUnreachable("The store does not let the service look at former versions.")
    return failures.own(error)
