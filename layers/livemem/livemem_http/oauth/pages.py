"""The pages of sign-in: HTML without script, in the language of the browser. Each value is escaped where it goes in."""

import base64
import hashlib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files
from string import Template
from urllib.parse import urlsplit

from livemem.text.language import LANGUAGE_DEFAULT, Lang
from livemem_http import negotiation, texts
from livemem_http.oauth.request import Answer, Request, answer


class Html(str):
    """Text that is HTML already, and goes into a page as it is."""

    __slots__ = ()


@dataclass(frozen=True)
class Words:
    """The words of a page in its language."""

    lang: Lang

    @classmethod
    def of(cls, request: Request) -> "Words":
        """In the language that the browser likes best."""
        return cls(negotiation.language(request.headers.get("accept-language")) or LANGUAGE_DEFAULT)

    def __call__(self, name: str, /, **values: str) -> str:
        """The words of this name, with the values in them."""
        return Template(_words()[self.lang][name]).substitute(values)


def fill(name: str, /, **values: str) -> Html:
    """The HTML file of this name with the values in their places. All that is not `Html` is escaped."""
    safe = {place: value if isinstance(value, Html) else escape(value) for place, value in values.items()}
    return Html(Template(_file(f"html/{name}.html")).substitute(safe))


def joined(parts: Iterable[Html]) -> Html:
    """Several pieces, each on a line."""
    return Html("\n".join(parts))


def hidden(fields: Mapping[str, str]) -> Html:
    """Fields of a form that nobody sees."""
    line = '<input type="hidden" name="{}" value="{}">'
    return joined(Html(line.format(escape(name), escape(value))) for name, value in fields.items())


def row(term: str, value: str) -> Html:
    """A row of a list of terms."""
    return Html(f"<div><dt>{escape(term)}</dt><dd><code>{escape(value)}</code></dd></div>\n")


def notice(kind: str, text: str) -> Html:
    """A marked text: a `warning` or an `error`. Empty without a text."""
    role = ' role="alert"' if kind == "error" else ""
    return Html(f'<p class="{kind}"{role}>{escape(text)}</p>' if text else "")


def page(
    words: Words,
    issuer: str,
    title: str,
    content: Html,
    *,
    status: int = 200,
    leads_to: str | None = None,
    headers: Mapping[str, str] | None = None,
    cookie: str | None = None,
) -> Answer:
    """The answer with a whole page. `leads_to`: the browser goes there by itself.

    It goes by the page and not by a redirect: browsers hold each redirect that follows a form against `form-action`,
    also those of the client's own.
    """
    refresh = f'<meta http-equiv="refresh" content="0; url={escape(leads_to)}">\n' if leads_to else ""
    html = fill(
        "frame",
        lang=words.lang,
        title=title,
        issuer=urlsplit(issuer).netloc,
        refresh=Html(refresh),
        style=Html(_style()),
        content=content,
    )
    made = answer(status, texts.sendable(html), "text/html; charset=utf-8", {**_guarded(), **(headers or {})})
    return {**made, "cookies": [cookie]} if cookie else made


@cache
def _guarded() -> dict[str, str]:
    digest = base64.b64encode(hashlib.sha256(_style().encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'sha256-{digest}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    )
    return {
        "Content-Security-Policy": policy,
        "X-Frame-Options": "DENY",
        # Not `no-referrer`: with it browsers hide the origin of the form, too.
        "Referrer-Policy": "same-origin",
        "Vary": "Accept-Language, Cookie",
    }


@cache
def _style() -> str:
    return _file("html/style.css")


@cache
def _words() -> Mapping[str, Mapping[str, str]]:
    return tomllib.loads(_file("words.toml"))


@cache
def _file(name: str) -> str:
    return files("livemem_http.oauth").joinpath(name).read_text("utf-8")
