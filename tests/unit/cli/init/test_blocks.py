import pytest
from hypothesis import given

from live_memory.cli.init import blocks
from live_memory.cli.init.problems import NotPlain
from tests.support.cases import each
from tests.unit.cli.init.support import markdown_texts


@given(markdown_texts())
def test_a_block_is_put_behind_everything_and_taken_out_of_it_again(text):
    after = blocks.put(text, blocks.MARKDOWN, "one\n\ntwo\n")
    assert after.startswith(text)
    left = blocks.take_out(after, blocks.MARKDOWN)
    # Whether the last line had an end, and how many empty lines followed, is what a record has to tell.
    assert left.rstrip("\r\n") == text.rstrip("\r\n")


@given(markdown_texts())
def test_a_block_that_is_put_in_twice_is_there_once_and_where_it_was(text):
    once = blocks.put(text, blocks.MARKDOWN, "one")
    moved = once + "behind it\n"
    assert blocks.put(once, blocks.MARKDOWN, "one") == once
    assert blocks.put(moved, blocks.MARKDOWN, "two") == moved.replace("one", "two")


@each(
    "text",
    [
        "<!-- livemem:begin -->\nwithout an end\n",
        "<!-- livemem:end -->\n",
        "<!-- livemem:end -->\n<!-- livemem:begin -->\n",
        "<!-- livemem:begin -->\n<!-- livemem:begin -->\n<!-- livemem:end -->\n",
        "<!-- livemem:begin -->\nx\n<!-- livemem:end -->\n<!-- livemem:begin -->\ny\n<!-- livemem:end -->\n",
    ],
)
def test_markers_that_make_no_pair_are_left_to_their_owner(text):
    with pytest.raises(NotPlain, match="form one pair"):
        blocks.put(text, blocks.MARKDOWN, "x")
    with pytest.raises(NotPlain, match="form one pair"):
        blocks.take_out(text, blocks.MARKDOWN)


def test_a_marker_within_a_line_is_no_marker():
    text = "Write `<!-- livemem:begin -->` into it.\n"
    assert blocks.take_out(text, blocks.MARKDOWN) == text
