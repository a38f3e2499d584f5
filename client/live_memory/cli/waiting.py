"""Waits for work of the service, with a display on a terminal and plain lines elsewhere."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from live_memory.cli import texts
from live_memory.cli.exits import LATER, Refused
from live_memory.cli.output import Output
from live_memory.cli.session import Session
from live_memory.errors import LiveMemoryError

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 5.0
"""Seconds between two looks: most work is done within a second or two, the rest takes minutes."""
LONGEST_REST = 60.0
"""Seconds between two tries of a request that is refused for now."""
CONFLICT = 409
PATIENCE = 3600.0
"""Seconds after which the wait ends: the service has given up a run or a copy that died by then."""

Ask = Callable[[], Any]


def wait(
    session: Session,
    ask: Ask,
    goes_on: Callable[[Any], bool],
    tell: Callable[[Any], str],
    *,
    first: Any = None,
    rest: Callable[[Any], float] | None = None,
) -> Any:
    """Ask until the work is done, and return the last answer. `first` is an answer that the caller has already. `rest`
    gives the seconds to wait from an answer, if they are known.

    Raises Refused after an hour. Nothing is lost then: the message says how to look again.
    """
    until = session.program.now() + PATIENCE
    pause = FIRST_PAUSE
    with progress(session.out) as show:
        answer = first if first is not None else ask()
        while goes_on(answer):
            if session.program.now() > until:
                raise Refused(f"Still {tell(answer)} after an hour. The work continues. Check again later.", LATER)
            show(tell(answer))
            session.program.sleep(rest(answer) if rest else pause)
            pause = min(pause * 1.5, LONGEST_PAUSE)
            answer = ask()
    return answer


@contextmanager
def progress(out: Output) -> Iterator[Callable[[str], None]]:
    """Shows the progress: a spinner on a terminal, else a line at each change, nothing with `--json`."""
    if out.live:
        from rich.text import Text  # noqa: PLC0415 - only where it is shown

        with out.console(stderr=True).status(Text("…")) as status:
            yield lambda text: status.update(Text(texts.one_line(text)))
        return
    last: list[str] = []

    def line(text: str) -> None:
        if [text] != last:
            last[:] = [text]
            out.say(text)

    yield line


def job(session: Session, job_id: str, *, first: Any = None) -> Any:
    """Wait for a job of any kind. Returns it once it has ended, or waits for a person. `first`: as `wait` takes it."""
    return wait(
        session,
        lambda: session.call("get_job", job=job_id),
        lambda found: found["status"] in {"queued", "running"},
        lambda found: f"{found['kind']} {(found.get('result') or {}).get('step') or found['status']}",
        first=first,
    )


def free(session: Session, ask: Ask) -> Any:
    """Repeat a request that is refused for now, such as a restore under the id of a space that was deleted just now.
    Returns the answer once it is accepted. Raises the error if the service refuses it for good.
    """

    def asked() -> Any:
        try:
            return ask()
        except LiveMemoryError as refused:
            if refused.status != CONFLICT or not refused.retry_after:
                raise
            return refused

    return wait(
        session,
        asked,
        lambda found: isinstance(found, LiveMemoryError),
        lambda found: found.detail,
        rest=lambda found: min(found.retry_after, LONGEST_REST),
    )


def backup(session: Session, first: Any) -> Any:
    """Wait for a backup; returns it complete."""
    return wait(
        session,
        lambda: session.here("get_backup", backup_id=first["backup_id"]),
        lambda found: not found["complete"],
        lambda found: f"copying, {texts.count(found['objects'], 'object')}",
        first=first,
    )
