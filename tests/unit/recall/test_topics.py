"""What a summary names is found: by its words, and by the filters `topic` and `entity`."""

import json
from typing import Any

import pytest

from livemem.errors import InvalidRequest
from livemem.recall import search
from livemem.recall.search_request import SearchRequest
from tests.support.talk import Talk

NAMED = {"topics": ["Timetable  import"], "entities": {"persons": ["Ines"], "places": ["Port Kiel"]}}


def names(messages):
    """A summary that names things that its words do not have, and a group that names nothing itself."""
    of_turns = "# Turns" in messages[1]["content"]
    return json.dumps({"summary": "What was said about boats.", **(NAMED if of_turns else {})})


@pytest.fixture(scope="module")
def talk():
    """For tests that only read."""
    talk = Talk("windows", window_chars=500, min_flush_chars=100, group_chars=1_000)
    talk.llm.default = names
    for number in range(40):
        talk.say("u" * 300, "a" * 300, message_id=f"m{number}")
    talk.update()
    return talk


def found(talk, q, **filters):
    answer = search.search(talk.process, "demo", SearchRequest.of(q, **filters))
    return [hit.document for hit in answer.hits]


def test_topics_and_entities_are_words_of_a_summary_and_filters_that_know_no_case(talk):
    assert {one.kind for one in found(talk, "kiel", scope="conversations")} == {"summary"}
    assert {one.kind for one in found(talk, "timetable", scope="all")} == {"summary"}
    for filters in (
        {"topic": "TIMETABLE import"},
        {"entity": "ines"},
        {"topic": "timetable import", "entity": "port kiel"},
    ):
        assert found(talk, "boats", **filters), filters
    for filters in ({"topic": "import"}, {"entity": "timetable import"}, {"topic": "ines"}, {"entity": "in_s"}):
        assert not found(talk, "boats", **filters), filters


def test_a_group_has_the_entities_of_its_children(talk):
    levels = {one.source["level"] for one in found(talk, "boats", entity="Ines", limit=100)}
    assert levels >= {"1", "2"}
    # A group names its own topics.
    assert {one.source["level"] for one in found(talk, "boats", topic="timetable import", limit=100)} == {"1"}


def test_a_name_that_a_summary_says_itself_does_not_count_twice():
    talk = Talk("windows", window_chars=500, min_flush_chars=100)
    talk.llm.default = lambda _: json.dumps(
        {"summary": "Ines sails.", "topics": ["sails"], "entities": {"persons": ["Ines"]}}
    )
    talk.said(250)
    talk.update()

    assert [one.text for one in found(talk, "ines", entity="Ines")] == ["Ines sails."]


@pytest.mark.parametrize(
    "others",
    [
        *({"scope": scope} for scope in ("live", "bank,archive", "tools", "questions")),
        {"levels": "0"},
        {"room": "salon"},
        {"kind": "fact"},
    ],
)
@pytest.mark.parametrize("field", ["topic", "entity"])
def test_a_filter_of_summaries_is_refused_where_no_summary_is_searched(field, others):
    filters: dict[str, Any] = {field: "Ines"} | others
    with pytest.raises(InvalidRequest) as caught:
        SearchRequest.of("boats", **filters)

    assert [one.field for one in caught.value.fields] == [field]


@pytest.mark.parametrize("others", [{"scope": "all"}, {"scope": "live,conversations"}, {"levels": "0,2"}])
def test_a_filter_of_summaries_goes_with_other_kinds_beside_them(others):
    assert SearchRequest.of("boats", topic="import", **others).filter.topic == "import"


@pytest.mark.parametrize("name", ["", " ", "x" * 501])
@pytest.mark.parametrize("field", ["topic", "entity"])
def test_a_filter_without_a_name_or_with_an_endless_one_is_refused(field, name):
    with pytest.raises(InvalidRequest):
        SearchRequest.of("boats", **{field: name})
    with pytest.raises(InvalidRequest):
        SearchRequest.of("boats", scope="conversations", **{field: name})
