"""Reading the bank: files with what they cost, the synthesis, and names that can't leave the bank."""

import pytest

from livemem.bank import files, history
from livemem.bank import synthesis as syntheses
from livemem.errors import InvalidName, NotFound
from livemem.store.bucket import BANK_FILE
from tests.support.cases import each
from tests.support.world import World


def space_with_a_bank() -> World:
    world = World()
    world.create_space()
    world.note("one")
    world.consolidate()
    for path, text in (("sub/deep.md", "# Deep\n"), ("a.md", "é\n")):
        world.inner.put_object(Bucket="b", Key=BANK_FILE.key("demo", path), Body=text.encode())
    world.new_process()
    files.listing(world.process, "demo")
    world.client.reset()
    return world


def test_the_list_of_files_costs_one_list_and_shows_sizes_in_bytes():
    world = space_with_a_bank()

    found = files.listing(world.process, "demo")

    assert world.client.counts == {"LIST": 1}
    assert [(file.path, file.size, file.content) for file in found] == [
        ("a.md", 3, None), ("log.md", len(world.bank()["log.md"]), None), ("sub/deep.md", 7, None),
    ]  # fmt: skip
    assert {file.last_modified for file in found} == {"2026-02-20T14:00:00Z"}


def test_the_list_with_content_costs_one_get_for_each_file():
    world = space_with_a_bank()

    found = files.listing(world.process, "demo", content=True)

    assert world.client.counts == {"LIST": 1, "GET": 3}
    assert {file.path: file.content for file in found} == world.bank()


def test_objects_that_are_no_markdown_are_not_of_the_bank():
    world = space_with_a_bank()
    world.inner.put_object(Bucket="b", Key="demo/bank/notes.txt", Body=b"x")

    assert [file.path for file in files.listing(world.process, "demo")] == ["a.md", "log.md", "sub/deep.md"]


def test_one_file_costs_one_get_and_tells_the_consolidation_that_wrote_it():
    world = space_with_a_bank()

    found = files.read(world.process, "demo", "log.md")

    assert world.client.counts == {"GET": 1}
    assert (found.content, found.consolidation) == ("# Log\n\n## Log\n\n- one\n", 1)
    assert files.read(world.process, "demo", "a.md").consolidation is None


@each("path", ["missing.md", "Log.md", "bank/log.md", "log.md.md"])
def test_a_file_that_is_not_there_is_not_found(path: str):
    with pytest.raises(NotFound) as missing:
        files.read(space_with_a_bank().process, "demo", path)
    assert missing.value.code == "bank_file_not_found"


HOSTILE = [
    "../_meta.json",
    "../_rules.md",
    "a/../../_rules.md",
    "/log.md",
    "_synthesis.md",
    "log.txt",
    "",
    ".keep",
    "a//b.md",
    "l\u200bog.md",
    "a b.md",
]


@each("path", HOSTILE)
def test_a_path_that_is_none_is_refused_before_the_store_is_asked(path: str):
    world = space_with_a_bank()

    for ask in (
        lambda: files.read(world.process, "demo", path),
        lambda: history.read_file(world.process, "demo", path, at="1", sources=False),
        lambda: files.find_file(world.process, "demo", path),
    ):
        with pytest.raises(InvalidName) as refused:
            ask()
        assert refused.value.field == "path"
    assert world.client.counts == {}


def test_an_unknown_space_has_no_bank():
    world = World()

    for ask in (
        lambda: files.listing(world.process, "nowhere"),
        lambda: files.read(world.process, "nowhere", "log.md"),
        lambda: syntheses.read_synthesis(world.process, "nowhere"),
    ):
        with pytest.raises(NotFound) as missing:
            ask()
        assert missing.value.code == "space_not_found"


def test_a_file_that_is_no_utf8_is_shown_with_replacements():
    world = space_with_a_bank()
    world.inner.put_object(Bucket="b", Key="demo/bank/a.md", Body=b"\xff\n")

    found = files.read(world.process, "demo", "a.md")

    assert (found.content, found.size) == ("\ufffd\n", 2)


def test_the_synthesis_tells_its_consolidation():
    found = syntheses.read_synthesis(space_with_a_bank().process, "demo")

    assert found == syntheses.Synthesis("2026-02-20T14:00:00Z", 1, 1, "1 notes.")


def test_before_the_first_consolidation_there_is_no_synthesis():
    world = World()
    world.create_space()

    with pytest.raises(NotFound) as missing:
        syntheses.read_synthesis(world.process, "demo")
    assert missing.value.code == "synthesis_not_found"


@each("content", ["Plain.", "---\nnot: front\n---\nmatter", "# T\n\n---\n\nx", "", "🦊", "x\ny\n\nz"])
def test_a_synthesis_reads_back_as_it_was_written(content: str):
    text = syntheses.format_synthesis(content, consolidated_at="2026-02-20T14:00:00Z", number=7, notes_processed=3)

    found = syntheses.parse_synthesis(text)

    assert (found.consolidated_at, found.consolidation_number, found.notes_processed) == ("2026-02-20T14:00:00Z", 7, 3)
    assert found.content.strip() == content.strip()


@each(
    "text",
    [
        "",
        "No front matter.",
        "---\n{\n---\nx",
        "---\n- list\n---\nx",
        "---\nconsolidation_number: many\n---\nx",
        "---\n---\n",
        "---\nx: " + "[" * 3_000 + "\n---\n",
    ],
)
def test_a_synthesis_with_broken_front_matter_is_still_read(text: str):
    found = syntheses.parse_synthesis(text)

    assert found.consolidation_number is None
    assert found.content.strip() in text
