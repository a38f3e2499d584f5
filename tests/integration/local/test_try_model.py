"""`livemem try-model` against the offline LLM, against models that answer by script, and where there is none."""

import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from livemem.settings import Settings, settings
from local.try_model import __main__ as try_model
from local.try_model import cases, trial_table
from local.try_model.given_model import empty_store
from local.try_model.trial import CaseOutcome, Hopeless, Prices, Trial
from tests.integration.local.support import wait_until
from tests.support import llm_server
from tests.support.cli_harness import CliHarness, Said
from tests.support.llm_server import LlmServer, answer, serving, silent

NOT_MANAGED_OFFLINE = {"pairs_of_facts", "french_question", "solved_issue", "obsolete_value"}
"""What fixed rules can't do, and what they therefore must be shown not to do."""


@pytest.fixture
def livemem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Said]]:
    """The command, and the program that takes its place, in this process."""

    def take_its_place(_: str, arguments: list[str], variables: dict[str, str]) -> None:
        monkeypatch.setattr(os, "environ", dict(variables))
        monkeypatch.setattr(sys, "argv", arguments[arguments.index("local.try_model") :])
        settings.cache_clear()
        sys.exit(try_model.main())

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "execve", take_its_place)
    own = {"PATH": os.environ["PATH"]}
    yield lambda *said, **variables: CliHarness(tmp_path, environ=own | variables).say("try-model", *said)
    settings.cache_clear()


def test_the_offline_llm_is_shown_with_what_it_does_not_manage(livemem):
    done = livemem("--llm", "offline", "--json", "--prompt-price", "1")

    assert done.code == 0, done.err
    told = json.loads(done.out)
    assert told["model"] == "offline-rules"
    assert {one["name"] for one in told["cases"] if not one["passed"]} == NOT_MANAGED_OFFLINE
    assert all(one["wrong"] for one in told["cases"] if not one["passed"])
    assert told["summary"]["contract_first_try"] == len(told["cases"]) == 14
    assert all(one["prompt_tokens"] > 100 for one in told["cases"])
    assert told["summary"]["dollars"] == pytest.approx(told["summary"]["prompt_tokens"] / 1e6, rel=0.01)


def test_an_address_that_is_none_ends_it_at_once(livemem):
    wrong = livemem(LLMAAS_API_URL="http://127.0.0.1:1/v1")

    assert wrong.code == 6
    assert "Nothing listens at LLMAAS_API_URL" in wrong.err
    # A case is named before its answer: a slow model takes minutes for one.
    assert wrong.out == "first_bank (the first bank, by the standard rules) ...\n"


@pytest.fixture
def heeded():
    """An interrupt is heeded. What a shell starts in the background ignores it, and these tests with it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_with_json_a_failure_is_a_document_on_stderr_too(livemem):
    url = {"LLMAAS_API_URL": "http://127.0.0.1:1/v1"}
    for status, code, detail, options, variables in (
        (2, "refused", "--llm URL", ("--json",), {}),
        (6, "model_unusable", "LLMAAS_API_URL", ("--json",), url),
        (2, "refused", "no such case", ("--json", "--case", "no such case"), url),
    ):
        done = livemem(*options, **variables)
        told = json.loads(done.err)
        assert (done.code, told["code"], done.out) == (status, code, ""), told
        assert detail in told["detail"]


@pytest.mark.usefixtures("heeded")
def test_what_was_measured_until_an_interrupt_is_shown(livemem):
    with serving(answer(llm_server.completion("No.")), answer(llm_server.completion("No."))) as server:
        server.script.append(silent(server))
        here = threading.get_ident()

        def interrupt() -> None:
            wait_until(lambda: len(server.asked) == 3, seconds=60)
            signal.pthread_kill(here, signal.SIGINT)

        threading.Thread(target=interrupt).start()
        done = livemem("--llm", server.url, "--json")

    assert [one["name"] for one in json.loads(done.out)["cases"]] == ["first_bank"]
    assert done.code == 1


def completion(content: str = "", **changes: Any) -> dict[str, Any]:
    """A completion whose count of tokens is that of a server that has read the whole prompt."""
    return llm_server.completion(content, usage={"prompt_tokens": 5_000, "completion_tokens": 7}, **changes)


def trial(server: LlmServer, **settings: Any) -> Trial:
    # Only questions need a store.
    return Trial(Settings(llmaas_api_url=server.url, **settings), None, Prices(2, 10))  # type: ignore[arg-type]


def tried(name: str, *texts: str) -> CaseOutcome:
    """The outcome of one case, answered with these texts."""
    (case,) = (one for one in cases.read() if one.name == name)
    with serving(*(answer(completion(text)) for text in texts)) as server:
        return trial(server).run(case)


def edited(path: str, *edits: dict[str, Any], **more: Any) -> str:
    file = {"filename": path, "action": "edited", "edits": [{"notes": [1], **one} for one in edits]}
    return json.dumps({"bank_files": [file], "synthesis": "One change.", **more})


def section(heading: str, content: str, op: str = "replace_section", **more: Any) -> dict[str, Any]:
    return {"op": op, "heading": heading, "content": content, **more}


SOLVED = "- Login takes an apostrophe in the name again since 4f2a9c1 (2026-05-11, tom)."
GOOD = {
    "obsolete_value": edited(
        "log.md", section("## Decisions", "- The worker's lease is 120 s, was 300 s until 11 May (2026-05-11, ines).")
    ),
    "solved_issue": edited(
        "log.md",
        section("## Known issues", "- The nightly report is 20 minutes late (2026-05-03, ada).", reason="solved"),
        section("## Done", SOLVED, "append_to_section"),
        discarded=[{"note": 2, "reason": "repeats note 1"}],
    ),
    "hostile_note": edited(
        "facts.md",
        section("## Commands", "- It takes 3 minutes since the new linter (2026-05-11, tom).", "append_to_section"),
        discarded=[{"note": 2, "reason": "orders, no observation"}],
    ),
    "french_channel": json.dumps(
        {
            "memories": [
                {"kind": "fact", "content": "Le client Maréchal veut ses factures en PDF/A.", "messages": [1]},
                {"kind": "fact", "content": "Raul s'occupe du serveur de factures depuis avril.", "messages": [3]},
            ]
        }
    ),
    "pairs_of_facts": json.dumps(
        {
            "verdicts": [
                {"pair": number, "verdict": verdict}
                for number, verdict in enumerate(
                    "same contradicts different same different contradicts same different".split(), 1
                )
            ]
        }
    ),
}


@pytest.mark.parametrize("name", GOOD)
def test_a_good_answer_passes(name: str):
    found = tried(name, GOOD[name])

    assert (found.passed, found.contract, found.wrong, found.error) == (True, "first", [], None)
    assert found.dollars == pytest.approx((5_000 * 2 + 7 * 10) / 1_000_000)


def test_a_question_is_answered_with_the_products_tools_over_a_store_of_its_own():
    (case,) = cases.read("french_question")
    call = {"id": "c", "type": "function", "function": {"name": "search_notes", "arguments": '{"query": "backups"}'}}
    look = completion(finish_reason="tool_calls", message={"role": "assistant", "content": None, "tool_calls": [call]})
    said = "Nous gardons les sauvegardes pendant 90 jours, parce que l'audit l'a demandé."
    with serving(answer(look)) as server, empty_store() as store:

        def respond(handler: BaseHTTPRequestHandler) -> None:
            shown = json.loads(server.asked[-1].body["messages"][-1]["content"])
            (first, *_) = shown["results"]
            arguments = json.dumps({"message": said, "sources": [first["id"]]})
            function = {"name": "respond", "arguments": arguments}
            message = {"role": "assistant", "content": None, "tool_calls": [{**call, "function": function}]}
            answer(completion(finish_reason="tool_calls", message=message))(handler)

        server.script.append(respond)
        found = Trial(Settings(llmaas_api_url=server.url), store).run(case)

    assert (found.passed, found.contract, found.cited, found.wrong) == (True, "first", (1, 1), [])
    assert found.calls == 2


def test_a_model_that_keeps_no_contract_passes_nothing_and_the_reason_is_told():
    found = tried("obsolete_value", "I can't do that.", "Sorry!")

    assert (found.passed, found.contract, found.cited, found.calls) == (False, "no", (0, 1), 2)
    # It counts as much as a wrong answer.
    assert (found.right, found.language) == ((0, 4), False)
    assert found.error is not None
    assert found.error.startswith("llm_contract: ")
    assert "| obsolete_value | NO       | 0/1" in "\n".join(trial_table.table([found]))


def test_an_answer_that_is_corrected_counts_as_corrected():
    found = tried("obsolete_value", "Here you are!", GOOD["obsolete_value"])

    assert (found.passed, found.contract, found.calls) == (True, "corrected", 2)


def test_a_wrong_value_and_a_wrong_language_are_told():
    old = tried("obsolete_value", edited("log.md", section("## Decisions", "- The lease is 90 s.")))
    english = json.dumps(
        {
            "memories": [
                {
                    "kind": "fact",
                    "content": f"{who} is the one that was named in this channel for it.",
                    "messages": [at],
                }
                for who, at in (("Maréchal, who wants the bills and not the other things,", 1), ("Raul", 2))
            ]
        }
    )
    foreign = tried("french_channel", english)

    assert not old.passed
    assert old.wrong == ["lacks /lease[^\\n]*120 s/"]
    assert (foreign.language, foreign.cited) == (False, (1, 2))
    assert "written in en instead of fr" in foreign.wrong


def test_a_server_that_cuts_prompts_is_told():
    (case,) = cases.read("obsolete_value")
    with serving(answer(llm_server.completion(GOOD["obsolete_value"]))) as server:
        found = trial(server).run(case)

    assert found.wrong == ["the server read only a part of the prompt: raise its context length"]


@pytest.mark.parametrize("status", [401, 404])
def test_a_refusal_of_everything_ends_the_trial(status: int):
    (case,) = cases.read("obsolete_value")
    with (
        serving(answer({"error": {"message": "no"}}, status)) as server,
        pytest.raises(Hopeless, match="Check LLMAAS_"),
    ):
        trial(server).run(case)


def test_every_case_can_fail_and_no_two_have_one_name():
    found = cases.read()

    assert len({one.name for one in found}) == len(found) >= 12
    for one in found:
        expected = one.pairs if one.kind == "verdicts" else [*one.expect.has, *one.expect.lacks]
        assert expected, one.name
