"""What is done to a finished answer: an ETag or 304, and gzip, by the headers of the request."""

import base64
import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livemem import limits
from livemem_http import negotiation, sending
from tests.support.cases import each

PLAIN = {"Content-Type": "application/json"}


def answer(body: str, **headers: str):
    return {"statusCode": 200, "headers": {**PLAIN, **headers}, "body": body, "isBase64Encoded": False, "cookies": []}


def etag(body: str, **headers: str) -> str:
    return sending.revalidated(answer(body, **headers), None)["headers"]["ETag"]


def read(sent) -> str:
    body = sent["body"]
    return gzip.decompress(base64.b64decode(body)).decode() if sent["isBase64Encoded"] else body


bodies = st.text(st.characters(exclude_categories=["Cs"]))
others = st.sampled_from(['"x"', 'W/"y"', '"a,b"', "z", "", ' "q" ', "W/", '"', "*x"])


@given(bodies, st.lists(others, max_size=3), st.lists(others, max_size=3), st.booleans())
def test_whoever_names_the_etag_gets_304_in_whatever_list_and_form(body: str, before, after, strong: bool):
    named = etag(body).removeprefix("W/") if strong else etag(body)

    found = sending.revalidated(answer(body), ", ".join([*before, named, *after]))

    # An opening quote that nothing closes before it takes the tag's own: then it is no tag, and all is sent.
    assert found["statusCode"] == 304 or '"' in before
    if found["statusCode"] == 304:
        assert found["body"] == ""
        assert found["headers"] == {
            **PLAIN, "ETag": etag(body), "Cache-Control": "private, no-cache", "Vary": "Authorization, Accept-Encoding"
        }  # fmt: skip


@given(bodies, st.text())
def test_whatever_else_is_in_the_header_the_answer_is_sent(body: str, header: str):
    found = sending.revalidated(answer(body), header)

    assert found["statusCode"] == (304 if header.strip() == "*" else 200)


@given(bodies, bodies)
def test_two_answers_have_one_etag_only_if_they_are_the_same(one: str, other: str):
    assert (etag(one) == etag(other)) is (one == other)
    assert etag(one) != etag(one, **{"Content-Type": "text/markdown"})


weights = st.sampled_from(["", ";q=1", ";q=0.5", "; q=0.001", ";q=0", ";q=0.0"])


@given(st.permutations(["gzip", "identity", "br", "*"]), st.lists(weights, min_size=4, max_size=4), st.integers(0, 4))
def test_gzip_is_taken_where_its_weight_is_not_0_and_not_below_that_of_the_bare_answer(
    names, given_weights, count: int
):
    told = dict(list(zip(names, given_weights, strict=True))[:count])

    def weight(name: str) -> float | None:
        if name not in told:
            return None
        return float(told[name].rpartition("=")[2] or 1)

    gzipped = (weight("gzip") if "gzip" in told else weight("*")) or 0.0
    bare = weight("identity") or 0.0
    header = ", ".join(f"{name}{text}" for name, text in told.items())
    assert negotiation.takes_gzip(header) is (gzipped > 0 and gzipped >= bare)


@each("header", [None, "", "br", "gzip;q=0", "gzip;q=x", "gzip;q=2", ",", '"gzip"', "*;q=0"])
def test_without_a_word_for_gzip_nothing_is_compressed(header: str | None):
    assert not negotiation.takes_gzip(header)


@given(bodies, st.integers(1, 600))
def test_what_is_unpacked_is_what_was_packed_and_nothing_gets_longer(text: str, times: int):
    whole = answer(text * times)

    sent = sending.compressed(whole, "gzip")

    assert read(sent) == whole["body"]
    assert sent["isBase64Encoded"] is (sent["headers"].get("Content-Encoding") == "gzip")
    if sent["isBase64Encoded"]:
        assert len(whole["body"].encode()) > 1_024
        assert len(base64.b64decode(sent["body"])) < len(whole["body"].encode())


@pytest.mark.parametrize(("size", "packed"), [(1_024, False), (1_025, True)])
def test_a_body_is_compressed_from_1_kb_on_and_caches_are_told_on_what_that_depends(size: int, packed: bool):
    taken = sending.compressed(answer("x" * size, Vary="Accept"), "gzip")
    bare = sending.compressed(answer("x" * size, Vary="Accept"), None)

    assert (taken["isBase64Encoded"], bare["isBase64Encoded"]) == (packed, False)
    vary = "Accept, Accept-Encoding" if packed else "Accept"
    assert taken["headers"]["Vary"] == bare["headers"]["Vary"] == vary


def test_what_counts_for_the_limit_is_what_leaves_the_function():
    large = answer("é\n" * limits.ANSWER_BYTES)

    assert sending.is_too_large(large)
    assert not sending.is_too_large(sending.compressed(large, "gzip"))
    huge = answer("x" * (sending.COMPRESSED_TO + 1))
    assert sending.is_too_large(sending.compressed(huge, "gzip"))
