"""The hooks of a plugin beside those of `livemem init`, on the real routes."""

import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from live_memory import Client
from live_memory.cli.init.setup import IN_ANY_SHELL
from live_memory.cli.main import app
from live_memory.cli.program import Program
from scripts import plugins
from tests.support import front
from tests.support.service import Service
from tests.support.world import BOOTSTRAP_KEY

CLIENTS = {"claude-code": (".claude/settings.json", "SessionEnd"), "codex": (".codex/hooks.json", "Stop")}
"""The file of its hooks, and the event at which all is sent."""


@dataclass
class Person:
    """Somebody with a plugin, on a machine of their own."""

    home: Path
    api: Client
    client: str

    @property
    def folder(self) -> Path:
        """The project: its own space has this name."""
        return self.home / "ferry"

    def run(self, *arguments: str, text: str = "") -> str:
        """What a command prints, in this process: nobody would wait for what goes on in the background."""
        done = CliRunner().invoke(app, arguments, input=text, obj=Program(detach=lambda *_: False))
        assert done.exit_code in (0, 7), done.output
        return done.stdout

    def init(self, *options: str) -> None:
        """Run `livemem init` as another service's user does."""
        directory = ("--directory", str(self.folder), "--yes")
        self.run("init", self.client, *directory, *options)

    def fire(self, event: str) -> list[dict[str, Any]]:
        """The answers that are not empty, of all hooks that the client has at an event."""
        file = CLIENTS[self.client][0]
        written = [text for place in (self.folder, self.home) if (text := _text(place / file))]
        written.append(plugins.files()[f"{plugins.PLUGIN}/hooks/{self.client}.json"])
        groups = [group for text in written for group in json.loads(text)["hooks"].get(event, [])]
        told = {"session_id": "s1", "cwd": str(self.folder), "transcript_path": str(self.home / "session.jsonl")}
        answers = [
            json.loads(self.run(*shlex.split(hook["command"].removesuffix(IN_ANY_SHELL))[1:], text=json.dumps(told)))
            for group in groups
            for hook in group["hooks"]
            if hook["command"].startswith("livemem hook ")
        ]
        return [answer for answer in answers if answer]

    def say(self, words: str) -> None:
        """Add words of the person to the session's file, as its client does."""
        at = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        entry: dict[str, Any] = {"type": "user", "message": {"role": "user", "content": words}}
        if self.client == "codex":
            content = [{"type": "input_text", "text": words}]
            entry = {"type": "response_item", "payload": {"type": "message", "role": "user", "content": content}}
        with (self.home / "session.jsonl").open("a") as file:
            file.write(json.dumps({**entry, "timestamp": at}) + "\n")

    def recorded(self) -> dict[str, list[str]]:
        """What was said, by space."""
        found: dict[str, list[str]] = {}
        for space in self.api.call("list_spaces", {})["items"]:
            where = {"space_id": space["space_id"]}
            for conversation in self.api.call("list_conversations", where)["items"]:
                turns = self.api.call("list_turns", {**where, "conversation_id": conversation["conversation_id"]})
                found.setdefault(space["space_id"], []).extend(turn["user_message"] for turn in turns["items"])
        return found


def _text(path: Path) -> str:
    return path.read_text("utf-8") if path.exists() else ""


@pytest.fixture(params=CLIENTS)
def person(
    request: pytest.FixtureRequest, service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Person]:
    for name in ("CODEX_HOME", "CLAUDE_CONFIG_DIR", "CLAUDE_PROJECT_DIR", "LIVEMEM_SPACE", "LIVEMEM_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    with front.opened(service) as door:
        url = f"http://127.0.0.1:{door.port}"
        kept = {"LIVEMEM_STATE": str(tmp_path / "state"), "LIVEMEM_CONFIG": str(tmp_path / "none.toml")}
        for name, value in {"HOME": str(tmp_path), "LIVEMEM_URL": url, "LIVEMEM_TOKEN": BOOTSTRAP_KEY, **kept}.items():
            monkeypatch.setenv(name, value)
        with Client(url, BOOTSTRAP_KEY) as api:
            made = Person(tmp_path, api, request.param)
            made.folder.mkdir()
            api.call("create_space", {"space_id": "team", "description": "d"})
            monkeypatch.chdir(made.folder)
            yield made


@pytest.mark.parametrize("scope", ["project", "user"])
def test_beside_the_hooks_of_init_a_plugin_gives_no_second_start_and_records_nothing_twice(
    person: Person, scope: str
) -> None:
    person.init("--space", "team", "--scope", scope)

    (started,) = person.fire("SessionStart")
    person.say("When do ferries leave?")
    person.fire(CLIENTS[person.client][1])
    person.fire("PreCompact")

    assert "space `team`" in started["hookSpecificOutput"]["additionalContext"]
    assert person.recorded() == {"team": ["When do ferries leave?"]}


def test_where_init_records_nothing_a_plugin_records_nothing_and_from_the_start_after_an_undo_it_does(
    person: Person,
) -> None:
    person.init("--space", "team", "--no-record")
    assert len(person.fire("SessionStart")) == 1
    person.say("Private.")
    person.fire(CLIENTS[person.client][1])
    assert person.recorded() == {}

    person.init("--undo")
    person.say("Private too.")
    person.fire(CLIENTS[person.client][1])
    assert person.recorded() == {}

    (started,) = person.fire("SessionStart")
    assert "space `ferry`" in started["hookSpecificOutput"]["additionalContext"]
    person.say("When do ferries leave?")
    person.fire(CLIENTS[person.client][1])
    assert person.recorded() == {"ferry": ["When do ferries leave?"]}


@pytest.mark.parametrize("name", ["LIVEMEM_TOKEN", "LIVEMEM_\\u0055RL"])
def test_an_address_or_a_token_that_files_of_the_project_set_does_not_count(person: Person, name: str) -> None:
    (person.folder / ".claude").mkdir()
    (person.folder / ".claude/settings.local.json").write_text(f'{{"env": {{"{name}": "any"}}}}')

    (started,) = person.fire("SessionStart")
    person.say("Private.")
    person.fire(CLIENTS[person.client][1])

    assert "which does not count" in started["hookSpecificOutput"]["additionalContext"]
    assert "which does not count" in CliRunner().invoke(app, ["mcp"], input="").stderr
    assert person.recorded() == {}


def test_a_file_that_passes_the_token_of_its_user_on_sets_none(person: Person) -> None:
    (person.folder / ".cursor").mkdir()
    (person.folder / ".cursor/mcp.json").write_text('{"headers": {"Authorization": "Bearer ${env:LIVEMEM_TOKEN}"}}')
    (person.folder / ".codex").mkdir()
    (person.folder / ".codex/config.toml").write_text('bearer_token_env_var = "LIVEMEM_TOKEN"\n')

    (started,) = person.fire("SessionStart")

    assert "The shared memory of this project (space `ferry`)" in started["hookSpecificOutput"]["additionalContext"]
