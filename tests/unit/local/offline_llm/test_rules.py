import pytest

from livemem.spaces.rules import TEMPLATES, template
from local.offline_llm.rules import FileSpec, read_layout
from tests.support.cases import each
from tests.unit.local.offline_llm.support import JOURNAL, RESEARCH, STANDARD, SUPPORT


def files(rules: str) -> dict[str, list[str]]:
    """File names with their section lines, * marking the heading that stands for a day."""
    return {
        spec.name: [f"{'#' * part.level} {part.text}{'*' if part.day else ''}" for part in spec.sections]
        for spec in read_layout(rules)
    }


def only(rules: str) -> FileSpec:
    (spec,) = read_layout(rules)
    return spec


def test_the_standard_template_defines_six_files_with_two_to_six_sections_each() -> None:
    layout = files(STANDARD)
    assert list(layout) == [
        "projectbrief.md",
        "productContext.md",
        "systemPatterns.md",
        "techContext.md",
        "activeContext.md",
        "progress.md",
    ]
    assert all(2 <= len(sections) <= 6 for sections in layout.values())
    assert layout["progress.md"] == ["## Milestones", "## Known issues", "## Lessons learned"]


def test_the_journal_template_defines_four_parts_below_each_day_beside_a_file_of_what_holds_now() -> None:
    assert files(JOURNAL) == {
        "team.md": ["## Purpose", "## Ways of working", "## Dates", "## People"],
        "journal.md": ["## YYYY-MM-DD*", "### Done", "### Decided", "### Learned", "### Open"],
    }


def test_the_research_template_keeps_the_question_its_sources_and_what_they_say_apart() -> None:
    assert files(RESEARCH) == {
        "question.md": ["## Purpose", "## Scope", "## People"],
        "sources.md": ["## Used", "## Unreliable"],
        "findings.md": ["## Observations", "## Measurements", "## Contradictions", "## Conclusions"],
        "method.md": ["## Decisions", "## Ways of working", "## Milestones", "## Dead ends"],
        "plan.md": ["## Current focus", "## Next steps", "## Dates", "## Open questions"],
    }


def test_the_support_template_keeps_cases_problems_answers_customers_and_practice_apart() -> None:
    assert files(SUPPORT) == {
        "cases.md": ["## Current cases", "## Next steps", "## Dates", "## Open questions"],
        "knownIssues.md": ["## Issues", "## Milestones"],
        "answers.md": ["## How it behaves", "## Frequent questions"],
        "customers.md": ["## Accounts", "## Agreements"],
        "practice.md": ["## Purpose", "## Ways of working", "## People", "## Decisions", "## Lessons learned"],
    }


@each("rules", [template(name) for name in TEMPLATES], ids=TEMPLATES)
def test_the_templates_are_short_and_describe_each_section(rules: str) -> None:
    assert len(rules.encode()) < 4_000
    sections = [section for spec in read_layout(rules) for section in spec.sections]
    assert all(len(section.description.split()) > 2 for section in sections)


@each(
    ("rules", "layout"),
    [
        pytest.param("Write briefly.", {"notes.md": []}, id="no file named"),
        pytest.param("", {"notes.md": []}, id="empty"),
        pytest.param("Keep `a.md` and b.md up to date.", {"a.md": [], "b.md": []}, id="in a sentence"),
        pytest.param("Never touch README.md. Keep todo.md.", {"todo.md": []}, id="forbidden file"),
        pytest.param("- `a.md`: no more than ten lines", {"a.md": []}, id="negation behind the name"),
        pytest.param("- a.md must not be changed\n- b.md", {"b.md": []}, id="untouchable"),
        pytest.param("See https://example.org/guide.md for more.", {"notes.md": []}, id="link"),
        pytest.param("- `<name>.md` per person\n- `*.md`", {"notes.md": []}, id="placeholder"),
        pytest.param("- `log/YYYY-MM-DD.md`: a day\n- a.md", {"a.md": []}, id="a file for each day"),
        pytest.param("- `bank/a.md`: x\n- `MEMORY_BANK/sub/b.md`: y", {"a.md": [], "sub/b.md": []}, id="prefixes"),
        pytest.param("- `../a.md`\n- `_b.md`\n- `c.md`", {"c.md": []}, id="paths that no bank file may have"),
        pytest.param("1. 01-brief.md\n2. 02-log.md", {"01-brief.md": [], "02-log.md": []}, id="numbered"),
        pytest.param("```\nbank/\n├── a.md  # facts\n└── sub/b.md\n```", {"a.md": [], "sub/b.md": []}, id="tree"),
        pytest.param("### a.md\n- `## X`: facts\n- `### Y`", {"a.md": ["## X", "### Y"]}, id="exact headings"),
        pytest.param("### a.md\n\nHas `## X`, then `## Y`.", {"a.md": ["## X", "## Y"]}, id="headings in a sentence"),
        pytest.param(
            "# a.md\n```\n# Title\n## X\nfacts\n## Y\n```", {"a.md": ["## X", "## Y"]}, id="skeleton in a fence"
        ),
        pytest.param("## a.md\n### X\n#### Y\n### Z\n", {"a.md": ["## X", "### Y", "## Z"]}, id="sub-headings"),
        pytest.param("## a.md\n- **X**: facts\n- keep: short\n", {"a.md": ["## X"]}, id="bold before plain"),
        pytest.param(
            "- a.md\n  - X\n  - Y - facts\n- b.md\n", {"a.md": ["## X", "## Y"], "b.md": []}, id="nested items"
        ),
        pytest.param(
            "`a.md`: what holds\n\n- X\n- Y\n\n`b.md`: more", {"a.md": ["## X", "## Y"], "b.md": []}, id="lines"
        ),
        pytest.param("## a.md\n- `## 2026-01-31`: a day", {"a.md": ["## 2026-01-31*"]}, id="day by example"),
        pytest.param("## a.md\n- `###`\n- `## ?!`\n- `## X`", {"a.md": ["## X"]}, id="headings without words"),
    ],
)
def test_files_and_sections_are_read_from(rules: str, layout: dict[str, list[str]]) -> None:
    assert files(rules) == layout


def test_a_section_is_described_by_the_first_sentence_behind_it() -> None:
    spec = only("## a.md\nWhat we know.\n\n- `## Facts`: what was seen. Remove old ones.\n")
    assert spec.description == "What we know."
    assert spec.sections[0].description == "what was seen."


@each(
    ("rules", "title"),
    [
        ("- activeContext.md", "Active context"),
        ("- sub/open-questions.md", "Open questions"),
        ("- TODO.md", "TODO"),
        ("## a.md: All that we know", "All that we know"),
        ("## a.md\n- `# Facts`\n- `## X`", "Facts"),
    ],
)
def test_a_file_is_titled_by_the_rules_or_by_its_name(rules: str, title: str) -> None:
    assert only(rules).title == title


def test_leaves_are_the_innermost_sections_with_the_headings_around_them() -> None:
    spec = only("## a.md\n- `## A`\n- `### X`\n- `### Y`\n- `## B`\n")
    assert [[part.text for part in path] for path in spec.leaves] == [["A", "X"], ["A", "Y"], ["B"]]
