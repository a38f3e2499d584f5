"""The answers of tools about runs and questions: the result, or that the work continues and the handle to ask with."""

from typing import Any

from pydantic import BaseModel

from livemem.ask import question as questions
from livemem.ask.question import Question
from livemem.changes import run_progress
from livemem.jobs.run import Run
from livemem.recall.short_ids import MEMORIES, NOTES, short_id, tells_day
from livemem.store.keys import MEMORY_KINDS
from livemem.text.items import joined
from livemem_http.views.ask import QuestionResult, SourceView
from livemem_http.views.jobs import JobView
from livemem_mcp.tool import ToolAnswer

GOING_ON = ("queued", "running")
"""The states of a run that has no result yet."""
LATER = "Call consolidate again later. If it fails again, tell the user."
BY_SEARCH = "Look it up with search, or ask again later."
FOLDERS = {"note": NOTES, "archive": NOTES, "bank": "bank/"} | dict.fromkeys(map(str, MEMORY_KINDS), MEMORIES)
"""By the kind of a source what its id begins with, for the tool `read`."""
METRICS = (
    *("notes_processed", "notes_remaining", "notes_discarded", "bank_files_created", "bank_files_updated"),
    *("edits_applied", "llm_tokens_used"),
)


def as_json(view: BaseModel) -> dict[str, Any]:
    """A view as the API answers it."""
    return view.model_dump(mode="json")


def of_run(run: Run) -> ToolAnswer:
    """The state of a run."""
    view = JobView.of(run_progress.of_run(run))
    if run.status in GOING_ON:
        return _going_on(f"The run is {run.status}.", view)
    return ToolAnswer(_ended(view, run), as_json(view), failed=run.status == "failed")


def _ended(view: JobView, run: Run) -> str:
    if view.error:
        return f"The run failed ({view.error.code}): {view.error.detail} {LATER} All notes are still there.\n"
    if run.status == "waiting":
        return f"The plan of the job {view.job} waits until somebody approves it. Its notes are live until then.\n"
    if run.code:
        return f"The run ended as {run.code}. {run.message or ''}".rstrip() + "\n"
    told = ", ".join(f"{name.replace('_', ' ')} {run.metrics[name]}" for name in METRICS if run.metrics.get(name))
    return f"Consolidation {run.consolidation} is done: {told}.\n"


def of_question(asked: Question) -> ToolAnswer:
    """The state of a question."""
    view = JobView.of(questions.of_question(asked))
    if not asked.ended():
        return _going_on(f"The question is {view.status}.", view)
    if view.error:
        return ToolAnswer(
            f"No answer ({view.error.code}): {view.error.detail} {BY_SEARCH}\n", as_json(view), failed=True
        )
    answer = QuestionResult.of(asked)
    sources = "\n".join(map(_source, answer.sources or ()))
    return ToolAnswer(joined(answer.message or "", "Sources:" if sources else "", sources), as_json(view))


def _source(source: SourceView) -> str:
    name = short_id(f"{FOLDERS.get(source.kind, '')}{source.id}", archived=source.kind == "archive")
    day = (source.at or "")[: len("2026-02-20")]
    return f"- [{name}{f' {day}' if day and not tells_day(name, day) else ''}] {source.excerpt}"


def _going_on(how: str, view: JobView) -> ToolAnswer:
    data = {**as_json(view), "handle": view.job}
    return ToolAnswer(f"{how} It continues; call `poll` with handle `{view.job}`.\n", data)
