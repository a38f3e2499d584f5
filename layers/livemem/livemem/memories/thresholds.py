"""The similarity from which on two memories are candidates, by embedding model (docs/memories.md, "Candidates").

Every model has its own scale: 0.93 of one model is 0.63 of another. `benchmarks/dedup.py` measures them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from livemem.llm.embeddings import is_same_model
from livemem.store.keys import MemoryKind


@dataclass(frozen=True)
class Thresholds:
    """From `asked_from` on an LLM is asked, if there is one. From `linked_from` on two without a verdict are linked.

    Only with MEMORY_MERGE=similarity: from `same` on a draft is merged, from `ambiguous_from` on an LLM is asked.
    """

    same: float
    ambiguous_from: float
    asked_from: float
    linked_from: float


USUAL = Thresholds(0.85, 0.70, 0.20, 0.50)
"""For text-embedding-3-small, designed and not measured, and for models that are not listed here."""
LEXICAL = Thresholds(0.50, 0.37, 0.10, 0.25)
"""For `similarity.lexical`, without an embedding model."""
_MINILM = Thresholds(0.78, 0.65, 0.20, 0.45)
# The E5 models have all cosines close together. For the larger ones this is known, and not measured here.
_E5 = Thresholds(0.93, 0.92, 0.78, 0.86)
_BY_MODEL: Mapping[str, Thresholds] = {
    "text-embedding-3-small": USUAL,
    "offline-fuse": Thresholds(0.63, 0.51, 0.20, 0.40),
    "all-minilm-l6-v2": _MINILM,
    "all-minilm:l6-v2": _MINILM,
    "all-minilm": _MINILM,
    "multilingual-e5-small": _E5,
    "multilingual-e5-base": _E5,
    "multilingual-e5-large": _E5,
}


def of(kind: MemoryKind, model: str) -> Thresholds:  # noqa: ARG001 - the kinds were measured to be alike
    """The thresholds of a model, by its name in the settings."""
    return next((threshold for name, threshold in _BY_MODEL.items() if is_same_model(name, model)), USUAL)
