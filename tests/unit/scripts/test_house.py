"""The rows that only fall: what they count, and what a row above or far below its bound says."""

from pathlib import Path

import pytest

from scripts import house

CODE = '''"""A module: found one."""

# found
def look(found: str) -> str:
    """One."""
    one = f"{found} one"
    return one
'''


def test_tokens_are_those_of_code_alone(tmp_path: Path):
    file = tmp_path / "a.py"
    file.write_text(CODE)

    assert house.tokens(file)[:9] == ["def", "look", "(", "found", ":", "str", ")", "->", "str"]
    assert not [token for token in house.tokens(file) if "module" in token or "One" in token]


def test_names_that_are_no_nouns_are_counted_among_names(tmp_path: Path):
    file = tmp_path / "a.py"
    file.write_text(CODE)

    # found, one and one, of look, found, str, str, one, one.
    assert house.names_per_ten_thousand([file]) == 5_000


def test_a_module_with_one_user_beside_it_is_counted(tmp_path: Path):
    for name, body in {
        "a/__init__": "",
        "a/own": "",
        "a/shared": "",
        "a/user": "from livemem.a import own, shared\n",
        "b/__init__": "",
        "b/user": "from livemem.a import shared\n",
    }.items():
        file = tmp_path / f"{name}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(body)

    assert house.with_one_user(tmp_path) == 1


@pytest.mark.parametrize(
    ("count", "says"), [(100, None), (101, "above its bound of 100"), (98, None), (50, "--lower")], ids=str
)
def test_a_row_may_neither_rise_nor_leave_its_bound_behind(count: int, says: str | None):
    wrong = house.check({"files": count}, {"files": {"bound": 100, "target": 80}})

    assert [says in sentence for sentence in wrong if says] == ([True] if says else [])


def test_bounds_that_are_lowered_keep_the_others():
    bounds = {"a": {"bound": 10, "target": 5}, "b": {"bound": 10, "target": 5}}

    text = house.lowered({"a": 7, "b": 12}, bounds)

    assert '["a"]\nbound = 7\ntarget = 5\n' in text
    assert '["b"]\nbound = 10\ntarget = 5\n' in text
