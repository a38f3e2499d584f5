"""A rules text as a flat list of blocks: headings, list items, table rows, paragraphs, fences, in reading order."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from markdown_it.token import Token

from local.offline_llm.markdown import block_parser

Kind = Literal["heading", "item", "row", "text", "fence"]


@dataclass(frozen=True)
class Block:
    """One block of the rules.

    `level` is the heading level, or for everything inside lists the depth of the list (0: in no list).
    `cells` are the cells of a table row, `header` those of its table's head.
    """

    kind: Kind
    level: int
    text: str
    cells: tuple[str, ...] = ()
    header: tuple[str, ...] = ()


def read_blocks(markdown: str) -> list[Block]:
    """The blocks of a Markdown text, with the source of their inline content."""
    tokens = iter(block_parser().enable("table").parse(markdown))
    blocks: list[Block] = []
    depth = 0
    fresh_item = False  # a list item was opened whose first paragraph has not come yet
    for token in tokens:
        if token.type in ("bullet_list_open", "ordered_list_open"):
            depth += 1
        elif token.type in ("bullet_list_close", "ordered_list_close"):
            depth -= 1
        elif token.type == "list_item_open":
            fresh_item = True
        elif token.type == "table_open":
            blocks += _rows(tokens, depth)
        elif token.type in ("fence", "code_block"):
            blocks.append(Block("fence", depth, token.content))
        elif token.type == "heading_open" and not depth:
            blocks.append(Block("heading", int(token.tag[1]), next(tokens).content))
        elif token.type == "inline":
            blocks.append(Block("item" if fresh_item else "text", depth, token.content))
            fresh_item = False
    return blocks


def _rows(tokens: Iterator[Token], depth: int) -> Iterator[Block]:
    """The rows of a table whose opening was just read, up to its end."""
    cells: list[str] = []
    header: tuple[str, ...] = ()
    for token in tokens:
        if token.type == "table_close":
            return
        if token.type == "tr_open":
            cells = []
        elif token.type == "inline":
            cells.append(token.content)
        elif token.type == "tr_close":
            yield Block("row", depth, " ".join(cells), tuple(cells), header)
            header = header or tuple(cells)
