"""How much of a long proof `make test` plays: every so many-th of its cases. `make proof` plays all of them."""

import os
from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")


def part(cases: Iterable[T], every: int) -> list[T]:
    """Every so many-th case, or all of them where LIVEMEM_TEST_WHOLE is set."""
    return list(cases)[:: 1 if os.environ.get("LIVEMEM_TEST_WHOLE") else every]


def of_proof(*cases: T) -> list[T]:
    """Cases of `make proof` alone."""
    return list(cases) if os.environ.get("LIVEMEM_TEST_WHOLE") else []
