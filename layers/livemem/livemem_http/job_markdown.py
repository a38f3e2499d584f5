"""Jobs as Markdown, ready for a prompt: a plan as diffs, an answer with its sources."""

import json

from livemem.text.items import joined, within_item
from livemem_http.markdown import fenced, what_changes
from livemem_http.views.ask import QuestionResult
from livemem_http.views.jobs import ConsolidationResult, JobView, PlanDetail
from livemem_http.views.runs import RunState


def job(answer: JobView) -> str:
    """A job and its result."""
    facts = [f"- job: {answer.job}", f"- status: {answer.status}"]
    facts += [f"- error: {answer.error.code}: {within_item(answer.error.detail)}"] if answer.error else []
    return joined("\n".join(facts), *_result(answer))


def folding(answer: RunState) -> str:
    """A run that begins, or what an agent is to answer. The prompt says in which form."""
    facts = [f"- job: {answer.job}", f"- status: {answer.status}"]
    facts += [f"- {within_item(answer.detail)}"] if answer.detail else []
    facts += [f"- answer until: {answer.until}"] if answer.until else []
    return joined("\n".join(facts), answer.prompt or "")


def _result(answer: JobView) -> list[str]:
    result = answer.result
    if isinstance(result, ConsolidationResult) and result.pending_plan:
        return _plan(result, result.pending_plan)
    if isinstance(result, QuestionResult) and result.message:
        sources = [f"- [{source.kind} {source.id}] {within_item(source.excerpt)}" for source in result.sources or ()]
        return [result.message, "Sources:" if sources else "", "\n".join(sources)]
    if result is None:
        return []
    return [fenced(json.dumps(result.model_dump(mode="json", exclude={"kind"}), ensure_ascii=False, indent=1), "json")]


def _plan(run: ConsolidationResult, plan: PlanDetail) -> list[str]:
    facts = [
        f"- plan_revision: {plan.plan_revision}",
        f"- waits since: {plan.planned_at}",
        f"- trigger: {run.trigger}",
    ]
    facts += ["- it is outdated: an approval makes another plan"] if plan.outdated else []
    facts += [f"- warning: {within_item(warning.text)}" for warning in plan.warnings]
    return ["# A plan that waits for approval", "\n".join(facts), *what_changes(plan)]
