"""One event of a client, from its input on stdin to its answer on stdout. The client never gets an error."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from live_memory._redaction import redact
from live_memory.cli import config, local_service, own_files
from live_memory.cli.code_version import WorkTree, place_of
from live_memory.cli.config import Settings
from live_memory.cli.init import project_space, record
from live_memory.cli.init.hooks import answers, events, prompts
from live_memory.cli.init.hooks.away import Away
from live_memory.cli.init.hooks.events import Called, Event
from live_memory.cli.init.hooks.prompts import Asked, Told
from live_memory.cli.init.hooks.state import Files
from live_memory.cli.local_service import LocalService
from live_memory.cli.program import Program
from live_memory.errors import LiveMemoryError

if TYPE_CHECKING:
    from live_memory.cli.both_spaces import PersonalSpace
    from live_memory.cli.init.hooks.sending import Memory, Sender
    from live_memory.cli.init.hooks.unsent import Entry, Unsent

Log = Callable[[str], None]

SECONDS = 5.0
"""Seconds that a session waits for its memory at most."""
RESERVE_SECONDS = 1.0
"""Of these seconds, the part that is kept for sending while a hook waits for the lock of its session."""
REQUEST_SECONDS, LOOK_SECONDS = 3.5, 1.5
"""Seconds for a request, and before it for the question whether the service of this machine runs."""
SEND, WARM = "send", "warm"
"""Work that is done after the answer: send what is unsent, and let the service of this machine search once so that the
first prompt gets its answer in time. Before it that service may have to start (events.STARTS).
"""
NOT_RUNNING = "no_connection"
PROJECT_FOLDER = "CLAUDE_PROJECT_DIR"
"""The variable in which Claude Code names the project of a hook (https://code.claude.com/docs/en/hooks)."""


class LeftAloneError(Exception):
    """The service is left alone for now; the text says for how long."""


@dataclass(frozen=True)
class Hook:
    """The dependencies for an event. `memory` connects for a client at its first use. `log` goes to stderr.

    `service`: names where it is sent to, in the list of what is unsent. `url`: of its page. `starts`: whether it is
    that of this machine and can be started here. `later` gets the work that the client does not wait for.
    """

    memory: Callable[[str], "Memory"]
    folder: Path
    log: Log
    clock: Callable[[], float] = time.monotonic
    away: Away | None = None
    service: str = ""
    url: str = ""
    starts: bool = False
    later: list[str] = field(default_factory=list)
    environ: Mapping[str, str] = field(default_factory=dict)
    own: Callable[["Memory"], str] = lambda _: ""
    """Asks the service for the own space of the repository, where nothing gives it one."""
    place: Path = field(default_factory=Path.cwd)
    """The folder in which the session works."""
    notice: str | None = None
    personal: str | None = None
    """The personal space of the folder."""

    def run(self, client: str, name: str, space_id: str | None, text: str) -> str:
        """Handle an event in a space, None: the repository's own. Returns the answer for the client in any case."""
        until = self.clock() + SECONDS
        event = events.read(client, name, text, self.environ)
        if event is None:
            return answers.nothing(client, name)
        if self.notice:
            self.log(f"livemem hook: {self.notice}")
        try:
            if not space_id:
                self._check_away()
                space_id = self.own(self.memory(client))
            answer = self._deal(event, space_id, until)
            if event.kind in ("send", "close"):
                self.send_unsent(until, event.session)
            elif event.kind == "load" and self._unsent.waiting(self.service):
                self.later.append(SEND)
            return answer
        except Exception as problem:  # noqa: BLE001 - whatever it is, the session of the client goes on
            return self._failed(event, space_id or "of this repository", problem)

    def _failed(self, event: Event, space_id: str, problem: Exception) -> str:
        if self.away:
            self.away.learn(problem)
        reason = redact(f"{type(problem).__name__}: {problem}")[0]
        self.log(f"livemem hook {event.client} {event.name}: {reason}")
        if event.kind != "load":
            return answers.nothing(event.client, event.name)
        if self.starts and getattr(problem, "code", "") == NOT_RUNNING:
            self.later.append(events.STARTS)
            # The next call asks again.
            return answers.with_context(event.client, event.name, answers.starting(space_id))
        self._mark_loaded(event)
        return answers.with_context(
            event.client, event.name, answers.failed(space_id, f"{self.notice or ''} {reason}".strip())
        )

    def send_unsent(self, until: float, but: str = "") -> None:
        """Send what sessions other than `but` could not send, as far as there is time and the service answers."""
        for entry in self._unsent.waiting(self.service, but):
            if self.clock() >= until or (self.away and self.away.seconds_left()):
                return
            try:
                self._send_entry(entry, until)
            except Exception as problem:  # noqa: BLE001 - this session has what it needs
                if self.away:
                    self.away.learn(problem)
                reason = redact(f"{type(problem).__name__}: {problem}")[0]
                self.log(f"livemem hook: a session of {entry.client} is still not sent: {reason}")
                if getattr(problem, "status", None) is None:
                    return
                self._unsent.refused(entry)

    def _send_entry(self, entry: "Entry", until: float) -> None:
        event = entry.of_event()
        files = Files.of(self.folder, event.client, entry.space_id, event.session)
        if not (event.transcript or files.kept).is_file():
            self._unsent.drop(entry, "its transcript is gone")
            return
        with files.lock(0) as alone:
            if alone and self._sender(event, entry.space_id, files, until, entry).send():
                self._unsent.done(entry)

    @property
    def _unsent(self) -> "Unsent":
        from live_memory.cli.init.hooks.unsent import Unsent  # noqa: PLC0415 - as in _sender

        return Unsent(self.folder, self.log)

    def _sender(
        self, event: Event, space_id: str, files: Files, until: float, entry: "Entry | None" = None
    ) -> "Sender":
        from live_memory.cli.init.hooks.sending import Sender  # noqa: PLC0415 - what a prompt waits for sends nothing

        limit = entry.size if entry else None
        if event.client == "cline" and event.transcript:
            from live_memory.cli.init.hooks import cline_sessions  # noqa: PLC0415 - only Cline needs it

            cline_sessions.keep(event.transcript, files, self.log, before=entry.latest if entry else None)
            event, limit = replace(event, transcript=None), None
        memory = self.memory(event.client)
        place = None if entry else self.place
        return Sender(memory, space_id, event, files, lambda: self.clock() < until, self.log, limit, place)

    def _deal(self, event: Event, space_id: str, until: float) -> str:
        if event.kind == "load":
            if event.once and self._session(event).loaded.exists():
                return answers.nothing(event.client, event.name)
            self._check_away()
            start, own = self._start(event, space_id, until)
            from live_memory.cli import gone_paths  # noqa: PLC0415 - the end of a session gives nothing

            context = answers.memory(space_id, gone_paths.marked(start["markdown"] + own, self.place))
            context = f"{self.notice} Tell the user once.\n\n{context}" if self.notice else context
            session = Files.of(self.folder, event.client, space_id, event.session)
            last = Files.of(self.folder, event.client, space_id).take_last(session)
            if "recall" in events.EVENTS[event.client].values():
                Told.of(session).begin(start["markdown"] + own)
            self._mark_loaded(event)
            line = answers.loaded(start, self.url, datetime.now(UTC), last)
            return answers.with_context(event.client, event.name, context, line)
        if event.kind == "recall":
            return self._recall(event, space_id)
        if event.session:
            files = Files.of(self.folder, event.client, space_id, event.session)
            if event.said:
                self._keep(event, files)
            if event.messages:
                from live_memory.cli.init.hooks import whole_sessions  # noqa: PLC0415 - only OpenCode needs it

                # Two hooks at once hand over the same messages: the second one must see what the first one kept.
                with files.lock(until - RESERVE_SECONDS):
                    whole_sessions.keep(event.messages, files, self.log)
            if event.kind in ("send", "close"):
                self._send(event, space_id, files, until)
                turns = files.load().turns
                Files.of(self.folder, event.client, space_id).keep_last(files, turns)
                if event.kind == "close":
                    return answers.kept(event.client, event.name, turns, self.url)
        return answers.nothing(event.client, event.name)

    def _session(self, event: Event) -> Files:
        return Files.of(self.folder, event.client, event.session)

    def _mark_loaded(self, event: Event) -> None:
        if event.once:
            with suppress(OSError):
                own_files.write(self._session(event).loaded, b"")

    def _start(self, event: Event, space_id: str, until: float) -> tuple[Any, str]:
        """The start, and the text of the personal space."""
        memory = self.memory(event.client)

        def ask(chars: int) -> Any:
            return memory.call("get_start", {"space_id": space_id, "max_chars": chars})

        beside = self._beside(event, space_id)
        if not beside:
            return ask(answers.START_CHARS), ""

        def in_time() -> bool:
            return self.clock() < until - REQUEST_SECONDS

        return beside.start(ask, lambda start: str(start["markdown"]), answers.START_CHARS, in_time=in_time)

    def _beside(self, event: Event, space_id: str) -> "PersonalSpace | None":
        if not self.personal or self.personal == space_id:
            return None
        from live_memory.cli.both_spaces import PersonalSpace  # noqa: PLC0415 - only where there is one
        from live_memory.cli.given_lines import GivenLines  # noqa: PLC0415 - as above

        def call(name: str, arguments: Mapping[str, Any]) -> Any:
            return self.memory(event.client).call(name, arguments)

        return PersonalSpace(self.personal, call, GivenLines.of(self.folder, space_id))

    def _items(self, event: Event, space_id: str, asked: Mapping[str, Any], told: frozenset[str]) -> Sequence[Any]:
        """The items of the project and of the personal space that are told about a prompt."""
        memory, beside = self.memory(event.client), self._beside(event, space_id)
        own_talk = Files.of(self.folder, event.client, space_id, event.session).load().conversation_id

        def ask() -> Any:
            found = memory.call("load_context", {"space_id": space_id, **asked})
            return prompts.of_others(found["items"], own_talk)

        away = self.away and replace(self.away, file=self.away.file.with_suffix(".personal"))
        if not beside or (away and away.seconds_left()):
            return prompts.new(ask(), told)
        from live_memory.cli import both_spaces  # noqa: PLC0415 - as in _beside

        items, own, problem = both_spaces.at_once(
            ask, lambda: beside.ask("load_context", **asked)["items"], total=prompts.REQUEST_SECONDS
        )
        if problem and away:
            self.log(f"livemem hook: {beside.unanswered(problem)}")
            away.learn(LiveMemoryError("no_answer", problem))
        with suppress(OSError):
            return beside.about(items, own or (), told)
        return prompts.new(items, told)

    def _recall(self, event: Event, space_id: str) -> str:
        self._check_away()
        asked = {"q": prompts.question(event.said), "max_chars": prompts.ASKED_CHARS, "clear": True}
        if not asked["q"]:
            return answers.nothing(event.client, event.name)
        told = Told.of(Files.of(self.folder, event.client, space_id, event.session))
        if event.client == "vscode" and not told.path.exists():
            # Copilot's command line runs the hook of the first prompt beside that of the start, which gives the same.
            told.begin("")
            return answers.nothing(event.client, event.name)
        with self.away.during() if self.away else nullcontext():
            items = self._items(event, space_id, asked, told.marks())
        lines = prompts.lines(items)
        if not lines:
            return answers.nothing(event.client, event.name)
        personal = self.personal if any(item.get("personal") for item in items) else None
        from live_memory.cli import gone_paths  # noqa: PLC0415 - as in _deal

        context = gone_paths.marked(answers.about_prompt(space_id, lines, personal), self.place)
        # A hook that is cut off before this has told nothing.
        told.add(lines)
        return answers.with_context(event.client, event.name, context)

    def _keep(self, event: Event, files: Files) -> None:
        from live_memory.cli.transcripts.messages import of_text  # noqa: PLC0415 - few clients hand over what is said

        said, found = of_text(event.said, event.role)
        if found:
            self.log(f"livemem hook: {found} texts that look like secrets are not recorded")
        if said:
            files.keep(event.role, said, datetime.now(UTC).isoformat())

    def _check_away(self) -> None:
        if left := self.away.seconds_left() if self.away else 0:
            raise LeftAloneError(f"The service gave no answer; it is asked again in {left / 60:.0f} min.")

    def _send(self, event: Event, space_id: str, files: Files, until: float) -> None:
        if event.transcript is None and not files.kept.exists():
            return
        # First: a hook that is killed, or finds no service, leaves it to the next hook of any session.
        entry = self._unsent.add(self.service, space_id, event)
        # The end of a session is tried all the same: it may be long until the next hook.
        if event.kind != "close":
            self._check_away()
        # What was sent in the background a moment before is waited for: the end of a session closes its conversation.
        with files.lock(until - RESERVE_SECONDS) as alone:
            # Another hook of the session is sending. The next event sends messages that it does not see.
            if alone and self._sender(event, space_id, files, until).send():
                self._unsent.done(entry)


def handle(program: Program, called: Called, text: str, log: Log, later: list[str]) -> str:
    """Handle an event for the service of the settings; `later` gets the work that is to be done afterwards by `finish`.

    Raises Refused where the settings are wrong.
    """
    event = events.read(called.client, called.event, text, program.environ)
    folders = _folders(program, event.folder if event else None)
    program, left_out = _trusting(program, folders)
    if event and not called.space:
        from live_memory.cli.init.hooks.pauses import Pauses  # noqa: PLC0415 - hooks of `init` name their space

        if project_space.has_hook(program.environ, folders[0], event.client, event.name):
            return answers.nothing(event.client, event.name)
        if event.kind == "load":
            Pauses(_state(program)).end(event.client, folders[0], undone=True)
    settings = _settle(program, called, folders=folders, given=called.space, ends=bool(event and event.kind == "close"))

    def own(memory: "Memory") -> str:
        from live_memory.cli.mcp import repository_space  # noqa: PLC0415 - hooks of `init` name their space

        quiet = replace(settings, notice=None)
        found = repository_space.of(memory, program.environ, quiet, folders[0], called.client)
        for line in found.notices:
            log(f"livemem hook: {line}")
        return found.space_id

    waits = event is not None and event.kind in ("load", "recall")
    place = place_of(folders[0], Path(event.folder), waits=waits) if event and event.folder else folders[0]
    is_prompt = event is not None and event.kind == "recall"
    seconds = prompts.REQUEST_SECONDS if is_prompt else REQUEST_SECONDS
    hook = _hook(program, settings, log, later, place if waits else None, seconds=seconds)
    if called.later == events.STARTS:
        hook = replace(hook, away=None)
    if is_prompt and hook.away and not hook.away.seconds_left():
        hook = replace(hook, away=_of_prompts(hook.away))
    notice = " ".join(filter(None, (left_out, settings.notice)))
    hook = replace(hook, place=place, own=own, notice=notice or None, personal=settings.personal)
    space = project_space.checked_space(settings.space) if settings.space else None
    asked = waits and bool(space) and _is_asked(program, called, settings, folders[0])
    if is_prompt and not asked:
        return answers.nothing(called.client, called.event)
    answer = hook.run(called.client, called.event, space, text)
    if event and event.kind == "load" and (asked or events.STARTS in later):
        later.append(WARM)
    return answer


def _is_asked(program: Program, called: Called, settings: Settings, folder: Path) -> bool:
    """Whether `init` recorded this service for the prompts of a folder."""
    address = config.address_of(program.environ, settings.url, is_local=settings.is_local_service)
    return Asked(_state(program), called.client).allows(folder, address)


def _folders(program: Program, named: str | None) -> list[Path]:
    """The folders that a session may belong to: its project's, the one that it works in now, that of this process."""
    folders = [Path(folder) for folder in (program.environ.get(PROJECT_FOLDER), named) if folder]
    with suppress(OSError):
        folders.append(Path.cwd())
    return folders or [Path.home()]


def _trusting(program: Program, folders: list[Path]) -> tuple[Program, str | None]:
    environ, left_out = project_space.own_environment(program.environ, folders)
    return replace(program, environ=environ), left_out


def finish(program: Program, called: Called, later: list[str], log: Log, *, waits: bool) -> None:
    """Do what comes after the answer: start the service of this machine, let it search, send what other sessions could
    not send.

    `waits`: the client waits for it all the same. Then nothing is started, which may take a minute.
    """
    folders = _folders(program, None)
    program, _ = _trusting(program, folders)
    settings = _settle(program, called, space=called.space, folders=folders)
    if events.STARTS in later:
        if waits:
            return
        from live_memory.cli.mcp.upstream import start_here  # noqa: PLC0415 - hooks seldom need it

        log(f"livemem hook: the service of this machine is started: {start_here(program, settings).url}")
        settings = _settle(program, called, space=called.space, folders=folders)
    hook = _hook(program, settings, log, [])
    if events.STARTS in later:
        hook = replace(hook, away=None)
    if WARM in later and not waits and called.space and _is_asked(program, called, settings, folders[0]):
        asked = {"space_id": called.space, "q": prompts.FIRST, "max_chars": prompts.ASKED_CHARS, "clear": True}
        with suppress(LiveMemoryError):
            hook.memory(called.client).call("load_context", asked)
    hook.send_unsent(hook.clock() + SECONDS)


def _settle(program: Program, called: Called, *, ends: bool = False, **asked: Any) -> Settings:
    """The settings. A service of this machine that is left alone is not looked for, unless the session `ends`."""
    is_prompt = events.is_prompt(called.client, called.event)
    known = Away.of(_state(program), "", near=True)
    away = _of_prompts(known) if is_prompt else known

    def look(folder: Path) -> LocalService | None:
        if (known.seconds_left() or away.seconds_left()) and not ends:
            return None
        try:
            return local_service.find(folder, prompts.REQUEST_SECONDS if is_prompt else LOOK_SECONDS)
        except TimeoutError:
            # One that this hook starts may be late.
            if events.STARTS not in (called.later or ""):
                away.learn(LiveMemoryError("no_answer", "The service of this machine gave no answer."))
            return None

    return config.settle(
        program.environ, profile=called.profile or program.profile, look=look, client=called.client, **asked
    )


def _of_prompts(away: Away) -> Away:
    """Prompts wait less: a service that is late for them alone still takes what is said."""
    return replace(away, file=away.file.with_suffix(".prompts"), seconds=prompts.PAUSE_SECONDS)


def _state(program: Program) -> Path:
    return record.state_folder(program.environ) / "hooks"


def _hook(
    program: Program,
    settings: Settings,
    log: Log,
    later: list[str],
    asks: Path | None = None,
    *,
    seconds: float = REQUEST_SECONDS,
) -> Hook:
    """The hook of a client. `asks`: the folder whose version of the code goes along with what it asks."""
    url = settings.url or ""
    near = urlsplit(url).hostname in config.LOOPBACK or not (url or settings.token)
    starts = near and local_service.is_installed()
    headers = cache(lambda: WorkTree(asks).headers() if asks else {})

    def connect(client: str) -> "Memory":
        options: dict[str, Any] = {"timeout": seconds, "retries": 0}
        if starts and not url:
            raise LiveMemoryError(NOT_RUNNING, "The service of this machine does not run.")
        service, token = settings.need_url(), settings.need_token()
        if told := headers():
            options["headers"] = told
        if settings.is_local_service:
            from live_memory.cli import agent_tokens  # noqa: PLC0415 - the token of a profile is the agent's own

            own = agent_tokens.of_local_service(program, settings, client, seconds)
            token, options["renew"] = own.get(), own.renewed
        return program.connect_quickly(service, token, **options)

    folder = _state(program)
    # That of this machine may have another port after the next start.
    address = "" if settings.is_local_service else url
    return Hook(
        connect,
        folder,
        log,
        away=Away.of(folder, address, near=near),
        service=f"{settings.profile} {address}",
        url=url,
        starts=starts,
        later=later,
        environ=program.environ,
    )
