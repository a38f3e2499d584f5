"""A shape that is brought along with what changes is the one that would be made anew."""

import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from livemem.search import ranking
from livemem.search import shape as shapes
from livemem.search.documents import Document, Reading
from livemem.search.index import Index

WORDS = st.sampled_from(["a", "I ask?", "long " * 250, "", "Yes, plain text"])
CHANGES = st.lists(
    st.tuples(st.integers(0, 9), st.none() | st.lists(st.tuples(st.integers(0, 3), WORDS), max_size=3)), max_size=6
)


def read(number, texts):
    """An object that tells of documents in several groups."""
    documents = tuple(
        Document(
            f"{number}-{place}",
            "turn" if number % 2 else "note",
            text,
            f"group {part}",
            f"{number:03d}",
            time=f"2026-02-20T{10 + number // 2:02d}:00:00Z" if number else "",
            author=f"author {part + number % 3}",
            role=("person" if number % 4 == 0 else "", "user", "assistant", "tool")[part],
        )
        for place, (part, text) in enumerate(texts)
    )
    return Reading(f"k{number}", "1", documents)


def assert_same(left, right):
    for name in ("documents", "passages", "owner", "beginnings", "lengths"):
        assert np.array_equal(getattr(left, name), getattr(right, name)), name
    assert list(left.hashes) == list(right.hashes)
    assert list(left.order) == list(right.order)
    assert [left.authors[one] for one in left.author] == [right.authors[one] for one in right.author]
    for name, value in vars(right.corpus).items():
        mine = getattr(left.corpus, name)
        for one, other in zip(mine, value, strict=True) if isinstance(value, tuple) else [(mine, value)]:
            assert np.array_equal(one, other, equal_nan=True), name


@given(st.lists(CHANGES, min_size=1, max_size=4))
def test_it_is_the_same_whatever_came_and_went(history):
    with tempfile.TemporaryDirectory() as folder:
        index = Index(Path(folder) / "x.sqlite")
        known = shapes.shape(index)
        for changes in history:
            readings = {number: read(number, texts) for number, texts in changes if texts is not None}
            gone = [f"k{number}" for number, texts in changes if texts is None]
            index.update(list(readings.values()), gone)
            fresh, old = shapes.updated(index, known, index.touched), known
            index.touched.clear()
            assert_same(fresh, shapes.shape(index))
            assert fresh.before is not None
            stays = fresh.before >= 0
            assert np.array_equal(fresh.passages[stays], old.passages[fresh.before[stays]])
            known = fresh
        index.close()


def said(number, time, author="ann", role="user", group="talk", kind="turn", text="words"):
    return Document(str(number), kind, text, group, f"{number:03d}", time=time, author=author, role=role)


def corpus_of(tmp_path, *documents):
    index = Index(tmp_path / "x.sqlite")
    index.update([Reading("k", "1", documents)])
    found = shapes.shape(index)
    index.close()
    return found.corpus


def test_a_pause_of_an_hour_ends_a_session_of_a_talk_and_of_notes_only_the_day_counts(tmp_path):
    moments = ("2026-02-20T14:00:00Z", "2026-02-20T14:50:00Z", "2026-02-20T15:50:00Z", "2026-02-20T16:51:00Z", "")
    talk = [said(number, moment) for number, moment in enumerate(moments)]
    notes = [said(number + 10, moment, group="notes", kind="note", role="") for number, moment in enumerate(moments)]
    # In the order of groups: the notes first.
    assert corpus_of(tmp_path, *talk, *notes).group.tolist() == [0] * 5 + [1, 1, 1, 2, 2]


def test_people_who_talk_without_an_assistant_have_no_role(tmp_path):
    moment = "2026-02-20T14:00:00Z"
    documents = [
        said(1, moment, "ann", group="a people"),
        said(2, moment, "bob", group="a people"),
        said(3, moment, "ann", group="b several people and an assistant"),
        said(4, moment, "bob", group="b several people and an assistant"),
        said(5, moment, "bot", "assistant", group="b several people and an assistant"),
        said(6, moment, "ann", group="c one person"),
        said(7, moment, "ann", group="c one person"),
    ]
    user, assistant = ranking.USER, ranking.ASSISTANT
    assert corpus_of(tmp_path, *documents).roles.tolist() == [0, 0, user, user, assistant, user, user]


def test_what_one_says_alone_is_no_talk(tmp_path):
    moment = "2026-02-20T14:00:00Z"
    documents = [
        said(1, moment, "ann", group="a one person", text="I ask?"),
        said(2, moment, "ann", group="a one person", text="I ask?"),
        said(3, moment, "ann", group="b two people", text="I ask?"),
        said(4, moment, "bob", group="b two people", text="I ask?"),
        # Both are written by the token of a hook.
        said(5, moment, "hook", "user", group="c a person and an assistant", text="I ask?"),
        said(6, moment, "hook", "assistant", group="c a person and an assistant", text="I ask?"),
    ]
    found = corpus_of(tmp_path, *documents)
    assert found.tells.tolist() == [False] * 2 + [True] * 4
    assert found.asks.tolist() == found.tells.tolist() == found.told.tolist()


def note(number, minute, author, role="person", text="I ask?"):
    time = f"2026-02-20T{14 + minute // 60:02d}:{minute % 60:02d}:00Z"
    return Document(str(number), "note", text, "day", f"{number:03d}", time=time, author=author, role=role)


def test_notes_of_what_several_people_said_are_a_talk(tmp_path):
    documents = [
        note(1, 0, "ann"),
        note(2, 0, "ann"),
        note(3, 50, "bob"),
        # After more than an hour there is only one who speaks.
        note(4, 111, "bob"),
        # Agents write about their work, side by side.
        note(5, 112, "agent-one", ""),
        note(6, 112, "agent-two", ""),
        note(7, 113, "ann"),
    ]
    found = corpus_of(tmp_path, *documents)
    assert found.asks.tolist() == [True] * 3 + [False] * 4
    assert found.tells.tolist() == found.told.tolist() == found.asks.tolist()
    # All other notes of a day are neighbours.
    assert found.group.tolist() == [0] * 7


def test_a_pause_of_an_hour_ends_a_talk_in_notes(tmp_path):
    documents = [note(1, 0, "ann"), note(2, 1, "bob"), note(3, 62, "ann"), note(4, 63, "bob")]
    found = corpus_of(tmp_path, *documents)
    assert found.asks.all()
    assert found.group.tolist() == [0, 0, 1, 1]
