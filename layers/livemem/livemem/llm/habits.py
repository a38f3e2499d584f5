"""How models write answers that are meant to be one JSON object: the one reader of such answers.

Each habit of `HABITS` changes the form of an answer and not its meaning. So it can be undone without a guess. A text
that has two readings is refused, and the model is told why (llm/answering.py). Recorded answers with each habit are in
tests/unit/llm/test_habits.py.

Nothing here knows a contract, except the names of the fields that the answer must have, which tell it from an example
in the prose around it.
"""

import json
import re
from collections.abc import Collection, Iterable
from contextlib import suppress
from typing import Any, NamedTuple

HABITS = {
    "byte_order_mark": "a byte order mark or another invisible sign before the object",
    "end_marks": "marks of a chat template after it, such as <|im_end|>",
    "thinking": "reasoning in a block before it: <think>, <thinking>, <reasoning>, [THINK], ◁think▷",
    "thinking_end": "reasoning that ends with </think>, whose begin the server's template has written",
    "channels": "channels of the harmony format, of which `final` has the answer",
    "fence": "a Markdown fence around it, of any language, also one that never closes",
    "prose": "sentences before or after it, where the object has lines of its own",
    "other_fences": "fences with something else beside it, such as a command",
    "repeated": "the same object twice",
    "tag": "a tag around it: <answer>, <response>, <output>, <result>, <json>, <tool_call>",
    "list_of_one": "a list of which it is the only item",
    "wrapped": "an object around it with one member, such as {`answer`: {...}}",
    "as_call": "the call of a function whose arguments it is, in the text or as a real call",
    "as_text": "a JSON string that holds it",
    "trailing_comma": "a comma before a closing bracket",
    "comments": "comments as in JavaScript or Python",
    "typographic_quotes": "typographic quotation marks around names and values",
    "other_escapes": "a backslash before a sign that JSON does not escape: both stay (`\\d`, `C:\\Users`)",
    "raw_line_ends": "line ends and tabs in a string that are not escaped",
    "python_words": "True, False and None",
    "odd_blanks": "no-break spaces between the parts",
    "parts": "content in parts: text, and reasoning beside it",
    "in_reasoning": "no content, and nothing but the object in `reasoning_content`",
    "one_for_list": "one value where the contract has a list of such values (llm/contract.py)",
    "bare_list": "the list alone, where the contract has one member with a list (llm/contract.py)",
    "null_for_default": "null for a member that can be left out (llm/contract.py)",
    "no_system_role": "a model that refuses the system role: its text goes to the user (llm/client.py)",
    "written_calls": "calls of tools written as text: <tool_call>, [TOOL_CALLS], a lone object",
}
"""Each habit, and what it is. Tests prove that each is read, and that its ambiguous neighbours are refused."""

MOST_OBJECTS = 50
"""Objects that are looked at in one text, and blocks of reasoning before it."""
END_WORDS = frozenset({"STOP", "end_turn", "eos", "eos_token", "stop_sequence", "COMPLETE", "complete"})
"""Other servers' words for the finish reason `stop`: the model ended its answer by itself."""
_NAMES = "think|thinking|thought|reasoning"
_OPENED = re.compile(rf"<(?:{_NAMES})>|\[THINK\]|◁think▷")
_CLOSED = re.compile(rf"</(?:{_NAMES})>|\[/THINK\]|◁/think▷")
_CLOSED_ALONE = re.compile(rf"(?:{_CLOSED.pattern})[ \t]*(?=\n|\{{|```|\Z)")
_CHANNEL = re.compile(r"<\|channel\|>\s*(\w+)[^<]{0,100}(?:<\|constrain\|>[^<]{0,100})?<\|message\|>")
_END_MARK = re.compile(r"(?:<\|[a-z_]{1,30}\|>|<｜[^<>｜]{1,40}｜>|</s>|<end_of_turn>)\Z")
_INVISIBLE = "\ufeff\u200b\u2060"
_FENCED = re.compile(r"\A```\w*[ \t]*\n(.*)\n```\Z", re.DOTALL)
_LINE_BEGIN = re.compile(r"[ \t]*(?:(?:```|~~~)\w*[ \t]*)?")
_LINE_END = re.compile(r"[ \t]*(?:```|~~~)?[ \t]*")
_TAG = re.compile(r"<(answer|response|output|result|json|tool_call)>", re.IGNORECASE)
_BEGIN = re.compile(r"\{\s*(?=[\"“”}/#]|\Z)|\[\s*(?=[{\]]|\Z)")
"""How an object, or a list of objects, begins. A brace in a sentence does not."""
_TOKEN = re.compile(
    r"""
    (?P<string>"[^"\\]*(?:\\.[^"\\]*)*")
    | (?P<quoted>[“”][^“”"]*”)
    | (?P<comment>//[^\n]*|/\*.*?\*/|\#[^\n]*)
    | (?P<open>[{\[])
    | (?P<close>[}\]])
    | (?P<comma>,)
    | (?P<blank>[\s\ufeff\u200b]+)
    | (?P<word>[\w.:+-]+?(?=[:\s,{}\[\]\"]|\Z)|:)
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:[\"\\/bfnrt]|u[0-9a-fA-F]{4})|\\")
"""An escape of JSON (RFC 8259, 7), or a backslash that begins none."""
_NO_LINE_END = re.compile(r"[^\n]")
_PYTHON = {"True": "true", "False": "false", "None": "null"}
_CALLS = re.compile(r"<tool_call>\s*(?P<call>\{.*?\})\s*(?:</tool_call>\s*|\Z)", re.DOTALL)
_FUNCTION = re.compile(r"<function=(?P<name>[\w-]{1,64})>\s*(?P<arguments>\{.*?\})\s*(?:</function>\s*|\Z)", re.DOTALL)
_CALL_MARKS = ("[TOOL_CALLS]", "<|python_tag|>")


class Unreadable(ValueError):
    """The text has no reading, or two. The message is a sentence for the model."""


class WrittenCall(NamedTuple):
    """A call of a tool: its name, and its arguments as JSON."""

    name: str
    arguments: str


def value(text: str, fields: Collection[str] = ()) -> Any:
    """The JSON value that a model's text is meant to be. Raises Unreadable.

    `fields` are the names that the answer must have. In a text with something beside the object, an object without them
    is an example and not the answer. JSON that needs nothing undone is returned as it is, also where it is no object.
    """
    bare = _trimmed(text)
    if not bare:
        raise Unreadable("The answer is empty.")
    fenced = _FENCED.match(bare)
    for candidate in (bare, fenced[1] if fenced else bare):
        with suppress(Unreadable):
            return _meant(loaded(candidate), fields)
    rest = bare if bare.startswith("{") else after_reasoning(bare)
    if not rest:
        raise Unreadable("The answer ends in its reasoning: no JSON object follows.")
    return _meant(_only(_untagged(rest), fields), fields)


def loaded(text: str) -> Any:
    """The value of JSON, in which no key occurs twice and no constant that is not JSON. Raises Unreadable."""
    return _loaded(text, strict=True)


def after_reasoning(text: str) -> str:
    """The text after the model's reasoning, without blanks around it. Empty where the reasoning has no end."""
    rest = _trimmed(text)
    channels = list(_CHANNEL.finditer(rest))
    if channels:
        final = [channel.end() for channel in channels if channel[1] == "final"]
        return rest[final[-1] :].strip() if final else ""
    begun = False
    for _ in range(MOST_OBJECTS):
        opened = _OPENED.match(rest)
        # Without a begin at the beginning: the server's template wrote it, and it can't be in the text.
        closed = _CLOSED.search(rest) if opened else None if begun else _CLOSED_ALONE.search(rest)
        if not closed:
            return "" if opened else rest
        rest, begun = rest[closed.end() :].strip(), True
    return ""


def content(message: Any) -> str:
    """The text of a message of the API: its content, also in parts. Of an answer without content the arguments of its
    only call, or its reasoning where that is nothing but an object. Empty where there is none.
    """
    text = body_text(message)
    if text.strip():
        return text
    calls = getattr(message, "tool_calls", None) or []
    if len(calls) == 1 and isinstance(arguments := calls[0].function.arguments, str):
        return arguments
    thought = reasoning(message).strip()
    with suppress(Unreadable):
        return thought if isinstance(loaded(thought), dict) else ""
    return ""


def is_call(completion: Any) -> bool:
    """Whether the answer of the API has no content, and calls exactly one function."""
    choices = completion.choices
    message = choices[0].message if isinstance(choices, list) and choices else None
    return bool(message) and not body_text(message).strip() and len(getattr(message, "tool_calls", None) or []) == 1


def body_text(message: Any) -> str:
    """The content of a message: a text, or the texts among its parts."""
    body = message.content
    if isinstance(body, list):
        parts = [part for part in body if isinstance(part, dict) and part.get("type") in ("text", "output_text")]
        body = "".join(part["text"] for part in parts if isinstance(part.get("text"), str))
    return body if isinstance(body, str) else ""


def reasoning(message: Any) -> str:
    """The reasoning that a server gives beside the content: `reasoning_content`, or `reasoning`."""
    thoughts = [getattr(message, name, None) for name in ("reasoning_content", "reasoning")]
    return next((thought for thought in thoughts if isinstance(thought, str) and thought.strip()), "")


def written_calls(text: str, names: Collection[str]) -> list[WrittenCall]:
    """The calls of tools that a model wrote as its whole text, where a server did not read them. Empty if it wrote
    something else beside them, or calls a tool that is not among `names`.
    """
    rest = after_reasoning(text)
    for mark in _CALL_MARKS:
        rest = rest.removeprefix(mark).strip()
    functions = _all_of(_FUNCTION, rest)
    if functions:
        calls = [WrittenCall(function["name"], function["arguments"]) for function in functions]
    else:
        tagged = [tag["call"] for tag in _all_of(_CALLS, rest)]
        try:
            value = [_whole(text_of_call) for text_of_call in tagged] if tagged else _whole(rest)
        except Unreadable:
            return []
        items = value if isinstance(value, list) else [value]
        calls = [call for item in items if (call := _call(item))]
        if len(calls) != len(items):
            return []
    return calls if all(call.name in names for call in calls) else []


def _whole(text: str) -> Any:
    """The object or list that is the whole text, or all of a fence. Raises Unreadable."""
    fenced = _FENCED.match(text)
    text = fenced[1].strip() if fenced else text
    if not _BEGIN.match(text):
        raise Unreadable("It is no object.")
    end, mended = _mended(text, 0)
    if end != len(text):
        raise Unreadable("Something stands after the object.")
    return _loaded(mended, strict=False)


def _all_of(pattern: re.Pattern[str], text: str) -> list[re.Match[str]]:
    """The matches of a pattern that make up the whole text."""
    matches: list[re.Match[str]] = []
    at = 0
    while at < len(text):
        match = pattern.match(text, at)
        if not match or len(matches) == MOST_OBJECTS:
            return []
        matches.append(match)
        at = match.end()
    return matches


def _call(value: Any) -> WrittenCall | None:
    """The call that an object is: a name and arguments, and nothing else that matters."""
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("function"), dict) and value.keys() <= {"type", "id", "function"}:
        value = value["function"]
    rest = {key: member for key, member in value.items() if key not in ("type", "id")}
    name = rest.pop("name", None)
    if not isinstance(name, str) or len(rest) != 1 or not rest.keys() <= {"arguments", "parameters"}:
        return None
    (arguments,) = rest.values()
    if not isinstance(arguments, str | dict):
        return None
    return WrittenCall(name, arguments if isinstance(arguments, str) else json.dumps(arguments))


def _trimmed(text: str) -> str:
    """The text without blanks, invisible signs and a template's marks around it."""
    rest = text.strip()
    for _ in range(MOST_OBJECTS):
        mark = _END_MARK.search(rest, max(len(rest) - 60, 0))
        if not mark:
            break
        rest = rest[: mark.start()].rstrip()
    return rest.lstrip(_INVISIBLE).strip()


def _untagged(text: str) -> str:
    opened = _TAG.match(text)
    if not opened:
        return text
    rest = text[opened.end() :]
    end = f"</{opened[1]}>".lower()
    return (rest[: -len(end)] if rest.lower().endswith(end) else rest).strip()


def _only(text: str, fields: Collection[str]) -> Any:
    """The one object in a text with something beside it. Raises Unreadable."""
    objects: list[Any] = []
    around: list[str] = []
    at = 0
    while begin := _BEGIN.search(text, at):
        if len(around) == MOST_OBJECTS:
            raise Unreadable(f"The answer holds more than {MOST_OBJECTS} JSON objects.")
        start = begin.start()
        end, mended = _mended(text, start)
        item = _loaded(mended, strict=False)
        around.append(text[at:start])
        # An object within a line is quoted in a sentence.
        if _has_its_lines(text, start, end) and item != []:
            objects.append(item)
        at = end
    around.append(text[at:])
    if any(_CLOSED.search(piece) for piece in around):
        raise Unreadable("The reasoning of the answer ends more than once.")
    if not objects:
        # It says what is wrong with it as JSON.
        return loaded(text)
    distinct = _distinct(objects)
    fitting = [value for value in distinct if _fits(_meant(value, fields), fields)]
    candidates = fitting or distinct
    if len(candidates) > 1:
        raise Unreadable(f"The answer holds {len(candidates)} JSON objects, and it is not clear which one is meant.")
    return candidates[0]


def _distinct(objects: Iterable[Any]) -> list[Any]:
    unique: list[Any] = []
    for item in objects:
        if item not in unique:
            unique.append(item)
    return unique


def _has_its_lines(text: str, start: int, end: int) -> bool:
    before = text[text.rfind("\n", 0, start) + 1 : start]
    newline = text.find("\n", end)
    after = text[end : newline if newline >= 0 else len(text)]
    return bool(_LINE_BEGIN.fullmatch(before) and _LINE_END.fullmatch(after))


def _mended(text: str, start: int) -> tuple[int, str]:
    """The end of the object or list that begins at `start`, and the same as JSON. Raises Unreadable."""
    pieces: list[str] = []
    stack: list[str] = []
    comma: int | None = None
    """The last comma, where nothing but blanks has come since."""
    last = ""
    at = start
    while token := _TOKEN.match(text, at):
        kind, piece = token.lastgroup, token[0]
        at = token.end()
        if kind in ("blank", "comment"):
            pieces.append(_NO_LINE_END.sub(" ", piece))
            continue
        if kind == "close":
            if not stack or stack.pop() + piece not in ("{}", "[]"):
                break
            if comma is not None:
                pieces[comma] = " "
        comma = len(pieces) if kind == "comma" and last != "open" else None
        if kind == "open":
            stack.append(piece)
        pieces.append(f'"{piece[1:-1]}"' if kind == "quoted" else _PYTHON.get(piece, piece))
        last = kind or ""
        if not stack:
            return at, "".join(pieces)
    if at == len(text):
        raise Unreadable("The answer ends before its JSON object is complete.")
    loaded(text[start:])
    raise Unreadable("The answer is not valid JSON.")


def _meant(value: Any, fields: Collection[str]) -> Any:
    """The object in a value that wraps it. Other values are returned unchanged."""
    if isinstance(value, str):
        with suppress(Unreadable):
            value = loaded(value)
    if isinstance(value, list) and len(value) == 1 and _fits(value[0], fields):
        return value[0]
    if _fits(value, fields) or not isinstance(value, dict):
        return value
    call = _call(value)
    if call:
        with suppress(Unreadable):
            return arguments if _fits(arguments := loaded(call.arguments), fields) else value
    inner = next(iter(value.values())) if len(value) == 1 else None
    return inner if _fits(inner, fields) else value


def _fits(value: Any, fields: Collection[str]) -> bool:
    return isinstance(value, dict) and all(name in value for name in fields)


def _loaded(text: str, *, strict: bool) -> Any:
    if not text:
        raise Unreadable("The answer is empty.")
    text = _ESCAPE.sub(lambda match: match[0] if len(match[0]) > 1 else "\\\\", text)
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant, strict=strict)
    except Unreadable:
        raise
    except RecursionError:
        raise Unreadable("The answer is nested too deeply.") from None
    except json.JSONDecodeError as error:
        raise Unreadable(
            f"The answer is not valid JSON: {error.msg} at line {error.lineno}, column {error.colno}."
        ) from None
    except ValueError as error:
        raise Unreadable("The answer holds a number that JSON readers refuse.") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        # The usual reading, the last one wins, would drop the others without a word.
        raise Unreadable("An object of the answer has the same key twice.")
    return members


def _refuse_constant(name: str) -> Any:
    raise Unreadable(f"The answer holds {name}, which is not JSON.")
