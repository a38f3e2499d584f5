"""Two agents that work for two days with the hooks of `livemem init`, and whose models call no tool.

A day is the time that Claude Code writes into each line of a transcript. The service has no clock that a test could
move, and needs none here: a message's own time is its time for blocks, for notes and for the bank.
"""

import json
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

from typer.testing import CliRunner

from live_memory.cli.main import app
from live_memory.cli.program import Program

FIRST = datetime.now(UTC).replace(hour=10, minute=0, second=0, microsecond=0) - timedelta(days=3)
"""When the first day begins."""
SECRET = "hunter2-of-the-harbour"
CHATTER = "Gribouille"


@dataclass(frozen=True)
class Decided:
    """What an agent's session decides: the words that must be there later, and the day."""

    words: str
    day: int
    category: str


@dataclass(frozen=True)
class Turn:
    """What is said at once: `wrapped` is what the client adds in front of the user's words."""

    user: str
    assistant: str
    wrapped: str = ""


DECIDED = (
    Decided("We decided that the import tries three times before it gives up.", 0, "decision"),
    Decided("Decision: deploys run from the pipeline only, never from a laptop.", 0, "decision"),
    Decided("Problème connu : le quai 4 est absent de l'horaire d'hiver.", 0, "issue"),
    Decided("Nous avons décidé de garder les horaires en UTC.", 1, "decision"),
    Decided("TODO: ask the port of Kiel for its winter timetable.", 1, "todo"),
)
ON_DAY = tuple([one for one in DECIDED if one.day == day] for day in (0, 1))
COMPACTION = "compaction"
SAID: Sequence[Mapping[str, Sequence[Turn | str]]] = (
    {
        "ann": (
            Turn("Why does the import fail at night?", f"Kiel answers 503 until 3 a.m. {DECIDED[0].words}"),
            COMPACTION,
            Turn(f"Thanks! My cat {CHATTER} sleeps on the keyboard.", f"Give {CHATTER} a pat from me.", "<reminder>"),
        ),
        "bob": (
            Turn(f"PASSWORD={SECRET} is the one of the staging host. Deploy it.", f"Done.\n\n- {DECIDED[1].words}"),
            Turn("Et le quai 4 ?", DECIDED[2].words),
        ),
    },
    {
        "ann": (Turn(f"{DECIDED[3].words} Adapte le code.", "C'est fait, les tests passent."),),
        "bob": (
            Turn("What is left?", f"{DECIDED[4].words} I could not find it."),
            Turn("ok thanks, good night", "Good night!"),
        ),
    },
)


@dataclass
class HookedAgent:
    """An agent in a folder of its own, and its session of today."""

    name: str
    home: Path
    space: str
    environ: dict[str, str] = field(default_factory=dict)
    _session: str = ""
    _moment: datetime = FIRST

    @classmethod
    def installed(cls, name: str, home: Path, space: str, url: str, token: str) -> "HookedAgent":
        """One whose project was given the memory by `livemem init`."""
        return cls(name, home, space)._set_up({"LIVEMEM_URL": url, "LIVEMEM_TOKEN": token}, "--space", space)

    @classmethod
    def first(cls, name: str, home: Path, environ: Mapping[str, str]) -> "HookedAgent":
        """One on a machine where no service runs yet: `livemem init` starts it, with these variables."""
        return cls(name, home, "")._set_up(environ)

    def _set_up(self, environ: Mapping[str, str], *options: str) -> "HookedAgent":
        self.folder.mkdir(parents=True)
        state = {"LIVEMEM_CONFIG": str(self.home / "config.toml"), "LIVEMEM_STATE": str(self.home / "state")}
        self.environ = {"HOME": str(self.home), **state, **environ}
        self._run(["init", "claude-code", *options, "--directory", str(self.folder), "--yes"])
        return self

    @property
    def folder(self) -> Path:
        """The folder of its project."""
        return self.home / "ferry"

    def commands(self, event: str) -> list[str]:
        """What Claude Code runs at an event."""
        settings = json.loads((self.folder / ".claude" / "settings.json").read_text("utf-8"))
        return [hook["command"] for group in settings["hooks"].get(event, []) for hook in group["hooks"]]

    def payload(self, event: str) -> str:
        """What Claude Code gives a hook on stdin."""
        told = {"session_id": self._session, "cwd": str(self.folder), "hook_event_name": event}
        return json.dumps({**told, "transcript_path": str(self._transcript)})

    def begin(self, day: int) -> str:
        """Start the session of a day; gives what the model is told then."""
        self._session, self._moment = f"{self.name}-{day}", FIRST + timedelta(days=day)
        (answer,) = self._fire("SessionStart")
        return context_of(answer)

    def live(self, day: int, said: Sequence[Turn | str]) -> str:
        """A whole session; gives what the model was told at its start."""
        start = self.begin(day)
        for one in said:
            if isinstance(one, Turn):
                self._say(one)
            else:
                self._fire("PreCompact")
        self._fire("SessionEnd")
        return start

    def _say(self, turn: Turn) -> None:
        self._fire("UserPromptSubmit")
        reminder = {"type": "text", "text": f"<system-reminder>{turn.wrapped}</system-reminder>"}
        self._write("user", [*([reminder] if turn.wrapped else []), {"type": "text", "text": turn.user}])
        tool = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "make"}}
        self._write("assistant", [{"type": "thinking", "thinking": "Decision: hidden thoughts count."}, tool])
        self._write("user", [{"type": "tool_result", "tool_use_id": "t1", "content": "Decision: a tool said this."}])
        self._write("assistant", [{"type": "text", "text": turn.assistant}])
        self._fire("Stop")

    def _write(self, role: str, content: list[dict[str, Any]]) -> None:
        self._moment += timedelta(minutes=1)
        line = {
            "type": role,
            "uuid": str(uuid4()),
            "sessionId": self._session,
            "cwd": str(self.folder),
            "isSidechain": False,
            "timestamp": self._moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "message": {"role": role, "content": content},
        }
        with self._transcript.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    @property
    def _transcript(self) -> Path:
        return self.home / f"{self._session}.jsonl"

    def _fire(self, event: str) -> list[str]:
        commands = [shlex.split(command, comments=True) for command in self.commands(event)]
        assert all(command[:2] == ["livemem", "hook"] for command in commands)
        return [self._run(command[1:], self.payload(event)) for command in commands]

    def say(self, *arguments: str) -> str:
        """What a command says."""
        return self._run([*arguments])

    def _run(self, arguments: list[str], stdin: str = "") -> str:
        program = Program(detach=lambda *_: False)
        done = CliRunner().invoke(app, arguments, input=stdin, env=self.environ, obj=program)
        assert done.exit_code == 0, (arguments, done.output, done.exception)
        return done.stdout


def context_of(answer: str) -> str:
    """What the model is told by a hook's answer at the start of a session."""
    text: str = json.loads(answer)["hookSpecificOutput"]["additionalContext"]
    return text


def live_two_days(agents: Sequence[HookedAgent], settle: Callable[[int], None]) -> None:
    """Two days of all agents. `settle` waits until the service has worked off a day."""
    for day, said in enumerate(SAID):
        for agent in agents:
            start = agent.live(day, said[agent.name])
            if day:
                check(start, ON_DAY[0])
        settle(day)


def check(start: str, decided: Sequence[Decided] = DECIDED) -> None:
    """Check that a start tells all that was decided, each with its day, in the bank or as a captured
    note, and neither secrets nor small talk.
    """
    for one in decided:
        day = (FIRST + timedelta(days=one.day)).date().isoformat()
        lines = [line for line in _lines_of(start, one.words) if day in line]
        assert any(" captured]" in line or line.startswith("#### ") for line in lines), (one, lines, start)
    for other in (SECRET, CHATTER, "good night", "hidden thoughts", "a tool said", "system-reminder"):
        assert other not in start, start


def _lines_of(start: str, words: str) -> Iterator[str]:
    """Each line with these words, below the heading of its section, which has the day of the newest note there."""
    heading = ""
    for line in start.splitlines():
        if line.startswith("#"):
            heading = f"{line}\n" if line.startswith("#### ") else ""
        if words in line:
            yield f"{heading}{line}"
