"""The part of promotions in upkeep. Nothing of them is left undone: a repeated request completes a promotion."""

from livemem.jobs.maintainable import DocumentKind, Maintainable
from livemem.promotions.promotion import Promotion
from livemem.store import promotion_keys as keys


def kind(name: str) -> DocumentKind | None:
    """The kind of a promotion's document. Entries of copies have no content."""
    return DocumentKind(Promotion.from_bytes) if keys.is_promotion(name) else None


MAINTAINABLE = Maintainable(owns=keys.is_of_promotions, kind=kind)
