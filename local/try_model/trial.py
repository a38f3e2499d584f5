"""One case after the other: asked as the product asks it, checked by the product's checks, and compared."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from datetime import date, datetime, timedelta
from typing import Any, Literal, ParamSpec, TypeVar
from zoneinfo import ZoneInfo

from livemem import clock
from livemem.access.principal import PERMISSIONS, Principal
from livemem.ask import question_work, tools
from livemem.ask.question import AskRequest, Question
from livemem.bank.files import BankFile
from livemem.changes.records import Before
from livemem.consolidation import mending
from livemem.consolidation.checks import Folded
from livemem.consolidation.collecting import Collected
from livemem.errors import LiveMemoryError
from livemem.llm import client as llm
from livemem.llm import tool_calling
from livemem.llm.answering import Answered, Contract, ask_model
from livemem.llm.client import LlmError, Messages, Reply
from livemem.llm.tool_calling import ToolReply
from livemem.llm.usage import Usage
from livemem.memories import model_judge, storing
from livemem.memories.memory import MemoryDraft
from livemem.notes import appending
from livemem.process import Process
from livemem.rooms import chunks
from livemem.rooms.message import Message
from livemem.settings import Settings
from livemem.spaces import lifecycle, rules
from livemem.spaces.oversized_notes import OversizedNotes
from livemem.store.objects import Store
from livemem.text import language
from local.try_model import cases
from local.try_model.cases import Case, Expected

SPACE, ASKER = "trial", "ines"
KEPT = Literal["first", "corrected", "no"]
OF_ALL = ("llm_unreachable", "llm_not_configured", "llm_key_unreadable")
"""Failures after which no other case is tried: no setting of a case can help."""
_REFUSED_ALL = (401, 403, 404, 405)
P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R", Reply, ToolReply)


@dataclass
class CaseOutcome:
    """What a model managed of one case. A field is None where the case does not ask for it.

    `contract`: kept at the first try, after a correction (of a question: after a call that was refused, or without
    `respond`), or not. `cited`: notes cited or discarded with a reason, of all; memories with a right message; sources
    named. `right`: expectations met, of all. `wrong` says what was missing, or the error.
    """

    name: str
    kind: str
    contract: KEPT = "no"
    cited: tuple[int, int] | None = None
    right: tuple[int, int] | None = None
    language: bool | None = None
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    estimated_tokens: int = 0
    seconds: float = 0.0
    dollars: float | None = None
    wrong: list[str] = field(default_factory=list)
    error: str | None = None

    @property
    def passed(self) -> bool:
        """Whether everything that the case asks for came out."""
        parts = [pair[0] == pair[1] for pair in (self.cited, self.right) if pair]
        return self.contract != "no" and all(parts) and self.language is not False

    def document(self) -> dict[str, Any]:
        """For programs."""
        return asdict(self) | {"passed": self.passed, "seconds": round(self.seconds, 2)}


@dataclass
class _Meter:
    """Counts the calls of a case, without a budget to ask, their seconds, and keeps the error of the last one."""

    used: Usage = field(default_factory=Usage)
    prompt: int = 0
    seconds: float = 0.0
    error: LlmError | None = None

    def before_call(self, prompt: int, limit: int | None, seconds: float) -> None:  # noqa: ARG002 - as Counter has it
        self.prompt = prompt

    def answered(self, reply: Reply | ToolReply) -> None:
        self.used += Usage.of_call(reply.usage, self.prompt + reply.written // 4, cut=reply.cut)

    def failed(self, error: LlmError) -> None:
        self.used += Usage.of_call(error.usage, 0)


@dataclass(frozen=True)
class Prices:
    """Dollars for a million tokens of prompts, and of answers."""

    prompt: float
    answer: float

    def of(self, used: Usage) -> float:
        """The dollars of a usage. Tokens that were only estimated count as those of prompts."""
        prompts = used.prompt_tokens + used.estimated_tokens
        return (prompts * self.prompt + used.completion_tokens * self.answer) / 1_000_000


class Hopeless(Exception):
    """No case can be tried: the API can't be reached, or refuses everything. The text says why."""


class Trial:
    """Tries one model. `store` is an empty store for questions."""

    def __init__(self, settings: Settings, store: Store, prices: Prices | None = None) -> None:
        self._settings, self._prices = settings, prices
        self._meter = _Meter()
        self._process = Process(
            store=store,
            settings=settings,
            ask=self._timed(llm.connect(settings)),
            converse=self._timed(tool_calling.connect(settings)),
            enqueue=lambda function, payload: None,  # noqa: ARG005 - nobody works in the background
            new_suffix=lambda: f"{time.monotonic_ns() & 0xFFFFFFFF:08x}",
            in_background=lambda work: None,  # noqa: ARG005
        )
        self._spaces = 0

    def run(self, case: Case) -> CaseOutcome:
        """Try one case. Raises Hopeless."""
        outcome, self._meter = CaseOutcome(case.name, case.kind), _Meter()
        try:
            by_kind = {
                "consolidation": self._consolidation,
                "digest": self._digest,
                "verdicts": self._verdicts,
                "question": self._question,
            }
            by_kind[case.kind](case, outcome)
        except LiveMemoryError as error:
            outcome.error = f"{error.code}: {error.detail}"
        if (failed := self._meter.error) and (failed.code in OF_ALL or failed.http_status in _REFUSED_ALL):
            raise Hopeless(failed.detail)
        used, outcome.seconds = self._meter.used, self._meter.seconds
        for name in ("calls", "prompt_tokens", "completion_tokens", "estimated_tokens"):
            setattr(outcome, name, getattr(used, name))
        outcome.dollars = self._prices.of(used) if self._prices else None
        if used.prompts_cut:
            outcome.wrong.append("the server read only a part of the prompt: raise its context length")
        return outcome

    def _timed(self, call: Callable[P, T]) -> Callable[P, T]:
        def timed(*arguments: P.args, **named: P.kwargs) -> T:
            begun = time.monotonic()
            try:
                return call(*arguments, **named)
            except LlmError as error:
                self._meter.error = error
                raise
            finally:
                self._meter.seconds += time.monotonic() - begun

        return timed

    def _asked(
        self, messages: Messages, contract: Contract[T], outcome: CaseOutcome, *, corrects: bool = True
    ) -> Answered[T]:
        found = ask_model(self._process, self._meter, messages, contract, self._until(), corrects=corrects)
        outcome.contract = "first" if found.used.calls == 1 else "corrected"
        return found

    def _until(self) -> datetime:
        return self._process.clock() + timedelta(seconds=2 * self._settings.llm_timeout_seconds + 60)

    def _consolidation(self, case: Case, outcome: CaseOutcome) -> None:
        collected = _collected(case)
        outcome.cited = (0, len(case.notes))
        _expect(outcome, case.expect)
        answered = mending.ask(self._process, self._meter, collected, self._until())
        outcome.contract = "first" if answered.used.calls == 1 else "corrected"
        found = answered.value
        outcome.cited = (len(case.notes) - len(found.outcome.uncited), len(case.notes))
        after = {file.path: file.content for file in collected.bank}
        after |= {change.path: change.after or "" for change in found.outcome.files}
        _compare(outcome, "\n".join(after.values()), case.expect, written=_written(found))

    def _digest(self, case: Case, outcome: CaseOutcome) -> None:
        now = clock.parse(case.now)
        said = [
            Message(message_id=f"m{number}", author=one.author, content=one.content, timestamp=one.at)
            for number, one in enumerate(case.messages, 1)
        ]
        window = self._settings.llmaas_context_tokens
        messages = chunks.prompt_of(case.room, said, [], ZoneInfo("Europe/Paris"), now, window)
        outcome.cited = (0, len(case.expect.memories)) if case.expect.memories else None
        expect = Expected(
            has=[*case.expect.has, *(one.has for one in case.expect.memories)],
            lacks=case.expect.lacks,
            language=case.expect.language,
        )
        _expect(outcome, expect)
        found = self._asked(messages, chunks.contract_of(said, now), outcome).value
        cited = []
        for expected in case.expect.memories:
            fitting = [one for one in found if cases.fits(expected.has, one.content)]
            named = {number for one in fitting for number in one.messages}
            cited.append(bool(named & {f"m{number}" for number in expected.messages}))
        outcome.cited = (sum(cited), len(cited)) if cited else None
        text = "\n".join(one.content for one in found)
        _compare(outcome, text, expect, written=text)
        if len(found) > case.expect.most:
            outcome.wrong.append(f"{len(found)} memories instead of at most {case.expect.most}")
            assert outcome.right
            outcome.right = (outcome.right[0], outcome.right[1] + 1)

    def _verdicts(self, case: Case, outcome: CaseOutcome) -> None:
        pairs = [(one.new, one.there) for one in case.pairs]
        outcome.right = (0, len(pairs))
        contract = model_judge.contract_of(pairs)
        found = self._asked(model_judge.messages_of(pairs), contract, outcome, corrects=False).value
        for number, (pair, given) in enumerate(zip(pairs, case.pairs, strict=True), 1):
            if found.get(pair) != given.verdict:
                outcome.wrong.append(f"pair {number}: {found.get(pair)} instead of {given.verdict}")
        outcome.right = (len(pairs) - len(outcome.wrong), len(pairs))

    def _question(self, case: Case, outcome: CaseOutcome) -> None:
        space_id = self._filled_space(case)
        outcome.cited = (0, len(case.expect.sources)) if case.expect.sources else None
        _expect(outcome, case.expect)
        until = self._process.clock() + timedelta(seconds=5 * self._settings.llm_timeout_seconds)
        asked = AskRequest(case.message, user=ASKER)
        worked = question_work.ask(self._process, space_id, ASKER, asked, may_write=True, until=until, alone=True)
        assert worked.stored
        question = worked.stored.value
        self._meter.used += question.usage
        if question.answer is None:
            outcome.error = f"{question.error.code}: {question.error.detail}" if question.error else "no answer in time"
            return
        outcome.contract = _kept(question)
        shown = [source.excerpt for source in question.answer.sources]
        named = [any(cases.fits(one, text) for text in shown) for one in case.expect.sources]
        outcome.cited = (sum(named), len(named)) if named else None
        _compare(outcome, question.answer.message, case.expect, written=question.answer.message)

    def _filled_space(self, case: Case) -> str:
        """A space with what the case stores. The model is not asked about the memories: it would be another case."""
        self._spaces += 1
        space_id = f"{SPACE}-{self._spaces}"
        process = replace(self._process, ask=_silent)
        everyone = Principal("trial", frozenset(PERMISSIONS), frozenset())
        lifecycle.create(process, everyone, lifecycle.SpaceRequest(space_id, rules="Keep a log.", threshold=0))
        for content in case.memories:
            storing.store(process, space_id, "trial", MemoryDraft(content))
        for note in case.notes:
            draft = appending.NoteDraft(note.category, note.content, said_at=note.at)
            appending.append(process, space_id, note.agent, draft)
        return space_id


def _silent(*_: Any, **__: Any) -> Reply:
    raise LlmError("llm_not_configured", "No model is asked here.")


def _kept(question: Question) -> KEPT:
    calls = list(question.calls())
    responded = any(call.name == tools.RESPOND and not call.error for call in calls)
    clean = responded and not any(call.error for call in calls) and not any(step.forced for step in question.steps)
    return "first" if clean else "corrected" if responded else "no"


def _collected(case: Case) -> Collected:
    notes = []
    for number, one in enumerate(case.notes):
        draft = appending.NoteDraft(one.category, one.content)
        notes.append(appending.new_note("trial", one.agent, draft, clock.parse(one.at), f"{number:08x}"))
    text = rules.template(case.rules) if case.rules in rules.TEMPLATES else case.rules
    return Collected(
        rules=text,
        rules_changed_at=None,
        language=case.language,
        synthesis=Before(etag="", content=case.synthesis) if case.synthesis else None,
        bank=[BankFile(path, content, "") for path, content in case.bank.items()],
        notes=notes,
        sources=[],
        remaining=0,
        oversized_notes=OversizedNotes(),
        today=date.fromisoformat(case.today),
    )


def _written(found: Folded) -> str:
    """What the model wrote for the reader: its synthesis, and the lines that are new."""
    lines = [found.synthesis]
    for change in found.outcome.files:
        before = set(change.before.content.split("\n")) if change.before else set()
        lines += [line for line in (change.after or "").split("\n") if line not in before]
    return "\n".join(lines)


def _expect(outcome: CaseOutcome, expect: Expected) -> None:
    """Nothing is right before there is an answer: a model without one must not do better than one with a wrong one."""
    outcome.right = (0, len(expect.has) + len(expect.lacks))
    outcome.language = False if expect.language else None


def _compare(outcome: CaseOutcome, text: str, expect: Expected, *, written: str) -> None:
    wrong = cases.missing(text, expect)
    total = len(expect.has) + len(expect.lacks)
    outcome.right = (total - len(wrong), total)
    outcome.wrong += wrong
    if expect.language:
        told = language.detect(written)
        # A short text may show no language: that is nothing against it.
        outcome.language = told in (None, expect.language)
        if not outcome.language:
            outcome.wrong.append(f"written in {told} instead of {expect.language}")
