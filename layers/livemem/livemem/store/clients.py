"""The clients of this process: one S3 client (two where the store wants old signatures) and one Lambda client.

botocore itself makes them. boto3 adds features that the service does not use, and takes longer to load than the
service. A program that runs the functions within itself (`Host`) is asked instead.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from botocore.loaders import Loader
from botocore.session import Session, get_session
from botocore.utils import parse_timestamp

from livemem import __version__
from livemem.errors import StoreUnavailable
from livemem.settings import Settings
from livemem.store import list_parser

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

CONNECTIONS = 32


@dataclass(frozen=True)
class Host:
    """A program that runs the functions in its own process.

    `invoke` has a function answer an event (JSON), and says whether it failed. `enqueue` takes an asynchronous one on.
    Both raise OSError. `check` is
    called before each request to the store, and raises OutOfTime where the invocation should have ended. `s3`: the
    client of the program's own store, with the methods of a client of botocore. None: the store is another program.
    """

    invoke: Callable[[str, bytes], tuple[Any, bool]]
    enqueue: Callable[[str, bytes], None]
    check: Callable[[], None]
    s3: Any = None


HOST: ContextVar[Host | None] = ContextVar("host", default=None)
"""The program that runs the function of this thread. None: Lambda does."""


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


def s3_client(settings: Settings, *, signature: str = "s3v4") -> S3Client:
    """A new S3 client for the settings' store. `signature` is botocore's name of the signing method."""
    host = HOST.get()
    if host and host.s3:
        return host.s3  # type: ignore[no-any-return]
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
    client.meta.events.register("before-parse.*.ListObjectsV2", list_parser.read_objects)
    if host:
        # The client sends a request again by itself.
        client.meta.events.register("before-send.s3", lambda **_: host.check())
    return client


@lru_cache(maxsize=2)
def _lambda_client(*, attempts: int = 3, read_timeout: int = 10) -> Any:
    session = _session()
    return session.create_client(
        "lambda",
        region_name=session.get_config_variable("region") or "us-east-1",
        config=Config(
            retries={"mode": "standard", "total_max_attempts": attempts}, connect_timeout=3, read_timeout=read_timeout
        ),
    )


INVOKE_SECONDS = 29
"""Seconds to wait for a function's answer: as long as the HTTP API would wait."""


def invoke_async(function_name: str, payload: Mapping[str, Any]) -> None:
    """Queue one asynchronous invocation of `function_name` with `payload` as JSON.

    Raises StoreUnavailable if the Lambda API does not accept it. AWS_ENDPOINT_URL_LAMBDA names another endpoint.
    """
    host, body = HOST.get(), json.dumps(payload).encode()
    try:
        if host:
            host.enqueue(function_name, body)
        else:
            _lambda_client().invoke(FunctionName=function_name, InvocationType="Event", Payload=body)
    except (BotoCoreError, ClientError, OSError) as error:
        raise StoreUnavailable(
            "The work could not be queued: the function service did not accept it. Try again."
        ) from error


def invoke(function_name: str, payload: Mapping[str, Any]) -> Mapping[str, Any]:
    """Invoke `function_name` with `payload` as JSON, wait, and return its answer, a JSON object.

    It is invoked once: the work may be done even if the answer never came. Raises StoreUnavailable if the function
    could not be invoked, or failed.
    """
    host, body = HOST.get(), json.dumps(payload).encode()
    try:
        if host:
            answer_data, failed = host.invoke(function_name, body)
        else:
            answer = _lambda_client(attempts=1, read_timeout=INVOKE_SECONDS).invoke(
                FunctionName=function_name, Payload=body
            )
            answer_data, failed = json.loads(answer["Payload"].read()), answer.get("FunctionError")
    except (BotoCoreError, ClientError, ValueError, OSError) as error:
        raise StoreUnavailable(
            "The function service did not answer. The request may have been carried out: check before you repeat it."
        ) from error
    if failed or not isinstance(answer_data, dict):
        raise StoreUnavailable("The function of this operation failed. Its log has the reason.")
    return answer_data
