"""A note's object and back: what agents wrote comes back byte for byte, what others wrote is never dropped."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from livemem import clock
from livemem.notes import note as notes
from livemem.notes.note import Note
from livemem.store import keys
from tests.support.cases import each

NAME = keys.parse_note_id("20260220T140000_ann_todo_0000abcd")
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
NASTY_LINES = st.sampled_from(
    [
        "---",
        "--- ",
        "---\t",
        "----",
        "...",
        "",
        " ",
        "\r",
        "# h",
        "tags: [x]",
        "%YAML 1.2",
        "\ufeff",
        "🦊",
        "\u2028",
        "\x00",
        "a: 'b",
    ]
)
BODIES = TEXT | st.lists(NASTY_LINES | TEXT, max_size=8).flatmap(
    lambda lines: st.sampled_from(["\n", "\r\n", "\r"]).map(lambda ending: ending.join(lines))
)
# Every tag that the rules for notes let through, and those that they do not: the format must hold for any of them.
TAGS = st.lists(
    TEXT | st.sampled_from(['"]', "]", "a, b", "'", "\\", "{a: b}", "# c", "null", "1", "é", "---", "&a", "*a", "!!x"])
)


def note_of(content: str, tags: tuple[str, ...] = ()) -> Note:
    return Note(
        note_id=NAME.note_id,
        space_id="demo",
        timestamp=clock.iso(NAME.timestamp),
        agent="ann",
        category="todo",
        tags=tags,
        content=content,
        size=len(content.encode()),
    )


@given(BODIES, TAGS, st.none() | TEXT.filter(str.strip))
@example("\n\n", [], None)
@example("\r\n---\r\n\r\n", ["---\n"], 'x"\nagent: "eve')
@example('---\ntimestamp: "2020-01-01T00:00:00Z"\n---\n\nforged', ['x"]\nagent: "eve'], "7")
@example("", ["\ud7ff", "\x85", "\u2029", " lead", "trail ", "\ufeff", "\U0010ffff"], "null")
def test_a_note_round_trips_byte_for_byte(content: str, tags: list[str], author: str | None):
    said_at = "2023-05-08T13:56:00Z" if author else None
    note = replace(note_of(content, tuple(tags)), author=author, said_at=said_at)

    read = notes.parse_note("demo", NAME, notes.format_note(note))

    assert read == note


@given(TAGS)
def test_no_tag_breaks_out_of_its_line_of_the_front_matter(tags: list[str]):
    lines = notes.format_note(note_of("body", tuple(tags))).decode().split("\n")

    assert [line.partition(":")[0] for line in lines] == [
        "---", "timestamp", "agent", "category", "tags", "space_id", "---", "", "body",
    ]  # fmt: skip


FRONT_MATTER = 'timestamp: "2026-02-20T14:00:00Z"\nagent: ann\ncategory: todo\n'
WORD = "unmistakable"


@each(
    "head",
    [
        "",
        "---\n",
        "---\n---\n",
        "---\n- a list\n---\n",
        "---\njust text\n---\n",
        "---\n{\n---\n",
        "---\n" + FRONT_MATTER,
        "---\n" + FRONT_MATTER.replace("ann", "a_nn") + "---\n",
        "---\n" + FRONT_MATTER.replace("ann", "[1]") + "---\n",
        "---\n" + FRONT_MATTER.replace("ann", "7") + "---\n",
        "---\n" + FRONT_MATTER.replace("todo", "gossip") + "---\n",
        "---\n" + FRONT_MATTER.replace("todo", "[todo]") + "---\n",
        "---\n" + FRONT_MATTER.replace("category", "kategorie") + "---\n",
        "---\n" + FRONT_MATTER.replace("2026-02-20T14:00:00Z", "yesterday") + "---\n",
        "---\n" + FRONT_MATTER.replace("2026-02-20", "2026-02-31") + "---\n",
        "---\n" + FRONT_MATTER.replace("2026-02-20T14:00:00Z", "0001-01-01T00:00:00+14:00") + "---\n",
        "---\n" + FRONT_MATTER.replace('"2026-02-20T14:00:00Z"', "0001-01-01T00:00:00+14:00") + "---\n",
        "---\n" + FRONT_MATTER.replace('"2026-02-20T14:00:00Z"', "9" * 5000) + "---\n",
        "---\n" + FRONT_MATTER + "tags: [1, 2]\n---\n",
        "---\n" + FRONT_MATTER + "tags: auth\n---\n",
        "---\n" + FRONT_MATTER + "tags: {a: b}\n---\n",
        "---\n" + FRONT_MATTER + 'tags: ["\\ud800"]\n---\n',
        "---\n" + FRONT_MATTER + "x: !!python/object/apply:os.system [id]\n---\n",
        "---\n" + FRONT_MATTER + "x: " + "[" * 3000 + "\n---\n",
        "---\n" + FRONT_MATTER + "x: *nobody\n---\n",
        "text in front is part of the note\n---\n" + FRONT_MATTER + "---\n",
        "\ufeff---\n" + FRONT_MATTER + "---\n",
    ],
    ids=range(27),
)  # fmt: skip
def test_a_malformed_note_is_read_whole_with_what_its_name_tells(head: str):
    body = f"{head}{WORD}\n"

    read = notes.parse_note("demo", NAME, body.encode())

    assert read.malformed
    assert read.content == body
    assert (read.note_id, read.agent, read.category, read.timestamp) == (
        NAME.note_id, "ann", "todo", "2026-02-20T14:00:00Z",
    )  # fmt: skip
    assert read.tags == ()


def test_bytes_that_are_no_utf8_are_read_with_replacements_and_marked():
    read = notes.parse_note("demo", NAME, notes.format_note(note_of("caf\xe9")).replace("\xe9".encode(), b"\xe9"))

    assert read.malformed
    assert read.content.endswith("caf\ufffd")


@given(st.binary(max_size=300) | BODIES.map(str.encode))
def test_no_object_makes_reading_fail_and_none_reads_as_empty(body: bytes):
    read = notes.parse_note("demo", NAME, body)

    assert read.malformed
    assert read.content == body.decode(errors="replace")
    read.content.encode()


YAML_SCALARS = st.sampled_from(
    """ann | todo | ~ | 1 | 1.5 | .nan | [] | {} | 2026-02-20 | 2026-02-20T14:00:00Z | 0001-01-01T00:00:00+14:00
    | 9999-12-31T23:59:59-14:00 | "2026-02-20T14:00:00+02:00" | !!binary aGk= | &a [*a] | "\\ud800" | ' | [a, b]
    | yes |""".split("|")
).map(str.strip)


@given(st.dictionaries(st.sampled_from(["timestamp", "agent", "category", "tags", "x"]), YAML_SCALARS), BODIES)
@example({"timestamp": "2026-02-20 14:00:00", "agent": "ann", "category": "todo"}, "x")
def test_hand_written_front_matter_is_read_or_kept_as_text(fields: dict[str, str], content: str):
    head = "".join(f"{name}: {value}\n" for name, value in fields.items())
    body = f"---\n{head}---\n\n{content}"

    read = notes.parse_note("demo", NAME, body.encode())

    assert read.content == (body if read.malformed else content)
    # Whatever was read can be shown, put into a prompt and written again.
    notes.format_note(read)
    clock.parse(read.timestamp)


def test_the_fields_of_a_note_win_over_its_name():
    body = '---\ntimestamp: "2026-03-01T08:00:00+01:00"\nagent: bob\ncategory: decision\ntags: [x]\n---\nHi.\n'

    read = notes.parse_note("demo", NAME, body.encode())

    assert not read.malformed
    assert (read.agent, read.category, read.tags) == ("bob", "decision", ("x",))
    assert (read.timestamp, read.content, read.size) == ("2026-03-01T07:00:00Z", "Hi.\n", 4)


def test_a_yaml_time_without_an_offset_is_utc_wherever_the_process_runs(monkeypatch: pytest.MonkeyPatch):
    import time

    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        read = notes.parse_note(
            "demo", NAME, b"---\ntimestamp: 2026-03-01 08:00:00\nagent: bob\ncategory: todo\n---\nx"
        )
    finally:
        monkeypatch.undo()
        time.tzset()

    assert read.timestamp == "2026-03-01T08:00:00Z"


@given(st.datetimes(timezones=st.just(UTC)))
def test_the_time_of_a_note_survives_in_its_name_and_in_its_fields(moment: datetime):
    whole = moment.replace(microsecond=0)
    name = keys.NoteName(whole, "ann", "todo", "0000abcd")
    note = Note(name.note_id, "demo", clock.iso(whole), "ann", "todo", (), "x", 1)

    read = notes.parse_note("demo", keys.parse_note_id(name.note_id), notes.format_note(note))

    assert read == note
