"""Front matter is read within bounds, whoever wrote it: no text makes a read fail, or lets it run on."""

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from livemem import clock, limits
from livemem.bank import synthesis as bank
from livemem.markdown import front_matter
from livemem.notes import note as notes
from livemem.notes.note import Note
from livemem.store import keys
from tests.support.cases import each

NAME = keys.parse_note_id("20260220T140000_ann_todo_0000abcd")
FIELDS = 'timestamp: "2026-02-20T14:00:00Z"\nagent: ann\ncategory: todo\n'
MERGES = "a0: &a0 {k: 1}\n" + "".join(f"a{i}: &a{i}\n  <<: [*a{i - 1}, *a{i - 1}, *a{i - 1}]\n" for i in range(1, 9))
BOMBS = {
    "merge keys": MERGES,
    "merge key": "x:\n  <<: {a: 1}\n",
    "aliases": "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n",
    "an anchor": "a: &a x\n",
    "tags": "a: !!binary aGk=\n",
    "nested lists": "x: " + "[" * 5 + "]" * 5 + "\n",
    "many values": "x: [" + "a, " * front_matter.NODES + "]\n",
    "a long number": "x: 0x" + "f" * 5_000 + "\n",
    "a long head": 'x: "' + "a" * front_matter.HEAD_CHARACTERS + '"\n',
}


@each("head", BOMBS.values(), ids=BOMBS)
def test_a_note_whose_front_matter_is_beyond_the_bounds_is_read_as_malformed(head: str):
    body = f"---\n{FIELDS}{head}---\n\ntext"

    read = notes.parse_note("demo", NAME, body.encode())

    assert (read.malformed, read.content) == (True, body)


@each("head", BOMBS.values(), ids=BOMBS)
def test_a_synthesis_whose_front_matter_is_beyond_the_bounds_is_all_content(head: str):
    body = f"---\nconsolidation_number: 3\n{head}---\n\ntext"

    read = bank.parse_synthesis(body)

    assert (read.content, read.consolidation_number) == (body, None)


def test_a_synthesis_with_a_number_too_long_to_print_is_read():
    read = bank.parse_synthesis("---\nconsolidated_at: 0x" + "f" * 5_000 + "\n---\n\ntext")

    assert read.consolidated_at is None


@pytest.mark.parametrize("head", ["x: " + "[" * 12_000, "x: " + "{a: " * 3_000, "- " * 8_000, "? " * 8_000, MERGES])
def test_what_is_beyond_the_bounds_is_never_built(head: str, monkeypatch: pytest.MonkeyPatch):
    events: list[object] = []
    parse = yaml.parse
    monkeypatch.setattr(yaml, "parse", lambda *args, **kw: (events.append(e) or e for e in parse(*args, **kw)))
    monkeypatch.setattr(yaml, "load", lambda *args, **kw: pytest.fail("built"))

    with pytest.raises(ValueError, match="front matter"):
        front_matter.read(f"---\n{head}\n---\n")

    assert len(events) < 3 * front_matter.NODES


@each("character", ["a", "\x00", "\x85", "\u2028", '"', "\\", "é", "🦊", "\U0010ffff", "\ufeff"])
def test_the_longest_tags_that_a_note_may_have_are_read_back(character: str):
    tags = tuple(character * limits.TAG_CHARACTERS for _ in range(limits.TAGS))
    note = Note(NAME.note_id, "s" * 63, clock.iso(NAME.timestamp), "a" * 63, "todo", tags, "text", 4)

    assert notes.parse_note("s" * 63, NAME, notes.format_note(note)) == note


PIECES = st.sampled_from(
    """[ ] { } , : ? - --- ... & * ! | > ' " % @ ` # << &a *a !!int !x a b 1 0x 0b_ 1:2 2026-02-31 .inf ~ yes = \\
    2026-01-01T00:00:00+99:99""".split()
)  # fmt: skip
PIECES |= st.text(max_size=5) | st.sampled_from([" ", "\n", "\t", "\r", "\r\n", "\x85", "\u2028", "\ufeff", "\x00"])


@given(st.lists(PIECES, max_size=60).map("".join), st.sampled_from(["\n", "\r\n", ""]))
@example("? [a]\n: b", "\n")
@example("x: 0001-01-01T00:00:00+14:00", "\n")
@example("\ud800", "\n")
def test_any_text_is_front_matter_or_a_value_error(head: str, ending: str):
    try:
        fields, content = front_matter.read(f"---{ending}{head}{ending}---{ending}\ntext")
    except ValueError:
        return
    assert isinstance(fields, dict)
    assert content.endswith("text")
    str(fields)


@given(st.text())
def test_any_synthesis_is_read(text: str):
    assert bank.parse_synthesis(text).content in text
