"""A run as an answer: one run has the rules that it tried, a page of runs does not."""

from livemem.jobs.run import Run
from livemem_http.views.runs import RunView

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
    assert (RunView.of(RUN).rules, RunView.of(RUN, listed=True).rules) == ("Keep two logs.", None)
    assert RunView.of(RUN, listed=True).notes_of == 3
