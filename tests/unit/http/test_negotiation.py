"""Markdown is what a client gets that wants it more than JSON; everybody else gets JSON."""

from livemem_http.negotiation import prefers_markdown
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
