"""Three days of two agents with their hooks (benchmarks/day.py): two projects of the measured set."""

import json

import pytest

from benchmarks import day

ROWS = [json.loads(line) for line in day.SET.read_text("utf-8").splitlines()]


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.parametrize("project", ["lockers", "stage"])
def test_most_prompts_that_deserve_lines_get_them_on_the_third_day_and_hardly_any_other_prompt_does(project):
    rows = [row for row in ROWS if row["of"] == project]

    with day.lived(rows) as days:
        judged = day.Judged.of(days, rows, day.by_http)

    assert judged.good >= 0.8 * judged.given
    assert judged.answered >= judged.deserving * 2 / 3
    assert judged.noisy <= 1
