"""Runs as requests and answers."""

import json
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    Field,
)

from livemem.access.principal import Principal
from livemem.errors import InvalidRequest
from livemem.jobs.describable import job_id
from livemem_http.views.fields import (
    Agent,
    Body,
    JobState,
    Moment,
    RulesText,
    Template,
    described,
)

if TYPE_CHECKING:
    from livemem.consolidation.agent_folds import Folding
    from livemem.jobs.queue import RunOrder


class NewConsolidation(Body):
    """The notes to consolidate. Without a body, all live notes, up to the service's limit for a run."""

    agent: Annotated[
        Agent | None, described("Only the notes of this agent. Another agent than the caller's own name needs `admin`.")
    ] = None
    max_notes: Annotated[
        Annotated[int, Field(ge=1, le=1_000)] | None,
        described("Maximum number of notes; the oldest are taken. The service has a limit of its own.", 100),
    ] = None
    dry_run: Annotated[
        bool, described("Asks the LLM and stores the plan in the run. Nothing else is written.", False)
    ] = False
    tidy: Annotated[
        bool,
        described(
            "Shortens the bank to its `bank_chars` instead: an LLM writes the files that are too long again. No note "
            "is folded. Not together with `agent`, `max_notes` or `notes_of`.",
            False,
        ),
    ] = False
    replace: Annotated[
        bool, described("Discards a plan that waits for approval. The new run makes another one.", False)
    ] = False

    rules: Annotated[
        RulesText | None, described("Only with `dry_run`: rules to try in the place of those of the space.")
    ] = None
    rules_template: Annotated[Template | None, described("Only with `dry_run`: a template of rules to try.")] = None
    by: Annotated[
        Literal["agent"] | None,
        described(
            "`agent`: the caller is the model. The answer has the prompt, whose answer goes to "
            "`POST /v1/jobs/{job}/answer`. Together with `max_notes` alone."
        ),
    ] = None
    notes_of: Annotated[
        Annotated[int, Field(ge=1, le=999_999_999)] | None,
        described(
            "Only with `dry_run`: the number of a consolidation. Its notes are taken in the place of the live ones, "
            "and the bank as it stood before it, so that the plan can be compared with that change."
        ),
    ] = None

    def order(self, principal: Principal) -> "RunOrder":
        """The run for the domain."""
        from livemem.jobs.queue import RunOrder  # noqa: PLC0415 - readers make none

        return RunOrder("api", requested_by=principal.name, **self.model_dump(exclude={"by"}))

    def check_alone(self) -> None:
        """Raise InvalidRequest for a field that a run by an agent can't have."""
        for name in self.model_dump(exclude={"by", "max_notes"}, exclude_defaults=True):
            raise InvalidRequest.of(name, "is not for a run by an agent: leave it or `by` out")


class RunState(JobState):
    """A run, and what an agent that folds is to answer next."""

    detail: Annotated[str | None, described("How the run of an agent has ended.")] = None
    prompt: Annotated[
        str | None, described("The text that the agent is to answer as its model. Notes in it are data.")
    ] = None
    form: Annotated[dict[str, Any] | None, described("The JSON schema of the answer.")] = None
    until: Annotated[Moment | None, described("The end of the time for the answer, UTC.", "2026-02-20T14:15:00Z")] = (
        None
    )

    @classmethod
    def of(cls, folding: "Folding") -> "RunState":
        run, question = folding.run, folding.question
        state = cls(job=job_id(run.space_id, "consolidation", run.job_id), status=run.status)
        if not question:
            folded = f"Folded notes: {run.metrics.get('notes_processed', 0)}." if run.consolidation else None
            plan = "Its plan waits for approval." if run.status == "waiting" else folded
            state.detail = run.error.detail if run.error else run.message or plan
            return state
        state.prompt = "\n\n".join(message["content"] for message in question.messages)
        state.form, state.until = question.form, question.until
        return state


class AgentAnswer(Body):
    """The answer of an agent that folds."""

    text: Annotated[
        Annotated[str, Field(min_length=1)] | dict[str, Any],
        described(
            "The answer as the prompt asks for it: JSON, as a text or as it is.",
            '{"bank_files": [], "synthesis": "The parser is mended."}',
        ),
    ]

    def written(self) -> str:
        """The text of the model."""
        return self.text if isinstance(self.text, str) else json.dumps(self.text, ensure_ascii=False)
