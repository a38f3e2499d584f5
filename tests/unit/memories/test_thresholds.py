"""From which likeness on two memories are one."""

import pytest

from livemem.memories import nearest
from livemem.store.keys import MEMORY_KINDS
from tests.support.cases import each


@each("kind", MEMORY_KINDS)
@each("model", ["text-embedding-3-small", "openai/text-embedding-3-small", "nobody-knows-it"])
def test_the_usual_model_and_unknown_ones_have_the_threshold_of_the_design(kind, model):
    assert nearest.of(kind, model).same == 0.85


@pytest.mark.parametrize("model", ["intfloat/multilingual-e5-small", "multilingual-e5-small:latest"])
def test_a_model_is_known_by_its_name_whatever_a_provider_adds_to_it(model):
    assert nearest.of("fact", model) == nearest.of("fact", "multilingual-e5-small")
    assert nearest.of("fact", model) != nearest.USUAL


@each("found", [*nearest._BY_MODEL.values(), nearest.USUAL, nearest.LEXICAL])
def test_the_ambiguous_zone_lies_below_the_threshold(found):
    assert 0 < found.ambiguous_from <= found.same < 1
