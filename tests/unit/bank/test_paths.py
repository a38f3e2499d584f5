import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from livemem.bank.paths import BankPathError, check_bank_path, normalise_bank_path
from tests.support.cases import each

PIECES = [
    "bank/",
    "MEMORY_BANK/",
    "1.MEMORY_BANK/",
    "/",
    ".",
    "..",
    "_",
    "a",
    "notes",
    ".md",
    "-",
    "\u2011",
    "\u200b",
    " ",
]

any_text = st.text(st.characters(exclude_categories=["Cs"]))
near_paths = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)
good_parts = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,15}", fullmatch=True)
good_paths = st.lists(good_parts, min_size=1, max_size=4).map(lambda parts: "/".join(parts) + ".md")


@each("path", ["progress.md", "a/b/c.md", "A-b_c.1.md", ".hidden/a.md", "a/_b.md", "x" * 197 + ".md"])
def test_a_path_by_the_rules_is_accepted_and_is_its_own_normal_form(path):
    check_bank_path(path)
    assert normalise_bank_path(path) == path


@each(
    ("path", "reason"),
    [
        ("", "empty"),
        ("progress.txt", "must end in .md"),
        ("progress.MD", "must end in .md"),
        ("progress.md/", "empty part"),
        ("/etc/passwd.md", "must not start"),
        ("_meta.md", "must not start"),
        ("a//b.md", "empty part"),
        ("./a.md", "'.'"),
        ("../a.md", "'..'"),
        ("a/../b.md", "'..'"),
        ("a/./b.md", "'.'"),
        ("a b.md", "allowed"),
        ("a\\b.md", "allowed"),
        ("a.md\n", "allowed"),
        ("a\x00.md", "allowed"),
        ("é.md", "allowed"),
        ("a?.md", "allowed"),
        ("x" * 198 + ".md", "200"),
        ("a.md/b.md", "must not have a folder that ends in .md"),
    ],
)
def test_a_path_that_breaks_a_rule_is_refused_with_that_rule(path, reason):
    with pytest.raises(BankPathError, match=reason.replace(".", r"\.")):
        check_bank_path(path)


@each(
    ("proposed", "path"),
    [
        ("bank/progress.md", "progress.md"),
        ("bank/bank/progress.md", "progress.md"),
        ("1.MEMORY_BANK/bank/MEMORY_BANK/progress.md", "progress.md"),
        ("MEMORY_BANK/sub/bank/progress.md", "sub/bank/progress.md"),
        ("bank.md", "bank.md"),
        ("databank/progress.md", "databank/progress.md"),
        ("  progress.md\n", "progress.md"),
        ("active\u2011context.md", "active-context.md"),
        ("active\u2013context.md", "active-context.md"),
        ("active\u2212context.md", "active-context.md"),
        ("active\uff0dcontext.md", "active-context.md"),
        ("\ufeffpro\u200bgress\u00ad.md", "progress.md"),
        ("progress\ufe0f.md", "progress.md"),
        ("b\u200bank/progress.md", "progress.md"),
        ("ｐrogress.md", "progress.md"),
        ("ﬁles/a.md", "files/a.md"),
        ("bank／a.md", "a.md"),
    ],
)
def test_what_models_get_wrong_in_a_path_is_repaired(proposed, path):
    assert normalise_bank_path(proposed) == path


@each(
    "proposed",
    [
        "active context.md",
        "bank/",
        "bank/../x.md",
        "bank//x.md",
        "bank/_x.md",
        "/bank/x.md",
        "‥/x.md",
        "a" * 10_000_000,
    ],
)
def test_what_cannot_be_repaired_safely_is_refused(proposed):
    with pytest.raises(BankPathError) as error:
        normalise_bank_path(proposed)
    assert len(str(error.value)) < 1000


def test_paths_that_differ_only_in_case_are_different_paths():
    assert normalise_bank_path("Progress.md") != normalise_bank_path("progress.md")


@given(st.one_of(any_text, near_paths))
@example("bank/ bank/x.md")
@example("\u3164x.md")
def test_a_normalised_path_passes_the_check_and_normalising_it_again_changes_nothing(proposed):
    try:
        path = normalise_bank_path(proposed)
    except BankPathError:
        return
    check_bank_path(path)
    assert normalise_bank_path(path) == path


@given(good_paths, st.sampled_from("\u200b\u200d\u2060\ufeff\u00ad\u202e\ufe0f"), st.integers(0, 60))
def test_an_invisible_character_anywhere_makes_no_difference(path, invisible, at):
    assert normalise_bank_path(path[:at] + invisible + path[at:]) == normalise_bank_path(path)


@given(st.characters(categories=["Pd"]))
def test_every_dash_of_unicode_becomes_a_hyphen(dash):
    assert unicodedata.category(dash) == "Pd"
    assert normalise_bank_path(f"a{dash}b.md") == "a-b.md"


@given(any_text)
def test_the_strict_check_raises_nothing_but_its_own_error(text):
    try:
        check_bank_path(text)
    except BankPathError:
        return
    assert text.isascii()
