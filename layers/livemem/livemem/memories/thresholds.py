"""From which likeness on two memories are one: by kind and by embedding model (docs/memories.md, "Thresholds").

Every model has a scale of its own: what is 0.85 to one is 0.6 to another. `benchmarks/dedup.py` measures them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from livemem.llm.embeddings import is_same_model
from livemem.store.memory_keys import Kind


@dataclass(frozen=True)
class Thresholds:
    """At `same` or above a draft is merged; from `ambiguous_from` on an LLM is asked, if there is one."""

    same: float
    ambiguous_from: float


USUAL = Thresholds(0.85, 0.70)
"""Of text-embedding-3-small, and of models that nobody measured."""
LEXICAL = Thresholds(0.75, 0.50)
"""Of `likeness.lexical`, where there is no embedding model."""
_MEASURED: Mapping[str, Thresholds] = {
    "text-embedding-3-small": USUAL,
}


def of(kind: Kind, model: str) -> Thresholds:  # noqa: ARG001 - kinds are alike so far
    """The thresholds of a model, by the name that it has in the settings."""
    return next((found for name, found in _MEASURED.items() if is_same_model(name, model)), USUAL)
