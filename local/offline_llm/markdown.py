"""The Markdown parser that the offline LLM reads structure with: blocks only, as CommonMark has them."""

from markdown_it import MarkdownIt

# As deep as the service reads (livemem.sections): beyond its limit the parser skips the rest of a block, headings too.
MAX_NESTING = 40


def block_parser() -> MarkdownIt:
    """A parser whose tokens have line numbers, and the source of inline content instead of its parse, which is slow."""
    parser = MarkdownIt("commonmark", {"maxNesting": MAX_NESTING})
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser
