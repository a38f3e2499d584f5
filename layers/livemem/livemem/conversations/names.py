"""Names of summaries: the hash of what a summary is made of, so that what is missing is what is to be done.

64 hex digits: 40 of the source, 4 of how often it was made anew by hand, 20 of what made it (prompt, model, ratio). A
level's summary is missing when none has its source: a new model is used from then on, and remakes nothing by itself.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Any

from livemem.conversations.parameters import Parameters

SOURCE, REDO = 40, 4
MOST_REDOS = 16**REDO - 1


def source(parts: Sequence[Any]) -> str:
    """The part of the name that stands for the source: a JSON value, such as texts or names of summaries."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:SOURCE]


def maker(prompt_version: str, model: str, parameters: Parameters) -> str:
    """The part that stands for what makes the summary."""
    told = json.dumps([prompt_version, model, parameters.ratio, parameters.ratio_only])
    return hashlib.sha256(told.encode()).hexdigest()[: 64 - SOURCE - REDO]


def name(source: str, redo: int, maker: str) -> str:
    """The whole name; `redo` counts how often the summary was made anew by hand."""
    return f"{source}{redo:04x}{maker}"


def source_of(name: str) -> str:
    """The part of the source in a name."""
    return name[:SOURCE]


def redo_of(name: str) -> int:
    """How often that summary was made anew by hand."""
    return int(name[SOURCE : SOURCE + REDO], 16)


def maker_of(name: str) -> str:
    """The part in a name that stands for what made the summary."""
    return name[SOURCE + REDO :]


def current(names: Iterable[str], source: str | None = None) -> str | None:
    """The summary that counts of those with this source, of any where it can have but one: the latest made anew."""
    fitting = [one for one in names if source is None or source_of(one) == source]
    return max(fitting, key=lambda one: (redo_of(one), one), default=None)
