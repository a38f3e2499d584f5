"""The plugins: what their programs read from a clone, what a release holds, and what runs where livemem is missing."""

import hashlib
import io
import json
import shutil
import subprocess
import zipfile
from base64 import b64decode
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import jsonschema
import pytest

from scripts import plugins
from tests.unit.cli.init.support import desk

SCHEMA = json.loads(Path(__file__).with_name("mcp_registry_schema.json").read_text("utf-8"))
"""The schema that the registry publishes, without its descriptions and examples."""
GUIDE = plugins.ROOT / "docs/agents/plugins.md"
HOOKS = {"claude-code": ".claude/settings.json", "codex": ".codex/hooks.json"}


def commands(document) -> list[str]:
    return [one["command"] for groups in document["hooks"].values() for group in groups for one in group["hooks"]]


def hooks(client: str) -> list[str]:
    return commands(json.loads(plugins.files()[f"{plugins.PLUGIN}/hooks/{client}.json"]))


def test_git_has_the_files_that_the_source_makes_and_no_others():
    command = ["git", "ls-files", plugins.PLUGIN, plugins.MARKETPLACE]
    kept = subprocess.run(command, cwd=plugins.ROOT, capture_output=True, text=True, check=True).stdout

    assert {name: (plugins.ROOT / name).read_text("utf-8") for name in kept.split()} == plugins.files()


@pytest.mark.parametrize("client", HOOKS)
def test_a_plugin_runs_the_commands_that_init_writes_without_the_name_of_a_space(client):
    with desk() as there:
        # A prompt is asked about only where `init` said so.
        there.init(client, local=True, recall=False)
        written = [command.replace(" --space demo", "") for command in commands(there.json(HOOKS[client]))]

    assert [command for command in hooks(client) if command.startswith("livemem hook ")] == written
    assert len(hooks(client)) == len(written) + 1


def test_no_plugin_names_an_address_a_token_or_a_space():
    with zipfile.ZipFile(io.BytesIO(plugins.bundle())) as archive:
        held = {name: archive.read(name).decode() for name in archive.namelist()}
    settings = {name: text for name, text in {**plugins.files(), **held}.items() if not name.endswith(".md")}

    assert {"start.js", "manifest.json", plugins.MARKETPLACE} <= set(settings)
    for text in settings.values():
        assert not any(word in text for word in ("http:", "https:", "LIVEMEM_", "Authorization", "uvx", "--from"))


@pytest.mark.process
@pytest.mark.parametrize("installed", [True, False])
@pytest.mark.parametrize("client", HOOKS)
def test_where_livemem_is_missing_one_line_says_what_to_install_and_each_hook_ends_well(tmp_path, client, installed):
    if installed:
        (tmp_path / "livemem").write_text('#!/bin/sh\necho "$*"\n')
        (tmp_path / "livemem").chmod(0o755)

    env = {"PATH": str(tmp_path)}
    said = [subprocess.check_output(["/bin/sh", "-c", command], env=env, text=True) for command in hooks(client)]

    told = [json.loads(text)["systemMessage"] for text in said if text.startswith("{")]
    assert told == ([] if installed else [plugins.MISSING])
    assert [text for text in said if text.startswith("hook ")] == [
        command.split(" ;")[0].removeprefix("livemem ") + "\n"
        for command in hooks(client)
        if installed and command.startswith("livemem ")
    ]


def test_a_release_has_the_bundle_and_an_entry_that_conforms_to_the_schema_of_the_registry():
    held = plugins.released({"GITHUB_REPOSITORY": "acme/live-memory"})
    entry = json.loads(held["server.json"])

    jsonschema.Draft7Validator(SCHEMA).validate(entry)
    assert entry["$schema"] == SCHEMA["$id"]
    assert entry["name"] == "io.github.acme/livemem"
    assert entry["packages"][0]["fileSha256"] == hashlib.sha256(held[plugins.BUNDLE]).hexdigest()
    assert held == plugins.released({"GITHUB_REPOSITORY": "acme/live-memory"})
    assert set(plugins.released({})) == {plugins.BUNDLE}


def test_the_schema_refuses_an_entry_without_a_hash_of_its_form():
    entry = plugins.registry("acme/live-memory", b"")
    entry["packages"][0]["fileSha256"] = "none"

    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft7Validator(SCHEMA).validate(entry)


@pytest.mark.process
@pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")
def test_the_bundle_starts_livemem_with_the_space_of_its_user_and_says_where_it_is_missing(tmp_path):
    with zipfile.ZipFile(io.BytesIO(plugins.bundle())) as archive:
        archive.extractall(tmp_path)
    env = {"HOME": str(tmp_path), "PATH": "/nowhere"}

    def started() -> subprocess.CompletedProcess[str]:
        command = [str(shutil.which("node")), "start.js", "desktop"]
        return subprocess.run(
            command, cwd=tmp_path, env=env, input="hello\n", capture_output=True, text=True, check=False
        )

    missing = started()
    assert (missing.returncode, missing.stdout, missing.stderr.strip()) == (1, "", plugins.MISSING)

    program = tmp_path / ".local/bin/livemem"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\nread line\necho "$* $line"\nexit 3\n')
    program.chmod(0o755)
    there = started()
    assert (there.returncode, there.stdout) == (3, "mcp --space desktop hello\n")


def test_each_link_holds_the_server_that_init_writes():
    asked = {name: parse_qs(urlsplit(link).query) for name, link in plugins.links().items()}
    (cursor,), (code,) = asked["Cursor"]["config"], asked["VS Code"]["config"]

    assert {(*one["name"],) for one in asked.values()} == {("livemem",)}
    assert json.loads(b64decode(cursor)) == json.loads(code) == {"command": "livemem", "args": ["mcp"]}


def test_the_guide_has_the_links_that_the_source_makes():
    assert [link for link in plugins.links().values() if link not in GUIDE.read_text("utf-8")] == []
