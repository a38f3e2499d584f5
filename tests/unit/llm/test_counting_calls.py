"""What one call of the LLM took: the provider's count, or an estimate where it told none."""

from types import SimpleNamespace

from livemem.llm.client import choice
from livemem.llm.usage import Usage
from tests.support.cases import each


def test_an_estimate_counts_only_where_the_provider_counted_nothing():
    assert Usage.of_call({"prompt_tokens": 7}, 99) == Usage(1, 7, 0, 0)
    assert Usage.of_call({}, 99) == Usage(1, 0, 0, 99)


@each(
    ("told", "counted"),
    [
        ((10**30, 10**30), {"prompt_tokens": 50_005, "completion_tokens": 1_000_000}),
        ((-7, -1), {}),
        ((True, 2.5), {}),
        ((3, 0), {"prompt_tokens": 3, "completion_tokens": 0}),
    ],
)
def test_counts_that_no_provider_can_mean_are_cut_to_what_it_can(told, counted):
    message = SimpleNamespace(content="x", refusal=None)
    completion = SimpleNamespace(
        choices=[SimpleNamespace(message=message, finish_reason="stop")],
        usage=SimpleNamespace(prompt_tokens=told[0], completion_tokens=told[1]),
    )

    assert choice(completion, "", [{"role": "user", "content": "Why??"}]).usage == counted


def test_what_a_document_tells_of_its_usage_is_bounded():
    wild = {"llm_calls": 10**40, "llm_prompt_tokens": -5, "llm_completion_tokens": "many", "llm_tokens_estimated": 3}

    assert Usage.of(wild) == Usage(10**9, 0, 0, 3)
