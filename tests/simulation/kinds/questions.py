"""Questions: each is answered once, stores what it should once, and is one turn of a conversation; an answer of the
model that lies in the bucket is not asked for again.
"""

from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from livemem.ask import question as questions
from livemem.ask import question_work
from livemem.ask.question import AskRequest
from livemem.conversations import log
from livemem.jobs.shares import CROWDED, Waited
from livemem.llm.client import Messages
from livemem.process import Process
from livemem.spaces import caps
from livemem.store import timing
from tests.simulation.model import Model
from tests.simulation.pairs import CROSSED, Pair, cut, failing
from tests.simulation.scene import SPACE, WORK_SECONDS, Action, Before, Kind, Sampled, Scene
from tests.support.agent import calls, responds
from tests.support.asking import left_open, talk_of
from tests.support.faults import FAULTS
from tests.support.talk import extract
from tests.support.world import World, verdicts

AUTHOR = "ann"
LATER = 3_700
"""Seconds after which whoever worked on a question has ended, and nothing of it waits in a queue."""
STORED = {
    "One?": (("Jonas sails the Merle.", "Kiel has nine cranes."), "Know the port."),
    "Two?": (("Ines bakes bread.", "The ferry is green."), "Know the baker."),
}
"""What each question stores: facts, and a goal."""
TURNS = 3


def _answer(thread: Any) -> Any:
    """Two turns that store, then an answer: it depends on the thread alone."""
    turn = sum(message["role"] == "assistant" for message in thread)
    asked = next(one for one in STORED if thread[1]["content"].rstrip().endswith(f'"{one}"'))
    facts, goal = STORED[asked]
    if turn == 0:
        return calls(("search_memories", {"query": "ferry"}), ("store_memory", {"content": facts[0]}))
    if turn == 1:
        goals = {"content": goal, "category": "understanding"}
        return calls(("store_memory", {"content": facts[1], "ttl": "7d"}), ("store_goal", goals))
    return responds(f"Answer to {asked}", "happy")


def _said(messages: Messages) -> str:
    """Memories differ; conversations are summarised."""
    return (
        verdicts(messages, lambda new, there: "different") if "# Pairs" in messages[1]["content"] else extract(messages)
    )


class QuestionWorld(World):
    """A world whose LLM summarises the conversations that questions are part of."""

    def __init__(self, inner: Any = None, **more: Any) -> None:
        super().__init__(inner, **more)
        self.llm = Model(_said)  # type: ignore[assignment]


class QuestionScene(Scene):
    """`asked`: what users ask, by idempotency key. `kept`: answers of the model in the bucket after a fault."""

    world_type = QuestionWorld
    faults = tuple(fault for fault in FAULTS if fault.done or fault.status != 412)
    """No store says that a turn is there which is not: the log would have a hole."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.asked: dict[str, str] = {}
        self.kept = 0
        world.create_space(SPACE)
        world.agent.default = _answer

    def state(self) -> Any:
        return super().state(), len(self.world.agent.asked)

    def ask(self, process: Process, key: str, message: str, seconds: float = 20) -> Any:
        self.asked[key] = message
        until = self.world.clock() + timedelta(seconds=seconds)
        wanted = AskRequest(message)
        pause = self.world.pass_time
        return question_work.ask(
            process, SPACE, AUTHOR, wanted, may_write=True, until=until, idempotency_key=key, pause=pause
        )

    def struck(self, action: Action) -> None:
        super().struck(action)
        self.kept = sum(len(found.steps) for key in self.asked if (found := self._find(key)))
        self.world.agent.asked.clear()

    def _find(self, key: str) -> Any:
        saved = questions.find(self.world.with_parts(), SPACE, questions.request_of(AUTHOR, key))
        return saved and saved.value

    def rest(self) -> list[str]:
        world = self.world
        for key, message in self.asked.items():
            if not self._find(key):
                # Nothing was written down: its client asks once more.
                self.ask(world.process, key, message)
        for _ in range(2):
            world.settle()
            world.pass_time(LATER)
            world.new_process()
            world.sweep()
        world.settle()
        return [*self._wrong_answers(), *self._wrong_calls()]

    def _wrong_answers(self) -> list[str]:
        wrong, said = [], Counter[str]()
        for key, message in self.asked.items():
            question = self._find(key)
            if not question or not question.answer or question.answer.message != f"Answer to {message}":
                wrong.append(f"{message} is not answered: {question}")
                continue
            wrong += [f"{message}: {one.name} gave {one.error}" for one in question.calls() if one.error]
            turns = log.read(self.world.process, SPACE, talk_of(question), range(1, 5))
            said.update(turn.message_id for turn in turns if turn.message_id == question.job_id)
            wrong += [] if said[question.job_id] == 1 else [f"{message}: {said[question.job_id]} turns"]
        messages = set(self.asked.values())
        for folder, count in (("facts", 2 * len(messages)), ("goals", len(messages))):
            there = len(self.world.keys(f"{SPACE}/memories/{folder}/log/"))
            wrong += [] if there == count else [f"{there} operations of {folder}, not {count}"]
        return wrong + [f"{request_id} stays open" for request_id in left_open(self.world)]

    def _wrong_calls(self) -> list[str]:
        """What was asked after a fault though its answer was kept."""
        most = TURNS * len(self.asked) - self.kept
        asked = len(self.world.agent.asked)
        return [f"{asked} calls for {most} answers that were missing"] if self.kept and asked > most else []


def _ask(key: str, message: str, seconds: float = 20) -> Callable[[QuestionScene, Process, datetime], Any]:
    return lambda scene, process, until: scene.ask(process, key, message, seconds)


def _waits(message: str) -> Before:
    """A question that was handed over at once, since there was no time."""

    def before(scene: QuestionScene) -> None:
        scene.ask(scene.world.process, "a", message, seconds=0)
        scene.run = scene.world.queued.popleft()

    return before


ONE = Action("question", _ask("a", "One?"), seconds=WORK_SECONDS)
TWO = Action("another question", _ask("b", "Two?"), seconds=WORK_SECONDS)
REST = Action(
    "rest of a question", lambda scene, *more: scene.world.work(scene.run, *more), _waits("One?"), works=True,
    seconds=WORK_SECONDS,
)  # fmt: skip


def _in_a_crowd(scene: QuestionScene, process: Process, until: datetime) -> Any:
    """The rest of a question, from a long queue."""
    payload = scene.run
    assert payload is not None
    wanted, pause = payload["job_id"], scene.world.pass_time
    return question_work.carry_on(process, SPACE, wanted, until, pause=pause, waited=Waited(CROWDED))


def _behind_others(scene: QuestionScene) -> None:
    """All places of the space are taken, by workers that die before they end."""
    _waits("One?")(scene)
    most = scene.world.settings.work_at_once_per_space
    for number in range(most):
        caps.enter(scene.world.process, SPACE, "ask", f"other-{number}", most, timing.INVOCATION)


IN_A_CROWD = Action("rest in a crowd", _in_a_crowd, _waits("One?"), works=True, seconds=WORK_SECONDS)
BEHIND_OTHERS = Action("rest behind others", _in_a_crowd, _behind_others, seconds=WORK_SECONDS)
"""Nobody delivers it again: the sweep finds what stood in the line."""
QUESTIONS = Kind(
    "questions",
    QuestionScene,
    (ONE, REST, IN_A_CROWD, BEHIND_OTHERS),
    (
        Pair(ONE, TWO, (*CROSSED, cut)),
        Pair(ONE, ONE, (*CROSSED, cut), name="one question twice"),
        Pair(REST, REST, CROSSED, name="one invocation twice"),
        Pair(REST, TWO, (failing,), name="question that fails"),
        Pair(IN_A_CROWD, REST, CROSSED, name="one invocation twice, one from a long queue"),
    ),
    sampled=Sampled(kills=97, turns=89),
)
