"""Each line of the security checklist has its proofs, and each proof is a test that exists."""

import re
from functools import cache
from pathlib import Path

from tests.support.cases import each
from tests.support.checklist import CHECKLIST

TESTS = Path(__file__).resolve().parents[1]
OWN = (
    "integration/test_security.py",
    "integration/test_bad_input.py",
    "integration/test_content.py",
    "template/test_security.py",
)
"""Files whose tests begin with the number of their line."""


@cache
def names_in(file: str) -> list[str]:
    return re.findall(r"^def (test_\w+)\(", (TESTS / file).read_text(), re.MULTILINE)


def test_all_lines_are_there_each_with_a_proof_or_a_word_on_why_not_yet():
    assert {*range(1, 27)} <= set(CHECKLIST)
    assert not [number for number, line in CHECKLIST.items() if not line.proofs and not line.not_there_yet]


@each("number", CHECKLIST)
def test_every_proof_is_a_test_that_exists(number: int):
    named = CHECKLIST[number].proofs

    assert len(set(named)) == len(named)
    for proof in named:
        file, _, name = proof.partition("::")
        assert name in names_in(file), proof


@each("file", OWN)
def test_every_test_that_bears_the_number_of_a_line_is_named_there(file: str):
    for name in names_in(file):
        number = re.match(r"test_(\d+)_", name)
        assert number, name
        assert f"{file}::{name}" in CHECKLIST[int(number[1])].proofs
