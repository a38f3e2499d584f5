# Copied by scripts/generated.py from text/invisible.py of the service: do not edit.
r"""Invisible characters that a terminal obeys or a model reads. They are shown by their code, `\u{200B}`.

Unicode has characters without a shape: controls (C0, C1, and ESC among them), marks that turn the direction of a text
around, blanks without width, tags, variation selectors, halves of surrogate pairs. With them a text reads otherwise
than it is, moves the cursor, or holds a message for the model that no person sees. One decision for every output and
input:

- Terminal (command line, local runtime), Markdown of the API, answers, resources and prompts of MCP, contexts, what
  hooks print: they are shown (`visible`).
- JSON for prompts of the LLM, and that of the command line: they are escaped as JSON can (`json_escaped`). The value is
  the same.
- JSON of the API, archives, what is stored: they stay as they are, byte for byte. That is data.
- Names (tags, authors, folders, hosts, members of archives): controls are refused (`has_controls`).

What people write stays readable: joiners in emoji and in scripts that need them, the three flags that are made of tags,
variation selectors behind what they vary, single direction marks beside letters of scripts from right to left, blanks
without width between words of scripts that write none, soft hyphens between letters. Each of them stays only where it
belongs, and one at a time: a run of them is a message.

Sources: Unicode 16, Default_Ignorable_Code_Point and Bidi_Control; UTS #51 (emoji) 1.4 and ED-14a (flags); UTR #36, 3.
"""

import re
from functools import cache

CONTROLS = "\x00-\x1f\x7f-\x9f\u2028\u2029"
"""For a class of a pattern: controls, and characters that end a line for some readers."""
_HIDDEN = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029"  # controls but tab and line break; a return alone: below
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ud800-\udfff\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_PICTURE = "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
_VARIED = "\ufe0e\ufe0f"
_JOINING = "\u0600-\u08ff\u0900-\u0dff\u0e80-\u109f\u1780-\u18af\ua800-\uabff\U00010a00-\U00011fff\U0001e900-\U0001e95f"
"""Scripts whose letters take another shape, or none, with a joiner: Arabic, those of India, and others."""
_FROM_RIGHT = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff"
_WITHOUT_BLANKS = "\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u19e0-\u19ff"
"""Thai, Lao, Tibetan, Myanmar, Khmer."""
_IDEOGRAPHS = "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_LETTER = r"[^\W\d_]"
_FLAGS = tuple("".join(chr(0xE0000 + ord(letter)) for letter in name) for name in ("gbeng", "gbsct", "gbwls"))
_ALONE, _FIRST = f"(?![{_HIDDEN}])", f"(?<![{_HIDDEN}])"
"""Neither behind another one nor in front of one."""
_DIRECTION = "[\u061c\u200e\u200f]"
_KEPT = "|".join(
    (
        f"\U0001f3f4(?:{'|'.join(_FLAGS)})\U000e007f",
        # A picture that is varied, and joined with the next one.
        f"(?<=[{_PICTURE}])[{_VARIED}](?:\u200d(?=[{_PICTURE}])|{_ALONE})",
        f"(?<=[{_PICTURE}])\u200d(?=[{_PICTURE}])",
        "(?<=[0-9#*])\ufe0f(?=\u20e3)",
        f"(?<=[{_IDEOGRAPHS}])[\ufe00-\ufe0f\U000e0100-\U000e01ef]{_ALONE}",
        f"(?<=[\u1820-\u18af])[\u180b-\u180d\u180f]{_ALONE}",
        f"{_FIRST}(?<=[{_JOINING}])[\u200c\u200d]{_ALONE}",
        f"{_FIRST}(?<=[{_FROM_RIGHT}]){_DIRECTION}{_ALONE}",
        rf"{_FIRST}{_DIRECTION}{_ALONE}(?=[^\w{_HIDDEN}]{{0,2}}(?![{_HIDDEN}])[{_FROM_RIGHT}])",
        f"{_FIRST}(?<=[{_WITHOUT_BLANKS}])\u200b{_ALONE}(?=[{_WITHOUT_BLANKS}])",
        f"(?<={_LETTER})\u00ad(?={_LETTER})",
        "\r(?=\n)",
    )
)
_ANY = re.compile(f"[\r{_HIDDEN}]")
_CONTROL = re.compile(f"[{CONTROLS}]")


def visible(text: str) -> str:
    r"""The text with every invisible character shown, such as `\u{E0041}`. A text without them is unchanged."""
    # Most texts have none, and this check is many times faster.
    return _found().sub(_shown, text) if _ANY.search(text) else text


def json_escaped(text: str) -> str:
    """The JSON document with the same characters as JSON escapes. Its value is the same, and it is safe everywhere."""
    return _found().sub(_spelt, text) if _ANY.search(text) else text


def visible_values(value: object) -> object:
    """JSON values with all texts in them, and all names, visible."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {visible(name): visible_values(part) for name, part in value.items()}
    return [visible_values(part) for part in value] if isinstance(value, list) else value


def has_controls(text: str) -> bool:
    """Whether the name holds a control character, or one that ends a line for some readers. Such a name is refused."""
    return _CONTROL.search(text) is not None


@cache
def _found() -> re.Pattern[str]:
    """Compiled when a text needs it: hooks and the command line live for a moment, and most texts have none."""
    return re.compile(f"(?P<kept>{_KEPT})|[\r{_HIDDEN}]")


def _shown(match: re.Match[str]) -> str:
    return match[0] if match["kept"] else f"\\u{{{ord(match[0]):X}}}"


def _spelt(match: re.Match[str]) -> str:
    if match["kept"]:
        return match[0]
    units = match[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{int.from_bytes(units[at : at + 2]):04x}" for at in range(0, len(units), 2))
