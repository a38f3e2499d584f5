"""The core tool `read`: each kind of thing by the ids that the other tools give, whole or in pages."""

import json
from typing import Any

import pytest

from livemem.bank import corrections
from livemem.conversations import conversation as conversations
from livemem.conversations import log
from livemem.conversations.turn import Draft
from livemem.notes import pages
from tests.support.mcp import Agents, started, token

ANN = "lm_ann"
LINES = "".join(f"- fact {number}: {'x' * (number % 50)}\n" for number in range(400))


@pytest.fixture
def agents(monkeypatch) -> Agents:
    found = started(monkeypatch)
    found.world.create_space(rules="Keep a log.")
    found.let_in(token(ANN, "read", "write"))
    return found.as_one(ANN)


def bank_file(agents: Agents, path: str, content: str) -> None:
    corrections.write_file(agents.world.process, "bob", "demo", path, content, None)
    agents.world.clock.move(60)


def conversation(agents: Agents, *said: str) -> str:
    made = conversations.create(agents.world.process, "demo", "ann", conversations.NewConversation())
    for number, one in enumerate(said):
        log.append(agents.world.process, "demo", made.conversation_id, "ann", Draft(one, f"answer {number}"))
    return made.conversation_id


def test_every_id_of_a_start_is_read_as_it_says(agents):
    bank_file(agents, "a.md", f"Intro.\n\n# A\n\n## Known issues\n\n- a trap\n\n## Much\n\n{LINES}")
    agents.world.note("A note.")
    agents.world.consolidate()
    agents.world.note("A live one.", category="decision")
    agents.call("remember", content="I write short notes.", kind="self")

    begun = agents.call("start_session", max_chars=4_000)
    ids = [part["source"] for part in begun["parts"] if "source" in part]
    outline = begun["markdown"].partition("## Left out")[2]
    ids += [line[2:].partition(" (")[0] for line in outline.split("\n") if line.startswith("- ")]

    assert {one.partition("/")[0] for one in ids} >= {"bank", "notes", "memories", "synthesis"}
    assert "bank/a.md#A > Much" in ids
    for one in ids:
        whole = agents.call("read", id=one, max_chars=100_000)
        shown = [part for part in begun["parts"] if part.get("source") == one]
        assert whole["next_cursor"] is None
        assert whole["chars"] == len(whole["text"])
        if shown and one.startswith("bank"):
            assert whole["text"].split("\n\n", 1)[-1].strip() in begun["markdown"] or "more lines)" in begun["markdown"]
    # As a start shows it below its file.
    assert agents.text("read", id="bank/a.md#Much") == agents.text("read", id="bank/a.md#A > Much")
    assert agents.text("read", id="bank/a.md").startswith("Intro.\n\n# A\n")
    assert agents.text("read", id="rules") == "Keep a log.\n"
    assert "- a.md (" in agents.text("read", id="bank")


def test_every_id_of_a_search_is_read(agents):
    bank_file(agents, "zebras.md", "# Zebras\n\n## At > night\n\nZebras sleep.\n\n## At > night\n\nZebras wake.\n")
    agents.world.note("Zebras run.")
    agents.world.consolidate()
    agents.world.note("Zebras eat.")
    agents.call("remember", content="Zebras have stripes.")
    conversation(agents, "Do zebras fly?", "And swim?")

    found = agents.result("search", {"q": "zebras", "scope": "all"})
    heads = [line[3:].partition("]")[0] for line in found["content"][0]["text"].strip().split("\n")]
    shown = [one if one.startswith("bank/") else one.partition(" ")[0] for one in heads]
    hits = found["structuredContent"]["items"]
    archived = agents.result("search", {"q": "zebras", "scope": "archive"})["structuredContent"]["items"]
    hits += archived
    shown += [hit["source"]["href"] for hit in archived]

    assert {hit["kind"] for hit in hits} == {"note", "archive", "bank", "memory", "turn"}
    for hit, reference in zip(hits, shown, strict=True):
        for one in (reference, hit["id"], hit["source"]["href"]):
            assert hit["snippet"][:12] in agents.text("read", id=one), (one, hit)
    assert "bank/zebras.md#Zebras > At > night" in shown


def test_a_turn_comes_with_its_neighbours(agents):
    name = conversation(agents, "one", "two", "three", "four")

    told = agents.text("read", id=f"conversations/{name}/turns/2")
    ends = [agents.text("read", id=f"{name}/{number}") for number in (1, 4)]

    assert [word in told for word in ("one", "two", "three", "four")] == [True, True, True, False]
    assert [word in ends[0] for word in ("one", "two", "three")] == [True, True, False]
    assert [word in ends[1] for word in ("two", "three", "four")] == [False, True, True]
    assert agents.refused("read", id=f"conversations/{name}/turns/9").endswith("[turn_not_found]")
    assert agents.refused("read", id=f"conversations/{name}/summaries/1/1").endswith("[summary_not_found]")


def test_a_long_text_comes_in_pages_that_are_the_whole_text_and_no_longer_than_asked(agents):
    for content in (f"# A\n\n{LINES}", "y" * 5_000):
        bank_file(agents, "a.md", content)
        texts, cursor = [], None
        while True:
            more = {"cursor": cursor} if cursor else {}
            answer = agents.result("read", {"id": "bank/a.md", "max_chars": 700, **more})
            assert len(answer["content"][0]["text"]) <= 700
            texts.append(answer["structuredContent"]["text"])
            cursor = answer["structuredContent"]["next_cursor"]
            if cursor is None:
                break
            assert f"characters more: cursor {cursor}]" in answer["content"][0]["text"]
        assert "".join(texts).strip() == content.strip()
        assert len(texts) < len(content) // 250


def test_a_cursor_of_a_text_that_was_changed_is_refused(agents):
    bank_file(agents, "a.md", LINES)
    cursor = agents.call("read", id="bank/a.md")["next_cursor"]
    bank_file(agents, "a.md", f"new\n{LINES}")

    assert "changed since" in agents.refused("read", id="bank/a.md", cursor=cursor)
    assert "changed since" in agents.refused("read", id="rules", cursor=cursor)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"id": "nothing"}, "[invalid_request]"),
    ({"id": ""}, "[invalid_request]"),
    ({"id": "x" * 100_000}, "[invalid_request]"),
    ({"id": "bank/../x.md"}, "[invalid_request]"),
    ({"id": "bank/no.md"}, "[bank_file_not_found]"),
    ({"id": "bank/log.md#Nothing"}, "[section_not_found]"),
    ({"id": "notes/20260220T140000_ann_todo_00000000"}, "[note_not_found]"),
    ({"id": "memories/01ARZ3NDEKTSV4RRFFQ69G5FAV"}, "[memory_not_found]"),
    ({"id": "conversations/01ARZ3NDEKTSV4RRFFQ69G5FAV/turns/1"}, "[conversation_not_found]"),
    ({"id": "conversations/01ARZ3NDEKTSV4RRFFQ69G5FAV/turns/0"}, "[invalid_request]"),
    ({"id": "conversations/01ARZ3NDEKTSV4RRFFQ69G5FAV/turns/" + "9" * 5_000}, "[invalid_request]"),
    ({"id": "/v1/spaces/other/rules"}, "[invalid_request]"),
    ({"id": "rules", "max_chars": 499}, "[invalid_request]"),
    ({"id": "rules", "max_chars": 100_001}, "[invalid_request]"),
    ({"id": "rules", "cursor": "!"}, "[invalid_request]"),
    ({"id": "rules", "cursor": "OTk5OTk5OTk5OTk5OTk5OS8w"}, "[invalid_request]"),
    ({}, "[invalid_request]"),
    ({"id": "/v1/spaces/other/bank/log.md"}, "[invalid_request]"),
]


def test_what_is_no_id_is_told(agents):
    agents.world.note("x")
    agents.world.consolidate()

    told = [(arguments, agents.refused("read", **arguments)) for arguments, _ in WRONG]

    assert [one for one, (_, end) in zip(told, WRONG, strict=True) if not one[1].endswith(end)] == []
    assert all(len(text) < 1_000 for _, text in told)


def test_a_consolidated_note_is_read_as_a_live_one(agents):
    note = agents.world.note("x")
    agents.world.consolidate()

    assert pages.get(agents.world.process, "demo", note.note_id).status == "consolidated"
    assert "] x" in agents.text("read", id=note.note_id)
    assert json.loads(json.dumps(agents.call("read", id=note.note_id)))["id"] == note.note_id


def test_nothing_is_read_of_a_space_that_the_token_may_not_see(agents):
    for reference in ("rules", "synthesis", "bank"):
        assert agents.refused("read", id=reference, space_id="other").endswith("[forbidden]")
