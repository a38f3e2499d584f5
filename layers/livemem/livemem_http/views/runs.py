"""Runs as requests and answers."""

from typing import TYPE_CHECKING, Annotated

from pydantic import (
    Field,
)

from livemem.access.principal import Principal
from livemem_http.views.fields import (
    Agent,
    Body,
    RulesText,
    Template,
    described,
)

if TYPE_CHECKING:
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

        return RunOrder("api", requested_by=principal.name, **self.model_dump())
