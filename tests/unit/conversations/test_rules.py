"""The pure rules beside the planner: paths, parameters, names, languages, answers."""

import json
from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from livemem.conversations import answer, making, names
from livemem.conversations import turn as turns
from livemem.conversations.answer import Source, SummaryAnswer
from livemem.conversations.conversation import check_host, normalised
from livemem.conversations.parameters import Parameters
from livemem.conversations.turn import Draft, ToolCall
from livemem.errors import InvalidRequest, TooLarge
from livemem.llm.contract import ContractError
from livemem.store.bucket import SUMMARY
from livemem.text import language
from tests.support.cases import each

paths = st.lists(
    st.sampled_from(["/", "//", "\\", "..", ".", "a", "é", "e\u0301", " ", "C:", "漢", "a b", "~"]), min_size=1
)


@each(
    ("path", "expected"),
    [
        ("/home/ann/", "/home/ann"),
        ("/home//ann/./x/..", "/home/ann"),
        ("/../..", "/"),
        ("//home", "/home"),
        ("a/../..", ".."),
        ("C:\\Users\\ann\\", "C:/Users/ann"),
        ("C:/Users//ann", "C:/Users/ann"),
        (" C:\\Users ", "C:/Users"),
        ("C:\\", "C:/"),
        ("C:\\..\\..\\x", "C:/x"),
        ("\\\\server\\share\\x", "/server/share/x"),
        ("/a\\b", "/a\\b"),
        ("/Projekte/Über uns", "/Projekte/Über uns"),
    ],
)
def test_a_folder_has_one_spelling(path, expected):
    assert normalised(path) == expected


@example(["C:", "\\", "..", "\\", ".."])
@example([" ", "C:", "\\", "a"])
@example(["/", "a", " ", "/", "b", "/", ".."])
@given(paths)
def test_a_path_that_was_normalised_stays_as_it_is_and_goes_nowhere_up(parts):
    path = "".join(parts)
    try:
        found = normalised(path)
    except InvalidRequest:
        assert not path.strip()
        return
    assert normalised(found) == found
    assert found != "/.."
    assert not found.startswith("/../")
    assert "//" not in found


@each("path", ["", "  ", "a\nb", "a\x00", "\ud800"])
def test_what_can_be_no_path_is_refused_with_its_field(path):
    with pytest.raises(InvalidRequest) as refused:
        normalised(path, "project_path")
    assert refused.value.fields[0].field == "project_path"


def test_hosts_and_paths_have_bounds():
    with pytest.raises(TooLarge):
        normalised("/" + "a" * 4_096)
    with pytest.raises(InvalidRequest):
        check_host("a\tb")


BOUNDS = {
    "window_chars": (500, 100_000),
    "wiggle": (0, 0.5),
    "min_flush_chars": (1, 100_000),
    "overlap_chars": (0, 400),
    "flush_after_ms": (60_000, 86_400_000),
    "group_chars": (1_000, 100_000),
    "group_raw_chars": (500, 1_000_000),
    "ratio": (0.01, 0.5),
    "concurrency": (1, 10),
    "batch_delay_ms": (0, 60_000),
}


@each("name", BOUNDS)
def test_a_parameter_at_its_bounds_is_taken_and_beyond_is_refused_with_its_name_and_bound(name):
    least, most = BOUNDS[name]
    usual = {"window_chars": 100_000, "min_flush_chars": 1}
    for value in (least, most):
        assert getattr(Parameters.of({**usual, name: value}), name) == value
    for value, bound in ((least - 0.5 if isinstance(least, float) else least - 1, least), (most + 1, most)):
        with pytest.raises(InvalidRequest) as refused:
            Parameters.of({**usual, name: value}, "parameters.")
        (field,) = refused.value.fields
        assert field.field == f"parameters.{name}"
        assert str(bound) in field.message


@each(
    ("values", "field"),
    [
        ({"seal_policy": "never"}, "seal_policy"),
        ({"unknown": 1}, "unknown"),
        ({"min_flush_chars": 6_001}, "min_flush_chars"),
        ({"ratio": float("nan")}, "ratio"),
        ({"ensure_assistant": None}, "ensure_assistant"),
    ],
)
def test_parameters_that_do_not_fit_are_refused_by_name(values, field):
    with pytest.raises(InvalidRequest) as refused:
        Parameters.of(values)
    assert refused.value.fields[0].field == field


@given(st.text(), st.integers(0, 0xFFFF), st.text(min_size=1), st.sampled_from([0.1, 0.2]), st.booleans())
def test_a_name_is_a_hash_that_tells_its_parts(source, redo, model, ratio, ratio_only):
    maker = names.maker("v1", model, Parameters(ratio=ratio, ratio_only=ratio_only))
    name = names.name(names.source([source]), redo, maker)
    assert len(name) == 64
    assert SUMMARY.last(SUMMARY.key("demo", "01HZZZZZZZ0000000000000001", 1, 1, 1, name)) == name
    assert (names.source_of(name), names.redo_of(name), names.maker_of(name)) == (names.source([source]), redo, maker)


def test_each_part_of_the_input_changes_the_name():
    usual = Parameters()
    made = [
        names.maker("v1", "m", usual),
        names.maker("v2", "m", usual),
        names.maker("v1", "n", usual),
        names.maker("v1", "m", usual.model_copy(update={"ratio": 0.2})),
        names.maker("v1", "m", usual.model_copy(update={"ratio_only": False})),
    ]
    assert len(set(made)) == len(made)
    assert names.maker("v1", "m", usual.model_copy(update={"concurrency": 9})) == made[0]
    texts = [[1, "a", "b"], [1, "ab", ""], [2, "a", "b"], [1, "", "ab"]]
    assert len({names.source([one]) for one in texts}) == len(texts)


@given(st.permutations([0, 1, 2, 17]), st.sampled_from(["x", None]))
def test_the_summary_that_counts_is_the_one_made_anew_last_in_whatever_order_they_are_listed(redos, source):
    wanted = names.source(["x"]) if source else None
    some = [names.name(names.source(["x"]), redo, f"{redo:020x}") for redo in redos]
    counts = names.current(some, wanted)
    assert counts
    assert names.redo_of(counts) == 17
    assert names.current(some, names.source(["y"])) is None
    assert names.current([]) is None


TEXTS = {
    "en": "It was the case that the import failed at night and we have to look for what was not done in the morning.",
    "fr": "Nous avons dit que le port ne répond pas dans la nuit, mais il est là pour les clients et une reprise.",
    "de": "Der Import ist in der Nacht nicht gelaufen und wird es auch am Morgen nicht, das ist ein Problem.",
    "es": "El puerto no responde por la noche y los clientes no pueden, como se dijo, pero las pruebas son para hoy.",
}


@each("code", TEXTS)
def test_a_language_is_told_by_its_common_words_and_no_other_is_the_same(code):
    assert language.detect(TEXTS[code]) == code
    assert [other for other in TEXTS if language.differ(TEXTS[code], TEXTS[other])] == [o for o in TEXTS if o != code]


@each("text", ["", "ok", "x = y[0]; return foo(bar)", "`the and of to in is that it for was`", "漢字 " * 50])
def test_what_tells_no_language_differs_from_none(text):
    assert language.detect(text) is None
    assert not language.differ(text, TEXTS["en"])


@given(st.text(max_size=200), st.text(max_size=200))
def test_two_texts_differ_or_not_whichever_is_asked_first(one, other):
    assert language.differ(one, other) == language.differ(other, one)


SOURCE = Source("The import in src/import/kiel.py failed. " * 10, json.dumps([{"path": "docs/api.md"}]))


def told(**more):
    return json.dumps({"summary": "It failed.", **more})


@pytest.mark.parametrize("text", [told(), f"\n```json\n{told()}\n```\n", f"  {told(unknown=[1])}"])
def test_an_answer_is_taken_with_a_fence_around_it_or_fields_that_nobody_asked_for(text):
    assert parse(text, SOURCE).summary == "It failed."


@each(
    "text",
    [
        "",
        "I'd rather not.",
        f"Here: {told()}",
        f"{told()} Done.",
        told()[:-3],
        "[]",
        "{}",
        '{"summary": ""}',
        '{"summary": " \\n"}',
        '{"summary": 3}',
        "null",
    ],
)
def test_half_an_answer_or_one_in_prose_is_none(text):
    with pytest.raises(ContractError):
        parse(text, SOURCE)


@given(st.text(max_size=300))
def test_any_text_is_an_answer_or_an_error_of_the_contract(text):
    with suppress(ContractError):
        assert parse(text, SOURCE).summary.strip()


def test_an_answer_cites_only_files_that_occur():
    found = parse(
        told(files_mentioned=["src/import/kiel.py", "docs/api.md", "src/other.py", " ", "docs/api.md"]), SOURCE
    )
    assert found.files_mentioned == ["src/import/kiel.py", "docs/api.md"]


def test_lists_are_cut_and_blank_items_and_repeats_are_left_out():
    found = parse(told(key_findings=["a", " a ", "", "b" * 900, *map(str, range(99))]), SOURCE)
    assert found.key_findings[:2] == ["a", "b" * 500]
    assert len(found.key_findings) == 50


def parse(text, source):
    return answer.parse(text, source, SummaryAnswer)


def names_of(*answered):
    return [flaw.name for flaw in answer.flaws(*answered)]


def test_an_answer_that_is_far_too_long_is_refused_and_one_that_is_too_long_is_a_flaw():
    with pytest.raises(ContractError):
        parse(told(summary="x" * 4_001), SOURCE)
    usual, strict = Parameters(), Parameters(ratio_only=False)
    flaws = {
        (size, wanted.ratio_only): names_of(parse(told(summary="x" * size), SOURCE), SOURCE, 100, wanted)
        for size in (len(SOURCE.text), len(SOURCE.text) + 1, 400)
        for wanted in (usual, strict)
    }
    size = len(SOURCE.text)
    assert flaws[size, True] == []
    assert flaws[size + 1, True] == ["too_long"]
    assert flaws[size, False] == (["too_long"] if size > 400 else [])
    assert flaws[400, False] == []


@each("sign", ["x", "/", ".", "`", "_ ", "a/", "\\"])
def test_no_text_of_a_megabyte_takes_long_to_tell_its_language(sign):
    # What looks for a name again from each of its characters would take days.
    assert language.detect(sign * (1_000_000 // len(sign))) is None


def test_an_answer_in_another_language_is_a_flaw():
    source = Source(TEXTS["de"], "")
    found = parse(told(summary=TEXTS["en"]), source)
    assert names_of(found, source, 100, Parameters()) == ["language"]
    assert not answer.flaws(parse(told(summary=TEXTS["de"]), source), source, 200, Parameters())


@given(st.text(max_size=60), st.text(max_size=60), st.data())
def test_the_parts_of_a_turn_between_cuts_are_together_the_whole(user, assistant, data):
    draft = Draft(user, assistant)
    turn, _ = turns.made(draft, "m", 1, "ann", datetime(2026, 2, 20, tzinfo=UTC))
    cut = data.draw(st.integers(0, turn.char_count))
    (first, second), (third, fourth) = turn.sides(0, cut), turn.sides(cut, None)
    assert (first + third, second + fourth) == (user, assistant)
    assert len(first + second) == cut


@each(
    ("arguments", "expected"),
    [
        ({"path": "src/a.py"}, ["src/a.py"]),
        ({"file_path": "C:\\x\\a.py", "content": "src/b.py"}, ["C:\\x\\a.py"]),
        ({"edits": [{"path": "a/b"}, {"files": ["c.md", "no", "d e.md"]}]}, ["a/b", "c.md"]),
        ({"path": "plain"}, []),
        ("src/a.py", []),
        (None, []),
    ],
)
def test_files_of_tools_are_taken_from_arguments_that_hold_paths(arguments, expected):
    assert list(making.paths(arguments)) == expected


def test_a_result_that_is_not_text_is_measured_as_it_is_stored():
    turn, apart = turns.made(
        Draft("a", "b", (ToolCall(name="x", result=["é" * 16_000]),)), "m", 1, "ann", datetime(2026, 2, 20, tzinfo=UTC)
    )
    assert list(apart) == [0]
    assert turn.tool_calls[0].result_size == len(apart[0])
