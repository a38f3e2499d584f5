"""What models are told: each tool has words of its own, short, and none of HTTP, of which a model sees nothing."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from livemem_mcp import catalog
from livemem_mcp.core import CORE
from livemem_mcp.tool import McpTool
from tests.support.cases import each

ROUTES = catalog.tools()
EVERY = {**CORE, **ROUTES}
SHOWN = [*EVERY.items(), *((f"{one.name}, wide", one) for one in catalog.widened(CORE))]
TOLD: Mapping[str, Mapping[str, Any]] = catalog.words()["tools"]
HTTP = re.compile(
    r"\b(20[0-4]|304|400|401|403|404|409|413|422|429|500|503)\b(?!,\d| to \d| bytes)"
    r"|\b(HTTP|POST|PUT|PATCH|GET|DELETE|URL|Location|Idempotency-Key|Retry-After|Content-Type|Accept|ETag)\b"
    r"|\b(headers?|status codes?|routes?|endpoints?|requests?|responses?|query parameters?)\b"
)
TITLE = range(3, 41)
DESCRIPTION = range(20, 301)
ARGUMENT = 420
FOR_GOOD = re.compile(r"can't be undone|for good|for ever|not kept")
WAY_BACK = re.compile(r"takes? it (back|away)|undone by|brings? it back")


@each("name", ROUTES)
def test_every_tool_that_is_made_of_a_route_has_a_title_and_a_description_of_its_own(name: str):
    assert {"title", "description"} <= TOLD.get(name, {}).keys()


@each("tool", [tool for _, tool in SHOWN], ids=[name for name, _ in SHOWN])
def test_no_tool_speaks_of_http(tool: McpTool):
    said = [(tool.name, tool.title), (tool.name, tool.description), *_descriptions(tool.schema)]

    assert [(where, found[0]) for where, text in said for found in HTTP.finditer(text)] == []


@each("tool", [tool for _, tool in SHOWN], ids=[name for name, _ in SHOWN])
def test_words_are_few(tool: McpTool):
    assert len(tool.title) in TITLE
    assert len(tool.description) in DESCRIPTION
    assert tool.description.endswith(".")
    assert [where for where, text in _descriptions(tool.schema) if len(text) > ARGUMENT] == []


def test_no_two_tools_have_the_same_words():
    for of in ("title", "description"):
        said = [getattr(tool, of) for tool in EVERY.values()]
        assert sorted({text for text in said if said.count(text) > 1}) == []


@each("tool", ROUTES.values(), ids=ROUTES)
def test_what_destroys_says_whether_there_is_a_way_back(tool: McpTool):
    told = bool(FOR_GOOD.search(tool.description) or WAY_BACK.search(tool.description))

    assert told or not tool.destroys


@each("tool", EVERY.values(), ids=EVERY)
def test_what_reads_neither_destroys_nor_is_told_to_repeat(tool: McpTool):
    assert not (tool.reads and (tool.destroys or tool.repeats))


@each("name", [name for name, tool in ROUTES.items() if tool.reads])
def test_only_what_writes_is_judged(name: str):
    assert not {"destroys", "repeats"} & TOLD[name].keys()


def test_what_takes_something_away_is_known_to_destroy():
    taking = re.compile(r"^(delete|erase|purge|revoke|undo)_|^collect_garbage$")

    found = {name: tool.destroys for name, tool in ROUTES.items() if taking.match(name)}

    assert len(found) > 5
    assert {name for name, destroys in found.items() if not destroys} == set()


@each("tool", ROUTES.values(), ids=ROUTES)
def test_tools_that_the_words_name_are_there(tool: McpTool):
    fields = {name for other in EVERY.values() for name in _names(other.schema)}
    named = set(re.findall(r"\b[a-z]+(?:_[a-z]+)+\b", tool.description))
    answers = {"started_run", "space_id", "awaiting_approval", "confirm_section"}
    answers |= {"failed_spaces", "next_spaces"}

    assert named - EVERY.keys() - fields - answers == set()


@each("name", [name for name, words in TOLD.items() if words.get("defaults")])
def test_a_default_of_its_own_is_shown_and_is_within_its_bounds(name: str):
    properties = ROUTES[name].schema["properties"]
    for argument, value in TOLD[name]["defaults"].items():
        shown = properties[argument]
        assert shown["default"] == value
        assert value in shown.get("enum", [value])
        if not isinstance(value, str):
            assert shown["minimum"] <= value <= shown["maximum"]


@each("tool", ROUTES.values(), ids=ROUTES)
def test_a_page_is_short_unless_more_is_asked_for(tool: McpTool):
    limit = tool.schema["properties"].get("limit")

    assert limit is None or limit["default"] <= 20


def test_words_name_no_operation_and_no_argument_that_there_is_not():
    core = catalog.words()["core"].keys()

    assert {*core, *(words.get("of", name) for name, words in TOLD.items())} - catalog.operations().keys() == set()
    assert core & TOLD.keys() == set()
    for tool, words in TOLD.items():
        fields = catalog.operations()[words.get("of", tool)]["fields"]
        assert {*words.get("takes", ()), *words.get("without", ()), *words.get("sends", {})} - fields.keys() == set(), (
            tool
        )
        named = {*words.get("arguments", {}), *words.get("defaults", {})}
        assert named - EVERY[tool].schema["properties"].keys() == set(), tool


def test_a_tool_s_own_words_for_an_argument_win_over_those_for_all():
    own = {(tool, name): text for tool, words in TOLD.items() for name, text in words.get("arguments", {}).items()}

    assert {key: EVERY[key[0]].schema["properties"][key[1]]["description"] for key in own} == own
    assert [name for _, name in own if name in catalog.words()["arguments"]]


def test_words_for_all_are_each_read_by_a_model():
    shown = {text for tool in (*ROUTES.values(), *catalog.widened(CORE)) for _, text in _descriptions(tool.schema)}

    assert {name for name, text in catalog.words()["arguments"].items() if text not in shown} == set()


def test_words_for_all_reach_arguments_inside_of_others():
    inside = {"items": {"properties": {"note_id": {"description": "long"}}}}

    told = catalog.described({"notes": inside, "note_id": {"description": "long"}}, {"note_id": "short"})

    assert told == {
        "notes": {"items": {"properties": {"note_id": {"description": "short"}}}},
        "note_id": {"description": "short"},
    }
    assert inside["items"]["properties"]["note_id"] == {"description": "long"}


def _descriptions(schema: Any, where: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(schema, Mapping):
        if isinstance(schema.get("description"), str):
            yield where, schema["description"]
        for name, part in schema.items():
            yield from _descriptions(part, f"{where}.{name}")
    elif isinstance(schema, list):
        for part in schema:
            yield from _descriptions(part, where)


def _names(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        yield from schema.get("properties", {})
        for part in schema.values():
            yield from _names(part)
