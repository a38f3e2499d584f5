from collections import Counter

import pytest

from benchmarks import dedup
from benchmarks.dedup import Judged, Pair
from local.offline_llm import encoder


def judged(*found):
    return [Judged("en", label, score, differs) for label, score, differs in found]


CLEAR = judged(("same", 0.9, False), ("updated", 0.8, False), ("different", 0.6, False), ("stranger", 0.2, False))


def test_the_pairs_are_as_many_as_the_design_asks_for_and_of_all_kinds():
    pairs = dedup.read()
    assert len(pairs) >= 240
    assert len({pair.id for pair in pairs}) == len(pairs)
    assert len({(pair.one, pair.other) for pair in pairs}) == len(pairs)
    assert all(pair.one != pair.other for pair in pairs)
    for field, least in (("label", 40), ("lang", 20), ("kind", 20)):
        counted = Counter(getattr(pair, field) for pair in pairs)
        assert min(counted.values()) >= least, counted


def test_the_best_threshold_parts_what_is_one_from_what_is_not():
    threshold = dedup.best(CLEAR, guarded=True)
    assert 0.6 < threshold <= 0.8
    assert dedup.quality(CLEAR, threshold, guarded=True) == dedup.Quality(1.0, 1.0)


def test_precision_weighs_more_than_recall():
    assert dedup.Quality(0.9, 0.6).f > dedup.Quality(0.6, 0.9).f


def test_the_guard_keeps_apart_what_is_near():
    found = judged(("same", 0.9, False), ("different", 0.9, True))
    assert dedup.quality(found, 0.5, guarded=False).precision == 0.5
    assert dedup.quality(found, 0.5, guarded=True).precision == 1.0


def test_the_zone_holds_what_is_missed_but_not_strangers():
    found = judged(*[("restated", 0.5 + number / 100, False) for number in range(20)], ("stranger", 0.4, False))
    assert dedup.ambiguous_from(found, 0.7) == pytest.approx(0.52)
    crowded = [*found, *judged(*[("stranger", 0.6, False)] * 5)]
    assert dedup.ambiguous_from(crowded, 0.7) == pytest.approx(0.61)


def test_a_pair_meets_no_stranger_of_its_own_topic_of_another_language_or_kind():
    def pair(number, one, other, **more):
        usual = {"lang": "en", "kind": "fact", "label": "same"}
        return Pair(id=str(number), one=one, other=other, **{**usual, **more})

    pairs = [
        pair(1, "a", "a!", topic="t"),
        pair(2, "a?", "b", topic="t"),
        pair(3, "a", "x", lang="fr"),
        pair(4, "a", "y", kind="goal"),
        pair(5, "cc", "dd"),
    ]
    met = [one for one in dedup.judge(pairs, dedup.lexical) if one.label == "stranger"]
    assert len(met) == 3
    assert max(one.score for one in met) == 0


def test_each_half_has_as_many_of_each_label_and_language():
    found = dedup.judge(dedup.read(), dedup.lexical)
    one, other = (Counter((item.lang, item.label) for item in half) for half in dedup.halves(found))
    assert all(abs(one[key] - other[key]) <= 1 for key in one | other)


def test_the_table_has_a_line_for_letters_and_one_for_each_threshold(capsys, monkeypatch):
    monkeypatch.setattr(encoder, "has_package", lambda: False)
    monkeypatch.delenv("EMBEDDINGS_API_URL", raising=False)
    assert dedup.main(["--over"]) == 0
    said = capsys.readouterr().out
    assert "| lexical | " in said
    assert "\n| 0.98 | " in said


def test_what_is_close_and_yet_another_fact_is_seldom_merged_by_its_letters():
    found = dedup.judge(dedup.read(), dedup.lexical)
    plain, guarded = (dedup.quality(found, 0.5, guarded=guarded) for guarded in (False, True))
    assert guarded.precision > plain.precision + 0.1
    assert guarded.precision > 0.85
