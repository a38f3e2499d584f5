"""mem0, basic-memory, CLAUDE.md and sessions of Claude Code: files as these tools write them, and what they become."""

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_memory.cli.imports import (
    basic_memory,
    claude_sessions,
    found_items,
    mem0,
    placing,
    rules_texts,
    talks,
    untaken,
)
from live_memory.cli.imports.chats import Chat
from live_memory.cli.imports.detection import look
from live_memory.cli.imports.found_items import Found, FoundItem
from livemem.memories import ttl
from tests.support.cases import each
from tests.support.cli_harness import CliHarness
from tests.support.scripted import problem
from tests.support.sources import write

NOW = datetime(2026, 2, 20, 15, tzinfo=UTC)
SECRET = "sk-proj-" + "a1B2c3D4e5F6g7H8i9J0" * 2

MEM0 = {
    "results": [
        {
            "id": "892db2ae-06d9-49e5-8b3e-585ef9b85b8e",
            "memory": "Prefers tabs over spaces",
            "hash": "a1b2",
            "metadata": {"category": "preferences"},
            "created_at": "2026-02-20T06:00:00.000000-08:00",
            "updated_at": None,
            "user_id": "ines",
            "actor_id": "lea",
            "categories": ["code style"],
        },
        {"id": "2", "memory": f"The key of the staging API is {SECRET}", "user_id": "ines", "agent_id": "reviewer"},
        {"id": "3", "memory": "", "user_id": "ines"},
    ],
    "relations": [],
}

COFFEE = """---
title: Coffee Brewing Methods
type: note
permalink: coffee/coffee-brewing-methods
tags:
- brewing
- "hot drinks"
created: 2026-01-05T09:30:00+01:00
---

# Coffee Brewing Methods

## Observations
- [method] Pour over gives more clarity #brewing
- [tip] Grind finer for espresso (learned from Tom)

## Relations
- relates_to [[Coffee Bean Origins]]
"""

CLAUDE_MD = f"""# Ferry

The import of timetables.

## Commands

- `make test` runs all tests.
- Token for the sandbox: {SECRET}

```sh
## no heading
make test
```

## Style

See @docs/style.md. Tabs, not spaces.

<!-- livemem:begin -->
Use the memory.
<!-- livemem:end -->
"""


def line(**entry: Any) -> dict[str, Any]:
    """A line of a session as Claude Code writes it."""
    usual = {
        "parentUuid": None,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/home/ines/ferry",
        "sessionId": "0b9c5c1e",
        "version": "2.0.14",
        "gitBranch": "main",
        "timestamp": "2026-02-20T14:00:00.000Z",
    }
    return {**usual, **entry}


def said(role: str, number: int, content: Any, **more: Any) -> dict[str, Any]:
    stamp = f"2026-02-20T14:0{number}:00.000Z"
    message = {"role": role, "content": content}
    return line(type=role, uuid=f"u-{number}", timestamp=stamp, message=message, **more)


SESSION: list[dict[str, Any]] = [
    {"type": "summary", "summary": "The import fails at night", "leafUuid": "u-6"},
    {"type": "file-history-snapshot", "messageId": "u-1", "snapshot": {}},
    said("user", 1, f"Why does the import fail? The key is {SECRET}"),
    said("assistant", 2, [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "I look."}]),
    said("assistant", 3, [{"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "cat .env"}}]),
    said("user", 4, [{"type": "tool_result", "tool_use_id": "t", "content": "SECRET=1"}]),
    said("assistant", 5, [{"type": "text", "text": "Port Kiel answers 503."}]),
    said("user", 6, "And by day?"),
    said("assistant", 7, [{"type": "text", "text": "A subagent."}], isSidechain=True),
]


def session_lines(entries: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(entry) + "\n" for entry in entries).encode()


def test_memories_of_mem0_become_memories_with_who_and_what_they_are_about():
    found = mem0.found(json.dumps(MEM0).encode(), NOW)

    assert [one.body() for one in found.items] == [
        {
            "content": "Prefers tabs over spaces",
            "subjects": ["ines", "lea", "code-style"],
            "said_at": "2026-02-20T14:00:00.000Z",
            "author": "lea",
        },
        {"content": "The key of the staging API is [redacted:openai]", "subjects": ["ines", "reviewer"]},
    ]
    assert found.redacted == 1
    assert found.left_out == ["3 has no text."]
    assert found.changed == []


@pytest.mark.parametrize("shape", [MEM0["results"], {"memories": MEM0["results"]}])
def test_mem0s_other_forms_are_read_too(shape: Any):
    assert len(mem0.found(json.dumps(shape).encode(), NOW).items) == 2


def memory_until(end: Any, **more: Any) -> bytes:
    """A file of mem0 with one memory, which has an end."""
    return json.dumps([{"id": "m-1", "memory": "The quay is closed", "expiration_date": end, **more}]).encode()


@each(
    "end",
    [
        "2026-02-19",
        "2026-02-20T14:59:59Z",
        "2026-02-20T15:00:00+00:00",
        "2026-02-20T17:30:00+03:00",
        "2026-02-20T14:00:00",
        " 1999-12-31 ",
        1_700_000_000,
    ],
)
def test_a_memory_of_mem0_that_has_expired_is_left_out_and_named(end: Any):
    found = mem0.found(memory_until(end), NOW)

    assert (found.items, found.left_out) == ([], [f"m-1 has expired ({end})."])


@each(
    ("end", "sent", "until"),
    [
        ("2026-02-20", "540m", "2026-02-20"),
        ("2026-02-20T15:00:30Z", "1m", "2026-02-20"),
        ("2026-02-20T23:30:00-05:00", "810m", "2026-02-21"),
        ("2026-06-30", "3129h", "2026-06-30"),
        ("2030-01-31", "1442d", "2030-01-31"),
        ("2099-05-01", "3820w", "2099-05-01"),
        ("2500-01-01", "475y", "2500-01-01"),
        (4_102_444_800, "3854w", "2099-12-31"),
    ],
)
def test_a_memory_of_mem0_ends_when_it_does_there(end: Any, sent: str, until: str):
    (one,) = mem0.found(memory_until(end), NOW).items

    assert (one.body()["ttl"], one.until) == (sent, until)


@given(st.timedeltas(timedelta(minutes=1), timedelta(days=365 * 6_000)))
def test_no_memory_ends_before_its_end_and_none_lives_much_longer(left: timedelta):
    (one,) = mem0.found(memory_until((NOW + left).isoformat()), NOW).items

    # Milliseconds are read.
    life = ttl.parse(one.body()["ttl"]) + timedelta(milliseconds=1)
    assert left <= life <= left * 1.02 + timedelta(minutes=1)


@each("end", ["soon", "2026-13-45", "31.12.2026", True, ["2027-01-01"], {"date": 1}, 1.7e15, "9999-12-31", "\ud800"])
def test_an_end_that_is_no_date_is_none_as_in_mem0_and_named(end: Any):
    found = mem0.found(memory_until(end), NOW)

    assert ["ttl" in one.body() for one in found.items] == [False]
    assert [line.partition(":")[0] for line in found.changed] == ["m-1 comes without an end"]


@each("end", [None, "", [], {}])
def test_a_memory_without_an_end_comes_without_a_word(end: Any):
    found = mem0.found(memory_until(end), NOW)

    assert (len(found.items), found.changed, found.left_out) == (1, [], [])


def test_what_is_not_taken_of_mem0_is_counted_by_its_fields():
    row = {"id": "1", "memory": "A", "hash": "x", "metadata": {"team": "quay"}, "immutable": False, "score": None}
    source = {"results": [row, {**row, "run_id": "r", "relations": [{}]}], "relations": [{}, {}], "next": "/p=2"}

    found = mem0.found(json.dumps({**source, "owner": "ann", "count": 240}).encode(), NOW)

    assert found.not_taken == {
        "relations of a graph": 3,
        "fields of the file: owner": 1,
        "fields of memories: hash": 2,
        "fields of memories: metadata": 2,
        "fields of memories: run_id": 1,
    }
    assert found.left_out == ["The file is one page of several: get the next pages, and import them too."]


def test_fields_of_mem0_and_front_matter_that_are_no_text_are_counted_and_not_lost(tmp_path):
    row = {"memory": "A", "user_id": 7, "agent_id": ["x"], "categories": {"a": "b"}}
    head = "permalink: q\nauthor: [Tom, Ada]\ntags: {a: b}\ntitle: {x: y}\n"
    folder = write(tmp_path / "n", {"q.md": f"---\n{head}---\n# Q\n"})

    of_mem0, of_files = mem0.found(json.dumps([row]).encode(), NOW), basic_memory.found(folder)

    assert [sorted(kind.rpartition(" ")[2] for kind in one.not_taken) for one in (of_mem0, of_files)] == [
        ["agent_id", "categories", "user_id"],
        ["author", "tags", "title"],
    ]


def test_tags_that_a_note_has_no_place_for_are_counted():
    found = Found("x")
    found.add(FoundItem("note", "n", "text", tags=[f"t{number % 23}" for number in range(40)]))

    assert (len(found.items[0].tags), found.not_taken) == (20, {"tags beyond the first 20": 3})


def test_made_up_names_of_fields_do_not_flood_a_report():
    rows = [{"memory": "A", **{f"f{number}-{at}": 1 for at in range(100)}} for number in range(50)]

    found = mem0.found(json.dumps([*rows, {"memory": "A", "\x1b[31m": 1}]).encode(), NOW)

    assert len(found.not_taken) <= untaken.KINDS + 1
    assert found.not_taken.total() == 5_001
    (shown,) = placing.plan(found, "demo").lines()[-1:]
    assert shown.startswith("  not taken: fields of memories: f0-0 (1), ")
    assert shown.isprintable()


@each("text", ["[]", "{}", "[1]", '{"results": []}', "[{}]", "no JSON", '[{"mapping": {}}]'])
def test_other_json_is_no_memory_of_mem0(text: str):
    assert mem0.rows(text.encode()) is None


def test_a_note_of_basic_memory_keeps_its_text_tags_and_time(tmp_path):
    folder = write(
        tmp_path / "notes", {"coffee/methods.md": COFFEE, "empty.md": "---\npermalink: e\n---\n", "x.png": "x"}
    )
    os.utime(folder / "empty.md", (0, 0))

    found = basic_memory.found(folder)

    (note,) = found.items
    assert (note.kind, note.name, note.category) == ("note", "coffee/coffee-brewing-methods", "observation")
    assert note.content.startswith("# Coffee Brewing Methods\n\n## Observations\n- [method] Pour over")
    assert note.content.endswith("- relates_to [[Coffee Bean Origins]]")
    assert (note.tags, note.said_at) == (["brewing", "hot-drinks"], "2026-01-05T08:30:00.000Z")
    assert found.left_out == ["e is empty."]
    assert found.not_taken == {"files that are not Markdown": 1, "fields of front matter: type": 1}


def test_without_a_time_of_its_own_a_note_has_that_of_its_file(tmp_path):
    folder = write(tmp_path / "notes", {"a.md": COFFEE.replace("created: 2026-01-05T09:30:00+01:00\n", "")})
    os.utime(folder / "a.md", (1_771_596_000, 1_771_596_000))

    assert basic_memory.found(folder).items[0].said_at == "2026-02-20T14:00:00Z"


def test_sections_of_a_rules_file_become_decisions_without_the_own_block(tmp_path):
    file = tmp_path / "CLAUDE.md"
    file.write_text(CLAUDE_MD)
    os.utime(file, (1_771_596_000, 1_771_596_000))

    found = rules_texts.found(file)

    assert [one.name for one in found.items] == ["CLAUDE.md # Ferry", "CLAUDE.md ## Commands", "CLAUDE.md ## Style"]
    assert {(one.category, one.said_at) for one in found.items} == {("decision", "2026-02-20T14:00:00Z")}
    assert "## no heading\nmake test" in found.items[1].content
    assert not any("Use the memory" in one.content or SECRET in one.content for one in found.items)
    assert (found.redacted, found.not_taken) == (
        1,
        {"block that livemem init wrote": 1, "names of other files, which are not read": 1},
    )


@each(
    ("text", "names"),
    [
        ("# A\n\n## B\n\n````md\n```sh\n# c\n```\n## d\n````\n\ne\n\n## F\nf\n", ["## B", "## F"]),
        ("# A\n~~~~\n~~~\n## b\n```\n~~~~\n## C\nc\n", ["# A", "## C"]),
        ("# A\n```sh\n## b\n~~~\n## c\n``\n```\n## D\nd\n", ["# A", "## D"]),
        ("# A\n<!--\n## b\n\n# c\n-->\n## D\nd\n", ["# A", "## D"]),
        ("# A\n- step\n\n  ```sh\n  ## b\n  ```\n\n  # c\n## D\nd\n", ["# A", "## D"]),
        ("A\n=\na\n\nB\n---\nb\n\n### C\nc\n", ["A", "B"]),
        ("> # A\n\n    # b\n\n<div>\n# c\n</div>\n", [""]),
        ("#no\n\n ## A ##\na\r\n##\tB\r\nb\r## C\rc", ["", "## A ##", "##\tB", "## C"]),
        ("# A\n```\n## open to the end\n", ["# A"]),
        ("intro\x0c\u2028# a\n\n# B\nb", ["", "# B"]),
    ],
)
def test_a_section_of_a_rules_file_begins_where_markdown_says(text: str, names: list[str], tmp_path_factory):
    file = tmp_path_factory.mktemp("rules") / "AGENTS.md"
    file.write_text(text, newline="")

    found = rules_texts.found(file)

    assert [one.name for one in found.items] == [f"AGENTS.md {name}" for name in names]
    # A heading without a text of its own is counted. All other lines come.
    came = "\n".join(one.content for one in found.items)
    lost = [line for line in text.splitlines() if line.strip() and line.strip() not in came]
    assert len(lost) == found.not_taken["headings without text"]


def test_front_matter_of_a_rules_file_gives_tags_author_and_date_and_the_rest_is_counted(tmp_path):
    file = tmp_path / "AGENTS.md"
    file.write_text(
        "---\ndescription: How we build\nglobs: ['*.py']\ntags: [build]\nauthor: ines\ndate: 2026-01-05\n---\n"
        "# Build\n\nUse make.\n"
    )

    found = rules_texts.found(file)

    (note,) = found.items
    assert (note.content, note.tags, note.author) == ("# Build\n\nUse make.", ["agents", "build"], "ines")
    assert note.said_at == "2026-01-05T00:00:00.000Z"
    assert found.not_taken == {"fields of front matter: description": 1, "fields of front matter: globs": 1}


def test_what_a_note_of_basic_memory_has_no_place_for_is_counted(tmp_path):
    head = "title: Quay four\npermalink: q\nauthor: Tom\ncreated: soon\ndate: 2026-01-05\nrelated:\n- a\n- b\n"
    folder = write(tmp_path / "n", {"q.md": f"---\n{head}---\n# Another title\n"})

    found = basic_memory.found(folder)

    assert (found.items[0].author, found.items[0].said_at) == ("Tom", "2026-01-05T00:00:00.000Z")
    assert sorted(found.not_taken) == [f"fields of front matter: {name}" for name in ("created", "related", "title")]


def test_a_session_keeps_words_times_and_title_and_leaves_tools_and_secrets_out():
    (chat,) = claude_sessions.chats_of("-home-ines-ferry/0b9c5c1e.jsonl", [session_lines(SESSION)], set())

    assert (chat.service, chat.folder, chat.title) == (
        "claude-code",
        "/imported/claude-code/0b9c5c1e",
        "The import fails at night",
    )
    assert [(turn.user, turn.assistant, turn.timestamp) for turn in chat.turns] == [
        (
            "Why does the import fail? The key is [redacted:openai]",
            "I look.\n\nPort Kiel answers 503.",
            "2026-02-20T14:01:00.000Z",
        ),
        ("And by day?", "", "2026-02-20T14:06:00.000Z"),
    ]
    assert not any(turn.calls for turn in chat.turns)
    assert chat.left_out == {
        "lines without words, such as calls of tools": 3,
        "secrets, of which only a mark is sent": 1,
    }


def test_a_password_that_a_later_message_calls_so_is_imported_in_none_before():
    told = [said("user", 1, "Use kiel7port."), said("assistant", 2, "My password is kiel7port.")]

    (turn,) = claude_sessions.chats_of("s.jsonl", [session_lines(told)], set())[0].turns

    assert (turn.user, turn.assistant) == ("Use ***.", "My password is ***.")


def test_a_session_that_was_resumed_brings_only_what_is_new(tmp_path):
    again = [*SESSION, said("assistant", 8, "By day it works.")]
    projects = write(
        tmp_path / "projects",
        {"-home-ines-ferry/a.jsonl": session_lines(SESSION), "-home-ines-ferry/b.jsonl": session_lines(again)},
    )

    first, second = talks.read(look(projects))

    assert isinstance(first, Chat)
    assert isinstance(second, Chat)
    assert [turn.assistant for turn in second.turns] == ["By day it works."]
    assert second.left_out["messages that an earlier session holds"] == 4


def test_a_line_that_is_split_over_pieces_of_a_file_or_is_no_json_does_no_harm():
    whole = session_lines(SESSION) + b"{ half a line"
    pieces = [whole[at : at + 7] for at in range(0, len(whole), 7)]

    (chat,) = claude_sessions.chats_of("s.jsonl", pieces, set())

    assert len(chat.turns) == 2
    assert chat.left_out["lines that are no JSON or too long"] == 1


def test_a_file_of_other_lines_is_left_out_and_named(tmp_path):
    projects = write(tmp_path / "p", {"a.jsonl": session_lines(SESSION), "b.jsonl": '{"x": 1}\n'})

    report = talks.plan(look(projects), talks.Wanted("demo"))

    assert report.conversations == 1
    assert report.left_out == [
        "'b.jsonl' is no session of Claude Code, and not named as those of Codex are (rollout-*.jsonl)."
    ]


def test_kinds_are_told_by_names_and_contents(tmp_path):
    top = write(
        tmp_path,
        {
            "mem0.json": json.dumps(MEM0),
            "AGENTS.md": "# A\n\nB\n",
            "basic/a.md": COFFEE,
            "plain/a.md": "# A\n",
            "projects/x/a.jsonl": session_lines(SESSION),
            "one.jsonl": session_lines(SESSION),
        },
    )
    names = ("mem0.json", "AGENTS.md", "basic", "plain", "projects", "one.jsonl")
    assert [look(top / name).kind for name in names] == ["mem0", "rules", "basic-memory", "markdown", "chats", "chats"]


def test_a_long_note_becomes_several_and_no_line_is_lost():
    text = "\n".join(f"line {number} " + "é" * 90 for number in range(2_000)) + "\n" + "x" * 200_000
    found = Found("x")
    found.add(FoundItem("note", "n", text))

    assert len(found.items) > 2
    assert all(len(one.content.encode()) <= found_items.NOTE_BYTES for one in found.items)
    assert "".join(one.content for one in found.items).replace("\n", "") == text.replace("\n", "")


@pytest.fixture
def desk(tmp_path) -> CliHarness:
    made = CliHarness(tmp_path / "home")
    made.answers = {
        "append_note": {"note_id": "n"},
        "store_memory": {"memory_id": "m"},
        "get_space": {"space_id": "demo", "uid": "01K1"},
    }
    return made


def sent_by(desk: CliHarness) -> list[tuple[str, dict[str, Any]]]:
    """What was written, with its arguments."""
    return [(name, arguments) for name, arguments in desk.asked if name != "get_space"]


@pytest.fixture
def rules(tmp_path) -> Path:
    file = tmp_path / "CLAUDE.md"
    file.write_text(CLAUDE_MD)
    return file


def test_a_dry_run_lists_what_would_come_and_what_not_and_sends_nothing(desk, rules):
    told = desk.say("import", str(rules), "--dry-run")

    assert (told.code, sent_by(desk)) == (0, [])
    assert "CLAUDE.md: 3 notes, 201 characters\n  would go into demo\n" in told.out
    assert "would come: note decision" in told.out
    assert "## Style" in told.out
    assert "without secrets: 1 text replaced" in told.out
    assert "not taken: 1 block that livemem init wrote" in told.out
    assert SECRET not in told.out


def test_items_are_sent_once_also_when_the_service_has_forgotten_their_names(desk, rules):
    first = desk.say("import", str(rules), "--json")
    sent = sent_by(desk)
    again = desk.say("import", str(rules), "--json")

    assert (first.code, again.code) == (0, 0)
    assert [name for name, _ in sent] == ["append_note"] * 3
    assert sent_by(desk) == sent
    assert (first.json["reports"][0]["imported"], again.json["reports"][0]["repeated"]) == (3, 3)
    keys = {headers["idempotency-key"] for headers in desk.headers if "idempotency-key" in headers}
    assert len(keys) == 3
    assert all(arguments["space_id"] == "demo" and SECRET not in str(arguments) for _, arguments in sent)

    rules.write_text(CLAUDE_MD.replace("Tabs, not spaces.", "Spaces, not tabs."))
    planned = desk.say("import", str(rules), "--dry-run").out
    assert (planned.count("would come:"), "there already: 2" in planned) == (1, True)
    assert desk.say("import", str(rules), "--json").json["reports"][0]["imported"] == 1
    # A space that was deleted and made again has none of it.
    desk.answers["get_space"] = {"space_id": "demo", "uid": "01K2"}
    assert desk.say("import", str(rules), "--json").json["reports"][0]["imported"] == 3


def test_an_import_that_was_interrupted_continues_where_it_ended(desk, rules):
    desk.answers["append_note"] = [{"note_id": "n"}, problem(503, "store_unavailable")]
    broken = desk.say("import", str(rules))
    done = len({headers["idempotency-key"] for headers in desk.headers if "idempotency-key" in headers})
    desk.answers["append_note"] = {"note_id": "n"}
    desk.asked.clear()
    again = desk.say("import", str(rules), "--json")

    assert broken.code != 0
    assert "Run the same command again" in broken.err
    assert done == 2
    assert len(sent_by(desk)) == 2
    assert again.json["reports"][0]["imported"] == 2


def test_an_item_that_the_service_refuses_is_named_and_the_others_come(desk, tmp_path):
    source = tmp_path / "mem0.json"
    source.write_text(json.dumps(MEM0))
    desk.answers["store_memory"] = [problem(422, "invalid_request"), {"memory_id": "m"}]

    told = desk.say("import", str(source))

    assert told.code == 1
    assert "left out: 892db2ae-06d9-49e5-8b3e-585ef9b85b8e is refused: why" in told.out
    assert "imported into demo: 1" in told.out
    assert sent_by(desk)[1][1]["subjects"] == ["ines", "reviewer"]


def test_a_memory_with_an_end_is_sent_with_its_time_to_live_and_again_only_with_another_end(desk, tmp_path):
    source = tmp_path / "mem0.json"
    source.write_bytes(memory_until("2026-03-01"))
    first = desk.say("import", str(source), "--json")
    again = desk.say("import", str(source), "--json")
    source.write_bytes(memory_until("2026-04-01"))
    moved = desk.say("import", str(source), "--dry-run")
    desk.say("import", str(source))

    assert [arguments["ttl"] for _, arguments in sent_by(desk)] == ["225h", "969h"]
    assert (first.json["reports"][0]["imported"], again.json["reports"][0]["repeated"]) == (1, 1)
    assert "would come: memory fact until 2026-04-01: The quay is closed" in moved.out
    # The service takes a key only with the same request again, and a later one has another time to live.
    keys = [headers["idempotency-key"] for headers in desk.headers if "idempotency-key" in headers]
    assert len(set(keys)) == 2
    assert keys[0].endswith("-225h")
