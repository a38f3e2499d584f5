"""Marks of lines of another branch: they go where the branch here has the commit, and name the branch alone else."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_memory.cli import branch_marks, gone_paths
from live_memory.cli.gone_paths import marked
from live_memory.cli.init.hooks import prompts
from live_memory.cli.init.hooks.running import Hook
from live_memory.cli.repository import ask_until
from local.front.httpd import answer_json
from tests.support.cases import each
from tests.unit.cli.init.hooks.support import FakeMemory
from tests.unit.cli.mcp.test_stdio import CALL, Upstreams, passed
from tests.unit.cli.test_repository import cloned, git

LINE = "- 2026-03-01 ann: the parser reads in one pass. (on feature/x{})\n"


class Place:
    """A repository with a commit on `feature/x` beside `main`."""

    def __init__(self, folder: Path) -> None:
        self.folder = cloned(folder, "git@forge.example.org:ferry/timetable.git")
        git(folder, "symbolic-ref", "HEAD", "refs/heads/main")
        git(folder, "commit", "-q", "--allow-empty", "-m", "one")
        git(folder, "checkout", "-qb", "feature/x")
        git(folder, "commit", "-q", "--allow-empty", "-m", "two")
        git(folder, "checkout", "-q", "main")

    def commit(self, branch: str) -> str:
        return (self.folder / f".git/refs/heads/{branch}").read_text()[:12]

    @property
    def line(self) -> str:
        return LINE.format(f" as of {self.commit('feature/x')}")


@pytest.fixture
def place(tmp_path, monkeypatch) -> Place:
    # A machine under load needs longer than an agent waits.
    monkeypatch.setattr(gone_paths, "SECONDS", 20)
    return Place(tmp_path / "here")


def test_a_mark_names_the_branch_until_it_is_merged(place):
    before = marked(place.line, place.folder)
    git(place.folder, "merge", "-q", "--no-ff", "-m", "merge", "feature/x")

    assert before == LINE.format("")
    assert marked(place.line, place.folder) == LINE.format("").replace(" (on feature/x)", "")


def test_what_can_not_be_checked_names_its_branch(place, tmp_path, monkeypatch):
    merged = LINE.format(f" as of {place.commit('main')}")
    assert "(on" not in marked(merged, place.folder)
    for line, folder in (
        (LINE.format(" as of 0123456789ab"), place.folder),
        (LINE.format(""), place.folder),
        (merged, tmp_path),
        (merged, cloned(tmp_path / "new", "x")),
    ):
        assert marked(line, folder) == LINE.format("")
    monkeypatch.setattr(gone_paths, "SECONDS", 0.0)
    assert marked(merged, place.folder) == LINE.format("")


def test_many_commits_are_looked_up_by_two_questions(place, monkeypatch):
    asked = []
    monkeypatch.setattr(gone_paths, "ask_until", lambda *of: asked.append(of) or ask_until(*of))
    lines = [LINE.format(f" as of {number:012x}") for number in range(300)]

    told = marked("".join([LINE.format(f" as of {place.commit('main')}"), *lines]), place.folder)

    assert told.count("(on feature/x)") == 300
    assert len(asked) == 2
    assert max(map(len, asked)) <= 210


@each(
    "text",
    [
        " (on x as of 0123456789zz)",
        " (on a b as of 0123456789ab)",
        "(on x as of 0123456789ab)",
        "deployed on prod (on prod@0123456789ab) is fine",
        " (on )",
        " (on `x`)",
        " (on x",
    ],
)
def test_what_is_no_mark_stays(text, place):
    assert marked(text, place.folder) == text


@given(st.text(alphabet="()on sax/0123456789bcdef\n", max_size=200))
def test_only_marks_change(text):
    told = marked(text, Path("/"))
    assert told == text or branch_marks.MARK.search(text)


def test_a_line_for_a_prompt_that_is_cut_keeps_its_mark(place):
    item = {
        "time": "2026-03-01",
        "id": "notes/n",
        "text": f"{'The parser reads. ' * 20}(on feature/x as of 0123456789ab)",
    }
    (line,) = prompts.lines([item] * 1)

    assert line.endswith(" (on feature/x as of 0123456789ab) (notes/n)")
    for count in range(2, 6):
        assert all(len(one) <= prompts.CHARS // count for one in prompts.lines([item] * count))


def test_agents_get_it_over_mcp_at_their_start_and_at_a_prompt(place, serve, tmp_path):
    def answer(request):
        parts = [{"type": "text", "text": place.line}]
        return answer_json(200, {"jsonrpc": "2.0", "id": json.loads(request.body)["id"], "result": {"content": parts}})

    read = {"name": "read", "arguments": {}}
    told = passed(Upstreams(serve(answer)), {**CALL, "params": read}, folder=place.folder)
    assert told[0]["result"]["content"][0]["text"] == LINE.format("")

    memory = FakeMemory()
    memory.call = lambda *_: {"markdown": place.line, "items": [{"time": "2026-03-01", "id": "n", "text": place.line}]}
    hook = Hook(lambda _: memory, tmp_path / "state", print, place=place.folder)
    asked = {"session_id": "s", "cwd": str(place.folder), "prompt": "How does the parser read the timetable?"}
    for event, session in (("SessionStart", "s"), ("UserPromptSubmit", "t")):
        shown = hook.run("claude-code", event, "demo", json.dumps({**asked, "session_id": session}))
        assert "(on feature/x)" in shown
