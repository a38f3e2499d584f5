import json

from benchmarks import precision
from benchmarks.precision import Tally


def test_precision_is_of_what_came_and_recall_of_what_is_right():
    tally = Tally("way")
    tally.add({"a", "b"}, {"a"}, {"b"})
    tally.add({"a"}, {"a"})
    # What is right did not come; nothing is right and nothing came; nothing is right and something came.
    tally.add(set(), {"a", "c"})
    tally.add(set(), set())
    tally.add({"d"}, set(), {"d", "e"})
    assert (tally.precision, tally.recall) == ([0.5, 1.0, 0.0, 0.0], [1.0, 1.0, 0.0])
    assert (tally.passed, tally.silent, tally.unanswerable, tally.forbidden) == (1, 1, 2, 2)
    assert tally.cells()[:5] == ["way", "1 of 3", "0.38", "0.67", "1 of 2"]


def belief(name, **more):
    told = {"_id": name, "canonical_name": name, "aliases": ["also"], "content": "Says.", "why_it_matters": "Why."}
    told |= {"scope": ["code"], "type": "entity", "user_id": "test-user", "pinned": False}
    return told | {"superseded_by": None, "resolved_at": None} | more


def test_beliefs_are_read_by_the_rules_of_their_runner(tmp_path):
    beliefs = [
        belief("one"),
        belief("two", type="open_question", pinned=True),
        belief("three", type="relation", participants=["one", "two"]),
        belief("four", pinned=True),
        belief("five", pinned=True, resolved_at="2026-01-01"),
    ]
    case = {"query": "one?", "scope": ["code"], "expect": {"relevantBeliefs": {"shouldOnlyInclude": ["one"]}}}
    (tmp_path / "beliefs.seed.json").write_text(json.dumps(beliefs))
    (tmp_path / "retrieval.cases.json").write_text(json.dumps([case, case | {"budget": {"maxBeliefs": 1}}]))

    read = precision.read_beliefs(tmp_path)

    assert read.memories == {
        "one": {"content": "one also Says. Why.", "subjects": ["code"]},
        "three": {"content": "three also Says. Why.", "subjects": ["code"]},
    }
    assert read.drawn == {"three": ("one",)}
    # The pinned belief that holds takes a place.
    assert [one.most for one in read.cases] == [precision.MOST - 1, 0]


def test_the_own_cases_are_a_hundred_in_two_languages_and_name_what_is_kept():
    lines = [json.loads(line) for line in precision.OWN.read_text("utf-8").splitlines()]
    kept = {one["keep"] for one in lines if "keep" in one}
    asked = [one for one in lines if "ask" in one]
    assert [sum(one["language"] == language for one in asked) for language in ("en", "fr")] == [50, 50]
    assert len({one["ask"] for one in asked}) == 100
    for one in asked:
        assert kept.issuperset([*one["right"], *one["wrong"]])
        assert not set(one["right"]) & set(one["wrong"])
