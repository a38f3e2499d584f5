"""The clients of botocore: S3 (two where the store wants old signatures) and Lambda.

botocore itself makes them. boto3 adds features that the service does not use, and takes longer to load than the
service.

The client's own parser takes a quarter of a second for the thousand objects of a listing: it guesses the format of each
time, and walks through a model for each object. `read_objects` reads them, and leaves it the rest of the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from botocore.config import Config
from botocore.loaders import Loader
from botocore.session import Session, get_session
from botocore.utils import parse_timestamp

from livemem import __version__
from livemem.settings import Settings

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

CONNECTIONS = 32
OK = 200
FIELDS = ("Key", "LastModified", "ETag", "Size")


class _Loader(Loader):
    """botocore's loader of its models. The original looks into 400 folders to list the services."""

    def list_available_services(self, type_name: str) -> list[str]:  # noqa: ARG002
        """The services that this module uses."""
        return ["lambda", "s3"]


def _session() -> Session:
    session = get_session()
    session.register_component("data_loader", _Loader())
    session.get_component("response_parser_factory").set_parser_defaults(timestamp_parser=_moment)
    return session


def _moment(text: Any) -> datetime:
    """A time in the format of headers. botocore's own parser tries every format, each time."""
    return parsedate_to_datetime(text) if str(text).endswith(" GMT") else parse_timestamp(text)


def s3_client(settings: Settings, signature: str, check: Callable[[], None] | None) -> S3Client:
    """A new S3 client for the settings' store. `check` is called before each request."""
    session = _session()
    client: S3Client = session.create_client(  # type: ignore[assignment]
        "s3",
        endpoint_url=settings.s3_endpoint_url,
        region_name=settings.s3_region_name or session.get_config_variable("region") or "us-east-1",
        aws_access_key_id=settings.s3_access_key_id,
        aws_secret_access_key=settings.s3_secret_access_key,
        config=Config(
            signature_version=signature,
            # botocore's own user agent is put together from thirty parts for each request.
            user_agent=f"live-memory/{__version__}",
            retries={"mode": "standard", "total_max_attempts": 3},
            connect_timeout=5,
            read_timeout=30,
            max_pool_connections=CONNECTIONS,
            s3={"addressing_style": "path" if settings.s3_endpoint_url else "auto"},
            # Other stores don't know the newer checksums. S3 itself checks the MD5 or TLS either way.
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
        ),
    )
    # By `*` it is called before the client's own handlers: one of them parses each answer to look for an error in it.
    client.meta.events.register("before-parse.*.ListObjectsV2", read_objects)
    if check:
        # The client sends a request again by itself.
        client.meta.events.register("before-send.s3", lambda **_: check())
    return client


@lru_cache(maxsize=2)
def lambda_client(*, attempts: int = 3, read_timeout: int = 10) -> Any:
    """A client of Lambda, which sends a request so many times at most."""
    session = _session()
    return session.create_client(
        "lambda",
        region_name=session.get_config_variable("region") or "us-east-1",
        config=Config(
            retries={"mode": "standard", "total_max_attempts": attempts}, connect_timeout=3, read_timeout=read_timeout
        ),
    )


def read_objects(response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_: Any) -> None:
    """Take the objects out of a ListObjectsV2 answer before the client parses it (its event `before-parse`).

    If the answer does not have S3's format, nothing is taken: the client reads it all, or raises its error.
    """
    if response_dict.get("status_code") != OK:
        return
    try:
        root = ElementTree.fromstring(response_dict["body"])  # noqa: S314 - botocore's own parser, and as trusting
        space = root.tag.rpartition("ListBucketResult")[0]
        nodes = root.findall(f"{space}Contents")
        objects = [_object(node, space) for node in nodes]
    except (ElementTree.ParseError, KeyError, ValueError, TypeError):
        return
    if not objects:
        return
    root[:] = [node for node in root if node.tag != f"{space}Contents"]
    response_dict["body"] = ElementTree.tostring(root)
    customized_response_dict["Contents"] = objects


def _object(node: Element, space: str) -> dict[str, Any]:
    fields = {field.tag.removeprefix(space): field.text or "" for field in node}
    key, modified, etag, size = (fields[name] for name in FIELDS)
    moment = datetime.fromisoformat(modified)
    return {
        "Key": key,
        "LastModified": moment if moment.tzinfo else moment.replace(tzinfo=UTC),
        "ETag": etag,
        "Size": int(size),
        "StorageClass": fields.get("StorageClass", ""),
    }
