"""The tools that the model may call, and the result of each call.

A wrong call does not stop the question: the model gets the error as the result, and the call counts. Only an error of
the store stops it, so that the same step is done again later. What the step stored before is not stored twice.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from livemem.ask import results
from livemem.ask.arguments import (
    Arguments,
    Deleting,
    Looking,
    ReadingOne,
    Recent,
    Responding,
    RespondingWithExpression,
    StoringFact,
    StoringGoal,
    StoringSelf,
)
from livemem.ask.question import Answer, AnswerSource, AskedCall, Called, Question
from livemem.ask.results import CallResult
from livemem.errors import (
    Busy,
    Conflict,
    EmbeddingUnavailable,
    Forbidden,
    InvalidRequest,
    NotFound,
    ObjectUnreadable,
    RunError,
    SearchNotReady,
    TooLarge,
)
from livemem.llm import contract
from livemem.llm.answering import OUT_OF_TIME
from livemem.llm.contract import ContractError
from livemem.llm.tool_calling import Tool
from livemem.memories import forgetting, reading, storing
from livemem.memories.memory import MemoryDraft
from livemem.process import Process
from livemem.recall import by_id, search
from livemem.recall.by_id import ReadRequest
from livemem.recall.search import SpaceHits
from livemem.recall.search_request import OF_CONVERSATION, OF_ROOMS, SearchRequest
from livemem.search.documents import QUESTIONS
from livemem.spaces import head as heads
from livemem.store.keys import MemoryKind

FOUND = 10
"""Results of a search."""
CALLS_PER_STEP = 8
STORED_MOST = 5
"""Memories that one question may store."""
DELETED_MOST = 1
"""Memories that one question may delete."""
SPARE = timedelta(seconds=4)
"""How long a search may take after the moment until which the LLM may be asked."""
RESPOND = "respond"
NAME_CHARACTERS = 100
SHOWN_ARGUMENT = 2_000
"""Characters that are kept of the arguments of a call that could not be used."""
TOLD = (
    *(InvalidRequest, TooLarge, NotFound, Forbidden, Conflict, Busy, SearchNotReady),
    *(EmbeddingUnavailable, ObjectUnreadable),
)
"""Errors that the model gets as a result: the call may succeed with other arguments, or a little later."""


class RefusedCall(Exception):
    """A call that is refused. The text tells the model why."""


@dataclass(frozen=True)
class Hand:
    """The input of a tool besides its arguments. `op_id` is the same each time that this call is carried out. `before`
    holds the question's earlier calls.
    """

    process: Process
    space_id: str
    question: Question
    before: Sequence[Called]
    op_id: str
    until: datetime

    def done(self, names: Sequence[str]) -> int:
        """How many earlier calls of these tools succeeded."""
        return sum(call.name in names and not call.error for call in self.before)


@dataclass(frozen=True)
class Offer:
    """A tool: its purpose, its arguments, its function, and whether it changes memories."""

    description: str
    takes: type[Arguments]
    act: Callable[[Hand, Any], CallResult]
    writes: bool = False


def _memories(kind: MemoryKind) -> Callable[[Hand, Looking], CallResult]:
    def look(hand: Hand, arguments: Looking) -> CallResult:
        hits = reading.search(hand.process, hand.space_id, arguments.query, kind=kind, limit=FOUND)
        return results.of_memories((hit.memory, hit.score) for hit in hits)

    return look


def _recent(hand: Hand, arguments: Recent) -> CallResult:
    memories = reading.recent(hand.process, hand.space_id, kind="fact", limit=arguments.limit)
    return results.of_memories((memory, None) for memory in memories)


def _notes(hand: Hand, arguments: Looking) -> CallResult:
    (answer,) = _found_for(hand, [SearchRequest.of(arguments.query, scope="live,bank,archive", limit=FOUND)])
    return results.of_hits(answer.hits, answer.unread)


def _conversations(hand: Hand, arguments: Looking) -> CallResult:
    request = SearchRequest.of(arguments.query, scope=OF_CONVERSATION, limit=FOUND)
    turns, questions = _found_for(hand, [request, replace(request, aside=QUESTIONS, limit=2 * FOUND)])
    # Earlier questions to the memory only fill. The session itself is in the prompt.
    mine = hand.question.conversation_id
    earlier = [hit for hit in questions.hits if hit.document.source.get("conversation_id") != mine]
    return results.of_hits([*turns.hits, *earlier][:FOUND], turns.unread)


def _rooms(hand: Hand, arguments: Looking) -> CallResult:
    request = SearchRequest.of(arguments.query, scope=OF_ROOMS, limit=FOUND)
    (answer,) = _found_for(hand, [replace(request, least=hand.process.settings.room_min_relevance)])
    return results.of_hits(answer.hits, answer.unread)


def _read(hand: Hand, arguments: ReadingOne) -> CallResult:
    request = ReadRequest.of(arguments.id, cursor=arguments.cursor)
    return results.of_thing(request, by_id.read(hand.process, hand.space_id, request))


def _found_for(hand: Hand, requests: Sequence[SearchRequest]) -> Sequence[SpaceHits]:
    """The results of searches with the same text, within the time that is left.

    Raises SearchNotReady, and RunError where another invocation has more time for it.
    """
    process = hand.process
    now = process.clock()
    until = min(hand.until + SPARE, now + search.READING)
    meta = heads.load_recent(process, hand.space_id).meta
    try:
        with search.answering(process, meta, requests, until=until) as answer:
            return answer[1]
    except SearchNotReady as error:
        if until < now + search.READING:
            raise RunError(OUT_OF_TIME, error.detail) from error
        raise


def _store_fact(hand: Hand, arguments: StoringFact) -> CallResult:
    return _store(hand, MemoryDraft(arguments.content, "fact", None, arguments.subjects, arguments.ttl))


def _store_self(hand: Hand, arguments: StoringSelf) -> CallResult:
    return _store(hand, MemoryDraft(arguments.content, "self", arguments.category))


def _store_goal(hand: Hand, arguments: StoringGoal) -> CallResult:
    return _store(hand, MemoryDraft(arguments.content, "goal", arguments.category))


def _store(hand: Hand, draft: MemoryDraft) -> CallResult:
    if hand.done(STORING) >= STORED_MOST:
        raise RefusedCall(f"At most {STORED_MOST} memories can be stored for one question.")
    own_draft = _of_the_question(draft, hand.question)
    stored = storing.store(
        hand.process, hand.space_id, hand.question.requested_by, own_draft, op_id=hand.op_id, until=hand.until
    )
    return results.of_stored(stored.memory, merged=not stored.fresh)


def _of_the_question(draft: MemoryDraft, question: Question) -> MemoryDraft:
    return MemoryDraft(
        draft.content,
        draft.kind,
        draft.category,
        draft.subjects,
        draft.ttl,
        source="conversation",
        user=question.user,
        room=question.room,
        conversation_id=question.conversation_id,
    )


def _delete(hand: Hand, arguments: Deleting) -> CallResult:
    if not arguments.reason.strip():
        raise RefusedCall("A deletion needs a reason.")
    if hand.done(["delete_memory"]) >= DELETED_MOST:
        raise RefusedCall(f"At most {DELETED_MOST} memory can be deleted for one question.")
    visible_ids = {source.id for call in hand.before if call.name in SHOWING for source in call.sources}
    if arguments.id not in visible_ids:
        raise RefusedCall("Only a memory that a search has shown you for this question can be deleted.")
    who = hand.question.requested_by
    gone = forgetting.delete(hand.process, hand.space_id, who, arguments.id, arguments.reason.strip(), op_id=hand.op_id)
    return CallResult({"deleted": gone.memory_id, "undoable": True}, 1)


def _respond(hand: Hand, arguments: Responding) -> CallResult:
    del hand, arguments
    return CallResult()


OFFERS: dict[str, Offer] = {
    "search_memories": Offer("Search the facts that were stored.", Looking, _memories("fact")),
    "get_recent_memories": Offer("The facts stored last.", Recent, _recent),
    "search_self": Offer("Search what you know of yourself.", Looking, _memories("self")),
    "search_goals": Offer("Search what you want.", Looking, _memories("goal")),
    "search_notes": Offer("Search the bank and all notes, old ones too.", Looking, _notes),
    "search_conversations": Offer("Search what was said in conversations.", Looking, _conversations),
    "search_rooms": Offer("Search what was said in chat rooms lately.", Looking, _rooms),
    "read": Offer("One thing whole, by its id from a result or the outline, or `synthesis`.", ReadingOne, _read),
    "store_memory": Offer("Store a fact.", StoringFact, _store_fact, writes=True),
    "store_self": Offer("Store what you learned of yourself.", StoringSelf, _store_self, writes=True),
    "store_goal": Offer("Store what you want.", StoringGoal, _store_goal, writes=True),
    "delete_memory": Offer("Delete a memory, if the user asks for it.", Deleting, _delete, writes=True),
    RESPOND: Offer("Give the answer. Nothing comes after it.", Responding, _respond),
}
STORING = ("store_memory", "store_self", "store_goal")
SHOWING = ("search_memories", "get_recent_memories", "search_self", "search_goals")
"""Tools that show memories as they are."""


def offered(*, may_write: bool, only_respond: bool, expression: bool = False) -> list[Tool]:
    """The tools that the model may call now. `expression`: whether the answer needs one."""
    names = [RESPOND] if only_respond else [name for name, offer in OFFERS.items() if may_write or not offer.writes]
    return [
        Tool(name, OFFERS[name].description, contract.schema(_takes(name, expression=expression))) for name in names
    ]


def _takes(name: str, *, expression: bool) -> type[Arguments]:
    return RespondingWithExpression if name == RESPOND and expression else OFFERS[name].takes


def carry_out(
    process: Process, space_id: str, question: Question, until: datetime
) -> tuple[list[Called], Answer | None]:
    """Carry out the calls of the last step, in their order. Returns their results, and the answer if one of them is
    `respond`.

    Raises RunError where no time is left, StoreUnavailable and other errors after which a later try may succeed.
    """
    number, step = len(question.steps), question.steps[-1]
    before = list(question.calls())
    answer: Answer | None = None
    done: list[Called] = []
    for place, call in enumerate(step.calls):
        op_id = f"ask/{question.job_id}/{number}/{place}"
        hand = Hand(process, space_id, question, [*before, *done], op_id, until)
        called, arguments = _call(hand, call, place)
        if isinstance(arguments, Responding) and answer is None:
            answer = answered(arguments, question.known, [*before, *done])
        done.append(called)
    return done, answer


def _call(hand: Hand, call: AskedCall, place: int) -> tuple[Called, Arguments | None]:
    begun = hand.process.timer()
    arguments, result, error = None, CallResult(), None
    try:
        offer = _offer(hand, call, place)
        arguments = _arguments(_takes(call.name, expression=hand.question.expression), call.arguments)
        result = offer.act(hand, arguments)
    except RefusedCall as refused:
        arguments, error = None, str(refused)
    except TOLD as failure:
        arguments, error = None, failure.detail
    called = Called(
        name=call.name[:NAME_CHARACTERS].strip() or "unnamed",
        arguments=arguments.model_dump() if arguments else call.arguments[:SHOWN_ARGUMENT],
        shown={"error": error} if error is not None else result.told,
        count=result.count,
        sources=list(result.sources),
        error=error,
        ms=round((hand.process.timer() - begun) * 1_000, 1),
    )
    return called, arguments


def _offer(hand: Hand, call: AskedCall, place: int) -> Offer:
    offer = OFFERS.get(call.name)
    if not offer:
        raise RefusedCall(f"There is no tool of this name. There are: {', '.join(OFFERS)}.")
    if offer.writes and not hand.question.may_write:
        raise RefusedCall("For this question memories can be read, not stored or deleted.")
    if place >= CALLS_PER_STEP and call.name != RESPOND:
        raise RefusedCall(f"At most {CALLS_PER_STEP} tools can be called at once; call it again if you need it.")
    return offer


def _arguments(takes: type[Arguments], text: str) -> Arguments:
    """The checked arguments. An empty text is taken as an empty object."""
    try:
        return contract.parse(text.strip() or "{}", takes)
    except ContractError as error:
        raise RefusedCall(f"Its arguments are wrong. {error}") from None


def answered(arguments: Responding, material: Sequence[AnswerSource], before: Sequence[Called]) -> Answer:
    """The answer, with only those of its sources that the first message or a tool has shown."""
    visible_sources = {
        source.id: source for source in (*material, *(source for call in before for source in call.sources))
    }
    ids = [source_id if source_id in visible_sources else results.bare(source_id) for source_id in arguments.sources]
    expression = arguments.expression if isinstance(arguments, RespondingWithExpression) else None
    sources = [visible_sources[source_id] for source_id in dict.fromkeys(ids) if source_id in visible_sources]
    return Answer(expression=expression, message=arguments.message.strip(), sources=sources)
