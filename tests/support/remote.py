"""A bucket of a real store in the place of the fake one: for the crash harness and the random histories."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from tests.support.bucket import Stored
from tests.support.world import World


class RemoteBucket:
    """An S3 client of one bucket. `objects` reads all of it, as the fake's attribute of that name.

    A store's own clock can't be moved by hand, so LastModified is what `clock` showed when the object was written here.
    """

    def __init__(self, client: Any, bucket: str) -> None:
        self._client = client
        self._bucket = bucket
        self.clock: Callable[[], datetime] = lambda: datetime.now(UTC)
        self._written: dict[str, datetime] = {}

    @property
    def objects(self) -> dict[str, Stored]:
        """What is in the bucket now, read from the store."""
        found = {}
        for key in self._keys():
            answer = self._client.get_object(Bucket=self._bucket, Key=key)
            found[key] = Stored(answer["Body"].read(), answer["ETag"], self._time(key, answer), answer["Metadata"])
        return found

    def world(self) -> World:
        """A new world whose bucket this is; what was in it is removed."""
        self.empty()
        world = World(self)
        self.clock = world.clock
        return world

    def empty(self) -> None:
        """Remove everything."""
        doomed = self._keys()
        if doomed:
            self._client.delete_objects(Bucket=self._bucket, Delete={"Objects": [{"Key": key} for key in doomed]})
        self._written.clear()

    def put_object(self, **arguments: Any) -> Any:
        answer = self._client.put_object(**self._here(arguments))
        self._written[arguments["Key"]] = self.clock()
        return answer

    def get_object(self, **arguments: Any) -> Any:
        answer = self._client.get_object(**self._here(arguments))
        return {**answer, "LastModified": self._time(arguments["Key"], answer)}

    def delete_object(self, **arguments: Any) -> Any:
        return self._client.delete_object(**self._here(arguments))

    def delete_objects(self, **arguments: Any) -> Any:
        return self._client.delete_objects(**self._here(arguments))

    def list_objects_v2(self, **arguments: Any) -> Any:
        answer = self._client.list_objects_v2(**self._here(arguments))
        for entry in answer.get("Contents", []):
            entry["LastModified"] = self._time(entry["Key"], entry)
        return answer

    def _here(self, arguments: dict[str, Any]) -> dict[str, Any]:
        return {**arguments, "Bucket": self._bucket}

    def _time(self, key: str, answer: Any) -> datetime:
        found: datetime = self._written.get(key) or answer["LastModified"]
        return found

    def _keys(self) -> list[str]:
        answer = self._client.list_objects_v2(Bucket=self._bucket)
        assert not answer.get("IsTruncated"), "a world in a test is small"
        return [entry["Key"] for entry in answer.get("Contents", [])]
