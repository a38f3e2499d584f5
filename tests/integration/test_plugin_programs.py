"""The real programs take their plugins, without network, and a session with one has the memory.

Each test runs where its program is installed, or a variable such as LIVEMEM_TEST_CLAUDE names it (which then has to
work).
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from live_memory import Client
from scripts import plugins
from tests.integration.local.support import wait_until
from tests.support import anthropic_server, front, llm_server, responses_server
from tests.support.responses_server import tools_of
from tests.support.service import Service
from tests.support.world import BOOTSTRAP_KEY

PROGRAMS = {
    "claude": "@anthropic-ai/claude-code",
    "codex": "@openai/codex",
    "copilot": "@github/copilot",
    "gemini": "@google/gemini-cli",
    "opencode": "opencode-ai",
    "mcpb": "@anthropic-ai/mcpb",
}
"""The programs, and where npm has them."""
FOUND = {name: os.environ.get(f"LIVEMEM_TEST_{name.upper()}") or shutil.which(name) for name in PROGRAMS}
PATH = os.pathsep.join(str(plugins.ROOT / part) for part in ("client", "layers/livemem", "."))
TOOLS = {"note", "search", "start_session"}

pytestmark = [pytest.mark.process, pytest.mark.slow]


def needs(name: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(not FOUND[name], reason=f"{name} is not installed: npm install {PROGRAMS[name]}")


@dataclass
class Machine:
    """A person's machine: a home, a project, and programs that lie in `bin` beside those of the system."""

    home: Path
    environ: dict[str, str]

    @property
    def project(self) -> Path:
        return self.home / "ferry"

    def run(self, name: str, *arguments: str) -> str:
        """What a program prints. It ends well."""
        done = subprocess.run(
            [str(FOUND[name]), *arguments],
            cwd=self.project,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    def init(self, url: str, client: str) -> None:
        """Give a client the memory of the space `ferry`, at a service elsewhere."""
        self.install(url)
        command = [str(self.home / "bin/livemem"), "init", client, "--space", "ferry", "--yes"]
        subprocess.run(command, cwd=self.project, env=self.environ, check=True, capture_output=True, timeout=120)

    def install(self, url: str) -> None:
        """Put `livemem` on the PATH, for a service elsewhere. Programs pass few variables on to their servers."""
        given = {"PYTHONPATH": PATH, "LIVEMEM_URL": url, "LIVEMEM_TOKEN": BOOTSTRAP_KEY}
        words = "\n".join(f"export {name}='{value}'" for name, value in given.items())
        program = self.home / "bin/livemem"
        program.write_text(f'#!/bin/sh\n{words}\nexec {sys.executable} -m live_memory.cli "$@"\n')
        program.chmod(0o755)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    for name in ("ferry", "bin", ".codex", ".gemini"):
        (tmp_path / name).mkdir()
    node = str(Path(shutil.which("node") or "/usr/bin/node").parent)
    path = os.pathsep.join([str(tmp_path / "bin"), "/usr/bin", "/bin", node])
    proxies = {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}
    quiet = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
    return Machine(tmp_path, {**proxies, **quiet, "HOME": str(tmp_path), "PATH": path, "ANTHROPIC_API_KEY": "test"})


@pytest.fixture
def api(service: Service) -> Iterator[Client]:
    with front.opened(service) as door, Client(f"http://127.0.0.1:{door.port}", BOOTSTRAP_KEY) as client:
        client.call("create_space", {"space_id": "ferry", "description": "The ferries."})
        client.call("append_note", {"space_id": "ferry", "category": "decision", "content": "S3 is the only store."})
        yield client


def said(api: Client) -> list[str]:
    ids = [one["conversation_id"] for one in api.call("list_conversations", {"space_id": "ferry"})["items"]]
    turns = [api.call("list_turns", {"space_id": "ferry", "conversation_id": one})["items"] for one in ids]
    return [turn["user_message"] for items in turns for turn in items]


@needs("claude")
def test_a_session_of_claude_code_with_the_plugin_has_start_tools_and_skills_and_is_recorded(
    machine: Machine, api: Client
) -> None:
    machine.install(api.url)
    machine.run("claude", "plugin", "validate", "--strict", str(plugins.ROOT))
    machine.run("claude", "plugin", "validate", "--strict", str(plugins.ROOT / plugins.PLUGIN))

    asked = _claude(machine)

    text = json.dumps(asked["messages"])
    assert text.count("S3 is the only store.") == 1
    assert {f"mcp__plugin_livemem_livemem__{name}" for name in TOOLS} <= {tool["name"] for tool in asked["tools"]}
    assert [name for name in plugins.SKILLS if f"livemem:{name}" not in text] == []
    assert plugins.MISSING not in text
    assert said(api) == ["When do ferries leave?"]


@needs("claude")
def test_a_session_of_claude_code_goes_on_without_livemem_and_is_told_what_to_install(machine: Machine) -> None:
    asked = _claude(machine)

    assert json.dumps(asked["messages"]).count(json.dumps(plugins.MISSING)[1:-1]) == 1
    assert [tool["name"] for tool in asked["tools"] if "livemem" in tool["name"]] == []


def _claude(machine: Machine) -> dict[str, Any]:
    """The request of one session with the plugin, which ends well."""
    machine.run("claude", "plugin", "marketplace", "add", str(plugins.ROOT))
    machine.run("claude", "plugin", "install", "livemem@livemem")
    with anthropic_server.serving(anthropic_server.said("At nine.")) as server:
        machine.environ["ANTHROPIC_BASE_URL"] = server.url
        assert "At nine." in machine.run("claude", "-p", "When do ferries leave?")
    return next(one for one in server.asked if one.get("tools"))


@needs("codex")
def test_a_session_of_codex_with_the_plugin_has_start_tools_and_skills_and_is_recorded(
    machine: Machine, api: Client
) -> None:
    machine.install(api.url)
    with responses_server.serving() as server:
        (machine.home / ".codex/config.toml").write_text(server.settings)
        machine.run("codex", "plugin", "marketplace", "add", str(plugins.ROOT))
        machine.run("codex", "plugin", "add", "livemem@livemem")
        trusted = ("--skip-git-repo-check", "--dangerously-bypass-hook-trust")
        machine.run("codex", "exec", *trusted, "When do ferries leave?")

    (asked,) = server.asked
    assert json.dumps(asked["input"]).count("S3 is the only store.") == 1
    assert set(tools_of(asked)) >= TOOLS
    assert [name for name in plugins.SKILLS if f"livemem:{name}" not in json.dumps(asked)] == []
    # Codex does not wait for what its hooks leave to the background.
    assert wait_until(lambda: said(api)) == ["When do ferries leave?"]


@needs("gemini")
def test_gemini_cli_takes_the_extension_and_connects_to_its_server(machine: Machine, api: Client) -> None:
    machine.install(api.url)
    (machine.home / ".gemini/settings.json").write_text('{"security": {"folderTrust": {"enabled": false}}}')
    folder = str(plugins.ROOT / plugins.PLUGIN)
    machine.run("gemini", "extensions", "validate", folder)
    machine.run("gemini", "extensions", "install", folder, "--consent")

    assert "livemem (from livemem): livemem mcp (stdio) - Connected" in machine.run("gemini", "mcp", "list")


def checked(asked: Any, api: Client) -> None:
    """One request of a session whose prompt was "When do ferries leave?" has the start and the tools, and the session
    is recorded.
    """
    assert json.dumps(asked).count("S3 is the only store.") == 1
    assert [name for name in TOOLS if name not in json.dumps(asked["tools"])] == []
    assert wait_until(lambda: said(api)) == ["When do ferries leave?"]


@needs("gemini")
def test_a_session_of_gemini_cli_with_the_hooks_of_init_has_start_and_tools_and_is_recorded(
    machine: Machine, api: Client
) -> None:
    machine.init(api.url, "gemini")
    own = {"security": {"folderTrust": {"enabled": False}, "auth": {"selectedType": "gemini-api-key"}}}
    (machine.home / ".gemini/settings.json").write_text(json.dumps(own))
    candidate = {"content": {"role": "model", "parts": [{"text": "At nine."}]}, "finishReason": "STOP", "index": 0}
    with llm_server.serving(*[streamed({"candidates": [candidate]})] * 9) as server:
        machine.environ |= {"GEMINI_API_KEY": "k", "GOOGLE_GEMINI_BASE_URL": server.url.removesuffix("/v1")}
        told = machine.run("gemini", "-m", "gemini-2.5-flash", "--yolo", "-p", "When do ferries leave?")
    assert "Live Memory: 1 decision" in told
    checked(server.asked[-1].body, api)


def streamed(*chunks: dict[str, Any]) -> llm_server.Step:
    text = "".join(f"data: {json.dumps(chunk)}\r\n\r\n" for chunk in chunks)
    return llm_server.answer(text.encode(), content_type="text/event-stream")


def completed() -> llm_server.Step:
    """A chat completion as a stream."""
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "played"}
    words = {"index": 0, "delta": {"role": "assistant", "content": "At nine."}, "finish_reason": None}
    end = {"index": 0, "delta": {}, "finish_reason": "stop"}
    return streamed({**head, "choices": [words]}, {**head, "choices": [end]})


@needs("copilot")
def test_a_session_of_copilots_command_line_with_the_hooks_of_init_has_start_and_tools_and_is_recorded(
    machine: Machine, api: Client
) -> None:
    machine.init(api.url, "copilot")
    with llm_server.serving(*[completed()] * 9) as server:
        machine.environ |= {"COPILOT_OFFLINE": "true", "COPILOT_AUTO_UPDATE": "false", "COPILOT_MODEL": "played"}
        machine.environ["COPILOT_PROVIDER_BASE_URL"] = server.url
        machine.run("copilot", "--trust-folder", "-p", "When do ferries leave?")
    checked(next(one.body for one in server.asked if one.method == "POST"), api)


@needs("opencode")
def test_a_session_of_opencode_with_the_plugin_of_init_has_start_and_tools_and_is_recorded(
    machine: Machine, api: Client
) -> None:
    machine.init(api.url, "opencode")
    with llm_server.serving(*[completed()] * 9) as server:
        options = {"baseURL": server.url, "apiKey": "k"}
        played = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {"played": {"name": "played"}}}
        own = {"provider": {"played": played}, "model": "played/played", "autoupdate": False}
        (machine.home / ".config/opencode").mkdir(parents=True)
        (machine.home / ".config/opencode/opencode.json").write_text(json.dumps(own))
        machine.environ["OPENCODE_DISABLE_MODELS_FETCH"] = "1"
        # It puts a prompt of several words into quotes.
        machine.run("opencode", "run", "Ferries?")
    asked = next(one.body for one in server.asked if one.body and one.body.get("tools"))
    assert json.dumps(asked).count("S3 is the only store.") == 1
    assert {f"livemem_{name}" for name in TOOLS} <= {tool["function"]["name"] for tool in asked["tools"]}
    assert wait_until(lambda: said(api)) == ["Ferries?"]


@needs("mcpb")
def test_the_bundle_has_a_manifest_that_its_makers_accept(machine: Machine) -> None:
    file = machine.home / plugins.BUNDLE
    file.write_bytes(plugins.bundle())
    machine.run("mcpb", "unpack", str(file), str(machine.home / "unpacked"))

    assert "passes" in machine.run("mcpb", "validate", str(machine.home / "unpacked/manifest.json"))
