"""Making one summary: asked of the LLM, or taken from an earlier generation, and stored under the hash of its input."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from livemem import clock
from livemem.conversations import answer, names, prompt
from livemem.conversations import conversation as conversations
from livemem.conversations.conversation import parsed
from livemem.conversations.layers import Layers, Vanished
from livemem.conversations.seals import At
from livemem.conversations.sources import Material
from livemem.conversations.summary import Summary
from livemem.jobs import budget
from livemem.jobs.budget import Meter
from livemem.llm.answering import OF_THE_QUESTION, NoAnswer, ask_model
from livemem.llm.usage import Usage
from livemem.process import Process
from livemem.store import stored

STORING = timedelta(seconds=5)
"""Before the end of the invocation, kept to store what was answered."""
LATER = "The turns are there as they were said; they are summarised on the next day, or as soon as there is more."


@dataclass(frozen=True)
class Made:
    """What became of one summary: its name where it is stored now, else why it is not; and what it took."""

    level: int
    number: int
    name: str | None
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    reused: bool = False
    error: str | None = None
    detail: str = ""

    @property
    def ends_job(self) -> bool:
        """Whether the failure says that others would fail too."""
        return self.error is not None and self.error not in OF_THE_QUESTION


def maker(process: Process, at: At) -> str:
    """The part of a summary's name that stands for prompt, model and ratio."""
    return names.maker(prompt.version(), process.settings.llmaas_model, at.parameters)


def make(
    process: Process,
    layers: Layers,
    material: Material,
    deadline: datetime,
    *,
    redo: int = 0,
    earlier: Layers | None = None,
) -> Made:
    """Make a summary and store it: 1 or 2 calls of the LLM, 2 GETs, 1 PUT; where an `earlier` generation has one of the
    very same input, 2 GETs and 1 PUT instead. Raises Vanished.
    """
    at, level, number = layers.at, material.level, material.number
    name = names.name(material.source, redo, maker(process, at))
    started = process.timer()
    copied = _copied(process, layers, earlier, material, name)
    if copied:
        return Made(level, number, copied, reused=True)
    with budget.metered(process, at.space_id, LATER) as meter:
        made = _make(process, layers, material, name, redo, meter, deadline)
        return replace(made, usage=meter.used, seconds=process.timer() - started if made.name else 0.0)


def _make(
    process: Process, layers: Layers, material: Material, name: str, redo: int, meter: Meter, deadline: datetime
) -> Made:
    """The summary asked for and stored; what it took is in the meter."""
    at, level, number = layers.at, material.level, material.number
    target = at.parameters.target(material.chars)
    wanted = answer.wanted(material.text, target, at.parameters)
    try:
        answered = ask_model(process, meter, material.messages(target), wanted, deadline - STORING)
    except NoAnswer as error:
        return Made(level, number, None, error=error.code, detail=error.detail)
    found = answered.value
    summary = Summary(
        level=level,
        number=number,
        covers=material.covers,
        children=material.children,
        range_start=material.range_start,
        range_end=material.range_end,
        created_at=material.range_end,
        generated_at=clock.iso_millis(process.clock()),
        summary=found.summary,
        key_findings=found.key_findings,
        files_mentioned=answer.tidy([*found.files_mentioned, *material.files]),
        topics=found.topics,
        entities=answer.entities(found),
        signals=found.signals,
        tools_used=list(material.tools),
        chars=len(found.summary),
        source_chars=material.chars,
        model=process.settings.llmaas_model,
        prompt_version=prompt.version(),
        usage=answered.used,
        redo=redo,
        erased=list(material.erased),
        overlaps=material.overlaps,
        flaws=[flaw.name for flaw in answered.flaws],
    )
    # The model takes long: often that is when somebody deletes.
    _check_source(process, at, summary)
    _store(process, at, summary, name)
    return Made(level, number, name)


def _check_source(process: Process, at: At, summary: Summary) -> None:
    """Raise Vanished if the conversation was deleted, or a turn erased that the summary was made of: 1 GET."""
    there = conversations.find(process, at.space_id, at.conversation_id)
    if not there or any(summary.says_of(index) for index in there.erased_turns):
        raise Vanished(at.conversation_id)


def _store(process: Process, at: At, summary: Summary, name: str) -> None:
    """Write the summary, and take it back if the conversation was deleted, or one of its turns erased, at that moment:
    1 PUT, 1 GET.

    Whoever dies in between leaves it to the sweep; a search does not find it (recall/talk.py).
    """
    _write(process, at, summary, name)
    try:
        _check_source(process, at, summary)
    except Vanished:
        process.store.delete(at.summary_key(summary.level, summary.number, name))
        raise


def _write(process: Process, at: At, summary: Summary, name: str) -> None:
    key = at.summary_key(summary.level, summary.number, name)
    # Another one there was made of the same input, which is as good; unless it is removed again right now.
    if stored.write_once(process.store, key, summary.to_bytes()).gone:
        raise Vanished(key)


def _copied(process: Process, layers: Layers, earlier: Layers | None, material: Material, name: str) -> str | None:
    """The name of a summary of the same input that an earlier generation has, if it has one; it is here then, too.

    There it may have another number. One that was made anew by hand goes before.
    """
    if not earlier:
        return None
    wanted = names.source_of(name), names.maker_of(name)
    same = [
        (names.redo_of(one), one, number)
        for number, some in earlier.names[material.level].items()
        for one in some
        if (names.source_of(one), names.maker_of(one)) == wanted
    ]
    if not same:
        return None
    _, there, number = max(same)
    found = process.store.get(earlier.at.summary_key(material.level, number, there))
    if not found:
        return None
    copy = parsed(process, Summary, found).model_copy(
        update={"number": material.number, "children": material.children, "covers": material.covers}
    )
    _store(process, layers.at, copy, there)
    return there
