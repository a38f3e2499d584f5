"""Which sections the rules have loaded first: by marks, by their usual headings where there are none."""

import re

from hypothesis import given
from hypothesis import strategies as st

from livemem.recall import bank_sections
from livemem.recall.bank_sections import Mark
from livemem.spaces import rules
from livemem.text.language import detect
from tests.support.cases import each

LINE = "{} <!-- load first -->"
BANK = [
    ("activeContext.md", ("Active context", "Next steps")),
    ("progress.md", ("Progress", "Known issues")),
    ("progress.md", ("Progress", "Known issues", "By parser")),
    ("progress.md", ("Progress", "What works")),
    ("notes/log.md", ()),
]


def chosen(text: str, bank=BANK) -> list[tuple[str, tuple[str, ...]]]:
    place = bank_sections.load_first_places(text, bank)
    found = [(at, one) for one in bank for at in [place(*one)] if at is not None]
    return [one for _, one in sorted(found)]


@each(
    ("text", "marks"),
    [
        (LINE.format("### activeContext.md"), [Mark("activeContext.md", None)]),
        (LINE.format("- `bank/notes/log.md`: all"), [Mark("notes/log.md", None)]),
        ("### progress.md\n" + LINE.format("- `## Known issues`: traps"), [Mark("progress.md", "known issues")]),
        (
            "### progress.md\n\nSee plan.md too.\n" + LINE.format("* **Known issues**: traps"),
            [Mark("progress.md", "known issues")],
        ),
        ("# Files\n## a.md\n## How to write\n" + LINE.format("## Known issues"), [Mark(None, "known issues")]),
        ("- a.md\n  " + LINE.format("- Problèmes connus : ce qui reste"), [Mark("a.md", "problemes connus")]),
        ("## Known issues <!-- load first --> always", []),
        ("<!-- LOAD FIRST -->", []),
        ("`<!-- load first -->` is a mark.", []),
        ("# a.md\n- `## B`: what is\n  " + LINE.format("left of it."), [Mark("a.md", "b")]),
        (LINE.format("# a.md\n- Known issues: what b.md says"), [Mark("a.md", "known issues")]),
        (LINE.format("Read b.md before all else."), [Mark("b.md", None)]),
        (LINE.format("# a.md and b.md"), [Mark("a.md", None), Mark("b.md", None)]),
        (LINE.format("- `# A` and `## B`"), [Mark(None, "a"), Mark(None, "b")]),
        (LINE.format("### a.md") + "\r\n" + LINE.format("### b.md"), [Mark("a.md", None), Mark("b.md", None)]),
    ],
)
def test_a_marked_line_names_its_file_or_its_section(text: str, marks: list[Mark]):
    assert bank_sections.load_first_marks(text) == marks


def test_what_is_marked_comes_in_the_order_of_the_rules_with_what_is_below_it():
    text = "## progress.md\n" + LINE.format("- `## Known issues`") + "\n" + LINE.format("## activeContext.md")

    assert chosen(text) == [BANK[1], BANK[2], BANK[0]]


def test_rules_without_marks_or_with_marks_of_nothing_are_taken_by_usual_headings_in_both_languages():
    french = [
        ("etat.md", ("Contexte actif", "Prochaines étapes")),
        ("a.md", ("Problèmes connus (3)",)),
        ("b.md", ("Décisions",)),
    ]

    for text in ("Keep a log.", LINE.format("## nowhere.md")):
        assert chosen(text) == [BANK[0], BANK[1], BANK[2]]
        assert chosen(text, french) == french[:2]
    assert chosen("Keep a log.", [("knownIssues.md", ()), ("log.md", ("Prefocus",))]) == [("knownIssues.md", ())]


@each(
    ("name", "marks"),
    [
        (
            "standard",
            [
                "projectbrief.md#purpose",
                "projectbrief.md#requirements",
                "projectbrief.md#ways of working",
                "techContext.md#build and run",
                "activeContext.md",
                "progress.md#known issues",
            ],
        ),
        ("journal", ["team.md#purpose", "team.md#ways of working", "team.md#dates", "journal.md#open"]),
        ("research", ["question.md#purpose", "findings.md#contradictions", "method.md#ways of working", "plan.md"]),
        ("support", ["cases.md", "knownIssues.md#issues", "practice.md#purpose", "practice.md#ways of working"]),
        (
            "standard-fr",
            [
                "projet.md#but",
                "projet.md#exigences",
                "projet.md#facons de travailler",
                "technique.md#construire et lancer",
                "contexteActif.md",
                "avancement.md#problemes connus",
            ],
        ),
        ("journal-fr", ["equipe.md#but", "equipe.md#facons de travailler", "equipe.md#dates", "journal.md#ouvert"]),
        (
            "research-fr",
            ["question.md#but", "resultats.md#contradictions", "methode.md#facons de travailler", "plan.md"],
        ),
        (
            "support-fr",
            ["dossiers.md", "problemesConnus.md#problemes", "pratique.md#but", "pratique.md#facons de travailler"],
        ),
    ],
)
def test_each_template_marks_its_purpose_the_ways_of_working_and_what_is_open(name: str, marks: list[str]):
    found = bank_sections.load_first_marks(rules.template(name))

    assert ["#".join(filter(None, (mark.path, mark.title))) for mark in found] == marks


def test_the_french_templates_have_the_same_sections_and_marks_as_the_english_ones():
    for name in rules.TEMPLATES[:4]:
        english, french = [re.sub(r"`#+ [^`]*`", "`#`", rules.template(one)) for one in (name, f"{name}-fr")]

        assert french.count("`#`") == english.count("`#`") > 10
        assert detect(french) == "fr"


@given(st.text(max_size=400), st.lists(st.tuples(st.text(max_size=20), st.lists(st.text(max_size=30), max_size=4))))
def test_any_rules_and_any_headings_are_taken(text: str, bank):
    place = bank_sections.load_first_places(f"{text} <!-- load first -->\n{text}", bank)

    assert all(at is None or at >= 0 for at in (place(*one) for one in bank))


def test_long_lines_of_signs_are_not_looked_at_for_long():
    for sign in ("<!--", " ", "`# ", "*", ". ", "a.md ", "# "):
        assert bank_sections.load_first_marks(LINE.format("x" + sign * (49_000 // len(sign)))) is not None
        bank_sections.load_first_places(f"{sign * 10_000}\n" * 4, [("a.md", (sign * 100_000,))])
