"""The trace of an event: what is taken from a caller, and where it goes."""

import re

from hypothesis import given
from hypothesis import strategies as st

from livemem_http import tracing

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
VALID = f"00-{TRACE}-{PARENT}-01"
OURS = re.compile(r"00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]")


def test_a_valid_traceparent_is_continued_in_a_span_of_ones_own():
    for given_, flags in (
        (VALID, 1),
        (f"00-{TRACE}-{PARENT}-00", 0),
        (f" {VALID}\t", 1),
        # Flags that we do not know are not passed on.
        (f"00-{TRACE}-{PARENT}-fe", 0),
        # A later version may have more behind its own dash.
        (f"cc-{TRACE}-{PARENT}-01", 1),
        (f"cc-{TRACE}-{PARENT}-01-what-the-future-will-be-like", 1),
    ):
        found = tracing.continued(given_)
        assert found, given_
        assert (found.trace_id, found.flags) == (TRACE, flags), given_
        assert found.span_id != PARENT
        assert OURS.fullmatch(str(found))


def test_what_the_specification_calls_invalid_is_ignored():
    taken = [
        value
        for value in (
            None,
            7,
            ["x"],
            "",
            VALID.upper(),
            f"ff-{TRACE}-{PARENT}-01",
            f"00-{'0' * 32}-{PARENT}-01",
            f"00-{TRACE}-{'0' * 16}-01",
            f"{VALID}-more",
            f"cc-{TRACE}-{PARENT}-01.more",
            f"{VALID},{VALID}",
            f"{VALID}\n",
            f"00-{TRACE}-{PARENT}",
            f"00-{TRACE[1:]}-{PARENT}-01",
            f"00-{TRACE}-{PARENT}-0g",
            VALID.replace("7", "\uff17"),
        )
        if tracing.continued(value)
    ]
    assert taken == []


@given(st.text() | st.from_regex(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-.*)?"))
def test_whatever_comes_in_only_our_own_form_goes_out(value):
    with tracing.at_work(value):
        assert OURS.fullmatch(tracing.headers()[tracing.NAME])
    assert tracing.headers() == {}


def test_an_event_inside_another_one_ends_with_the_outer_trace():
    with tracing.at_work(VALID):
        outer = tracing.headers()
        with tracing.at_work(None):
            assert TRACE not in tracing.headers()[tracing.NAME]
        assert tracing.headers() == outer
        tracing.adopt(f"00-{'1' * 32}-{PARENT}-01")
        assert tracing.headers() == outer
