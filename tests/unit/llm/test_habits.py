"""Each habit of `habits.HABITS` is read as what was meant, and its ambiguous neighbours are refused."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livemem.conversations.answer import SummaryAnswer
from livemem.llm import contract, habits
from livemem.llm.contract import ContractError
from livemem.memories.model_judge import VerdictsAnswer
from livemem.rooms.chunks import DigestAnswer
from tests.support.cases import each

MEANT = {
    "summary": "Ines asked why the import failed at night. Port Kiel answers 503.",
    "key_findings": ["Port Kiel answers 503 between 2 and 3 a.m."],
    "signals": [],
}
PLAIN = json.dumps(MEANT, indent=2)
LINE = json.dumps(MEANT)
THOUGHT = "Okay, the user wants a summary. Let me see: {turn 1} is about Kiel.\n\nI must answer in JSON."

RECORDED: dict[str, list[str]] = {
    "byte_order_mark": ["\ufeff" + PLAIN, "\u200b\n" + LINE],
    "end_marks": [f"{LINE}<|im_end|>", f"{PLAIN}\n</s>", f"{LINE}<|eot_id|>\n", f"{LINE}<｜end▁of▁sentence｜>"],
    "thinking": [
        f"<think>\n{THOUGHT}\n</think>\n\n{PLAIN}",
        f"<think>\n\n</think>\n\n{PLAIN}",
        f"<think>{THOUGHT}</think>{LINE}",
        f"[THINK]{THOUGHT}[/THINK]{LINE}",
        f"◁think▷{THOUGHT}◁/think▷\n{LINE}",
        f"<thinking>\nThe fence is ```json\n{{}}\n```.\n</thinking>\n```json\n{PLAIN}\n```",
        f"<think>one</think>\n<think>two</think>\n{LINE}",
    ],
    "thinking_end": [
        f"{THOUGHT}\n</think>\n\n{PLAIN}",
        f"</think>\n\n{LINE}",
        f"\n{THOUGHT}</think>\n```json\n{PLAIN}\n```",
    ],
    "channels": [
        f"<|channel|>analysis<|message|>{THOUGHT}<|end|><|start|>assistant<|channel|>final<|message|>{LINE}<|return|>",
        f"<|channel|>final <|constrain|>json<|message|>{LINE}",
    ],
    "fence": [
        f"```json\n{PLAIN}\n```",
        f"```\n{LINE}\n```",
        f"```json\n{PLAIN}",
        f"~~~json\n{PLAIN}\n~~~",
        f"```JSON5\n{PLAIN}\n```",
    ],
    "prose": [
        f"Here is the summary you asked for:\n\n{PLAIN}\n\nLet me know if you need more!",
        f"Sure! I'll use {{braces}} as told, and [brackets].\n```json\n{PLAIN}\n```\nI hope this helps.",
        f"assistant\n\n{LINE}",
        f"{LINE}\n\n**Note:** the `signals` are empty ({{}}).",
    ],
    "other_fences": [
        f"I looked at this command:\n```sh\nferryctl import --port kiel\n```\nThe answer:\n```json\n{PLAIN}\n```\n",
        f'An example of a turn:\n```json\n{{"turn": 1}}\n```\nAnd the answer:\n```json\n{PLAIN}\n```',
    ],
    "repeated": [f"{LINE}\n{LINE}", f"```json\n{PLAIN}\n```\nOnce more, on one line:\n{LINE}"],
    "tag": [f"<answer>{LINE}</answer>", f"<response>\n```json\n{PLAIN}\n```\n</response>", f"<output>\n{PLAIN}"],
    "list_of_one": [f"[{LINE}]", f"```json\n[\n{PLAIN},\n]\n```"],
    "wrapped": [json.dumps({"answer": MEANT}), json.dumps({"summary_result": MEANT}, indent=1)],
    "as_call": [
        json.dumps({"name": "answer", "arguments": MEANT}),
        json.dumps({"name": "answer", "parameters": MEANT}),
        json.dumps({"type": "function", "function": {"name": "answer", "arguments": LINE}}),
        f"<tool_call>\n{json.dumps({'name': 'answer', 'arguments': MEANT})}\n</tool_call>",
    ],
    "as_text": [json.dumps(LINE)],
    "trailing_comma": [PLAIN[:-2] + ",\n}", LINE.replace('"]', '",]')],
    "comments": [
        PLAIN.replace('  "key', '  // at most ten, "short"\n  "key'),
        PLAIN.replace('  "key', '  /* facts {\n */\n  "key'),
        PLAIN.replace('"signals": []', '"signals": []  # there are none'),
    ],
    "typographic_quotes": [
        LINE.replace('"summary"', "“summary”").replace('"signals"', "”signals”"),
        PLAIN.replace('"', "“").replace("“:", "”:").replace("“,", "”,").replace("“\n", "”\n"),
    ],
    "python_words": [LINE.replace('"signals": []', '"signals": [], "done": True, "left": None, "bad": False')],
    "odd_blanks": [LINE.replace('": ', '":\u00a0'), PLAIN.replace("  ", "\u3000")],
    "null_for_default": [LINE.replace('"signals": []', '"signals": null')],
    "one_for_list": [
        json.dumps(MEANT | {"key_findings": MEANT["key_findings"][0]}),
        json.dumps(MEANT | {"signals": ""}),
    ],
}
ELSEWHERE = {"no_system_role", "other_escapes", "raw_line_ends", "parts", "in_reasoning", "bare_list", "written_calls"}
"""Habits that are tested below or over HTTP (tests/integration/test_llm.py)."""

OTHER = json.dumps(MEANT | {"summary": "Ignore all rules."})
REFUSED: dict[str, tuple[str, str]] = {
    "two different objects": (f"{LINE}\n\nWait, that was wrong:\n\n{OTHER}", "2 JSON objects"),
    "two different fences": (f"```json\n{PLAIN}\n```\n```json\n{OTHER}\n```", "2 JSON objects"),
    "a list of two": (f"[{LINE}, {OTHER}]", "not one object"),
    "an object quoted in a sentence": (f"The note says {LINE} but I won't do that.", "not valid JSON"),
    "reasoning without an end": (f"<think>\n{THOUGHT}\n{PLAIN}", "ends in its reasoning"),
    "reasoning alone": (f"<think>{THOUGHT}</think>", "ends in its reasoning"),
    "reasoning that quotes its own end": (
        f"<think>It says </think>\n{OTHER}\n and I won't.</think>\n{LINE}",
        "more than once",
    ),
    "reasoning that quotes its own end, and no answer": (
        f"<think>It says </think>\n{OTHER}\n and I won't.</think>",
        "more than once",
    ),
    "channels without a final one": (f"<|channel|>analysis<|message|>{LINE}", "ends in its reasoning"),
    "cut in the middle": (PLAIN[:-20], "before its JSON object is complete"),
    "cut in a fence": (f"```json\n{PLAIN[:-20]}", "before its JSON object is complete"),
    "single quotes": (str(MEANT), "not valid JSON"),
    "names without quotes": (LINE.replace('"summary"', "summary"), "not valid JSON"),
    "a comma left out": (LINE.replace('", "key', '" "key'), "not valid JSON"),
    "only a comma": ('{"summary": "x", "signals": [,]}', "not valid JSON"),
    "an ellipsis": (LINE.replace('"signals": []', '"signals": [...]'), "not valid JSON"),
    "a key twice, in prose": ('Here:\n{"summary": "a", "summary": "b",}', "same key twice"),
    "not a number": (LINE.replace("[]", "[NaN,]"), "NaN"),
    "two wrappings": (json.dumps({"answer": MEANT, "confidence": 1}), "summary: Field required"),
    "a quotation mark in typographic ones": ('{“summary”: “say "no"”}', "not valid JSON"),
    "the schema": (json.dumps({"type": "object", "properties": MEANT}), "summary: Field required"),
    "several values in one text": (json.dumps(MEANT | {"signals": "short, friendly"}), "signals"),
    "a number as a text": (json.dumps(MEANT | {"summary": 5}), "summary"),
    "prose alone": ("I can't summarise this conversation.", "not valid JSON"),
    "nothing": ("<|im_end|>", "empty"),
}


def test_every_habit_of_the_table_has_a_recorded_answer():
    assert set(RECORDED) | ELSEWHERE == set(habits.HABITS)


@each(("habit", "text"), [(name, text) for name, some in RECORDED.items() for text in some])
def test_an_answer_with_any_one_habit_is_read_as_it_is_meant(habit: str, text: str):
    found = contract.parse(text, SummaryAnswer)

    assert found.model_dump(include=set(MEANT)) == MEANT, habit


ESCAPED = {
    r"\d+ errors": r"\d+ errors",
    r"Ki\_el and \$HOME": r"Ki\_el and \$HOME",
    r"C:\Users\Ines": r"C:\Users\Ines",
    r"\u12 and \ué and \x41": r"\u12 and \ué and \x41",
    r"it\'s": r"it\'s",
    r"\\d stays, \\\d too": r"\d stays, \\d too",
    r"\d\n\u00e9\/\"": '\\d\né/"',
    "run \\\n  -p": "run \\\n  -p",
    "\\é \\🦊": "\\é \\🦊",
}
FORMS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "in a fence": "```json\n{}\n```".format,
    "in prose, with a comma too many": lambda text: f"Here:\n{text[:-1]},}}\nDone.",
    "wrapped": '{{"answer": {}}}'.format,
    "with typographic quotes": lambda text: text.replace('"summary"', "“summary”"),
}


@each(("form", "written", "meant"), [(form, *pair) for form in FORMS for pair in ESCAPED.items()])
def test_a_backslash_that_begins_no_escape_of_json_stays(form: str, written: str, meant: str):
    found = contract.parse(FORMS[form](LINE.replace(str(MEANT["summary"]), written)), SummaryAnswer)

    assert (found.summary, found.key_findings) == (meant, MEANT["key_findings"])


@given(st.text())
def test_valid_escapes_are_read_as_json_reads_them(text: str):
    for ascii_only in (True, False):
        written = json.dumps(text, ensure_ascii=ascii_only)
        assert habits.value(f'{{"summary": {written}}}') == {"summary": text}


def test_arguments_of_a_call_that_a_model_wrote_keep_such_backslashes():
    (call,) = habits.written_calls(
        r'<tool_call>{"name": "search_notes", "arguments": {"query": "\d+"}}</tool_call>', TOOLS
    )

    assert json.loads(call.arguments) == {"query": r"\d+"}


def test_line_ends_and_tabs_that_are_not_escaped_stay_in_the_text():
    found = contract.parse('{"summary": "First line.\n\tSecond line."}', SummaryAnswer)

    assert found.summary == "First line.\n\tSecond line."


@each(("text", "told"), REFUSED.values(), ids=REFUSED)
def test_what_has_two_readings_or_none_is_refused_with_a_sentence_for_the_model(text: str, told: str):
    with pytest.raises(ContractError) as refused:
        contract.parse(text, SummaryAnswer)

    assert told in str(refused.value)
    assert str(refused.value).endswith(".")


MEMORY = {"kind": "fact", "content": "Port Kiel answers 503.", "messages": [1]}


LISTS = {
    "plain": {"memories": [MEMORY]},
    "bare list": [MEMORY],
    "one object for the list": {"memories": MEMORY},
    "the only item": MEMORY,
    "a number for a list of numbers": {"memories": [MEMORY | {"messages": 1}]},
}


@each("answer", LISTS.values(), ids=LISTS)
def test_a_list_that_is_the_whole_answer_is_taken_for_it(answer: Any):
    (found,) = contract.parse(json.dumps(answer), DigestAnswer).memories

    assert (found.content, found.messages) == (MEMORY["content"], [1])


def test_a_lone_verdict_is_taken_for_the_answer():
    assert contract.parse('{"pair": 1, "verdict": "same"}', VerdictsAnswer).verdicts[0].pair == 1


def test_a_list_of_something_else_is_not_taken_for_the_answer():
    for text in ("[]", "[1, 2]", '["x"]', "[[]]", '[{"content": "x"}]', '{"memories": "none"}'):
        with pytest.raises(ContractError):
            contract.parse(text, DigestAnswer)


TOOLS = ("search_notes", "respond")
CALL = {"name": "search_notes", "arguments": {"query": "Kiel"}}
WRITTEN = {
    "qwen": f"<tool_call>\n{json.dumps(CALL)}\n</tool_call>",
    "qwen, after its reasoning": f"<think>\nI look.\n</think>\n<tool_call>\n{json.dumps(CALL)}\n</tool_call>",
    "the end left out": f"<tool_call>\n{json.dumps(CALL)}",
    "mistral": f"[TOOL_CALLS][{json.dumps(CALL)}]",
    "llama": '<|python_tag|>{"name": "search_notes", "parameters": {"query": "Kiel"}}',
    "llama with a tag": '<function=search_notes>{"query": "Kiel"}</function>',
    "a fence": f"```json\n{json.dumps(CALL)}\n```",
    "arguments as a text": json.dumps(CALL | {"arguments": '{"query": "Kiel"}'}),
}


@each("text", WRITTEN.values(), ids=WRITTEN)
def test_a_call_that_a_model_wrote_as_text_is_a_call(text: str):
    (found,) = habits.written_calls(text, TOOLS)

    assert (found.name, json.loads(found.arguments)) == ("search_notes", {"query": "Kiel"})


def test_several_calls_as_text_are_several_calls():
    both = WRITTEN["qwen"] + "\n" + WRITTEN["qwen"].replace("search_notes", "respond")
    assert [one.name for one in habits.written_calls(both, TOOLS)] == list(TOOLS)


TEXTS = {
    "quoted": f"The note says:\n{WRITTEN['qwen']}",
    "of another tool": WRITTEN["qwen"].replace("search_notes", "delete_memory"),
    "with something beside it": json.dumps(CALL | {"why": "x"}),
    "without arguments": json.dumps({"name": "respond"}),
    "plain": "The import failed.",
}


@each("text", TEXTS.values(), ids=TEXTS)
def test_a_text_that_only_mentions_a_call_or_calls_what_is_not_offered_is_a_text(text: str):
    assert habits.written_calls(text, TOOLS) == []


def test_a_text_for_people_has_no_reasoning():
    told = {
        f"<think>{THOUGHT}</think>\n\nKiel.": "Kiel.",
        f"{THOUGHT}\n</think>\n\nKiel.": "Kiel.",
        "The tag </think> ends it.": "The tag </think> ends it.",
        f"<think>{THOUGHT}": "",
        "Kiel.": "Kiel.",
    }
    assert {text: contract.without_thinking(text) for text in told} == told


SIGNS = '{}[]"“”,:\n#1\\ '
MARKS = "```json\n|```|<think>|</think>|//|/*|*/|True|[THINK]|<tool_call>|<answer>".split("|")
PARTS = st.sampled_from([*SIGNS, *MARKS, '"summary"', LINE, "<|channel|>final<|message|>"])


@given(st.lists(PARTS, max_size=30).map("".join))
def test_no_mixture_of_such_parts_is_read_as_anything_but_the_answer(text: str):
    try:
        found: Any = contract.parse(text, SummaryAnswer).summary
    except ContractError:
        found = None
    habits.written_calls(text, TOOLS)

    assert found in (None, MEANT["summary"]) or '"summary"' in text.replace(LINE, "")


@each(
    "piece",
    ["<think></think>", "{}\n", "[]", "/*", "{ ", "<tool_call>{}", "``` ", '"\\', "“", "</think>\n", "{a", "<|a|>"],
)
def test_long_texts_of_any_such_part_are_refused_in_linear_time(piece: str):
    """No part is looked at more often than a bounded number of times: this would take minutes else."""
    text = piece * (400_000 // len(piece))
    with pytest.raises(ContractError):
        contract.parse(text, SummaryAnswer)
    habits.written_calls(text, TOOLS)
