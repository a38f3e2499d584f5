"""The length of a bank: which files are too long, and the length that each should have."""

from hypothesis import given
from hypothesis import strategies as st

from livemem.consolidation import sizes

BANKS = st.dictionaries(st.text(min_size=1), st.integers(0, 20_000), max_size=12)
LENGTHS = st.integers(1, 30_000)


def test_a_length_counts_characters_and_not_bytes():
    assert sizes.lengths({"a.md": "été 🎉\n", "b.md": ""}) == {"a.md": 6, "b.md": 0}


def test_short_files_keep_their_length_and_long_ones_are_cut_by_the_same_part():
    assert sizes.too_long({"a.md": 1_000, "b.md": 9_000, "c.md": 2_000, "d.md": 6_000}, 10_000) == {
        "b.md": 3_900, "d.md": 2_600,
    }  # fmt: skip


@given(BANKS)
def test_no_file_is_too_long_where_no_length_is_set(bank: dict[str, int]):
    assert sizes.too_long(bank, 0) == {}


@given(BANKS, LENGTHS)
def test_a_bank_whose_long_files_are_shortened_has_95_percent_of_its_length_but_for_what_is_rounded(
    bank: dict[str, int], length: int
):
    targets, aim = sizes.too_long(bank, length), int(0.95 * length)

    assert bool(targets) == (sum(bank.values()) > aim)
    if targets:
        assert all(target <= bank[path] for path, target in targets.items())
        assert min(bank[path] for path in targets) >= max((bank[path] for path in bank.keys() - targets), default=0)
        assert aim - len(targets) < sum((bank | targets).values()) <= aim


@given(BANKS, LENGTHS)
def test_a_shortened_bank_is_not_too_long(bank: dict[str, int], length: int):
    assert sizes.too_long(bank | sizes.too_long(bank, length), length) == {}


def test_a_bank_is_full_above_95_percent_of_its_length():
    lengths = [(9_500, 10_000), (9_501, 10_000), (50_000, 0)]

    assert [sizes.is_full(*one) for one in lengths] == [False, True, False]
