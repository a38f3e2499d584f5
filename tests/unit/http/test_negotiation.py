"""Markdown is what a client gets that wants it more than JSON; everybody else gets JSON."""

from livemem_http.negotiation import language, prefers_markdown
from tests.support.cases import each


@each(
    "accept",
    [
        "text/markdown",
        "Text/Markdown; charset=utf-8",
        "text/*",
        "text/markdown, */*",
        "text/markdown, text/html, */*",
        "application/json;q=0.9, text/markdown",
        "text/markdown;q=0.2, application/json;q=0.1",
        "text/markdown;q=0.2, application/json;q=0",
        'text/html;x="a,b;q=1", text/markdown',
        "*/*;q=0.1, text/markdown;q=0.5",
        "text/*;q=0.3, application/*;q=0.2",
    ],
)
def test_markdown_is_preferred(accept):
    assert prefers_markdown(accept)


@each(
    "accept",
    [
        None,
        "",
        ",",
        "*/*",
        "application/json",
        "text/html",
        "text/markdown, application/json",
        "application/json, text/markdown",
        "text/markdown;q=0.5, application/json",
        "text/markdown;q=0.5, */*",
        "text/markdown;q=0",
        "text/*, text/markdown;q=0",
        "text/markdown;q=much",
        "text/markdown;q=nan",
        "text/markdown;q=2",
        "text/markdownx",
        "image/png",
        ';;;=,"',
    ],
)
def test_json_stays_the_default(accept):
    assert not prefers_markdown(accept)


@each(
    ("header", "found"),
    [
        (None, None),
        ("", None),
        ("*", None),
        ("de, nl;q=0.5", None),
        ("fr-CA, en;q=0.8", "fr"),
        ("de, EN-gb;q=0.7, fr;q=0.9", "fr"),
        ("en;q=0.5, fr;q=0.5", "en"),
        ("fr;q=0", None),
        ("fr;q=2, en;q=nan, french", None),
        ("x," * 10_000 + "fr", None),
    ],
)
def test_the_language_of_headings_is_the_best_liked_one_that_there_is(header, found):
    assert language(header) == found
