import json
import urllib.request

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import recall, recall_http

people = st.sampled_from(["Ada: hello", "Ben: yes", "Ada: and then?"])
documents = st.lists(
    st.one_of(
        st.builds(recall.Document, text=people, session=st.integers(1, 2)),
        st.builds(recall.Document, text=people, session=st.integers(1, 2), role=st.sampled_from(["user", "assistant"])),
    ),
    min_size=1,
    max_size=8,
).map(lambda some: sorted(some, key=lambda one: one.session))


@given(documents)
def test_whole_turns_and_messages_hold_each_document_once_in_its_order(some):
    conversation = recall.Conversation(documents=some, questions=[])
    for made in (recall_http.lines_of_turns, recall_http.lines_of_messages):
        lines = list(made(conversation))
        assert [number for _, held in lines for number, _ in held] == list(range(len(some)))
        for line, held in lines:
            for number, side in held:
                assert some[number].text == (line[f"{side}_message"] if "role" not in line else line["content"])


def test_a_turn_never_spans_two_sessions_nor_two_messages_of_one_speaker():
    said = [("Ada: a", 1), ("Ada: b", 1), ("Ben: c", 1), ("Ben: d", 2)]
    some = [recall.Document(text=text, session=session, time="2024-05-08T10:00:00") for text, session in said]
    lines = [line for line, _ in recall_http.lines_of_turns(recall.Conversation(documents=some, questions=[]))]
    assert [(line["user_message"], line.get("assistant_message")) for line in lines] == [
        ("Ada: a", None),
        ("Ada: b", "Ben: c"),
        ("Ben: d", None),
    ]
    assert (lines[1]["user"], lines[1]["author"]) == ("Ada", "Ben")
    assert lines[0]["client_timestamp"] == "2024-05-08T10:00:00Z"


def test_the_given_vectors_answer_over_http_for_known_texts_and_for_texts_near_them():
    sentence = "The ferry to Kiel leaves at noon each day."
    known = {"a b": np.array([1, 0], np.float32), f"c d {sentence} Yes.": np.array([0, 1], np.float32)}
    server = recall_http.GivenVectors(known)
    server.start()
    try:
        body = json.dumps({"model": "m", "input": ["a b", f"Ada: a b\n{sentence}", sentence, "other"]}).encode()
        with urllib.request.urlopen(f"{server.url}/embeddings", body) as answer:
            rows = json.load(answer)["data"]
    finally:
        server.stop()
    half = pytest.approx(0.5**0.5)
    assert [row["embedding"] for row in rows] == [[1, 0], [half, half], [0, 1], [1, 0]]


def test_a_part_of_a_data_set_keeps_questions_and_vectors_together():
    talks = [
        recall.Conversation(
            documents=[recall.Document(text=f"{name}{at}", session=1) for at in range(3)],
            questions=[recall.Question(text=f"{name}{at}?", evidence=[at]) for at in range(3)],
        )
        for name in "xyz"
    ]
    questions, vectors = np.arange(9)[:, None].astype(np.float32), np.arange(9)[:, None].astype(np.float32)
    loaded = recall.Loaded(recall.Dataset(name="n", conversations=talks), questions, vectors, np.arange(9))
    some = recall.part(loaded, 2, 2)
    texts = [question.text for talk in some.dataset.conversations for question in talk.questions]
    assert texts == ["x0?", "x2?", "y0?", "y2?"]
    assert some.questions[:, 0].tolist() == [0, 2, 3, 5]
    assert some.vectors[:, 0].tolist() == list(range(6))
    assert recall.part(loaded, None, None).questions.tolist() == questions.tolist()
