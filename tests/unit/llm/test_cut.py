"""Whether a prompt was cut is decided from the provider's count of tokens and the words that were sent."""

from hypothesis import given
from hypothesis import strategies as st

from livemem.llm.client import was_cut

TEXTS = st.lists(st.text(), min_size=1, max_size=4)


def chat(*texts: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text} for text in texts]


@given(TEXTS)
def test_a_tokenizer_that_gives_each_word_a_token_is_never_said_to_have_cut(texts: list[str]):
    # The coarsest there could be: one token for a word, with its space and its punctuation, and one more for each
    # further 16 bytes.
    tokens = sum(-(-len(word.encode()) // 16) for text in texts for word in text.split())

    assert not was_cut(chat(*texts), tokens)


@given(st.lists(st.from_regex(r"[a-z]{1,12}", fullmatch=True), min_size=2, max_size=50), st.data())
def test_fewer_tokens_than_words_are_a_cut(words: list[str], data: st.DataObject):
    counted = data.draw(st.integers(1, len(words) - 1))

    assert was_cut(chat(" ".join(words)), counted)


@given(TEXTS, st.integers(1, 1_000))
def test_more_tokens_never_turn_a_whole_prompt_into_a_cut_one(texts: list[str], counted: int):
    assert was_cut(chat(*texts), counted) or not was_cut(chat(*texts), counted + 1)


@given(TEXTS, st.sampled_from([None, 0, -1]))
def test_without_a_count_nothing_is_said(texts: list[str], counted: int | None):
    assert not was_cut(chat(*texts), counted)


def test_a_prompt_cut_to_ollamas_window_of_4096_tokens_is_seen():
    assert was_cut(chat("The parser drops tabs, so the table of the report is wrong. " * 500), 4_096)


def test_a_prompt_in_a_script_without_spaces_is_seen_too():
    assert was_cut(chat("解析器会丢掉制表符所以报告里的表格是错的" * 1_500), 4_096)
    assert not was_cut(chat("解析器会丢掉制表符所以报告里的表格是错的" * 1_500), 15_000)


def test_marks_upon_letters_make_no_further_words():
    assert not was_cut(chat("हिन्दी भाषा " * 1_000), 2_000)
