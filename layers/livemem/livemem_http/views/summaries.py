"""Summaries of conversations, and the jobs that make them, as requests and answers."""

from typing import Annotated, Any, Literal

from pydantic import Field

from livemem.conversations import orders, reading, summaries_job
from livemem.conversations.orders import Forecast, Plan
from livemem.conversations.parameters import Profile
from livemem.conversations.summaries import ENTITIES, Summary
from livemem.jobs.describable import job_id
from livemem.store import keys
from livemem_http.views.conversations import Tunables
from livemem_http.views.fields import Gapped, Moment, View, described, job_described

Level = Annotated[
    int, described("The level. 1: summaries of turns. 2 and 3: summaries of summaries of the level below.", 1)
]


class SummariesUpdate(Tunables):
    """The update of summaries to make. `profile` and the parameters are allowed only with `full`."""

    strategy: Annotated[
        Literal["incremental", "full"],
        described(
            "`incremental`: makes the missing summaries. `full`: makes all again with other parameters, as a "
            "new summary version, which is used once it is complete.",
            "incremental",
        ),
    ] = "incremental"
    level: Annotated[
        Annotated[int, Field(ge=1, le=3)] | None,
        described("Only for an incremental update: the highest level to update. Default: all levels."),
    ] = None
    number: Annotated[
        Annotated[int, Field(ge=1, le=keys.LAST_SUMMARY)] | None,
        described("With `level`: only the summary with this number is made again, then those above it (admin)."),
    ] = None
    dry_run: Annotated[bool, described("Returns the plan and its cost. Nothing is written.", False)] = False
    profile: Annotated[Profile | None, described("The new profile. Default: the present profile.")] = None

    def wish(self) -> orders.Wish:
        """The update for the domain."""
        return orders.Wish(self.strategy, self.level, self.number, self.dry_run, self.profile, self.changes())


class CoversView(View):
    """The turns or summaries that a summary covers."""

    turns: Annotated[
        tuple[int, int], described("The first and the last turn. Either may be covered only in part.", [1, 3])
    ]


class WrittenForView(View):
    """A speaker in whose name another token wrote."""

    token: Annotated[str, described("The name of the token.", "cline-dev")]
    speaker: Annotated[str, described("The speaker.", "Ines")]


class SummaryView(View):
    """A block of turns or a group of summaries whose end is fixed, with its summary. Fields that do not apply or are
    empty are left out.
    """

    level: Level
    number: Annotated[int, described("The number of the summary on its level, from 1.", 2)]
    state: Annotated[Literal["sealed", "pending"], described("`pending`: the summary is not made yet.", "sealed")]
    covers: Annotated[CoversView, job_described, described("The turns that the summary covers.")]
    children: Annotated[
        tuple[int, int] | None, described("From level 2 on: the first and the last summary of the level below.")
    ] = None
    range_start: Annotated[
        Moment, described("The time when the first of its turns was written, UTC.", "2026-02-20T14:00:00.120Z")
    ]
    range_end: Annotated[
        Moment, described("The time when the last of its turns was written, UTC.", "2026-02-20T14:05:00.010Z")
    ]
    source_chars: Annotated[int, described("Number of characters that the summary covers.", 840)]
    summary: Annotated[
        str | None,
        described("The text of the summary.", "Ines asked why the import fails at night: port Kiel answers 503 then."),
    ] = None
    key_findings: Annotated[
        list[str] | None, described("Facts that must not be lost.", ["Port Kiel answers 503 between 2 and 3 a.m."])
    ] = None
    files_mentioned: Annotated[
        list[str] | None, described("The files named in messages, or used by tools.", ["src/import/kiel.py"])
    ] = None
    topics: Annotated[list[str] | None, described("The subjects of the turns.", ["timetable import"])] = None
    entities: Annotated[
        dict[str, list[str]] | None, described("The names that the turns mention, by kind.", {"places": ["Kiel"]})
    ] = None
    signals: Annotated[list[str] | None, described("Hints on how to work with this user.")] = None
    written_for: Annotated[
        list[WrittenForView] | None,
        described(
            "The speakers of its turns whose words another token than their own wrote, up to 20. Such a summary, and "
            "its signals, may say what they never said."
        ),
    ] = None
    notes: Annotated[
        list[str] | None,
        described(
            "The ids of the notes that were captured from these turns.", ["20260220T140500_ann_decision_0a1b2c3d"]
        ),
    ] = None
    tools_used: Annotated[list[str] | None, described("The names of the tools that were called.", ["read_file"])] = None
    generated_at: Annotated[
        Moment | None, described("The time when the summary was made, UTC.", "2026-02-20T14:05:04.500Z")
    ] = None
    model: Annotated[str | None, described("The model that made the summary.", "qwen3-2507:235b")] = None
    redo: Annotated[
        int | None, described("How many times the summary was made again by hand. Absent if it was not.")
    ] = None
    flaws: Annotated[list[str] | None, described("Deviations from the request: `too_long`, `language`.")] = None

    @classmethod
    def of(cls, item: reading.Item) -> "SummaryView":
        return cls(
            level=item.level,
            number=item.number,
            state="sealed" if item.summary else "pending",
            covers=CoversView(turns=item.covers),
            children=item.children,
            range_start=item.range_start,
            range_end=item.range_end,
            source_chars=item.chars,
            **(_made(item.summary) if item.summary else {}),
        )


def _made(summary: Summary) -> dict[str, Any]:
    lists = ("key_findings", "files_mentioned", "topics", "signals", "notes", "tools_used", "flaws")
    entities = {name: found for name in ENTITIES if (found := getattr(summary.entities, name))}
    return {
        **{name: getattr(summary, name) or None for name in lists},
        "written_for": [WrittenForView(token=token, speaker=name) for token, name in summary.written_for] or None,
        "entities": entities or None,
        "summary": summary.summary,
        "generated_at": summary.generated_at,
        "model": summary.model,
        "redo": summary.redo or None,
    }


class SummaryPage(Gapped):
    """A page of summaries: the highest level first, of each level the newest first."""

    items: Annotated[list[SummaryView], described("The summaries.")]


class LevelPlan(View):
    """The work that would be done on a level."""

    level: Level
    boundaries: Annotated[int, described("Number of new blocks or groups.", 2)]
    calls: Annotated[int, described("Number of LLM calls, if each first answer can be used.", 2)]
    reused: Annotated[int, described("Number of summaries that are reused without change.", 0)]
    source_chars: Annotated[int, described("Number of characters to summarise.", 1_680)]
    summary_chars: Annotated[int, described("Target size of the summaries, in characters.", 168)]

    @classmethod
    def of(cls, plan: Plan) -> "LevelPlan":
        return cls(
            level=plan.level,
            boundaries=plan.boundaries,
            calls=plan.calls,
            reused=plan.reused,
            source_chars=plan.source_chars,
            summary_chars=plan.summary_chars,
        )


class PlanView(View):
    """The result of a dry run. A summary that does not exist yet counts with its target length."""

    generation: Annotated[int, described("The number of the summary version that the work would belong to.", 1)]
    levels: Annotated[list[LevelPlan], described("The work on each level.")]
    calls: Annotated[int, described("Number of LLM calls on all levels.", 2)]
    prompt_tokens: Annotated[int, described("Estimated number of prompt tokens.", 1_700)]
    completion_tokens: Annotated[int, described("Estimated number of completion tokens.", 340)]

    @classmethod
    def of(cls, plan: Forecast) -> "PlanView":
        return cls(
            generation=plan.at.version,
            levels=[LevelPlan.of(one) for one in plan.levels],
            calls=plan.calls,
            prompt_tokens=plan.prompt_tokens,
            completion_tokens=plan.completion_tokens,
        )


class UpdateView(View):
    """The result of an update."""

    status: Annotated[
        orders.OrderStatus,
        described(
            "`done` and `nothing_to_do`: the summaries are up to date. `planned`: see `plan`. `queued`, "
            "`running`: the work continues, see the job. `failed`: see the job.",
            "done",
        ),
    ]
    job: Annotated[
        str | None,
        described(
            "The id of the job, or of a job that does this work already. `GET /v1/jobs/{job}` shows it.",
            "demo.summaries.01KHXD0B7C2R0M4T6W9YBNCD3F.01KHXE5Q2V8R0M4T6W9YBNCD3F",
        ),
    ] = None
    plan: Annotated[PlanView | None, described("Only for a dry run: the planned work.")] = None

    @classmethod
    def of(cls, space_id: str, conversation_id: str, answer: orders.UpdateOutcome) -> "UpdateView":
        name = answer.job_id and summaries_job.name(conversation_id, answer.job_id)
        return cls(
            status=answer.status,
            job=job_id(space_id, "summaries", name) if name else None,
            plan=PlanView.of(answer.plan) if answer.plan else None,
        )
