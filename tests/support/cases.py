"""A test of many cases that is one item: it goes through all of them and tells every one that fails.

For questions that leave nothing behind, like those that are asked of each route, tool or word: the cases share what the
fixtures gave. Where each case needs a stage of its own, `pytest.mark.parametrize` is right.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from inspect import Parameter, signature
from typing import Any

import pytest


class Failures:
    """Collects what goes wrong in the cases of one test."""

    def __init__(self) -> None:
        self.cases = 0
        self.errors: list[Exception] = []
        self.told: list[str] = []

    @contextmanager
    def of(self, case: Any) -> Iterator[None]:
        """One case: an error in it is kept under its name, and the next case gets its turn."""
        self.cases += 1
        try:
            yield
        except (Exception, pytest.fail.Exception) as told:  # noqa: BLE001
            error = told if isinstance(told, Exception) else AssertionError(str(told))
            self.errors.append(error)
            self.told.append(f"{case}: {type(error).__name__} {str(error).strip()}"[:600])

    def report(self) -> None:
        """Fail if a case failed, or if there was none: a loop over nothing proves nothing."""
        assert self.cases, "there is no case"
        if self.errors:
            told = "\n".join(self.told)
            raise ExceptionGroup(f"{len(self.errors)} of {self.cases} cases failed\n{told}\n", self.errors)


def each(
    names: str | tuple[str, ...], cases: Iterable[Any], ids: Iterable[Any] | Callable[[Any], Any] | None = None
) -> Callable[..., Any]:
    """Like `pytest.mark.parametrize`, with all cases in one item. Without `ids` a case is named by its values."""
    wanted = tuple(one.strip() for one in names.split(",")) if isinstance(names, str) else names
    all_cases = [_case(one, len(wanted)) for one in cases]
    if ids is None or callable(ids):
        labels = [label or ", ".join(_told(one, ids) for one in values) for label, values in all_cases]
    else:
        labels = [str(one) for one in ids]

    def made(test: Callable[..., None]) -> Callable[..., None]:
        @wraps(test)
        def run(**fixtures: Any) -> None:
            failures = Failures()
            for label, (_, values) in zip(labels, all_cases, strict=True):
                with failures.of(label):
                    test(**fixtures, **dict(zip(wanted, values, strict=True)))
            failures.report()

        told = signature(test)
        rest = [one.replace(kind=Parameter.KEYWORD_ONLY) for name, one in told.parameters.items() if name not in wanted]
        assert len(rest) == len(told.parameters) - len(wanted), f"{test.__name__} does not take {wanted}"
        run.__signature__ = told.replace(parameters=rest)  # type: ignore[attr-defined]
        return run

    return made


def _case(one: Any, count: int) -> tuple[str, tuple[Any, ...]]:
    if hasattr(one, "values") and hasattr(one, "marks"):  # pytest.param
        return str(one.id or ""), tuple(one.values)
    return "", (one,) if count == 1 else tuple(one)


def _told(value: Any, name: Callable[[Any], Any] | None) -> str:
    return str((name and name(value)) or repr(value)[:120])
