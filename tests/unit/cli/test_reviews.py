"""Plans that wait for a person: nobody approves what he has not seen."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self, cast

import pytest
from typer.testing import CliRunner

from live_memory.cli.main import app
from tests.support.cli_harness import CliHarness, run

JOB = "demo.consolidation.01KHXE5Q2V8R0M4T6W9YBNCD3F"
PLAN = {
    "plan_revision": "9f2c",
    "planned_at": "2026-02-20T14:05:00Z",
    "outdated": False,
    "sources": [{}, {}],
    "changes": [{"path": "a.md", "action": "created", "diff": "--- x\n+y\n"}],
    "synthesis": {"before": None, "after": "All."},
    "warnings": [{"kind": "long_synthesis", "text": "The synthesis is long."}],
}


@dataclass
class Reviewed:
    """A client of which the answers are told, whatever the table of operations holds."""

    answers: Mapping[str, Any]
    asked: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def call(self, name: str, arguments: Mapping[str, Any], *, idempotency_key: str | None = None) -> Any:
        self.asked.append((name, arguments))
        return self.answers[name]


@pytest.fixture
def client() -> Reviewed:
    answers = {
        "get_space": {"pending_plan": {"job": JOB}},
        "get_job": run("waiting", code="awaiting_approval", pending_plan=PLAN),
        "approve_plan": {"number": 4},
        "refuse_plan": {"job": JOB, "status": "cancelled"},
    }
    return Reviewed(answers)


def say(desk: CliHarness, client: Reviewed, *arguments: str, stdin: str = "") -> tuple[int, str, str]:
    program = replace(desk.program(), connect=cast("Any", lambda url, token: client))
    done = CliRunner().invoke(app, ["review", *arguments], obj=program, input=stdin)
    return done.exit_code, done.stdout, done.stderr


def test_the_plan_that_waits_is_shown_with_its_revision(desk: CliHarness, client: Reviewed):
    code, out, err = say(desk, client, "show")
    assert code == 0
    assert "created a.md" in out
    assert "+y" in out
    assert "Warning: The synthesis is long." in out
    assert "--revision 9f2c" in err


def test_a_plan_is_approved_by_its_revision(desk: CliHarness, client: Reviewed):
    code, out, _ = say(desk, client, "approve", JOB, "--revision", "9f2c")
    assert (code, out) == (0, "Change 4 is committed. To undo it: livemem undo 4.\n")
    assert client.asked == [("approve_plan", {"space_id": "demo", "job": JOB, "plan_revision": "9f2c"})]


def test_who_names_no_revision_is_shown_the_plan_and_asked(desk: CliHarness, client: Reviewed):
    desk.terminal = True
    desk.environ["NO_COLOR"] = "1"
    code, out, _ = say(desk, client, "approve", stdin="n\n")
    assert code == 1
    assert "created a.md" in out
    assert "approve_plan" not in dict(client.asked)

    assert say(desk, client, "approve", stdin="y\n")[0] == 0
    assert client.asked[-1][1]["plan_revision"] == "9f2c"


def test_without_a_terminal_the_revision_must_be_named(desk: CliHarness, client: Reviewed):
    assert say(desk, client, "approve")[0] == 2
    desk.terminal = True
    assert say(desk, client, "approve", "--json")[0] == 2
    assert "approve_plan" not in dict(client.asked)


def test_a_plan_is_refused_with_its_reason(desk: CliHarness, client: Reviewed):
    assert say(desk, client, "refuse", "--reason", "No.", "-y")[0] == 0
    assert client.asked[-1] == ("refuse_plan", {"space_id": "demo", "job": JOB, "reason": "No."})
    assert say(desk, client, "refuse")[0] == 2


@pytest.mark.parametrize("command", ["list", "show", "approve", "refuse"])
def test_where_no_plan_waits_there_is_nothing_to_do(desk: CliHarness, client: Reviewed, command: str):
    client.answers = {"get_space": {"pending_plan": None}}
    assert say(desk, client, command)[0] == 7


def test_the_plan_that_waits_is_found_behind_any_number_of_dry_runs(desk: CliHarness, client: Reviewed):
    code, out, _ = say(desk, client, "list")
    assert (code, out.split()[0]) == (0, JOB)
    assert client.asked == [("get_space", {"space_id": "demo"}), ("get_job", {"job": JOB})]
