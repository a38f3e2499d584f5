"""A run as the result of a job: its own answer has the rules that it tried, a page of jobs does not."""

from livemem.changes.run_progress import RunResult
from livemem.jobs.run import Run
from livemem_http.views.jobs import ConsolidationResult

RUN = Run(
    job_id="01KHXE5Q2V8R0M4T6W9YBNCD3F",
    space_id="demo",
    uid="u",
    trigger="api",
    dry_run=True,
    rules="Keep two logs.",
    notes_of=3,
    created_at="2026-02-20T14:00:00.000Z",
)


def test_the_rules_that_a_dry_run_tried_are_in_its_own_answer_alone():
    whole, listed = (ConsolidationResult.of(RunResult(RUN, whole=whole)) for whole in (True, False))

    assert (whole.rules, listed.rules) == ("Keep two logs.", None)
    assert (whole.notes_of, listed.notes_of) == (3, 3)
