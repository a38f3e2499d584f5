"""A block of text between two marker lines in somebody else's file: Markdown, TOML, a list of ignored files."""

from dataclasses import dataclass

from live_memory.cli.init.problems import NotPlain


@dataclass(frozen=True)
class Marks:
    """The lines around a block."""

    begin: str
    end: str


MARKDOWN = Marks("<!-- livemem:begin -->", "<!-- livemem:end -->")
HASH = Marks("# livemem:begin", "# livemem:end")
SLASHES = Marks("// livemem:begin", "// livemem:end")


def put(text: str, marks: Marks, body: str) -> str:
    """The text with the block: where it is already, else at the end, after an empty line. Raises NotPlain."""
    eol = "\r\n" if "\r\n" in text else "\n"
    block = eol.join([marks.begin, *body.strip("\n").split("\n"), marks.end]) + eol
    place = find(text, marks)
    if place:
        return text[: place[0]] + block + text[place[1] :]
    if not text:
        return block
    gap = "" if text.endswith(("\n\n", "\r\n\r\n")) else eol if text.endswith("\n") else eol * 2
    return text + gap + block


def take_out(text: str, marks: Marks) -> str:
    """The text without the block and the empty line before it; as it is if there is no block. Raises NotPlain."""
    place = find(text, marks)
    if not place:
        return text
    before, after = text[: place[0]], text[place[1] :]
    for gap in ("\r\n\r\n", "\n\n"):
        if before.endswith(gap):
            return before[: -len(gap) // 2] + after
    return before + after


def find(text: str, marks: Marks) -> tuple[int, int] | None:
    """The start of the block, and the start of the text after it. Raises NotPlain if the markers don't pair up."""
    begins = _lines(text, marks.begin)
    ends = _lines(text, marks.end)
    if not begins and not ends:
        return None
    if len(begins) != 1 or len(ends) != 1 or ends[0][0] < begins[0][0]:
        raise NotPlain(f"its lines `{marks.begin}` and `{marks.end}` do not form one pair")
    return begins[0][0], ends[0][1]


def _lines(text: str, wanted: str) -> list[tuple[int, int]]:
    """Start and end (with the line's end) of each line that is this marker."""
    found = []
    at = 0
    # Not splitlines(): that also ends lines at characters which editors show as part of one.
    for line in text.split("\n"):
        end = min(at + len(line) + 1, len(text))
        if line.strip() == wanted:
            found.append((at, end))
        at = end
    return found
