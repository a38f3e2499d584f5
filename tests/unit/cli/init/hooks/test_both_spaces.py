"""What hooks give of a personal space beside the project's, and what they do where it fails."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from live_memory import LiveMemoryError
from live_memory.cli import own_files
from live_memory.cli.given_lines import GivenLines, statement
from live_memory.cli.init.accepted import Accepted
from live_memory.cli.init.hooks.away import Away
from tests.unit.cli.init.hooks.support import FakeMemory, Machine
from tests.unit.cli.init.hooks.test_prompts import item

PROMPT = "Which store do we keep for the turns?"
OWN = "# Memory of `ann`\n\n## New notes\n- [2026-11-22T10:00 ann decision] I like short names in all my code.\n"


@dataclass
class Memories(FakeMemory):
    """The project `demo`, and `ann`, which may fail or hang."""

    own: Any = OWN
    items: list[Any] = field(default_factory=lambda: [item(f"Project fact {at} of the store.", at) for at in range(4)])
    asked: list[tuple[str, str]] = field(default_factory=list)
    hangs: threading.Event | None = None
    chars: list[int] = field(default_factory=list)

    def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        space = str(arguments["space_id"])
        self.asked.append((space, name))
        if space == "ann":
            if self.hangs:
                self.hangs.wait(30)
            if isinstance(self.own, Exception):
                raise self.own
            return {"markdown": self.own, "items": [item(f"Own habit {at} with stores.", at) for at in range(4)]}
        if name == "load_context":
            return {"items": self.items}
        if name == "get_start":
            self.chars.append(arguments["max_chars"])
            return {"markdown": self.start}
        return super().call(name, arguments)


@dataclass
class Beside(Machine):
    memory: Memories = field(default_factory=Memories)
    personal: str | None = "ann"

    def given(self, event: str, session: str = "s1") -> str:
        told = self.hook("claude-code", event, session_id=session, prompt=PROMPT)
        return str(told.get("hookSpecificOutput", {}).get("additionalContext", ""))


@pytest.fixture
def beside(tmp_path):
    return Beside(tmp_path)


def test_a_start_asks_each_space_once(beside):
    assert beside.given("SessionStart").endswith(
        "## New notes\n- [2026-11-22T10:00 ann decision] I like short names in all my code.\n"
    )
    assert sorted(beside.memory.asked) == [("ann", "get_start"), ("demo", "get_start")]
    assert beside.memory.chars == [7_600]


@pytest.mark.parametrize(
    "problem",
    [
        LiveMemoryError("forbidden", "The token may not use this space.", status=403),
        LiveMemoryError("no_answer", "No answer."),
        OSError("broken"),
    ],
)
def test_a_personal_space_that_fails_costs_the_start_one_line(beside, problem):
    beside.memory.own = problem
    given = beside.given("SessionStart")
    assert "S3 is the only store." in given
    assert given.count("The personal space `ann` is left out") == 1
    assert "Project fact 0" in beside.given("UserPromptSubmit")


def test_a_personal_space_that_hangs_costs_the_start_one_line_and_a_prompt_nothing_and_is_left_alone(beside):
    beside.away = Away(beside.folder / "away.prompts", near=True)
    beside.memory.hangs = threading.Event()
    assert "The personal space `ann` is left out: It gave no answer in time." in beside.given("SessionStart")
    for session in ("s1", "s2"):
        assert "Project fact 0" in beside.given("UserPromptSubmit", session)
    beside.memory.hangs.set()
    assert beside.memory.asked.count(("ann", "load_context")) == 1
    assert beside.away.seconds_left() == 0


def test_a_start_that_would_have_been_longer_is_asked_for_once_more_without_a_personal_space(beside):
    beside.memory.start = "# Memory\n" + "- A fact of the project.\n" * 250
    beside.memory.own = LiveMemoryError("space_not_found", "There is none.", status=404)
    beside.given("SessionStart")
    assert beside.memory.chars == [7_600, 9_500]


def test_of_both_five_lines_are_told_to_a_prompt_and_on_the_same_rank_the_project_s_first(beside):
    told = beside.given("UserPromptSubmit")
    lines = [line.partition(" (notes")[0] for line in told.splitlines() if line.startswith("- ")]
    assert [line.removeprefix("- 2026-02-20 ") for line in lines] == [
        "Project fact 0 of the store.",
        "personal Own habit 0 with stores.",
        "Project fact 1 of the store.",
        "personal Own habit 1 with stores.",
        "Project fact 2 of the store.",
    ]
    assert len(told) <= 1_200


def test_what_the_project_says_too_is_not_told_of_the_personal_space(beside):
    beside.memory.items = [item("Own habit 1 with stores.")]
    assert "personal Own habit 1" not in beside.given("UserPromptSubmit")


def test_no_personal_line_is_given_that_can_t_be_noted_as_given(beside, monkeypatch):
    def full(*_: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(own_files, "append", full)
    start, told = beside.given("SessionStart"), beside.given("UserPromptSubmit")
    assert "S3 is the only store." in start
    assert "Project fact 0" in told
    assert "short names" not in start
    assert "Own habit" not in told


def test_two_sessions_at_once_lose_no_line_that_was_given(tmp_path):
    given = GivenLines.of(tmp_path, "demo")
    threads = [
        threading.Thread(target=lambda at=at: given.add([f"I always take way number {at} home."])) for at in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(given.cutter()(f"So: I always take way number {at} home!") == "So: [personal]!" for at in range(8))


def test_only_whole_sentences_of_given_lines_are_cut_and_the_oldest_lines_are_forgotten(tmp_path, monkeypatch):
    given = GivenLines.of(tmp_path, "demo")
    given.add(["I like tea. Never call me before nine in the morning! Yes."])
    said = "Yes. I like teatime, never call me  before\nnine in the MORNING."
    assert given.cutter()(said) == "Yes. I like teatime, [personal]."
    monkeypatch.setattr("live_memory.cli.given_lines.MOST_BYTES", 200)
    given.add(f"Another line of number {at} that is long." for at in range(8))
    assert given.cutter()(said) == said


@pytest.mark.parametrize(
    ("line", "said", "left"),
    [
        ("Salary: 90000", "My salary: 90000.", "My [personal]."),
        ("I always use tabs here.", "He said _I always use tabs_ **here**!", "He said _[personal]**!"),
        ("- 我喜欢喝绿茶。不要在九点前打电话。", "好的，我喜欢喝绿茶，好吗？", "好的，[personal]，好吗？"),
        ("コミットは短い文で書く", "はい、コミットは**短い文**で書くね", "はい、[personal]ね"),
        ("I use 日本語 daily", "So I use 日本語 daily.", "So [personal]."),
        ("Yes: no", "Yes: no", "Yes: no"),
        (
            "I snore at night.",
            r'{"a": "x\nI snore at night.\tI snore at\nnight"}',
            r'{"a": "x\n[personal].\t[personal]"}',
        ),
    ],
)
def test_lines_of_any_script_and_within_marks_of_markdown_are_cut(tmp_path, line, said, left):
    given = GivenLines.of(tmp_path, "demo")
    given.add([statement(line)])
    assert given.cutter()(said) == left


def test_a_line_that_comes_while_the_older_half_is_forgotten_is_kept(tmp_path, monkeypatch):
    path, write = tmp_path / "lines", own_files.write
    another = threading.Thread(target=lambda: own_files.append_newest(path, b"new\n", 1_000))

    def write_beside_another(*arguments: Any) -> None:
        another.start()
        another.join(0.2)
        write(*arguments)

    monkeypatch.setattr(own_files, "write", write_beside_another)
    own_files.append_newest(path, b"line\n" * 30, 100)
    another.join()
    assert path.read_bytes() == b"line\n" * 15 + b"new\n"


@pytest.mark.parametrize("damaged", [b"\xff\x00", b"[]", b'{"space": 7, "service": "u"}', b'{"space": "ann"}', b""])
def test_a_record_that_is_damaged_gives_no_personal_space(tmp_path, damaged):
    accepted = Accepted({"LIVEMEM_STATE": str(tmp_path / "state")})
    path = tmp_path / "state" / Accepted.personal_name(None)
    path.parent.mkdir(parents=True)
    path.write_text('{"space": "ann", "service": "u"}')
    assert accepted.personal(tmp_path / "ferry", "u") == "ann"
    assert accepted.personal(tmp_path / "ferry", "another") is None
    path.write_bytes(damaged)
    assert accepted.personal(tmp_path / "ferry", "u") is None


def test_files_of_a_project_that_holds_the_state_folder_give_no_personal_space(tmp_path):
    (tmp_path / ".git").mkdir()
    accepted = Accepted({"LIVEMEM_STATE": str(tmp_path / "state")})
    path = tmp_path / "state" / Accepted.personal_name(None)
    path.parent.mkdir(parents=True)
    path.write_text('{"space": "ann", "service": "u"}')
    assert accepted.personal(tmp_path, "u") is None
