"""What all models of bodies and answers have in common."""

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, ConfigDict

_HIDDEN = frozenset({"token"})


class Model(BaseModel):
    """A body or an answer of the API.

    What a newer service answers besides stays in `model_extra`. A token is not shown by `repr`, so that it gets into no
    log by chance.
    """

    # Most programs need a few of these; the others are not built at all.
    model_config = ConfigDict(extra="allow", frozen=True, defer_build=True, protected_namespaces=())

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        for name, value in super().__repr_args__():
            yield name, "..." if name in _HIDDEN else value
