"""Names of summaries: hashes of their input, so that the missing names show the work to be done.

64 hex digits: 40 for the source, 4 for how often it was made again by hand, 20 for its maker (prompt, model, ratio). A
summary is missing when no name has its source. So a new model makes new summaries only, and no existing one again.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Any

from livemem.conversations.parameters import Parameters

SOURCE, REDO = 40, 4


def source(parts: Sequence[Any]) -> str:
    """The part of the name that stands for the source. `parts` is a JSON value, such as texts or names of summaries."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:SOURCE]


def maker(prompt_version: str, model: str, parameters: Parameters) -> str:
    """The part of the name that stands for the maker of the summary."""
    dumps = json.dumps([prompt_version, model, parameters.ratio, parameters.ratio_only])
    return hashlib.sha256(dumps.encode()).hexdigest()[: 64 - SOURCE - REDO]


def name(source: str, redo: int, maker: str) -> str:
    """The whole name. `redo` counts how often the summary was made again by hand."""
    return f"{source}{redo:04x}{maker}"


def source_of(name: str) -> str:
    """The part of a name that stands for the source."""
    return name[:SOURCE]


def redo_of(name: str) -> int:
    """How often that summary was made again by hand."""
    return int(name[SOURCE : SOURCE + REDO], 16)


def maker_of(name: str) -> str:
    """The part of a name that stands for the maker of the summary."""
    return name[SOURCE + REDO :]


def current(names: Iterable[str], source: str | None = None) -> str | None:
    """The summary that counts: of those with this source, the one made again most often. None: there is one source."""
    fitting = [name for name in names if source is None or source_of(name) == source]
    return max(fitting, key=lambda item: (redo_of(item), item), default=None)
