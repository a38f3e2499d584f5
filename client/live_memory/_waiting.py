"""Jobs, and the wait for one: the way in which a program waits for long work of any kind."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from live_memory import _exchange
from live_memory._async_groups import AsyncJobsGroup
from live_memory._groups import JobsGroup

if TYPE_CHECKING:
    from live_memory import models

TIMEOUT = 900.0


class Jobs(JobsGroup):
    """Long work of any kind in one form."""

    def __init__(self, invoke: Callable[[str, dict[str, Any]], Any], sleep: Callable[[float], None]) -> None:
        super().__init__(invoke)
        self._sleep = sleep

    def wait(
        self,
        job: str,
        *,
        timeout: float = TIMEOUT,
        on_poll: Callable[["models.JobView"], None] | None = None,
    ) -> "models.JobView":
        """The job once it has ended, with any result. Raises LiveMemoryError (`still_running`) after `timeout` s.

        Args:
            job: the `job` in the answer that began it.
            timeout: seconds to wait at the most.
            on_poll: gets the job at each look at it.
        """
        pauses = _exchange.pauses(timeout)
        while True:
            found = self.get(job)
            if on_poll:
                on_poll(found)
            if not _exchange.is_under_way(found.status):
                return found
            if (pause := next(pauses, None)) is None:
                raise _exchange.still_running(job, timeout)
            self._sleep(pause)


class AsyncJobs(AsyncJobsGroup):
    """Long work of any kind in one form, for asyncio."""

    def __init__(self, invoke: Callable[[str, dict[str, Any]], Any], sleep: Callable[[float], Awaitable[None]]) -> None:
        super().__init__(invoke)
        self._sleep = sleep

    async def wait(
        self,
        job: str,
        *,
        timeout: float = TIMEOUT,  # noqa: ASYNC109 - as the other client has it
        on_poll: Callable[["models.JobView"], None] | None = None,
    ) -> "models.JobView":
        """As `Jobs.wait`."""
        pauses = _exchange.pauses(timeout)
        while True:
            found = await self.get(job)
            if on_poll:
                on_poll(found)
            if not _exchange.is_under_way(found.status):
                return found
            if (pause := next(pauses, None)) is None:
                raise _exchange.still_running(job, timeout)
            await self._sleep(pause)
