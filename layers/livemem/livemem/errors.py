"""The errors of the domain: one hierarchy, one sentence per class.

`status` and `code` are what a client sees over HTTP (RFC 9457). `code` is stable and documented in docs/errors.md.
`detail` is written for the user: it never holds the text of a foreign exception or a secret, and of the bucket's keys
only that of an object of the caller's own space that cannot be read.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class FieldError:
    """The error in one field of a request: the field's name and a sentence."""

    field: str
    message: str


def plain_reason(message: str) -> str:
    """What pydantic says of a value, without the names of its own classes."""
    return message.removeprefix("Value error, ").replace("Input should be", "must be")


class LiveMemoryError(Exception):
    """Base of all own errors."""

    status = 500
    code = "internal_error"
    retry_after: int | None = None
    """Seconds after which the same request may succeed. None where repeating it is of no use."""

    def __init__(self, detail: str, *, fields: Sequence[FieldError] = ()) -> None:
        super().__init__(detail)
        self.detail = detail
        self.fields = tuple(fields)


class MalformedBody(LiveMemoryError):
    """The body is not JSON."""

    status = 400
    code = "malformed_body"


class InvalidRequest(LiveMemoryError):
    """The request does not fit the model. `fields` says where."""

    status = 422
    code = "invalid_request"

    @classmethod
    def of(cls, field: str, message: str) -> "InvalidRequest":
        """An error about one field."""
        return cls(f"{field}: {message}", fields=[FieldError(field, message)])


class InvalidName(InvalidRequest, ValueError):
    """A name that breaks its rule. `field` is the request's field it came in, `message` says what is allowed."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}", fields=[FieldError(field, message)])
        self.field = field
        self.message = message


class TooLarge(LiveMemoryError):
    """Something exceeds its limit in bytes or in number."""

    status = 413
    code = "too_large"

    @classmethod
    def of(cls, field: str, size: int, limit: int, unit: str = "bytes") -> "TooLarge":
        """An error about one field of `size` where `limit` is allowed, both in `unit`."""
        message = f"{size} {unit}, but at most {limit} are allowed"
        return cls(f"{field}: {message}", fields=[FieldError(field, message)])


class AnswerTooLarge(LiveMemoryError):
    """The requested content is more than one answer can hold."""

    status = 413
    code = "answer_too_large"


class Unauthenticated(LiveMemoryError):
    """No token, or one that is unknown, expired or revoked."""

    status = 401
    code = "unauthenticated"


class Forbidden(LiveMemoryError):
    """The token is valid but lacks the permission or may not use the space."""

    status = 403
    code = "forbidden"


class UserNotAllowed(Forbidden):
    """The token may only ask in its own name."""

    code = "user_not_allowed"


class NotFound(LiveMemoryError):
    """The thing asked for does not exist."""

    status = 404

    def __init__(self, what: str, name: str) -> None:
        super().__init__(f"There is no {what} {name!r}.")
        self.code = f"{what.replace(' ', '_')}_not_found"


class ObjectUnreadable(LiveMemoryError):
    """An object of a space cannot be read: it was changed or damaged in the bucket. `key` names it, where it is one."""

    status = 503
    code = "object_unreadable"

    def __init__(self, detail: str, *, key: str | None = None) -> None:
        super().__init__(detail)
        self.key = key


class SpaceBroken(ObjectUnreadable):
    """The head of a space can't be read, or is another space's: nothing is done in it until an operator repairs it."""

    code = "space_broken"


class SpaceTooNew(SpaceBroken):
    """A newer version of the service wrote the space, in a layout that this one does not know. Update the service."""

    code = "space_too_new"


class ConversationBroken(ObjectUnreadable):
    """A part of a conversation can't be read."""

    code = "conversation_broken"


class QuestionBroken(ObjectUnreadable):
    """A stored question can't be read."""

    code = "question_broken"


class MemoriesBroken(ObjectUnreadable):
    """A part of the memories of a space can't be read, or is missing."""

    code = "memories_broken"


class SpaceExists(LiveMemoryError):
    """A space of that id exists already."""

    status = 409
    code = "space_exists"


class Busy(LiveMemoryError):
    """Another consolidation or correction holds the space's lease."""

    status = 409
    code = "busy"
    retry_after = 10


class StillAtWork(LiveMemoryError):
    """Another delivery of the same invocation is at work. A later delivery sees its result. No user meets it."""


class Conflict(LiveMemoryError):
    """The state of the space does not allow the operation. `detail` says what to do instead."""

    status = 409
    code = "conflict"

    def __init__(self, detail: str, *, retry_after: int | None = None) -> None:
        super().__init__(detail)
        self.retry_after = retry_after


class PlanOutdated(Conflict):
    """The notes or files that a plan rests on changed since it was made. Another plan is being made, which `detail`
    names.
    """

    code = "plan_outdated"


class TooSoon(LiveMemoryError):
    """The last one was started a moment ago."""

    status = 429
    code = "cooldown"

    def __init__(self, detail: str, *, retry_after: int) -> None:
        super().__init__(detail)
        self.retry_after = retry_after


class RoomFull(TooSoon):
    """A room holds as many messages as it takes: they have to be digested first."""

    code = "room_full"


CapName = Literal[
    "spaces_per_token_per_day",
    "uploads_per_token_per_day",
    "backups_per_space_per_day",
    "exports_per_space_per_day",
    "conversations_per_token_per_day",
    "rooms_per_space_per_day",
    "asks_at_once_per_space",
    "asks_at_once_per_token",
    "requests_per_space_per_second",
    "requests_per_token_per_second",
]
"""The settings of caps, each of which is the code of its own error."""


class CapReached(TooSoon):
    """One token, or one space, has as much of something as it may have. `code` is the name of the setting."""

    def __init__(self, setting: CapName, detail: str, *, retry_after: int) -> None:
        super().__init__(detail, retry_after=retry_after)
        self.code = setting


class BackupDamaged(LiveMemoryError):
    """The backup does not hold what its manifest says."""

    status = 409
    code = "backup_damaged"


class InvalidArchive(LiveMemoryError):
    """The archive can't be imported: the service did not write it, it is damaged, or it breaks a rule. `detail` says
    where.
    """

    status = 422
    code = "invalid_archive"


class NotFinished(LiveMemoryError):
    """Work that was begun could not be finished in its time, and was given up."""

    status = 409
    code = "not_finished"


class PreconditionLost(LiveMemoryError):
    """A compare-and-swap lost: another process changed the object first."""

    status = 409
    code = "precondition_lost"
    retry_after = 1


class StoreUnavailable(LiveMemoryError):
    """The object store did not answer, or answered with an error that may pass."""

    status = 503
    code = "store_unavailable"
    retry_after = 5


class StoreFull(StoreUnavailable):
    """The object store has no space left. What it holds can still be read."""

    code = "store_full"


class OutOfTime(LiveMemoryError):
    """The invocation ends soon. The rest is done by another one. No user meets it."""


class VersionsUnreachable(LiveMemoryError):
    """The store does not let the service look at former versions of objects, or remove them. No user meets it."""


class EmbeddingUnavailable(LiveMemoryError):
    """The embedding model gave no vectors, without which the service can't see whether a memory exists already."""

    status = 503
    code = "embedding_unavailable"
    retry_after = 30


class SearchNotReady(LiveMemoryError):
    """A space is read for the first time, which takes too long (the indexer does it now), or others use its view."""

    status = 503
    code = "search_not_ready"
    retry_after = 10


class CommitUnfinished(LiveMemoryError):
    """A change is committed but could not be applied to the end. The next run or the sweep finishes it."""

    status = 503
    code = "commit_unfinished"
    retry_after = 30


class ConditionalWritesUnsupported(LiveMemoryError):
    """The object store ignores If-Match or If-None-Match, so shared state can't be changed safely."""

    status = 503
    code = "conditional_writes_unsupported"


class RegistryUnreadable(LiveMemoryError):
    """The token registry exists but can't be read: every request is refused."""

    status = 503
    code = "registry_unreadable"
    retry_after = 30


class NotConfigured(LiveMemoryError):
    """The service refuses to work with the settings it has."""

    status = 503
    code = "not_configured"


class ProviderFailed(LiveMemoryError):
    """The outside provider of sign-in does not answer, or not so that one could know who the person is."""

    status = 503
    code = "provider_failed"


class RunError(LiveMemoryError):
    """A run ends as `failed` with this code and detail. Every note stays live."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code
