"""The offline LLM summarises by extracting: its answers keep the service's own contract, and make nothing up."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livemem.conversations import answer, prompt
from livemem.conversations.answer import Source
from livemem.conversations.summaries import Covers, Summary
from livemem.conversations.turn import Draft, Turn, made
from local.offline_llm import chat, sentences
from local.offline_llm.api import ApiError
from local.offline_llm.summary import LEAST, MADE_BY
from tests.support.world import START

TALK = Path(__file__).resolve().parents[4] / "examples" / "conversation.ndjson"
WORDS = st.text(st.sampled_from("abc .!?`/\n#é-1"), max_size=300)


def turn_of(user: str, assistant: str, index: int = 1) -> Turn:
    return made(Draft(user, assistant), f"m{index}", index, "ann", START)[0]


def asked(messages) -> dict:
    body = {"model": "offline-rules", "messages": messages}
    return json.loads(chat.complete_chat(body)["choices"][0]["message"]["content"])


def summary_of(turn: Turn, target: int = 100) -> dict:
    return asked(prompt.of_turns([(turn, turn.user_message, turn.assistant_message)], "", target, captures=False))


@given(user=WORDS, assistant=WORDS, target=st.integers(1, 500))
def test_whatever_was_said_the_answer_keeps_the_contract_and_holds_only_what_was_said(user, assistant, target):
    if not (user + assistant).strip():
        return
    turn = turn_of(user, assistant)
    found = asked(prompt.of_turns([(turn, user, assistant)], "", target, captures=False))
    source = Source(turn.said(), "")
    parsed = answer.parse(json.dumps(found), source, answer.SummaryAnswer)
    told = found["summary"].removeprefix(MADE_BY)
    flat = " ".join(f"{user} {assistant}".split())
    for word in told.replace("…", "").split():
        assert word in flat
    assert len(told) <= max(LEAST, target - len(MADE_BY)) + 1
    assert parsed.files_mentioned == list(dict.fromkeys(found["files_mentioned"]))


def test_an_extract_says_what_it_is_and_keeps_what_tells_most():
    small_talk = "We had a look at it together. The weather was fine that evening, all the same. "
    turn = turn_of(
        "Why does it fail at night? Thanks in advance, have a nice day.",
        f"{small_talk * 3}It fails because port 9000 of `kiel` answers 503 at 2 a.m. now. "
        "So we decided: `kiel` is asked three times. See src/import/kiel.py. Or not?",
    )
    found = summary_of(turn, 150)
    assert found["summary"].startswith(MADE_BY)
    assert "It fails because port 9000 of `kiel` answers 503 at 2 a.m. now." in found["summary"]
    assert "we decided: `kiel` is asked three times." in found["summary"]
    assert "Or not?" not in found["summary"]
    assert found["files_mentioned"] == ["src/import/kiel.py"]
    assert found["entities"]["artifacts"] == ["kiel"]


@given(
    st.lists(st.text(st.characters(codec="utf-8", categories=["L", "N"]), min_size=4, max_size=12), min_size=4),
    st.integers(1, 2_000),
)
def test_every_sentence_of_an_extract_is_one_of_the_source(words, target):
    said = [f"Word {' '.join(words[at : at + 4])} {at}." for at in range(0, len(words) - 3, 2)]
    told = summary_of(turn_of("", "\n".join(f"- {one}" for one in said)), target)["summary"].removeprefix(MADE_BY)
    assert told
    assert not [one for one in re.split(r"(?<=[0-9][.]) (?=Word )", told) if one not in said]


def child(number: int, summary: str, *findings: str) -> Summary:
    return Summary(
        level=1,
        number=number,
        covers=Covers(turns=(number, number)),
        range_start="2026-02-20T14:00:00Z",
        range_end="2026-02-20T14:00:00Z",
        created_at="2026-02-20T14:00:00Z",
        generated_at="2026-02-20T14:00:00Z",
        summary=summary,
        key_findings=list(findings),
        chars=40,
        source_chars=400,
        model="m",
        prompt_version="v",
    )


def test_summaries_are_summarised_too_and_hand_their_findings_on():
    children = [
        child(number, f"{MADE_BY}Number {number} was found. It must stay.", f"Finding {number}.") for number in (1, 2)
    ]
    found = asked(prompt.of_summaries(children, 200))
    assert found["summary"].count(MADE_BY) == 1
    assert "Number 1 was found." in found["summary"]
    assert found["key_findings"][:2] == ["Finding 1.", "Finding 2."]


def test_a_long_talk_is_condensed_level_by_level_to_whole_sentences_of_all_of_it():
    """140,000 characters of 154 turns; extracts of about 5,000 each; an extract of these."""
    turns = [json.loads(line) for line in TALK.read_text("utf-8").splitlines()]
    talk = [f"User: {one['user_message']}\n\nAssistant: {one['assistant_message']}" for one in turns]
    groups = [talk[at : at + 6] for at in range(0, len(talk), 6)]
    middle = [asked(prompt.of_summaries([child(1, one) for one in group], 700))["summary"] for group in groups]
    top = asked(prompt.of_summaries([child(number, one) for number, one in enumerate(middle, 1)], 1_500))["summary"]

    assert sum(map(len, talk)) > 139_000
    assert 12_000 < sum(map(len, middle)) < 20_000
    assert 1_300 < len(top) <= 1_500
    said = [line for one in talk for line in sentences.split(one)]
    for text in sentences.split(top.removeprefix(MADE_BY)):
        assert any(text in one for one in said), text
    # Of each third of the talk there is something.
    thirds = [" ".join(" ".join(one.split()) for one in talk[at : at + 52]) for at in range(0, 154, 52)]
    told = sentences.split(top.removeprefix(MADE_BY))
    assert all(any(text in " ".join(sentences.split(third)) for text in told) for third in thirds)


def test_the_length_of_an_extract_is_about_what_was_asked_for():
    lines = [json.loads(line) for line in TALK.read_text("utf-8").splitlines()]
    text = "\n".join(f"{line['user_message']}\n{line['assistant_message']}" for line in lines[:12])
    found = summary_of(turn_of("", text), len(text) // 10)
    assert len(found["summary"]) == pytest.approx(len(text) / 10, rel=0.1)


def test_what_is_no_request_for_a_summary_is_no_summary():
    with pytest.raises(ApiError, match="a summary, a digest or a verdict"):
        asked([{"role": "user", "content": "Summarise this in about 10 characters.\n\n# Talk\n[]"}])
