import json
from pathlib import Path
from typing import Any

import pytest

from local.demo.report import Progress, check_notes, show_file, table_of_runs
from local.demo.service import DemoError, running_service
from local.demo.tour import read_notes
from tests.support.cases import each

SENT = {"content": "Text", "category": "todo", "tags": ["a"], "agent": "lead"}
LIVE = SENT | {"status": "live", "consolidation": None}
FOLDED = SENT | {"status": "consolidated", "consolidation": 2}


def check(answer: dict[str, Any], live: list[str], records: dict[int, list[str]]) -> list[str]:
    return check_notes({"n1": SENT}, {"n1": answer}, live, records)


def test_a_note_in_exactly_one_place_is_accounted_for() -> None:
    assert check(LIVE, ["n1"], {1: []}) == []
    assert check(FOLDED, [], {1: [], 2: ["n1"]}) == []


@each(
    ("answer", "live", "records", "problem"),
    [
        (LIVE, [], {}, "n1 is in 0 places of the bucket: none"),
        (FOLDED, ["n1"], {2: ["n1"]}, "n1 is in 2 places of the bucket: consolidation 2, live"),
        (FOLDED, [], {1: ["n1"], 2: ["n1"]}, "n1 is in 2 places of the bucket: consolidation 1, consolidation 2"),
        (FOLDED, [], {2: ["n1", "n1"]}, "n1 is in 2 places of the bucket: consolidation 2, consolidation 2"),
        (FOLDED, [], {1: ["n1"], 2: []}, "n1: the API says consolidation 2, the bucket consolidation 1"),
        (LIVE | {"content": "Other"}, ["n1"], {}, "n1 is not what was posted"),
        (LIVE | {"agent": "other"}, ["n1"], {}, "n1 is not what was posted"),
        (LIVE, ["n1", "n2"], {}, "n2 was never posted"),
    ],
)
def test_a_note_that_is_lost_doubled_changed_or_foreign_is_reported(
    answer: dict[str, Any], live: list[str], records: dict[int, list[str]], problem: str
) -> None:
    assert problem in check(answer, live, records)


def run(number: int, trigger: str, notes: int, **metrics: float) -> dict[str, Any]:
    return {
        "number": number,
        "trigger": trigger,
        "notes_count": notes,
        "files": [{}, {}],
        "metrics": {"duration_seconds": 0.25, **metrics},
    }


def test_the_table_of_runs_has_the_oldest_first_and_totals() -> None:
    runs = [run(2, "api", 5, llm_calls=1), run(1, "threshold", 1_030, llm_prompt_tokens=12_345, llm_calls=1)]
    lines = [line.split() for line in table_of_runs(runs).split("\n")]
    assert lines[2] == ["1", "threshold", "1,030", "0", "2", "0", "1", "12,345", "0", "0.2"]
    assert lines[3][:3] == ["2", "api", "5"]
    assert lines[-1] == ["all", "1,035", "0", "4", "0", "2", "12,345", "0", "0.5"]


def test_a_file_shows_the_first_entries_of_each_section_and_counts_the_rest() -> None:
    content = "# T\n\n## A\n\n" + "\n".join(f"- {n}\n  - below {n}" for n in range(5)) + "\n\n## B\n\n- last\n"
    text = show_file("t.md", content, full=False)
    assert "6 entries" in text
    assert "- 2\n  - below 2\n  … and 2 more\n\n## B\n\n- last" in text
    assert "- 3" not in text
    assert "… and" not in show_file("t.md", content, full=True)


def test_long_entries_are_wrapped_below_their_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    text = show_file("t.md", "- " + "word " * 20, full=True)
    assert text.split("\n")[1:3] == ["- word word word word word word word", "  word word word word word word word"]


def test_progress_without_a_terminal_prints_plain_lines_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress(every=2)
    for number in range(1, 6):
        progress.show(f"at {number}")
    progress.tell("done")
    assert capsys.readouterr().out == "  at 2\n  at 4\ndone\n"


def test_notes_are_read_oldest_first(tmp_path: Path) -> None:
    rows = [
        {"timestamp": f"2026-11-2{day}T00:00:00Z", "agent": "lead", "category": "todo", "content": "\u2028"}
        for day in (2, 1)
    ]
    file = tmp_path / "notes.jsonl"
    file.write_text("\n\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n", "utf-8")
    assert read_notes(file) == rows[::-1]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{}", "line 1, needs the texts"),
        ('\n{"', "line 2, is not JSON"),
        ("[]", "line 1, needs"),
        (None, "cannot be read"),
    ],
)
def test_a_line_that_is_no_note_is_named(tmp_path: Path, text: str | None, problem: str) -> None:
    file = tmp_path / "notes.jsonl"
    if text is not None:
        file.write_text(text, "utf-8")
    with pytest.raises(DemoError, match=problem):
        read_notes(file)


def test_a_folder_that_no_demo_made_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "precious.txt").write_text("mine", "utf-8")
    with pytest.raises(DemoError, match="not from a demo"), running_service(tmp_path):
        pass
    assert (tmp_path / "precious.txt").read_text("utf-8") == "mine"
