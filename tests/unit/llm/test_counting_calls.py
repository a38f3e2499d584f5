"""What one call of the LLM took: the provider's count, or an estimate where it told none."""

from livemem.llm.usage import Usage


def test_an_estimate_counts_only_where_the_provider_counted_nothing():
    assert Usage.of_call({"prompt_tokens": 7}, 99) == Usage(1, 7, 0, 0)
    assert Usage.of_call({}, 99) == Usage(1, 0, 0, 99)
