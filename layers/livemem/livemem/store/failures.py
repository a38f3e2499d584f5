"""The one place where errors of the store's client become the service's own."""

import logging

from botocore.exceptions import ClientError

from livemem.errors import StoreFull, StoreUnavailable

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
