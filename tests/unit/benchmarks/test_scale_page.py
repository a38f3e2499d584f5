"""docs/scale.md: each limit is AWS's, with its page, or has a test that is there."""

import re

from benchmarks.scale.__main__ import TABLES
from tests.support.functions import ROOT

PAGE = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")


def _rows(heading: str) -> list[list[str]]:
    part = PAGE.partition(f"\n{heading}\n")[2].partition("\n## ")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines() if line[:2] == "| "][1:]


def test_each_limit_is_of_aws_and_says_where_it_stands_or_names_a_test():
    limits = _rows("## Limits")

    assert len(limits) > 12
    for what, whose, proof, _ in limits:
        tests = re.findall(r"`(tests/[\w/.]+)`", proof)
        assert tests or "https://docs.aws.amazon.com/" in proof, what
        assert bool(tests) == (whose == "ours"), what
        for path in tests:
            assert (ROOT / path).is_file(), path


def test_each_table_that_the_command_prints_is_named_in_the_page():
    for name in TABLES:
        assert f"benchmarks.scale {name}" in PAGE, name
