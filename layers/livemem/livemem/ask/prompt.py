"""The prompt: JSON values on one line each, so that no text can forge the prompt's structure.

The first message has what the model knows before it calls a tool: the agent's memories of itself, facts about the user,
the synthesis and the outline of the bank, hits for the question, and the newest messages of the room.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache, partial
from string import Template
from typing import Any

from livemem import clock
from livemem.ask import results
from livemem.ask.question import Question, Step
from livemem.ask.results import CallResult
from livemem.ask.tools import DELETED_MOST, STORED_MOST
from livemem.bank import history
from livemem.conversations.turn import Turn
from livemem.conversations.user_signals import own_first
from livemem.errors import NotFound, RunError, SearchNotReady
from livemem.llm import templates, window
from livemem.llm import tool_calling as llm
from livemem.llm.templates import json_line
from livemem.llm.tool_calling import Call, Thread, ToolReply
from livemem.memories import reading
from livemem.memories.memory import Memory
from livemem.memories.state import State, newest_first
from livemem.process import Process
from livemem.recall import message_context
from livemem.recall.message_context import Outline
from livemem.rooms import reading as rooms
from livemem.rooms.message import Message
from livemem.store.keys import MemoryKind

TURNS = 5
"""Answers of the model before it must respond."""
KEPT_CHARACTERS = 400
"""Of a memory that is in every prompt, or of a room's message."""
SESSION_CHARACTERS = 1_500
"""Of each question and answer of the session so far."""
SYNTHESIS_CHARACTERS, OUTLINE_CHARACTERS = 1_500, 1_500
ANSWER_TOKENS = 1_000
"""Kept in the model's window for its answer."""
EXPRESSION = "`expression` for how you look while you say it; "
LEFT_OUT = {"left_out": "There was no room for it any more: call the tool again if you need it."}
_text = partial(templates.text, "ask")
SELVES, GOALS = 20, 10
"""How many of the agent's newest memories about itself, and of its newest goals, are in every prompt."""
OF_USER = 5
"""How many of the newest facts that name the user are in every prompt."""
ROOM_LAST = 10
"""How many of the room's newest messages are in the prompt, on any subject."""


@lru_cache(maxsize=2)
def system(*, expression: bool) -> str:
    """The instructions, the same for all questions with an expression or without one."""
    return Template(_text("system")).substitute(
        turns=TURNS, stored=STORED_MOST, deleted=DELETED_MOST, expression=EXPRESSION if expression else ""
    )


@dataclass(frozen=True)
class Known:
    """The model's knowledge before it calls a tool: memories about itself, its goals, facts that name the user, the
    synthesis and the outline of the bank, results of a search for the question, the room's newest messages and the
    turns of the session, the oldest first.
    """

    selves: Sequence[Memory]
    goals: Sequence[Memory]
    of_user: Sequence[Memory]
    synthesis: str
    outline: Outline
    context: Mapping[str, Any]
    last_said: Sequence[Message]
    session: Sequence[Turn]


def opening(question: Question, material: Known, now: datetime) -> str:
    """The first message: the knowledge before any tool call, the user's name, and the question."""
    exchanges = [
        {
            "at": clock.iso(turn.said_at()),
            "by": turn.said_by("user"),
            "user": _cut(turn.user_message, SESSION_CHARACTERS),
            "you": _cut(turn.assistant_message, SESSION_CHARACTERS),
        }
        for turn in material.session
    ]
    return Template(_text("opening")).substitute(
        selves=json_line([_kept(memory) for memory in material.selves]),
        goals=json_line([_kept(memory) for memory in material.goals]),
        of_user=json_line([_kept(memory) | {"at": memory.moment, "by": memory.said_by} for memory in material.of_user]),
        synthesis=json_line(_cut(material.synthesis, SYNTHESIS_CHARACTERS)),
        outline=json_line(fitting(material.outline)),
        context=json_line(material.context),
        room=json_line([_said(message) for message in material.last_said]),
        session=json_line(exchanges),
        now=json_line(clock.iso(now)),
        user=json_line(question.user)[1:-1],
        question=json_line(question.message),
    )


def fitting(outline: Outline) -> dict[str, Any]:
    """The outline within its characters: of the last files the number of their sections, or how many files they are."""
    lines: dict[str, Any] = {}
    room = OUTLINE_CHARACTERS
    for file, headings in outline.items():
        for value in (headings, len(headings)):
            size = len(json_line({file: value}))
            if size <= room:
                lines[file] = value
                room -= size
                break
    more = len(outline) - len(lines)
    return lines | ({"bank": f"{more} more files"} if more else {})


def _said(message: Message) -> dict[str, str]:
    return {"at": message.timestamp, "by": message.author, "text": _cut(message.content, KEPT_CHARACTERS)}


def _kept(memory: Memory) -> dict[str, Any]:
    fields = {"category": memory.category, "content": _cut(memory.content, KEPT_CHARACTERS)}
    return {name: value for name, value in fields.items() if value}


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"


def thread(question: Question, most: int, *, forced: bool) -> Thread:
    """The conversation with the model so far, in at most `most` tokens. Where it is longer, the results of the oldest
    calls are left out. `forced` adds the instruction to respond. Raises RunError.
    """
    least = [call for step in question.steps for call in step.called or ()]
    for gone in range(len(least) + 1):
        messages = _thread(question, {id(call) for call in least[:gone]}, forced=forced)
        if size(messages) + ANSWER_TOKENS <= most:
            return messages
    raise RunError(
        "llm_window", "The question and its context do not fit into the model's window. Ask a shorter question."
    )


def size(messages: Thread) -> int:
    """Estimated tokens of all messages."""
    return window.size(llm.texts(messages))


def _thread(question: Question, gone: set[int], *, forced: bool) -> Thread:
    messages: Thread = [
        {"role": "system", "content": system(expression=question.expression)},
        {"role": "user", "content": question.opening or json_line(question.message)},
    ]
    for step in question.steps:
        messages += _of_step(step, gone)
    return [*messages, {"role": "user", "content": _text("respond")}] if forced else messages


def _of_step(step: Step, gone: set[int]) -> Thread:
    calls = tuple(Call(call.id, call.name, call.arguments) for call in step.calls)
    if not calls and not step.text:
        return []
    messages: Thread = [llm.as_message(ToolReply(step.text, calls))]
    for call, called in zip(step.calls, step.called or (), strict=True):
        result = LEFT_OUT if id(called) in gone else called.shown
        messages.append({"role": "tool", "tool_call_id": call.id, "content": json_line(result)})
    return messages


def first_message(process: Process, space_id: str, question: Question, session: Sequence[Turn]) -> Mapping[str, Any]:
    """The first message to the model, and the sources that it shows, as changes of the question. `session` holds the
    turns of the conversation so far.

    Side by side 1 GET of the synthesis, 1 LIST of each of three kinds of memories, and the requests of
    `message_context.context_of_question`. With a room 1 LIST more, and 1 GET for each of its last ten messages.
    """
    selves, goals, of_asker, synthesis, (context, outline), last = process.store.concurrently(
        lambda: reading.recent(process, space_id, kind="self", limit=SELVES),
        lambda: reading.recent(process, space_id, kind="goal", limit=GOALS),
        lambda: of_user(process, reading.state_of(process, space_id, "fact"), question.user),
        lambda: _synthesis(process, space_id),
        lambda: known(process, space_id, question),
        lambda: last_said(process, space_id, question.room),
    )
    material = Known(selves, goals, of_asker, synthesis, outline, context.told, last, session)
    return {"opening": opening(question, material, process.clock()), "known": list(context.sources)}


def known(process: Process, space_id: str, question: Question) -> tuple[CallResult, Outline]:
    """The known things about the question as the result of a search, and the outline of the bank. A search that is not
    ready in time says so instead.
    """
    try:
        context = message_context.context_of_question(process, space_id, question.message, room=question.room)
    except SearchNotReady as error:
        return CallResult({"error": error.detail}), {}
    return results.of_hits(context.hits, context.unread), context.outline


def _synthesis(process: Process, space_id: str) -> str:
    with suppress(NotFound):
        return history.synthesis(process, space_id, at=None).content
    return ""


def of_user(process: Process, state: tuple[MemoryKind, State], user: str) -> list[Memory]:
    """The newest of the known facts that name the user, as a whole word or as a subject. First come those that the
    user's own token stored (user_signals.own_first).

    Without them the model does not know who "I" is: a search for the question rarely finds facts about the user.
    """
    name = re.compile(rf"(?<!\w){re.escape(user)}(?!\w)", re.IGNORECASE)
    facts = newest_first(state[1].alive(process.clock()))
    about_user = (fact for fact in facts if any(map(name.search, (fact.content, *fact.subjects))))
    return own_first(about_user, OF_USER, lambda fact: fact.provenance.author == user)


def last_said(process: Process, space_id: str, room: str | None) -> list[Message]:
    """The room's newest messages, the oldest first: a few LISTs, 1 GET each. Empty without a room."""
    return rooms.newest(process, space_id, room, ROOM_LAST)[::-1] if room is not None else []
