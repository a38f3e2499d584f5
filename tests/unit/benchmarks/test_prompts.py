"""What prompts are given by themselves is about them (benchmarks/prompts.py): two projects of the measured set."""

import json
import re

import pytest

from benchmarks import prompts
from local.offline_llm.encoder import Encoder

ROWS = [json.loads(line) for line in prompts.SET.read_text("utf-8").splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize("project", ["hive", "lockers"])
def test_most_prompts_that_deserve_lines_get_them_and_hardly_any_other_prompt_does(project):
    rows = [row for row in ROWS if row["of"] == project]

    told = prompts.measure(project, prompts.VECTORS[0], rows, Encoder().encode, wrong=False)

    (right, given), (answered, deserving), (noisy, _) = re.findall(r"(\d+) of (\d+)", told)
    assert int(right) >= 0.8 * int(given)
    assert int(answered) >= int(deserving) * 2 / 3
    assert int(noisy) <= 1
