"""The client's errors, as one exception."""

from dataclasses import dataclass

_PASSING = frozenset({429, 502, 503, 504})
# They come with 503, and waiting does not help: a person must repair something, or the work is done already.
_LASTING = frozenset(
    {
        "commit_unfinished",
        "conditional_writes_unsupported",
        "conversation_broken",
        "memories_broken",
        "not_configured",
        "object_unreadable",
        "question_broken",
        "registry_unreadable",
        "space_broken",
    }
)


@dataclass(frozen=True)
class FieldProblem:
    """The error in one field of a request."""

    field: str
    message: str


class LiveMemoryError(Exception):
    """A request that did not succeed.

    Attributes:
        status: the status of the answer; None: there was none.
        code: the kind of error; stable. Of an answer of the service, one of docs/errors.md. Else `no_connection`,
            `no_answer`, `not_the_service`, `redirected`, `unexpected_answer`, `bad_argument` or `still_running`.
        detail: the error and what to do, in words.
        fields: the fields with errors.
        request_id: by which the service's log can be searched.
        retry_after: seconds after which it makes sense to try again, if the service says so.
        repeated: whether an earlier try had no answer, so that the work may be done already.
    """

    def __init__(
        self,
        code: str,
        detail: str,
        *,
        status: int | None = None,
        fields: tuple[FieldProblem, ...] = (),
        request_id: str | None = None,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(code, detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.fields = list(fields)
        self.request_id = request_id
        self.retry_after = retry_after
        self.repeated = False

    @property
    def curable(self) -> bool:
        """Whether the same request may succeed later."""
        if self.status is None:
            return self.code in ("no_connection", "no_answer", "still_running")
        return self.code not in _LASTING and (self.status in _PASSING or self.retry_after is not None)

    def __str__(self) -> str:
        told = f"{self.status} {self.code}" if self.status else self.code
        again = " (An earlier try had no answer. It may have been carried out.)" if self.repeated else ""
        return f"{told}: {self.detail}{again}"


class BadArgument(LiveMemoryError, ValueError):
    """The arguments make no valid request. Nothing was sent."""

    def __init__(self, detail: str) -> None:
        super().__init__("bad_argument", detail)
