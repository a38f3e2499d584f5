"""Nothing leaves without being named: bad answers are refused, mended or warned of, and good ones are not."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livemem.consolidation import details, findings, losses
from livemem.consolidation.losses import BankChange
from tests.support.cases import each
from tests.support.part import part
from tests.unit.consolidation.stories_of_losses import BAD, GOOD, WORLDS, Played, play

_LINES = st.sampled_from(WORLDS["ferry"]["bank"]["progress.md"].splitlines())
FILES = st.dictionaries(
    st.sampled_from(["a.md", "b.md", "progress.md"]), st.text(max_size=300) | st.lists(_LINES).map("\n".join)
)


def test_there_are_sixty_of_each_kind_of_answer_and_half_of_the_bad_ones_are_of_weaker_models():
    assert (len(BAD), len(GOOD)) == (60, 60)
    assert len({case["name"] for case in (*BAD, *GOOD)}) == 120
    assert sum(case.get("weak", False) for case in BAD) >= 30


@pytest.mark.slow
@each("case", part(BAD, 2), ids=lambda case: case["name"])
def test_a_bad_answer_on_which_the_model_insists_is_refused_mended_or_warned_of(case: dict[str, Any]):
    played = play(case)
    wanted = case["kind"] if isinstance(case["kind"], list) else [case["kind"]]
    assert any(_ended(played, case, kind) for kind in wanted), (wanted, played.kinds(), played.run.error)
    if played.record:
        assert played.record.metrics["warnings"] == len(played.record.warnings)


def _ended(played: Played, case: dict[str, Any], kind: str) -> bool:
    if kind == "refused":
        return played.run.state == "failed" or "entry_left_out" in played.kinds()
    if kind == "mended":
        return sum(text.count(case["bank"]["once"]) for text in played.after.values()) == 1 and played.calls == 1
    return kind in played.kinds()


@pytest.mark.slow
@each("case", part(GOOD, 2), ids=lambda case: case["name"])
def test_a_good_answer_is_taken_in_one_call_and_without_a_warning(case: dict[str, Any]):
    played = play(case)
    assert (played.run.state, played.calls) == ("done", 1), played.world.llm.prompts[-1][-1]["content"][-1500:]
    assert played.record is not None
    assert [warning.text for warning in played.record.warnings] == []


@given(FILES, st.lists(st.text(max_size=80), max_size=3))
def test_a_bank_that_does_not_change_has_no_findings(bank: dict[str, str], notes: list[str]):
    assert findings.of_bank(BankChange(bank, dict(bank)), notes, WORLDS["ferry"]["rules"]) == []
    assert losses.lost_lines(BankChange(bank, dict(bank)), notes) == []


@given(FILES, FILES, st.lists(st.text(max_size=80), max_size=3))
def test_any_change_of_any_bank_can_be_looked_at(before: dict[str, str], after: dict[str, str], notes: list[str]):
    change = BankChange(before, {**before, **after})
    for warning in findings.of_bank(change, notes, WORLDS["ferry"]["rules"]):
        assert warning.text
        assert warning.file in after
    numbered = dict(enumerate(notes, 1))
    assert {one.note for one in losses.lost_details(change, numbered)} <= set(numbered)


@given(st.lists(st.sampled_from([line for file in WORLDS["ferry"]["bank"].values() for line in file.splitlines()])))
def test_lines_that_only_move_are_not_lost(lines: list[str]):
    text = "\n".join(lines)
    assert losses.lost_lines(BankChange({"a.md": text, "b.md": ""}, {"a.md": "", "b.md": text}), []) == []


@each(
    ("one", "other"),
    [
        ("on 3 May", "2026-05-03"), ("3 mai", "May 3rd, 2026"), ("le 1er août", "2026-08-01"), ("05/03/2026", "3 May"),
        ("300 s", "5 minutes"), ("2 h", "120 min"), ("14h30", "at 2:30 pm"), ("1,500 files", "1500 files"),
        ("10 GB", "10GB"), ("4,80 €", "4.80 €"), ("four bells", "4 bells"), ("src/app/main.py", "main.py in src/app"),
        ("PostgreSQL 15.6", "postgresql 15.6"), ("50 %", "50%"),
    ],
)  # fmt: skip
def test_a_detail_is_found_in_its_other_forms(one: str, other: str):
    for text, said in ((one, other), (other, one)):
        assert all(detail.is_held(details.held_by([said])) for detail in details.read(text) if detail.weight > 1)


def test_a_bank_may_write_a_day_without_its_year():
    (day,) = [detail for detail in details.read("before 23 March") if detail.kind == "date"]

    assert day.is_held(details.held_by(["- Heartbeat 60 s (30 s until 03-23)."]))
    assert not day.is_held(details.held_by(["- Lockers 103-23 and LYO-03-23."]))


@each(
    ("one", "other"), [("8443", "443"), ("3 May", "4 May"), ("db-1", "db-2"), ("v7.1", "v7.10"), ("stg-db-1", "db-1")]
)
def test_another_value_is_another_detail(one: str, other: str):
    assert not any(detail.is_held(details.held_by([other])) for detail in details.read(one))
