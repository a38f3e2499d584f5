"""The one place where errors of the store's client become the service's own."""

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from livemem.errors import StoreFull, StoreUnavailable

__all__ = ["BROKEN", "CLIENT_ERRORS", "BotoCoreError", "ClientError"]

if TYPE_CHECKING:
    from botocore.exceptions import BotoCoreError, ClientError
    from urllib3.exceptions import HTTPError
else:
    try:
        from botocore.exceptions import BotoCoreError, ClientError
        from urllib3.exceptions import HTTPError
    except ImportError:  # the service of one machine has no client for other stores (the extra `s3`)

        class BotoCoreError(Exception):
            """The store did not answer."""

        class ClientError(Exception):
            """The store's answer: a refusal."""

            def __init__(self, response: Mapping[str, Any], operation: str) -> None:
                super().__init__(f"{operation}: {response['Error']}")
                self.response = response

        HTTPError = OSError

CLIENT_ERRORS = (ClientError, BotoCoreError)
"""What the store's client raises."""

BROKEN = (BotoCoreError, HTTPError, OSError)
"""What reading an answer of the client raises."""

logger = logging.getLogger(__name__)

LOST = {"PreconditionFailed", "412"}
"""A condition that does not hold."""

MISSING = {"NoSuchKey", "404", "NotFound"}

UNCHANGED = {"304", "NotModified"}

NO_SUCH_RANGE = {"InvalidRange", "416"}

CONFLICT = {"ConditionalRequestConflict", "409", "OperationAborted"}
"""Another conditional write is under way."""

UNSUPPORTED = {"NotImplemented", "501"}

FULL = {"InsufficientStorage", "507", "XMinioStorageFull", "QuotaExceeded"}
"""No space left: the embedded store, any other by the status alone, MinIO, Ceph."""


def code(error: Exception) -> str:
    """The S3 error code. Empty for an error that is not the store's answer."""
    return str(error.response.get("Error", {}).get("Code", "")) if isinstance(error, ClientError) else ""


def own(error: Exception) -> StoreUnavailable:
    """The service's own error. The original text may hold keys or endpoints: the log gets the code, the user a
    sentence.
    """
    logger.warning("store request failed", extra={"error": type(error).__name__, "error_code": code(error)})
    if code(error) in FULL:
        return StoreFull(
            "The disk of the object store is full, so nothing was written. Free space on it, and try again."
        )
    return StoreUnavailable("The object store did not answer or refused the request. Try again.")
