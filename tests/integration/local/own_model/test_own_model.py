"""The command line of a client as the model, asked as the service asks an LLM. The program plays its failures."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from live_memory import Client
from livemem.llm import client, look
from livemem.llm.client import Ask, LlmError
from livemem.settings import Settings
from local.own_model import claude_code, single_process
from local.own_model.choice import OwnModelChoice
from local.own_model.completions import serving
from tests.integration.local.support import ROOT, running, wait_until
from tests.support.played_claude import PlayedClaude

FOLD = [{"role": "system", "content": "Fold."}, {"role": "user", "content": '# Rules (JSON string)\n"keep"'}]
SUMMARIES = """Summarise these summaries of consecutive parts of one conversation in about 200 characters.

# Summaries, oldest first (JSON array of {"turns","until","summary"})
[{"summary": "Ada moved to Rome."}]"""
SUMMARY = [{"role": "user", "content": SUMMARIES}]
FAILURES = {
    "is not logged in": "is not logged in: run `claude` and type /login",
    "is cut": "llm_cut_off: The LLM did not finish its answer",
    "has no room": "llm_cut_off: The LLM did not finish its answer",
    "says nothing": "llm_empty",
    "speaks no JSON": "did not answer in JSON",
    "fails": "ended with status 9 and without an answer",
    "has tools all the same": "its answer is not used",
    "floods": "wrote more than 8388608 bytes",
}
PROJECT = {
    "HOME": "/home/ada",
    "HTTPS_PROXY": "http://proxy:3128",
    "PATH": "/project/bin",
    "ANTHROPIC_BASE_URL": "http://evil.example",
    "ANTHROPIC_API_KEY": "of-a-project",
    "CLAUDE_CONFIG_DIR": "/project/.claude",
    "NODE_OPTIONS": "--require=/project/evil.js",
}


@pytest.fixture(autouse=True)
def no_administrator(monkeypatch, tmp_path):
    monkeypatch.setattr(claude_code, "MANAGED", {"linux": tmp_path / "managed"})


@pytest.fixture
def claude(tmp_path) -> PlayedClaude:
    return PlayedClaude(tmp_path / "program")


@contextmanager
def asking(
    claude: PlayedClaude, *, for_all: bool = False, model: str = "claude-code"
) -> Iterator[tuple[Ask, Settings]]:
    chosen = OwnModelChoice(claude.path, for_all)
    with serving(chosen, PROJECT, claude.folder / "record.json") as (url, key):
        settings = Settings(llmaas_api_url=url, llmaas_api_key=key, llmaas_model=model)
        yield client.connect(settings), settings


def detail(claude: PlayedClaude, plays: str, *, seconds: float = 60) -> str:
    claude.plays(plays)
    with asking(claude) as (ask, _), pytest.raises(LlmError) as caught:
        ask(FOLD, None, seconds)
    return f"{caught.value.code}: {caught.value}"


@pytest.mark.process
def test_a_fold_is_one_call_with_nothing_but_the_prompt_and_its_tokens_are_counted(claude):
    with asking(claude, model="claude-code/sonnet") as (ask, settings):
        reply = ask(FOLD, 1_000, 60)
        seen = look.look(client.api(settings), "claude-code")

    (call,) = claude.calls()
    assert (reply.text, reply.usage) == ('{"ok": true}', {"prompt_tokens": 123, "completion_tokens": 7})
    assert call["argv"] == [*claude_code.FLAGS, "--model", "sonnet"]
    assert (call["system"], call["folder"]) == ("Fold.", ["system.txt"])
    assert call["prompt"].endswith(FOLD[1]["content"])
    assert call["env"]["LIVEMEM_HOOKS"] == "off"
    assert call["env"]["CLAUDE_CODE_MAX_OUTPUT_TOKENS"] == "1000"
    assert {name: call["env"].get(name) for name in ("HOME", "HTTPS_PROXY")} == {
        "HOME": "/home/ada",
        "HTTPS_PROXY": "http://proxy:3128",
    }
    assert not {"ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "CLAUDE_CONFIG_DIR", "NODE_OPTIONS"} & set(call["env"])
    assert "/project/bin" not in call["env"]["PATH"]
    assert seen.status == "ok"


@pytest.mark.process
def test_a_version_is_checked_once_and_again_when_it_changes(claude):
    with asking(claude) as (ask, _):
        ask(FOLD, None, 60)
        ask(FOLD, None, 60)
        once = len(claude.calls(checked=True))
        with claude.path.open("a") as program:
            program.write("# newer\n")
        ask(FOLD, None, 60)

    assert (once, len(claude.calls(checked=True)), len(claude.calls())) == (1, 2, 3)


@pytest.mark.process
@pytest.mark.parametrize("plays", ["sends tools", "reads files"])
def test_a_version_that_sends_more_than_the_prompt_never_gets_a_note(claude, plays):
    told = detail(claude, plays)

    assert "may send more than the notes" in told
    assert claude.calls() == []


@pytest.mark.process
def test_each_failure_of_the_program_is_told_in_its_words(claude):
    assert "ended with status 1 and without an answer" in detail(claude, "an old version")
    claude.plays("answers")
    with asking(claude) as (ask, _):
        for plays, told in FAILURES.items():
            claude.plays(plays)
            with pytest.raises(LlmError) as caught:
                ask(FOLD, None, 60)
            assert told in f"{caught.value.code}: {caught.value}"
            assert claude.alive() == []

    assert len(claude.calls()) == len(FAILURES)


@pytest.mark.process
def test_prose_comes_back_as_it_is_for_the_contract_to_refuse(claude):
    claude.plays("speaks prose")
    with asking(claude) as (ask, _):
        assert ask(FOLD, None, 60).text == "I would rather not."


@pytest.mark.process
def test_after_a_limit_nothing_is_started_until_the_time_it_names_and_health_says_so(claude):
    claude.plays("has reached a limit")
    with asking(claude) as (ask, settings):
        for _ in range(2):
            with pytest.raises(LlmError) as caught:
                ask(FOLD, None, 60)
        seen = look.look(client.api(settings), "claude-code")

    assert len(claude.calls()) == 1
    assert caught.value.code == "llm_throttled"
    assert (caught.value.wait or 0) > 1_000_000_000
    assert "limit of the subscription of Claude Code is reached until 2096-10-02 07:06 (UTC)" in str(seen.detail)


@pytest.mark.process
def test_a_program_that_is_gone_or_has_hooks_of_an_administrator_is_refused_before_anything_starts(claude, tmp_path):
    (tmp_path / "managed").mkdir()
    settings = tmp_path / "managed" / "managed-settings.json"
    settings.write_text('{"hooks": {"Stop": [{"hooks": []}]}}')
    managed = detail(claude, "answers")
    settings.write_text("{")
    unreadable = detail(claude, "answers")
    settings.write_text('{"model": "opus"}')
    claude.path.unlink()

    assert "hooks or servers, which can't be switched off" in managed
    assert "hooks or servers, which can't be switched off" in unreadable
    assert "is not installed at" in detail(claude, "answers")
    assert claude.calls() == claude.calls(checked=True) == []


@pytest.mark.process
def test_a_call_that_hangs_ends_at_its_time_limit_with_its_child(claude, monkeypatch):
    watch = single_process._watch

    def watch_briefly(process, seen, seconds, late):
        wait_until((claude.folder / "child").exists, 60)
        watch(process, seen, seconds / 1_000, late)

    with asking(claude) as (ask, _):
        ask(FOLD, None, 60)
        claude.plays("hangs")
        with monkeypatch.context() as patch:
            patch.setattr(single_process, "_watch", watch_briefly)
            with pytest.raises(LlmError, match="did not answer within"):
                ask(FOLD, None, 60)
        wait_until(lambda: not claude.alive(), 30)
        claude.plays("answers")
        assert ask(FOLD, None, 60).text == '{"ok": true}'


@pytest.mark.process
def test_what_an_answered_call_leaves_behind_ends_with_it(claude):
    claude.plays("leaves a child")
    with asking(claude) as (ask, _):
        assert ask(FOLD, None, 60).text == '{"ok": true}'
        assert (claude.folder / "child").exists()
        assert claude.alive() == []


@pytest.mark.process
def test_many_questions_at_once_are_one_process_after_the_other(claude):
    with asking(claude) as (ask, _), ThreadPoolExecutor(4) as pool:
        record, most, pause = claude.folder / "record.json", 0, threading.Event()
        answers = [pool.submit(ask, FOLD, None, 120) for _ in range(4)]
        while not all(answer.done() for answer in answers):
            most = max(most, len(claude.alive()))
            pause.wait(0.005)
        assert [answer.result().text for answer in answers] == ['{"ok": true}'] * 4

    assert most == 1
    assert not record.exists()


@pytest.mark.process
def test_the_end_of_the_service_ends_a_call_and_starts_no_other(claude):
    failed: list[Any] = []

    def fold(ask: Ask) -> None:
        try:
            ask(FOLD, None, 60)
        except LlmError as error:
            failed.append(str(error))

    claude.plays("hangs")
    with asking(claude) as (ask, _):
        threads = [threading.Thread(target=fold, args=(ask,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        wait_until((claude.folder / "child").exists, 60)
    for thread in threads:
        thread.join()

    assert claude.alive() == []
    assert len(failed) == 2
    assert len(claude.calls()) == 1


@pytest.mark.process
def test_other_work_than_folds_is_for_fixed_rules_unless_the_user_says_all(claude):
    with asking(claude) as (ask, _):
        by_rules = json.loads(ask(SUMMARY, None, 60).text)
        calls = len(claude.calls())
    with asking(claude, for_all=True) as (ask, _):
        by_program = json.loads(ask(SUMMARY, None, 60).text)

    assert "summary" in by_rules
    assert (calls, by_program, len(claude.calls())) == (0, {"ok": True}, 1)


@pytest.mark.process
def test_without_its_key_nobody_on_the_machine_can_ask_it(claude):
    with asking(claude) as (_, settings):
        stranger = client.connect(settings.model_copy(update={"llmaas_api_key": "guessed"}))
        with pytest.raises(LlmError, match="for its service alone"):
            stranger(FOLD, None, 60)

    assert claude.calls() == []


def test_the_record_of_another_process_ends_nothing(claude):
    record = claude.folder / "record.json"
    record.write_text(json.dumps({"pid": os.getpid(), "began": 1.0}))
    with asking(claude) as (ask, _):
        assert ask(FOLD, None, 60).text == '{"ok": true}'
    assert not record.exists()


def test_the_environment_of_a_call_is_a_list_of_its_own(tmp_path):
    found = claude_code.environment(PROJECT, Path("/opt/claude/bin/claude"))

    assert found.keys() - {"PATH", *claude_code.OFF} == {"HOME", "HTTPS_PROXY"}
    assert found["PATH"] == "/opt/claude/bin:/usr/local/bin:/usr/bin:/bin"


SERVES = """
import sys, threading
from pathlib import Path
from local.own_model.choice import OwnModelChoice
from local.own_model.completions import serving
with serving(OwnModelChoice(Path(sys.argv[1]), False), {}, Path(sys.argv[2])) as found:
    print(*found, flush=True)
    threading.Event().wait()
"""


@pytest.mark.process
def test_after_a_kill_in_the_midst_of_a_call_the_next_start_ends_what_was_left_whatever_its_model(claude, tmp_path):
    record = tmp_path / "data" / "own-model.json"
    record.parent.mkdir(mode=0o700)
    claude.plays("hangs")
    command = [sys.executable, "-c", SERVES, str(claude.path), str(record)]
    with (
        subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as program,
        ThreadPoolExecutor() as pool,
    ):
        assert program.stdout
        url, key = program.stdout.readline().split()
        ask = client.connect(Settings(llmaas_api_url=url, llmaas_api_key=key, llmaas_model="claude-code"))
        asked = pool.submit(ask, FOLD, None, 60)
        wait_until((claude.folder / "child").exists, 60)
        program.kill()
        assert asked.exception()
    left = claude.alive()
    variables = {"PORT": "0", "LIVEMEM_DATA_DIR": str(record.parent), "PATH": os.environ["PATH"]}
    with running(variables | {"EMBEDDINGS_API_URL": "off"}):
        wait_until(lambda: not claude.alive(), 30)

    assert len(left) == 2


@pytest.mark.process
def test_the_stop_of_the_service_ends_the_call_in_its_midst(claude, tmp_path):
    claude.plays("hangs")
    variables = {"PORT": "0", "LIVEMEM_DATA_DIR": str(tmp_path / "data"), "PATH": os.environ["PATH"]}
    variables |= {"LLMAAS_API_URL": "cli:claude", "LIVEMEM_LLM_PROGRAM": str(claude.path), "EMBEDDINGS_API_URL": "off"}
    with running(variables) as (runtime, endpoints):
        with Client(endpoints["api"], runtime.data.admin_key()) as asked:
            asked.call("create_space", {"space_id": "demo", "rules_template": "standard"})
            note = {"space_id": "demo", "category": "decision", "content": "We use Postgres."}
            asked.call("append_note", note)
            asked.call("start_consolidation", {"space_id": "demo"})
        wait_until((claude.folder / "child").exists, 60)
        assert (len(claude.alive()), runtime.data.own_model.name) == (2, "own-model.json")
        assert runtime.data.own_model.exists()

    assert claude.alive() == []
