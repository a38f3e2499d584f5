"""The base of all models of bodies and answers."""

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, ConfigDict

_HIDDEN = frozenset({"token"})


class Model(BaseModel):
    """A body or an answer of the API.

    Fields that only a newer service sends stay in `model_extra`. `repr` does not show a token, so that no log gets it
    by chance.
    """

    # Most programs need a few of these; the other models are not built at all.
    model_config = ConfigDict(extra="allow", frozen=True, defer_build=True, protected_namespaces=())

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        for name, value in super().__repr_args__():
            yield name, "..." if name in _HIDDEN else value
