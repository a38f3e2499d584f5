"""One event of a client, from its input on stdin to its answer on stdout. The client never gets an error."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from live_memory._redaction import redact
from live_memory.cli import config
from live_memory.cli.init import record
from live_memory.cli.init.hooks import answers, events
from live_memory.cli.init.hooks.away import Away
from live_memory.cli.init.hooks.events import Called, Event
from live_memory.cli.init.hooks.sending import Memory, Sender
from live_memory.cli.init.hooks.state import Files
from live_memory.cli.init.setup import checked_space
from live_memory.cli.program import Program

SECONDS = 5.0
"""Seconds that a session waits for its memory at most."""
RESERVE_SECONDS = 1.0
"""Of these seconds, the part that is kept for sending while a hook waits for the lock of its session."""
REQUEST_SECONDS = 3.5


class LeftAloneError(Exception):
    """The service is left alone for now; the text says for how long."""


@dataclass(frozen=True)
class Hook:
    """The dependencies for an event. `memory` connects at its first use. `log` goes to stderr."""

    memory: Callable[[], Memory]
    folder: Path
    log: Callable[[str], None]
    clock: Callable[[], float] = time.monotonic
    away: Away | None = None

    def run(self, client: str, name: str, space_id: str, text: str) -> str:
        """Handle an event. Returns the answer for the client in any case."""
        until = self.clock() + SECONDS
        event = events.read(client, name, text)
        if event is None:
            return answers.nothing(client, name)
        try:
            return self._deal(event, space_id, until)
        except Exception as problem:  # noqa: BLE001 - whatever it is, the session of the client goes on
            if self.away:
                self.away.learn(problem)
            reason = redact(f"{type(problem).__name__}: {problem}")[0]
            self.log(f"livemem hook {client} {name}: {reason}")
            if event.kind == "load":
                return answers.with_context(client, name, answers.failed(space_id, reason))
            return answers.nothing(client, name)

    def _deal(self, event: Event, space_id: str, until: float) -> str:
        if event.kind == "load":
            self._check_away()
            wanted = {"space_id": space_id, "max_chars": answers.START_CHARS}
            start = self.memory().markdown("get_start", wanted)
            return answers.with_context(event.client, event.name, answers.memory(space_id, start))
        if event.session:
            files = Files.of(self.folder, event.client, space_id, event.session)
            if event.said:
                said, found = redact(event.said)
                if found:
                    self.log(f"livemem hook: {found.total()} texts that look like secrets are not recorded")
                files.keep(event.role, said, datetime.now(UTC).isoformat())
            if event.kind in ("send", "close"):
                self._send(event, space_id, files, until)
        return answers.nothing(event.client, event.name)

    def _check_away(self) -> None:
        left = self.away.seconds_left() if self.away else 0
        if left:
            raise LeftAloneError(f"The service gave no answer; it is asked again in {left / 60:.0f} min.")

    def _send(self, event: Event, space_id: str, files: Files, until: float) -> None:
        if event.transcript is None and not files.kept.exists():
            return
        # At the end of a session nothing comes later that would send the rest.
        if event.kind != "close":
            self._check_away()
        # What was sent in the background a moment before is waited for: the end of a session closes its conversation.
        with files.lock(until - RESERVE_SECONDS) as alone:
            # Another hook of the session is sending. The next event sends messages that it does not see.
            if alone:
                Sender(self.memory(), space_id, event, files, lambda: self.clock() < until, self.log).send()


def handle(program: Program, called: Called, text: str, log: Callable[[str], None]) -> str:
    """Handle an event for the service of the settings. Raises Refused where they name none."""
    settings = config.settle(program.environ, profile=called.profile or program.profile, space=called.space)

    def connect() -> Memory:
        options: dict[str, Any] = {"timeout": REQUEST_SECONDS, "retries": 0}
        service, token = settings.need_url(), settings.need_token()
        if settings.is_local_service:
            from live_memory.cli import agent_tokens  # noqa: PLC0415 - the token of a profile is the agent's own

            own = agent_tokens.of_local_service(program, settings, called.client, REQUEST_SECONDS)
            token, options["renew"] = own.get(), own.renewed
        return program.connect_quickly(service, token, **options)

    folder = record.state_folder(program.environ) / "hooks"
    url = settings.url or ""
    away = Away.of(folder, url, near=urlsplit(url).hostname in config.LOOPBACK)
    hook = Hook(connect, folder, log, away=away)
    return hook.run(called.client, called.event, checked_space(settings.need_space()), text)
