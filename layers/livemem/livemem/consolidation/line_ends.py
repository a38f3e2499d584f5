"""Line ends that a model wrote as two letters, a backslash and an n, because it escaped them twice. Pure."""

import re
from collections.abc import Iterable

CODE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|(`+)(?!`)[^\n]+?(?<!`)\1(?!`)", re.DOTALL)
"""Code blocks, and code in a line."""
_ESCAPED = re.compile(r"\\n(?=\\n|[ \t]*(?:[-*+] |#{1,6} |\d+\. |\|)|\s*\Z)|(?<=[.!?)])\\n(?=[A-ZÀ-Ý])")
"""Before what begins a line, or between two sentences. Not in `C:\\new`."""


def are_escaped(text: str) -> bool:
    """Whether the text holds such line ends outside of code."""
    return "\\n" in text and bool(_ESCAPED.search(CODE.sub("", text)))


def read(text: str, sources: Iterable[str]) -> str:
    """The text with these line ends as such. As it is where one of `sources` holds the two letters, too."""
    if not are_escaped(text) or any("\\n" in other for other in sources):
        return text
    if "\n" not in text.strip():
        # All of it was escaped twice, code too.
        return text.replace("\\n", "\n")
    pieces, at = [], 0
    for code in CODE.finditer(text):
        pieces += [_ESCAPED.sub("\n", text[at : code.start()]), code[0]]
        at = code.end()
    return "".join([*pieces, _ESCAPED.sub("\n", text[at:])])
