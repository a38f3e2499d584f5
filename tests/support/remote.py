"""A bucket of a real store in the place of the fake one: for the crash harness and the random histories."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from botocore.exceptions import ClientError

from tests.support.bucket import Stored, http_date
from tests.support.world import World


class RemoteBucket:
    """An S3 client of one bucket. `objects` reads all of it, as the fake's attribute of that name.

    A store's own clock can't be moved by hand, so LastModified is what `clock` showed when the object was written here,
    and the Date of an answer is what it shows now.
    """

    def __init__(self, client: Any, bucket: str) -> None:
        self._client = client
        self._bucket = bucket
        self.clock: Callable[[], datetime] = lambda: datetime.now(UTC)
        self._written: dict[str, datetime] = {}
        self._read: dict[str, Stored] = {}
        """What was read since it was last written."""

    @property
    def objects(self) -> dict[str, Stored]:
        """What is in the bucket now, read from the store."""
        return {key: self._read.get(key) or self._read_now(key) for key in self._keys()}

    def _read_now(self, key: str) -> Stored:
        answer = self._client.get_object(Bucket=self._bucket, Key=key)
        found = Stored(answer["Body"].read(), answer["ETag"], self._time(key, answer), answer["Metadata"])
        self._read[key] = found
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
        self._read.clear()

    def put_object(self, **arguments: Any) -> Any:
        self._read.pop(arguments["Key"], None)
        answer = self._ask(self._client.put_object, arguments)
        self._written[arguments["Key"]] = self.clock()
        return answer

    def get_object(self, **arguments: Any) -> Any:
        answer = self._ask(self._client.get_object, arguments)
        return {**answer, "LastModified": self._time(arguments["Key"], answer)}

    def head_object(self, **arguments: Any) -> Any:
        answer = self._ask(self._client.head_object, arguments)
        return {**answer, "LastModified": self._time(arguments["Key"], answer)}

    def copy_object(self, **arguments: Any) -> Any:
        self._read.pop(arguments["Key"], None)
        source = {**arguments["CopySource"], "Bucket": self._bucket}
        answer = self._ask(self._client.copy_object, {**arguments, "CopySource": source})
        self._written[arguments["Key"]] = self.clock()
        return answer

    def delete_object(self, **arguments: Any) -> Any:
        return self._ask(self._client.delete_object, arguments)

    def delete_objects(self, **arguments: Any) -> Any:
        return self._ask(self._client.delete_objects, arguments)

    def list_objects_v2(self, **arguments: Any) -> Any:
        answer = self._ask(self._client.list_objects_v2, arguments)
        for entry in answer.get("Contents", []):
            entry["LastModified"] = self._time(entry["Key"], entry)
        return answer

    def list_object_versions(self, **arguments: Any) -> Any:
        return self._ask(self._client.list_object_versions, arguments)

    def list_multipart_uploads(self, **arguments: Any) -> Any:
        return self._ask(self._client.list_multipart_uploads, arguments)

    def generate_presigned_url(self, operation: str, *, Params: dict[str, Any], ExpiresIn: int) -> str:
        return str(
            self._client.generate_presigned_url(
                operation, Params={**Params, "Bucket": self._bucket}, ExpiresIn=ExpiresIn
            )
        )

    def _ask(self, method: Callable[..., Any], arguments: dict[str, Any]) -> Any:
        try:
            answer = method(**{**arguments, "Bucket": self._bucket})
        except ClientError as error:
            self._date(error.response)
            raise
        self._date(answer)
        return answer

    def _date(self, answer: Any) -> None:
        answer["ResponseMetadata"].setdefault("HTTPHeaders", {})["date"] = http_date(self.clock())

    def _time(self, key: str, answer: Any) -> datetime:
        found: datetime = self._written.get(key) or answer["LastModified"]
        return found

    def _keys(self) -> list[str]:
        answer = self._client.list_objects_v2(Bucket=self._bucket)
        assert not answer.get("IsTruncated"), "a world in a test is small"
        return [entry["Key"] for entry in answer.get("Contents", [])]
