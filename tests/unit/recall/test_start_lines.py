"""A start is filled by lines: each is whole, the newest come first, and no section falls silent for another one."""

import re

from hypothesis import given
from hypothesis import strategies as st

from livemem.bank.synthesis import Synthesis
from livemem.recall import start, start_lines
from livemem.recall.start import Start
from livemem.recall.start_material import StartHit, StartMaterial
from tests.support.cases import each
from tests.unit.recall.test_start import DAY, check, live, material, shown

MARKS = """
### charter.md
- `## Aim`: why. <!-- load first -->
### today.md <!-- load first -->
### team.md
- `## Ways of working` <!-- load first -->
### build.md
### design.md
### log.md
### customers.md
"""
NEEDS = """
The granary app plans harvest lorries for eleven mills
every plan must be ready within 40 seconds
no data leaves the region eu-west-3
Now: the move of the weighbridge reader to protocol 4
Next: ask Ines for the test bridge in Albi
Blocked: the spare modem of Albi has no SIM card
No deploys on Fridays
The weekly summary goes to Odile on Monday
Reviews need two people for anything under pricing
On call: Bastien until 2 March
The freeze for the fair lasts from 9 to 13 March
Run the tests with `just check`
Staging is `granary-stg`, production `granary-prd`
Python is pinned to 3.12.4
The queue keeps a message for 6 hours
Prices are integers of a tenth of a cent
A lorry has one driver, a driver may have several lorries
The reader speaks serial at 9600 baud
Plans are kept 400 days, then their totals only
The map tiles come from the provider Tuilerie
Mill 7 sends its stock by fax at six
Mill 2 pays by cheque
Odile decides on prices, Bastien on the plan
The contract with Tuilerie ends on 30 April
A failed weighing is asked for again three times
The import of the stock refuses a minus sign
The solver was given 8 GB after the crash
The export is a CSV with semicolons
The mills see their own lorries only
A mill may close a day before six in the morning
""".strip().split("\n")


def bullets(*texts: str, first: int = 1) -> str:
    return "".join(f"- {text}. (2026-02-{first + number % 20:02}, ann)\n" for number, text in enumerate(texts))


def filler(name: str, count: int) -> list[str]:
    return [
        f"{name} {number}: what happened to it on that day, with the name of a file and a figure"
        for number in range(count)
    ]


def six_weeks(more: int = 0) -> dict[str, str]:
    """A bank of about 15,000 characters in seven files, with what is needed spread over it."""
    n = NEEDS
    return {
        "build.md": f"# Build\n\n## Commands\n\n{bullets(n[11], n[13])}\n## Places\n\n{bullets(n[12], n[14])}"
        f"\n## Observed\n\n{bullets(*filler('observation', 24), n[26])}",
        "charter.md": f"# Charter\n\n## Aim\n\n{bullets(*n[:3])}"
        f"\n## Not wanted\n\n{bullets('No accounts for drivers')}",
        "customers.md": f"# Mills\n\n## Particular\n\n{bullets(n[20], n[21], n[29])}\n## Asked for\n\n"
        f"{bullets(*filler('wish', 14), n[28])}",
        "design.md": f"# Design\n\n## Data\n\n{bullets(n[15], n[16], n[18])}\n## Parts\n\n{bullets(n[17], n[24])}"
        f"\n## Decisions\n\n{bullets(*filler('decision', 30), n[25], n[27])}",
        "log.md": f"# Log\n\n## Milestones\n\n{bullets(*filler('milestone', 50))}"
        + bullets(
            *(f"the bakery oven {number} was moved again, said the note of the day" for number in range(more)), first=21
        ),
        "team.md": f"# Team\n\n## Ways of working\n\n{bullets(*n[6:9])}\n## Dates\n\n{bullets(*n[9:11], n[23])}"
        f"\n## Who\n\n{bullets(n[22], n[19])}",
        "today.md": f"# Today\n\n## Focus\n\n{bullets(n[3])}\n## Steps\n\n{bullets(n[4])}"
        f"\n## Blocked\n\n{bullets(n[5])}",
    }


def held(found: Start) -> int:
    return sum(need in found.markdown for need in NEEDS)


def test_of_thirty_facts_spread_over_a_bank_larger_than_the_start_nearly_all_are_given():
    bank = six_weeks()
    assert 14_000 < sum(map(len, bank.values())) < 17_000
    of = material(bank, MARKS)

    found = start.render(of, 9_500, "en")

    check(of, found, 9_500)
    assert held(found) >= 27
    assert held(start.render(of, 4_000, "en")) >= 20


def test_ten_notes_on_another_subject_in_one_section_take_little_from_the_others():
    before, after = (start.render(material(six_weeks(more), MARKS), 9_500, "en") for more in (0, 10))

    assert held(after) >= 27
    assert "the bakery oven 9 " in after.markdown
    assert {*shown(before)} == {*shown(after)}


@each("place", [0, 40, 79])
def test_a_line_with_a_command_comes_before_the_others_of_a_section_that_is_not_loaded_first(place: int):
    lines = [f"- The oven {number} is warm enough for bread." for number in range(80)]
    lines.insert(place, "- `make ship ENV=prod` brings the bread of the ovens to town.")
    bank = {"ovens.md": "# Ovens\n\n## All\n\n" + "\n".join(lines)}

    found = start.render(material(bank, MARKS), 2_000, "en").markdown

    assert "`make ship ENV=prod`" in found
    assert 10 < found.count("The oven") < 60


def test_lines_with_code_count_half_so_a_section_of_them_has_twice_the_share_of_another_one():
    coded = "\n".join(f"- The `oven {number}` is warm enough for bread." for number in range(80))
    bank = {"ovens.md": f"# Ovens\n\n## Coded\n\n{coded}\n\n## Plain\n\n{coded.replace('`', '')}\n"}

    found = start.render(material(bank, MARKS), 4_000, "en").markdown

    assert found.count("The `oven") >= 1.7 * found.count("The oven") > 15


def test_live_notes_on_another_subject_take_a_third_at_most():
    notes = live(*(f"{number} " + "oven " * 40 for number in range(60)))
    found = start.render(material(six_weeks(), MARKS, live=notes), 9_500, "en")

    assert sum(part.chars for part in found.parts if part.why == "live") <= 9_500 // 3
    assert {*shown(found, "other")} == {*shown(start.render(material(six_weeks(), MARKS), 9_500, "en"), "other")}


def test_a_bank_that_fits_is_given_whole_in_the_order_of_the_rules_to_the_character():
    bank = {"b.md": "# B\n\n## One\n\n" + bullets(*filler("b", 12)), "a.md": "# A\n\n" + bullets(*filler("a", 14))}
    rules = "### b.md\n- `## One`\n### a.md\n"
    of = material(bank, rules)
    whole = start.render(of, 100_000, "en")
    exact = len(whole.markdown)

    assert [part.source for part in whole.parts] == [None, "bank/b.md#B > One", "bank/a.md#A"]
    assert start.render(of, exact, "en") == whole
    less = start.render(of, exact - 1, "en")
    assert len(less.markdown) < exact
    assert "more line" in less.markdown
    assert shown(less) == shown(whole)


def test_a_whole_bank_goes_before_notes_and_a_synthesis_that_are_named_then():
    bank = {"a.md": "# A\n\n" + bullets(*filler("a", 30))}
    of = material(bank, live=live("x" * 900), synthesis=Synthesis(DAY, 1, 1, "Zanzibar " * 60))
    exact = len(start.render(material(bank), 100_000, "en").markdown)

    found = start.render(of, exact + 160, "en")

    assert "more line" not in found.markdown
    assert "- new notes: 1 (" in found.markdown
    assert "- synthesis (" in found.markdown


def test_one_huge_section_does_not_silence_the_others_even_if_it_is_loaded_first():
    bank = {f"{name}.md": f"# {name}\n\n- the fact of {name}\n" for name in "abcdef"}
    for title in ("Known issues", "History"):
        of = material(bank | {"z.md": f"# Z\n\n## {title}\n\n{bullets(*filler('issue', 150))}"})
        for most in (2_000, 4_000, 9_500):
            found = start.render(of, most, "en")
            check(of, found, most)
            assert all(f"the fact of {name}" in found.markdown for name in "abcdef"), (title, most)
            assert len(found.markdown) > most - 120


def test_of_200_tiny_sections_as_many_as_fit_are_whole_and_the_others_are_named():
    of = material({"a.md": "# A\n\n" + "".join(f"## Part {n}\n\n- fact {n}\n\n" for n in range(200))})
    for most in (2_000, 9_500, 16_000):
        found = start.render(of, most, "en")
        check(of, found, most)
        assert len(found.markdown) > most - 120 or "outline" not in [part.kind for part in found.parts]


def test_a_row_comes_with_the_head_of_its_table_and_a_block_of_code_whole():
    rows = "".join(
        f"| host-{number:03} | 10.0.0.{number} | the purpose of it in some words |\n" for number in range(150)
    )
    code = "```sh\n" + "".join(f"run step {number}\n\n" for number in range(20)) + "```"
    text = f"# A\n\n## Hosts\n\nAll hosts:\n\n| host | address | purpose |\n|---|---|---|\n{rows}\n## Runs\n\n"
    text += "".join(f"- run {number} took long and was repeated\n" for number in range(90)) + f"\n{code}\n\nThe end.\n"
    of = material({"a.md": text})
    for most in range(2_000, 9_000, 1_100):
        found = start.render(of, most, "en")
        check(of, found, most)
        lines = found.markdown.split("\n")
        assert [line for line in lines if line.startswith("| host-")], most
        first = next(number for number, line in enumerate(lines) if line.startswith("| host-"))
        assert lines[first - 2 : first] == ["| host | address | purpose |", "|---|---|---|"]
        assert lines[first - 3] == "", "a paragraph above would take the head in"
        assert ("run step 0\n" in found.markdown) == (code in found.markdown)
        assert ("run step 19\n" in found.markdown) == (code in found.markdown)
    assert code in found.markdown


def test_a_line_of_100_kb_is_left_out_and_keeps_nothing_else_out():
    for text in (f"- one\n- {'x' * 100_000}\n- two\n", f"- one\n- two\n- {'y ' * 50_000}\n"):
        of = material({"a.md": f"# A\n\n{text}", "b.md": "# B\n\n- three\n", "c.md": f"# C\n\n{'z' * 100_000}\n"})
        for most in (2_000, 9_500, 100_000):
            found = start.render(of, most, "en")
            check(of, found, most)
            assert all(f"- {word}\n" in found.markdown for word in ("one", "two", "three"))
            assert "(1 more line)" in found.markdown
            assert "- bank/c.md#C (100000 characters, " in found.markdown


def test_a_french_start_says_in_french_how_many_lines_are_missing():
    of = material({"a.md": "# Équipe\n\n## Façons de travailler\n\n" + bullets(*filler("Été", 90))})

    found = start.render(of, 3_000, "fr")

    check(of, found, 3_000)
    assert "### bank/a.md\n\n#### Façons de travailler (" in found.markdown
    assert re.search(r"\n\(\d+ autres lignes\)\n", found.markdown)
    assert "## Le reste de la mémoire" in found.markdown


def test_with_a_question_the_lines_that_answer_it_come_from_the_middle_of_a_long_section():
    text = bullets(*filler("old", 60), "The ferry leaves at nine", *filler("new", 60))
    hit = StartHit("section", "a", text, (), "a.md", "# A", excerpt="The ferry leaves at nine. (2026-02-0")
    bank = {"a.md": f"# A\n\n{text}", "b.md": "# B\n\n" + bullets(*filler("b", 90))}

    found = start.render(material(bank, found=[hit]), 3_000, "en")

    assert "The ferry leaves at nine" in found.markdown
    assert "The ferry leaves at nine" not in start.render(material(bank), 3_000, "en").markdown
    assert sum(part.chars for part in found.parts if part.why == "question") <= 1_000


def test_of_the_synthesis_only_lines_are_given_that_say_more_than_what_stands_above():
    bank = {"a.md": "# A\n\n- The parser reads 40 files an hour.\n- Ann moves the queue to Lyon.\n"}
    text = "Ann moves the queue to Lyon, and the parser reads 40 files an hour.\n\nThe release waits for Zoé.\n"

    found = start.render(material(bank, synthesis=Synthesis(DAY, 1, 1, text)), 9_500, "en")
    repeated = start.render(material(bank, synthesis=Synthesis(DAY, 1, 1, text.partition("\n\n")[0])), 9_500, "en")

    assert found.markdown.endswith("\n## Synthesis\n\nThe release waits for Zoé.\n")
    assert shown(repeated) == ["", "bank/a.md#A"]
    assert "ynthesis" not in repeated.markdown


def order(text: str) -> list[str]:
    return [line.text for line in start_lines.newest_first(start_lines.lines_of(text))]


def test_the_newest_line_has_the_latest_day_at_its_beginning_or_in_brackets_else_it_stands_last():
    assert order("- a\n- b\n- c\n") == ["- c", "- b", "- a"]
    assert order("- a (2026-01-03, ann)\n- b (2026-01-09)\n- c [2026-01-05 bob]\n")[0] == "- b (2026-01-09)"
    assert order("2026-01-09: a\n\n2026-01-08: b\n\n2026-01-07: c\n") == [
        "2026-01-09: a",
        "2026-01-08: b",
        "2026-01-07: c",
    ]
    assert order("- a until 2027-01-01\n- b\n")[0] == "- b", "a day in a sentence may be one of a plan"
    assert order("- a (2026-01-09)\n- a2 (2026-01-09)\n- b (2026-01-02)\n")[:2] == [
        "- a (2026-01-09)",
        "- a2 (2026-01-09)",
    ]
    assert order("All of this holds.\n\n- a (2026-01-02)\n- b\n")[-1] == "All of this holds."
    assert order(f"- a\n- {'x' * 2_000}\n")[0] == "- a", "a large line comes last"


def test_a_line_has_all_that_is_read_with_it():
    text = "Intro\ngoes on.\n\n- one\n\n  goes on\n  - below\n- two\n\n```\ncode\n\n```\n> q\n> r\n\n"
    text += "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |"

    lines = start_lines.lines_of(text)

    assert [line.text for line in lines] == [
        "Intro\ngoes on.",
        "- one\n\n  goes on\n  - below",
        "- two",
        "```\ncode\n\n```",
        "> q\n> r",
        "| 1 | 2 |",
        "| 3 | 4 |",
    ]
    assert start_lines.joined(lines) == text
    assert start_lines.joined([lines[-1], lines[1]]) == f"{lines[1].text}\n\n| a | b |\n|---|---|\n| 3 | 4 |"


def test_of_a_very_long_text_the_newer_end_is_read_in_whole_lines(monkeypatch):
    monkeypatch.setattr(start_lines, "PARSED_MOST", 15_000)
    facts = [f"- fact {number} (2026-01-{number * 20 // 1_500 + 1:02})" for number in range(1_500)]
    for text in ("\n".join(facts), "\n".join(facts[::-1])):
        lines = start_lines.newest_first(start_lines.lines_of(text))
        assert lines[0].text == facts[-1]
        assert {line.text for line in lines} <= {*facts}
        assert 200 < len(lines) < 800


PIECES = st.one_of(
    st.sampled_from(
        [
            "- a fact (2026-02-20, ann)",
            "* another",
            "1. first",
            "text",
            "```\ncode\n\n- no item\n```",
            "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |",
            "> quote",
            "* * *",
            "",
            "\n\n\n",
            "[a]: http://b",
            "<div>\n- x\n\n</div>",
            "- " + "long " * 300,
            "- item\n\n  more of it",
        ]
    ),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=90),
)
TEXTS = st.lists(PIECES, max_size=30).map("\n".join)
BANKS = st.dictionaries(
    st.sampled_from(["a.md", "b.md", "c/d.md"]),
    st.lists(st.tuples(st.sampled_from(["Known issues", "Plans", "A", "Team " * 20]), TEXTS), max_size=6).map(
        lambda some: "\n\n".join(f"## {title}\n\n{text}" for title, text in some)
    ),
    max_size=3,
)


def headings(found: Start) -> set[str]:
    return {part.source or "" for part in found.parts if part.kind == "section"}


@given(
    bank=BANKS,
    rules=st.sampled_from(["", "## Plans <!-- load first -->", "### c/d.md\n### b.md <!-- load first -->"]),
    notes=st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=900), max_size=6),
    answers=st.lists(st.integers(1, 900), max_size=5),
    budgets=st.lists(st.integers(2_000, 16_000), min_size=2, max_size=6).map(sorted),
)
def test_a_larger_start_has_each_section_that_a_smaller_one_has_and_each_line_is_whole(
    bank, rules, notes, answers, budgets
):
    plain = material(bank, rules)
    hits = [
        StartHit("section", one.id, one.text, (), one.path, one.address, excerpt=one.text[-size:])
        for one, size in zip(plain.sections, answers, strict=False)
    ]
    hits += [StartHit("archive", f"n{number}", "x" * size, (DAY,)) for number, size in enumerate(answers)]
    of = material(bank, rules, live=live(*notes), found=hits)
    before: set[str] = set()
    for most in budgets:
        found = start.render(of, most, "en")
        check(of, found, most)
        assert before <= headings(found), most
        before = headings(found)
        whole_lines(of, found)


def whole_lines(of: StartMaterial, found: Start) -> None:
    """Each given section has only whole lines of one of the sections with its id."""
    at = 0
    for part in found.parts:
        text, at = found.markdown[at : at + part.chars], at + part.chars
        if part.kind == "section":
            body = text.partition(")\n\n")[2]
            some = [one for one in of.sections if one.id == part.source]
            body = re.sub(r"\n\n\(\d+ more lines?\)\n\Z", "", body).rstrip("\n")
            rows = {row.rstrip() for row in body.splitlines() if row.strip()}
            assert any(rows <= {row.rstrip() for row in one.text.splitlines()} for one in some)


@given(text=TEXTS, chosen=st.sets(st.integers(0, 40)))
def test_lines_take_at_most_the_characters_that_are_counted_for_them(text, chosen):
    lines = start_lines.lines_of(text)
    some = [line for line in lines if line.place in chosen]
    kins = {line.kin: len(line.head) + 2 for line in some if line.kin}

    assert len(start_lines.joined(some)) <= sum(line.chars for line in some) + sum(kins.values())
