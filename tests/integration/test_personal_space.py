"""A personal space beside a project's, on the real routes."""

import io
import json
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from benchmarks import mcp as bench
from live_memory import Client
from live_memory.cli import code_version
from live_memory.cli.init.hooks import command, prompts
from live_memory.cli.main import app
from live_memory.cli.mcp.kept_answers import KeptAnswers
from live_memory.cli.mcp.stdio import Passer
from live_memory.cli.mcp.upstream import Upstreams
from live_memory.cli.program import Program
from tests.support import front
from tests.support.service import Service
from tests.support.world import BOOTSTRAP_KEY


@dataclass
class Person:
    """Somebody with two projects, at a service."""

    home: Path
    url: str
    client: Client
    environ: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        state = {"LIVEMEM_STATE": str(self.home / "state"), "LIVEMEM_CONFIG": str(self.home / "none.toml")}
        self.environ = {"HOME": str(self.home), **state, "LIVEMEM_URL": self.url, "LIVEMEM_TOKEN": BOOTSTRAP_KEY}
        for name in ("ferry", "harbour"):
            (self.home / name).mkdir(parents=True)
            self.client.call("create_space", {"space_id": name, "description": "d"})

    def run(self, *arguments: str, stdin: str = "", ends: int = 0) -> Result:
        here = Program(environ=self.environ, detach=lambda *_: False)
        done = CliRunner().invoke(app, list(arguments), input=stdin, env=self.environ, obj=here)
        assert done.exit_code == ends, (done.output, done.exception)
        return done

    def init(self, *options: str, ends: int = 0, client: str = "claude-code", project: str = "ferry") -> Result:
        where = ("--directory", str(self.home / project), "--yes")
        named = () if "--undo" in options else ("--space", project)
        return self.run("init", client, *where, *named, *options, ends=ends)

    def files(self, project: str = "ferry") -> dict[str, bytes]:
        folder = self.home / project
        return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    @property
    def records(self) -> list[Any]:
        return [json.loads(path.read_text()) for path in (self.home / "state/spaces").glob("personal-*.json")]

    def note(self, space: str, content: str) -> None:
        self.client.call("append_note", {"space_id": space, "category": "decision", "content": content})


@pytest.fixture
def person(service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Person]:
    with front.opened(service) as door:
        url = f"http://127.0.0.1:{door.port}"
        with Client(url, BOOTSTRAP_KEY) as client:
            found = Person(tmp_path, url, client)
            # Above a home folder no files are looked at.
            monkeypatch.setenv("HOME", str(tmp_path))
            monkeypatch.chdir(found.home / "ferry")
            yield found


# Who has it


def test_init_makes_a_personal_space_and_records_it_on_this_machine_alone_and_undo_takes_it_away(
    person: Person,
) -> None:
    person.init()
    before = person.files()

    done = person.init("--personal", "ann", "--diff")

    assert person.files() == before
    assert '+{"repository": ' in done.stdout
    assert "Personal: the agents of this repository see your space ann" in done.stderr
    assert person.client.call("get_space", {"space_id": "ann"})
    assert [(one["service"], one["space"]) for one in person.records] == [(person.url, "ann")]
    assert "Nothing to change" in person.init("--personal", "ann", ends=7).stderr
    person.init("--undo")
    assert person.records == []
    assert person.files() == {}


def test_a_client_that_did_not_bring_it_does_not_take_it_away_and_no_personal_does(person: Person) -> None:
    person.init("--personal", "ann")
    person.init(client="codex")
    person.init("--undo", client="codex")
    assert [one["space"] for one in person.records] == ["ann"]
    person.init("--no-personal")
    assert person.records == []


def test_init_says_where_tools_do_not_see_it(person: Person) -> None:
    for client in ("claude-code", "codex", "cursor", "vscode", "gemini-cli", "opencode"):
        told = person.init("--personal", "ann", "--dry-run", client=client).stderr
        assert ("MCP tools of this client ask the service itself" in told) == (client not in ("gemini-cli", "opencode"))


def test_the_last_client_that_is_undone_takes_it_away(person: Person) -> None:
    person.init("--personal", "ann")
    person.init("--personal", "ann", client="codex")
    person.init("--undo")
    assert [one["space"] for one in person.records] == ["ann"]
    person.init("--undo", client="codex")
    assert person.records == []


def test_the_no_of_a_project_counts_also_where_all_projects_have_a_personal_space(person: Person) -> None:
    person.init("--personal", "ann", "--scope", "user")
    written = person.run("note", "--personal", "I like short names.")
    assert written.stdout
    assert "Personal space: ann\n" in written.stderr
    assert "personal space here\tann\n" in person.run("whoami").stdout
    person.init("--no-personal")
    person.run("note", "--personal", "I like short names.", ends=2)
    person.init("--undo")
    assert person.run("note", "--personal", "I like short names.").stdout


def test_a_personal_space_is_refused_if_it_is_a_project_s_and_nothing_is_half_done(person: Person) -> None:
    person.client.call("create_space", {"space_id": "quay", "description": "d", "repository": "example.org/quay"})
    reader = person.client.call("create_token", {"name": "ann", "permissions": ["read"], "space_ids": ["ferry"]})
    narrow = person.client.call(
        "create_token", {"name": "bob", "permissions": ["read", "write"], "space_ids": ["ferry"]}
    )

    assert "is the space of the project" in person.init("--personal", "ferry", ends=2).stderr
    assert "is the memory of example.org/quay" in person.init("--personal", "quay", ends=2).stderr
    assert "needs a token with `read` and `write` in harbour" in _as(person, narrow, "harbour").stderr
    assert "needs a token with `read` and `write` in ann" in _as(person, reader, "ann").stderr
    assert person.records == []
    assert person.files() == {}


def _as(person: Person, token: Any, space: str) -> Result:
    person.environ["LIVEMEM_TOKEN"] = token["token"]
    return person.init("--personal", space, ends=4)


def test_the_space_that_a_token_with_a_list_makes_is_seen_by_no_other_token_with_a_list(person: Person) -> None:
    tokens = [
        person.client.call("create_token", {"name": name, "permissions": ["read", "write"], "space_ids": ["ferry"]})
        for name in ("ann", "bob")
    ]
    person.environ["LIVEMEM_TOKEN"] = tokens[0]["token"]
    person.init("--personal", "ann")
    assert [one["space_id"] for one in json.loads(person.run("spaces", "--json").stdout)["items"]] == ["ann", "ferry"]
    person.environ["LIVEMEM_TOKEN"] = tokens[1]["token"]
    assert [one["space_id"] for one in json.loads(person.run("spaces", "--json").stdout)["items"]] == ["ferry"]


# What it adds to the project's


SPACES = ("ferry", "harbour", "ann")
PROMPT = "Which prefix does the commit message take?"


def hook(person: Person, event: str, project: str = "ferry", **payload: Any) -> str:
    """What a hook of the project gives the model."""
    folder = str(person.home / project)
    told = json.dumps({"session_id": "s1", "cwd": folder, "hook_event_name": event, **payload})
    done = person.run("hook", "claude-code", event, "--space", project, stdin=told)
    assert not done.stderr, done.stderr
    answer = json.loads(done.stdout)
    return str(answer.get("hookSpecificOutput", {}).get("additionalContext", ""))


@pytest.fixture
def both(person: Person, monkeypatch: pytest.MonkeyPatch) -> Person:
    """A project and a personal space with notes of both."""
    monkeypatch.setattr(command, "PROMPT_SECONDS", 20)
    monkeypatch.setattr(prompts, "REQUEST_SECONDS", 10)
    person.init("--personal", "ann")
    person.init(project="harbour")
    person.note("ferry", "The driver of the database is psycopg.")
    person.note("ferry", "Deploys run from the pipeline only, never from a laptop.")
    person.note("ann", "The commit message prefix is a verb in small letters.")
    person.note("ann", "Deploys run from the pipeline only, never from a laptop.")
    person.note("ann", "The driver of the database is sqlite.")
    return person


def test_a_start_gives_the_project_s_lines_and_below_them_what_the_personal_space_alone_says(both: Person) -> None:
    both.note("ann", "The driver of databases is oracle.")
    for start in (hook(both, "SessionStart"), both.run("start").stdout):
        project, heading, own = start.partition("# Personal space `ann` of your user")
        assert heading
        assert "psycopg" in project
        assert "prefix is a verb" in own
        # Nothing twice, and nothing against the project.
        assert start.count("Deploys run from the pipeline") == 1
        assert "sqlite" not in start
        assert "oracle" not in start


def test_a_project_that_did_not_ask_for_it_and_a_named_space_see_nothing_of_it(
    both: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = [hook(both, "SessionStart", project="harbour"), both.run("search", "prefix", "-s", "harbour", ends=7).output]
    monkeypatch.chdir(both.home / "harbour")
    seen += [
        both.run("start").output,
        both.run("search", "prefix", ends=7).output,
        both.run("context", "prefix").output,
    ]
    assert not any("ann" in text or "verb" in text for text in seen)


def fill(person: Person, space: str, count: int) -> None:
    """Notes on many things, each with a paragraph."""
    for number in range(count):
        letter = chr(65 + number % 26)
        more = " ".join(
            f"{letter}{space}{word}{number} is called so" for word in ("alpha", "beta", "gamma", "delta") * 4
        )
        person.note(space, f"Thing {number}: {more}.")


def test_the_personal_space_has_a_fifth_of_a_start_at_most_and_only_whole_lines(both: Person) -> None:
    fill(both, "ann", 8)
    fill(both, "ferry", 20)
    start = both.run("start").stdout
    project, heading, own = start.partition("\n# Personal space")
    assert len(start) <= 9_500
    assert 1_000 < len(heading + own) <= 1_900
    assert own.rstrip().endswith(".")
    assert len(project) > 6_000


def test_the_start_of_a_project_is_whole_if_the_personal_space_can_t_be_read(both: Person) -> None:
    fill(both, "ferry", 20)
    both.client.call("delete_space", {"space_id": "ann", "confirm": "ann"})
    start = both.run("start").stdout
    assert start.count("The personal space `ann` is left out") == 1
    assert len(start) > 8_000


def test_search_context_and_prompts_look_into_both_and_say_which(both: Person) -> None:
    found = json.loads(both.run("search", "the prefix and the driver", "--json", "--everything").stdout)
    assert "psycopg" in found["items"][0]["snippet"]
    assert "prefix is a verb" in found["personal"]
    assert "# Personal space `ann`" in both.run("search", "the prefix").stdout
    assert "# Personal space `ann`" in both.run("context", PROMPT).stdout
    told = hook(both, "UserPromptSubmit", prompt=PROMPT)
    assert "space `ferry`; `personal`: the user's space `ann`" in told
    assert " personal The commit message prefix is a verb" in told
    assert not hook(both, "UserPromptSubmit", prompt=PROMPT)
    told = hook(both, "UserPromptSubmit", prompt="Is psycopg the driver of the database?")
    assert " The driver of the database is psycopg" in told
    assert "`personal`" not in told


def of_start(both: Person) -> None:
    hook(both, "SessionStart")


def of_search(both: Person) -> None:
    assert "prefix is a verb" in both.run("search", "the prefix").stdout


def of_tool(name: str, **arguments: Any) -> Callable[[Person], None]:
    def given(both: Person) -> None:
        assert "prefix is a verb" in Mcp(both).call(name, **arguments)

    return given


def of_read(both: Person) -> None:
    notes = both.client.call("list_notes", {"space_id": "ann"})["items"]
    of_tool("read", space_id="ann", id=next(one["note_id"] for one in notes if "verb" in one["content"]))(both)


def of_resource(both: Person) -> None:
    assert "prefix is a verb" in Mcp(both).ask("resources/read", uri="livemem://ann/summary")["contents"][0]["text"]


def of_all_spaces(both: Person) -> None:
    mcp = Mcp(both, toolset="full")
    assert "prefix is a verb" in mcp.call("search", q=PROMPT, spaces="all")


def by_hook(both: Person, transcript: Path) -> str:
    hook(both, "SessionEnd", transcript_path=str(transcript), session_id=transcript.stem)
    return "ferry"


def by_import(both: Person, transcript: Path) -> str:
    both.run("import", str(transcript))
    return "ferry"


def by_import_into_another_project(both: Person, transcript: Path) -> str:
    both.run("import", str(transcript), "--space", "harbour")
    return "harbour"


GIVES = (
    of_start,
    of_search,
    of_tool("search", q="the prefix", space_id="ann"),
    of_tool("start_session", space_id="ann"),
    of_read,
    of_resource,
    of_all_spaces,
)


def test_personal_lines_that_were_given_are_cut_from_what_projects_record(both: Person) -> None:
    for number, give in enumerate(GIVES):
        for given in (both.home / "state").rglob("*.given"):
            given.unlink()
        give(both)
        record = (by_hook, by_import, by_import_into_another_project)[number % 3]
        transcript = both.home / f"{number}.jsonl"
        said = (
            ("user", "How do I name it?"),
            ("assistant", "As you like it: **the commit message prefix is a verb, in small letters**! psycopg stays."),
        )
        lines = (
            {"type": role, "uuid": f"{role}{number}", "sessionId": f"s{number}"}
            | {"message": {"role": role, "content": text}}
            for role, text in said
        )
        transcript.write_text("".join(json.dumps(line) + "\n" for line in lines))

        space = record(both, transcript)

        conversations = both.client.call("list_conversations", {"space_id": space})["items"]
        turns = [
            both.client.call("list_turns", {"space_id": space, "conversation_id": one["conversation_id"]})["items"]
            for one in conversations
        ]
        assert {turn["assistant_message"] for (turn,) in turns} == {"As you like it: **[personal]**! psycopg stays."}
    kept = {space: len(both.client.call("list_conversations", {"space_id": space})["items"]) for space in SPACES}
    assert kept == {"ferry": 5, "harbour": 2, "ann": 0}


# Over MCP


COMMITTING = ["-c", "user.name=ann", "-c", "user.email=ann@example.org", "commit", "-q", "--allow-empty"]


class Mcp:
    """An agent's program that calls `livemem mcp` in the project."""

    def __init__(self, person: Person, project: str = "ferry", toolset: str = "core") -> None:
        program, folder = Program(environ=person.environ), person.home / project
        self.output = io.BytesIO()
        kept = KeptAnswers(person.home / "kept", toolset)
        self.passer = Passer(Upstreams(program, project, folder), kept, self.output, lambda _: None, folder)

    def ask(self, method: str, **params: Any) -> Any:
        self.passer.answer(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode())
        return json.loads(self.output.getvalue().splitlines()[-1])["result"]

    def call(self, name: str, **arguments: Any) -> str:
        return str(self.ask("tools/call", name=name, arguments=arguments)["content"][0]["text"])

    def tools(self) -> dict[str, Any]:
        return {tool["name"]: tool["inputSchema"]["properties"] for tool in self.ask("tools/list")["tools"]}


def test_tools_write_to_the_personal_space_if_they_say_so_and_only_where_there_is_one(both: Person) -> None:
    mcp, other = Mcp(both), Mcp(both, "harbour")
    assert {name for name, properties in mcp.tools().items() if "personal" in properties} == {"note", "remember"}
    assert not any("personal" in properties for properties in other.tools().values())

    for number, yes in enumerate((True, "true", 1)):
        mcp.call("note", category="decision", content=f"I like {number} wide screens.", personal=yes)
    for number, no in enumerate((False, "false", 0)):
        mcp.call("note", category="decision", content=f"The quay has {number} lamps.", personal=no)
    for doubt in ("yes", "True ", 2, [True], {}):
        assert "must be true or false" in mcp.call("note", category="decision", content="I snore.", personal=doubt)

    def notes(space: str) -> list[str]:
        return [one["content"] for one in both.client.call("list_notes", {"space_id": space})["items"]]

    assert sorted(one for one in notes("ann") if "screens" in one) == [f"I like {at} wide screens." for at in range(3)]
    assert sorted(one for one in notes("ferry") if "lamps" in one) == [f"The quay has {at} lamps." for at in range(3)]
    assert not any("screens" in one or "snore" in one for one in notes("ferry"))
    assert not any("lamps" in one or "snore" in one for one in notes("ann"))


def test_a_personal_note_is_refused_where_there_is_no_personal_space(both: Person) -> None:
    mcp = Mcp(both)
    assert "personal" in mcp.tools()["note"]
    both.init("--no-personal")
    for yes in (True, "true", 1, "perhaps"):
        told = mcp.ask(
            "tools/call", name="note", arguments={"category": "decision", "content": "I snore.", "personal": yes}
        )
        assert told["isError"]
        assert "there is no personal space here" in told["content"][0]["text"]
    assert "Noted" in mcp.call("note", category="decision", content="The quay has lamps.", personal=False)
    written = [one["content"] for one in both.client.call("list_notes", {"space_id": "ferry"})["items"]]
    assert "The quay has lamps." in written
    assert "I snore." not in written


def test_a_personal_note_bears_nothing_of_the_project_s_code(both: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_version, "SECONDS", 10)
    tree = both.home / "ferry"
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], [*COMMITTING, "-m", "x"]):
        subprocess.run(["git", "-C", str(tree), *words], check=True)
    lines = [json.dumps({"content": f"I like tea {at}."}) for at in range(2)]
    both.run("note", "--personal", "--batch", stdin="\n".join(lines))
    both.run("note", "--personal", "I like tea too.")
    Mcp(both).call("note", category="decision", content="I like tea most.", personal=True)
    Mcp(both).call("note", category="decision", content="The quay has lamps.")

    def coded(space: str) -> list[Any]:
        notes = both.client.call("list_notes", {"space_id": space})["items"]
        return [one["content"] for one in notes if one.keys() & {"repository", "branch", "commit"}]

    assert coded("ferry") == ["The quay has lamps."]
    assert coded("ann") == []


def test_the_tools_cost_a_model_at_most_1100_tokens_also_with_a_personal_space(both: Person) -> None:
    tools = Mcp(both).ask("tools/list")["tools"]
    assert bench.tokens(json.dumps(tools, ensure_ascii=False, separators=(",", ":"))) <= 1_100


def test_tools_that_read_look_into_both_unless_a_space_is_named(both: Person) -> None:
    mcp = Mcp(both)
    start = mcp.call("start_session", q="lamps")
    project, heading, own = start.partition("# Personal space `ann`")
    assert heading
    assert "psycopg" in project
    assert "prefix is a verb" in own
    assert "sqlite" not in start
    for name in ("search", "context"):
        assert "prefix is a verb" in mcp.call(name, q=PROMPT).partition("# Personal space `ann`")[2]
        assert "verb" not in mcp.call(name, q=PROMPT, space_id="harbour")
    assert "verb" not in Mcp(both, "harbour").call("search", q=PROMPT)


def test_a_personal_space_that_is_gone_costs_a_tool_one_line(both: Person) -> None:
    mcp = Mcp(both)
    both.client.call("delete_space", {"space_id": "ann", "confirm": "ann"})
    for name in ("start_session", "search", "context"):
        told = mcp.call(name, q="psycopg database driver")
        assert "psycopg" in told
        assert told.count("The personal space `ann` is left out") == 1


def test_a_program_that_runs_sees_nothing_of_the_personal_space_any_more_once_it_was_taken_away(both: Person) -> None:
    mcp = Mcp(both)
    assert "prefix is a verb" in mcp.call("start_session")
    both.init("--no-personal")
    assert "prefix is a verb" not in mcp.call("start_session")


def test_wrong_arguments_are_refused_as_without_a_personal_space(both: Person) -> None:
    agents = Mcp(both), Mcp(both, "harbour")
    for wrong in ({"max_chars": 100}, {"max_chars": 200_000}, {"max_chars": "many"}, {"q": 7}):
        asked = {"name": "start_session", "arguments": wrong}
        answers = [agent.ask("tools/call", **asked) for agent in agents]
        assert answers[0] == answers[1]
        assert answers[0]["isError"]


def test_a_name_that_no_space_can_have_is_refused(person: Person) -> None:
    for name in ("", "../ferry", "a" * 65):
        person.init("--personal", name, ends=2)
    person.init("--personal", "ann", "--no-personal", ends=2)
    assert person.files() == {}
