"""The meaning of the exit codes, and the exit code for each answer of the service."""

from typing import Any, Final

from live_memory.errors import LiveMemoryError

OK: Final = 0
FAILED: Final = 1
USAGE: Final = 2
NOT_FOUND: Final = 3
NO_ACCESS: Final = 4
CONFLICT: Final = 5
LATER: Final = 6
NOTHING: Final = 7

MEANINGS: Final = {
    OK: "done",
    FAILED: "the service failed, or the run ended in an error",
    USAGE: "wrong usage: arguments, configuration, or a request that the service refuses",
    NOT_FOUND: "not found",
    NO_ACCESS: "no access: no token, an invalid one, or one without the permission",
    CONFLICT: "conflict, or other work is in progress",
    LATER: "the service is not reachable, or asks to try again later",
    NOTHING: "nothing to do, or nothing found",
}

_OF_STATUS: Final = {
    400: USAGE,
    401: NO_ACCESS,
    403: NO_ACCESS,
    404: NOT_FOUND,
    409: CONFLICT,
    412: CONFLICT,
    413: USAGE,
    422: USAGE,
}
_OF_CODE: Final = {"bad_argument": USAGE, "not_the_service": LATER, "redirected": USAGE}
"""Exit codes of errors that did not come from the service itself. They hold at any status."""

_OF_RUN: Final = {
    "done": OK,
    "waiting": OK,
    "nothing_to_do": NOTHING,
    "busy": CONFLICT,
    "cancelled": CONFLICT,
}
"""Exit codes of a run that has ended, by its code or its status."""


class Refused(Exception):
    """A refusal of the command line itself: one sentence that says what to do. `code` is the exit code."""

    def __init__(self, message: str, code: int = USAGE) -> None:
        super().__init__(message)
        self.code = code


def of_run(run: dict[str, Any]) -> int:
    """The exit code for the job of a run that has ended, or whose plan waits."""
    return _OF_RUN.get(run["result"].get("code") or "", _OF_RUN.get(run["status"], FAILED))


def of_error(problem: LiveMemoryError) -> int:
    """The exit code for an error of the service, or for no answer at all."""
    # A gateway answers with this status before the service does.
    if problem.code in _OF_CODE and problem.status != 413:
        return _OF_CODE[problem.code]
    if problem.status in _OF_STATUS:
        return _OF_STATUS[problem.status]
    return LATER if problem.curable else FAILED


def table() -> str:
    """The codes and their meanings, a line each, for the help."""
    return "\n\n".join(f"{code}: {meaning}" for code, meaning in MEANINGS.items())
