"""Whether pages, docstrings and texts are in plain technical English: sentence length, semicolons, and riddles.

`python -m scripts.prose [PAGE ...]` prints a table of the pages and their problems. The exit status is 1 if one is
above a limit of `scripts/prose.toml`. Headings, tables, code and quotations are not prose. Without a PAGE it also
looks for riddles in the docstrings of all code that is written by hand. In the texts that users, programs and models
read (descriptions of the API, errors, the command line, MCP) it looks for riddles and for sentences that are too long.
"""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).resolve().parents[1]
RULES = ROOT / "scripts" / "prose.toml"
PAGES = ("README.md", "AGENTS.md", "CONTRIBUTING.md", "CHANGELOG.md", "client/README.md", "docs/**/*.md")
CODE = ("layers/**/*.py", "functions/**/*.py", "client/live_memory/**/*.py", "local/**/*.py", "scripts/**/*.py")
TEXTS = ("layers/**/*.py", "functions/**/*.py", "client/live_memory/**/*.py", "scripts/openapi.py")
"""Code whose strings are read by users, programs and models."""
API = ("layers/livemem/livemem_http/routes/*.py", "layers/livemem/livemem_http/views/*.py")
"""Code whose docstrings are descriptions of the API."""
TOOLS = "layers/livemem/livemem_mcp/words.toml"
GENERATED = {"_groups.py", "_async_groups.py", "models.py"}
"""Of the client: their sentences are checked where they are written."""
END = re.compile(r"(?<=[.!?])[)\"'”]*\s+(?=[\"'“(`A-Z0-9])")
NOT_THE_END = re.compile(r"\b(e\.g|i\.e|etc|vs|cf|no|approx)\.", re.IGNORECASE)
IN_BACKTICKS = re.compile(r"`[^`]*`")
FEW_WORDS = 3
"""A text of fewer words is no sentence: it is a name, a key or a mark."""
WORD = re.compile(r"[^\W_][\w'’.-]*")
NOT_PROSE = {"table_open": "table_close", "heading_open": "heading_close", "blockquote_open": "blockquote_close"}


@dataclass(frozen=True)
class Rules:
    """The limits and riddles of scripts/prose.toml."""

    limits: dict[str, float]
    riddles: list[tuple[re.Pattern[str], str]]
    unedited: frozenset[str]
    data: frozenset[str] = frozenset()
    of_texts: tuple[tuple[re.Pattern[str], str], ...] = ()
    """Riddles of texts alone."""

    @classmethod
    def read(cls) -> "Rules":
        """The rules of the project."""
        parsed = tomllib.loads(RULES.read_text("utf-8"))
        pages, texts = parsed["pages"], parsed["texts"]
        return cls(
            parsed["limits"],
            _patterns(parsed["riddles"]),
            frozenset(pages["unedited"]),
            frozenset(texts["data"]),
            tuple(_patterns(texts["riddles"])),
        )


def _patterns(riddles: list[dict[str, str]]) -> list[tuple[re.Pattern[str], str]]:
    return [(re.compile(one["pattern"], re.IGNORECASE), one["say"]) for one in riddles]


@dataclass(frozen=True)
class Prose:
    """The sentences of a text, with the line of the paragraph that each stands in."""

    sentences: list[tuple[int, str]]

    @property
    def words(self) -> float:
        """Words a sentence, on average."""
        count = sum(len(WORD.findall(sentence)) for _, sentence in self.sentences)
        return count / len(self.sentences) if self.sentences else 0.0

    @property
    def semicolons(self) -> float:
        """Semicolons a hundred sentences."""
        count = sum(sentence.count(";") for _, sentence in self.sentences)
        return 100 * count / len(self.sentences) if self.sentences else 0.0


def prose_of(markdown: str) -> Prose:
    """The sentences of the paragraphs and list items of a page."""
    return Prose([(line, one) for line, text in _paragraphs(markdown) for one in sentences_of(text)])


def sentences_of(text: str) -> list[str]:
    """The sentences of a paragraph. A text without any word has none."""
    text = NOT_THE_END.sub(lambda found: found[0].replace(".", ""), " ".join(text.split()))
    return [one for one in END.split(text) if WORD.search(one)]


def _paragraphs(markdown: str) -> Iterator[tuple[int, str]]:
    """The line of each paragraph, and its text: code in it counts as one word."""
    inside: list[str] = []
    for token in MarkdownIt("commonmark").enable("table").parse(markdown):
        if token.type in NOT_PROSE:
            inside.append(NOT_PROSE[token.type])
        elif inside and token.type == inside[-1]:
            inside.pop()
        elif token.type == "inline" and not inside:
            yield (token.map or [0])[0] + 1, "".join(_text(child) for child in token.children or [])


def _text(token: Token) -> str:
    if token.type == "code_inline":
        return "code"
    return " " if token.type in ("softbreak", "hardbreak") else token.content if token.type == "text" else ""


def problems(name: str, markdown: str, rules: Rules) -> list[str]:
    """The problems of a page, each with its line where it has one."""
    prose, found = prose_of(markdown), []
    limits = rules.limits
    if prose.words > limits["words_per_sentence"]:
        found.append(f"{name}: {prose.words:.1f} words a sentence; at most {limits['words_per_sentence']}")
    if prose.semicolons > limits["semicolons_per_hundred_sentences"]:
        most = limits["semicolons_per_hundred_sentences"]
        found.append(f"{name}: {prose.semicolons:.1f} semicolons a hundred sentences; at most {most}")
    most_words = {"README.md": limits["readme_words"], "AGENTS.md": limits["agents_words"]}.get(name)
    if most_words and len(markdown.split()) > most_words:
        found.append(f"{name}: {len(markdown.split())} words; at most {most_words}")
    for line, sentence in prose.sentences:
        found += _riddles(f"{name}:{line}", sentence, rules)
    return found


def docstring_problems(rules: Rules) -> list[str]:
    """The riddles in docstrings, each with its file and line."""
    return [
        problem
        for name in _files(CODE)
        for line, sentence in _docstrings((ROOT / name).read_text("utf-8"))
        for problem in _riddles(f"{name}:{line}", sentence, rules)
    ]


def text_problems(rules: Rules) -> list[str]:
    """The riddles and overlong sentences in the texts of the API, of errors, of the command line and of MCP."""
    found = [
        (f"{name}:{line}", sentence)
        for name in _files(TEXTS)
        if name not in rules.data
        for line, sentence in strings((ROOT / name).read_text("utf-8"))
    ]
    found += [
        (f"{name}:{line}", IN_BACKTICKS.sub("code", sentence))
        for name in _files(API)
        for line, sentence in _docstrings((ROOT / name).read_text("utf-8"))
    ]
    words = tomllib.loads((ROOT / TOOLS).read_text("utf-8"))
    found += [(f"{TOOLS}: {where}", sentence) for where, sentence in _values(words, "")]
    return [problem for where, sentence in found for problem in _of_text(where, sentence, rules)]


def _files(patterns: tuple[str, ...]) -> list[str]:
    """The names of the files that are written by hand, below the project's folder."""
    files = {file for pattern in patterns for file in ROOT.glob(pattern) if file.name not in GENERATED}
    return sorted(str(file.relative_to(ROOT)) for file in files)


def _riddles(where: str, sentence: str, rules: Rules, more: tuple[tuple[re.Pattern[str], str], ...] = ()) -> list[str]:
    return [
        f"{where}: {found[0]!r} in {sentence[:90]!r}; write: {say}"
        for pattern, say in (*rules.riddles, *more)
        if (found := pattern.search(sentence))
    ]


def _of_text(where: str, sentence: str, rules: Rules) -> list[str]:
    """The problems of a sentence in a text."""
    count, most = len(WORD.findall(sentence)), rules.limits["words_in_a_text"]
    if count < FEW_WORDS:
        return []
    long = [f"{where}: {count} words in {sentence[:90]!r}; at most {most:g}"] if count > most else []
    return long + _riddles(where, sentence, rules, rules.of_texts)


def strings(code: str) -> Iterator[tuple[int, str]]:
    """The sentences of the strings in Python code, docstrings excepted, each with the line where its string begins.

    A value that is filled in, and a name in backticks, count as one word. Patterns (with a backslash) are no sentences.
    """
    nodes = list(ast.walk(ast.parse(code)))
    parts = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    parts |= {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "value" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            text = node.value
        else:
            continue
        if "\\" not in text:
            for sentence in sentences_of(text):
                yield node.lineno, IN_BACKTICKS.sub("code", sentence)


def _values(words: dict[str, Any], where: str) -> Iterator[tuple[str, str]]:
    """The sentences of all texts in a TOML document, each with the names that lead to it."""
    for name, value in words.items():
        if isinstance(value, dict):
            yield from _values(value, f"{where}{name}.")
        elif isinstance(value, str):
            for sentence in sentences_of(value):
                yield f"{where}{name}", IN_BACKTICKS.sub("code", sentence)


def _docstrings(code: str) -> Iterator[tuple[int, str]]:
    """The sentences of all docstrings, also of those behind an attribute, with the line where each docstring begins."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            for sentence in sentences_of(node.value.value):
                yield node.lineno, sentence


def pages() -> list[str]:
    """The names of all pages, below the project's folder."""
    return sorted({str(file.relative_to(ROOT)) for pattern in PAGES for file in ROOT.glob(pattern)})


def main(names: list[str]) -> int:
    """Print the table and the problems. Returns 1 where a page that is edited has one."""
    rules = Rules.read()
    failed = 0
    print(f"{'page':40} {'sentences':>9} {'words':>6} {';/100':>6}")
    for name in names or pages():
        markdown = (ROOT / name).read_text("utf-8")
        prose, wrong = prose_of(markdown), problems(name, markdown, rules)
        print(f"{name:40} {len(prose.sentences):9} {prose.words:6.1f} {prose.semicolons:6.1f}")
        if names or name not in rules.unedited:
            failed += len(wrong)
            print("".join(f"  {one}\n" for one in wrong), end="")
    in_code = [] if names else docstring_problems(rules) + text_problems(rules)
    print("".join(f"  {one}\n" for one in in_code), end="")
    return 1 if failed or in_code else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
