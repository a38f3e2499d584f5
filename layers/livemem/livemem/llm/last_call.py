"""How the last calls of the LLM ended. Health reads it instead of making a call of its own, which would cost.

All processes write to one object: each when its note differs from its last one, and else once a minute. It is written
beside the call. A note may come late or be lost, and two processes may see different ends. Nothing rests on it, and a
minute later it is written again.
"""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import ParamSpec, TypeVar

from pydantic import ValidationError

from livemem.errors import LiveMemoryError
from livemem.llm.api import ApiError
from livemem.store import stored_documents
from livemem.store.bucket import LAST_CALL
from livemem.store.objects import Store
from livemem.store.stored_documents import StoredDocument

logger = logging.getLogger(__name__)
P = ParamSpec("P")
T = TypeVar("T")

NOTED_SECONDS = 60


class _Note(StoredDocument):
    error: str | None = None
    model: str = ""


@dataclass(frozen=True)
class LastCall:
    """How it ended: the error's code, None if it succeeded; how long ago, by the store's clock; and the model."""

    error: str | None
    age: timedelta
    model: str


class Watch:
    """Notes how the calls of one process end."""

    def __init__(
        self,
        store: Store,
        model: str,
        *,
        timer: Callable[[], float],
        in_background: Callable[[Callable[[], None]], None],
    ) -> None:
        self._store, self._model, self._timer, self._in_background = store, model, timer, in_background
        self._noted: tuple[str | None, float] | None = None
        self._lock = threading.Lock()

    def over(self, call: Callable[P, T]) -> Callable[P, T]:
        """The same call, whose end is noted."""

        def watched(*arguments: P.args, **keywords: P.kwargs) -> T:
            try:
                answer = call(*arguments, **keywords)
            except ApiError as error:
                self._note(error.code)
                raise
            self._note(None)
            return answer

        return watched

    def _note(self, error: str | None) -> None:
        with self._lock:
            now = self._timer()
            if self._noted and self._noted[0] == error and now - self._noted[1] < NOTED_SECONDS:
                return
            self._noted = (error, now)
        self._in_background(lambda: self._write(error))

    def _write(self, error: str | None) -> None:
        try:
            self._store.put(
                LAST_CALL, _Note(error=error, model=self._model).to_bytes(), content_type=stored_documents.JSON
            )
        except LiveMemoryError as failure:
            logger.info("the end of a call was not noted", extra={"error_code": failure.code})


def read(store: Store) -> LastCall | None:
    """The end of the last call that was noted, None if there is no note: 1 GET. Raises StoreUnavailable."""
    document = store.get(LAST_CALL)
    try:
        note = _Note.from_bytes(document.body) if document else None
    except ValidationError:
        return None
    return LastCall(note.error, document.age, note.model) if document and note else None
