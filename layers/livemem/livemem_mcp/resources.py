"""Resources: a space's summary, rules, synthesis and bank files as Markdown, by address.

`livemem://{space_id}/summary`, `.../rules`, `.../synthesis`, `.../bank/{path}`. Agents read them by tools. Resources
are for people: they put one into a conversation by hand.
"""

import re
from collections.abc import Iterator
from urllib.parse import quote, unquote

import mcp_types as types

from livemem.bank import history, summary
from livemem.bank.files import from_entry
from livemem.errors import InvalidRequest, NotFound
from livemem.spaces import directory, rules
from livemem.store import cursors
from livemem_http import markdown
from livemem_http.negotiation import MARKDOWN
from livemem_http.views import SpaceSummary
from livemem_mcp.session import McpSession

SPACES = 10
"""Spaces of one page: each costs some requests."""
NAMES = 100
"""Of one completion, as the specification bounds it."""

_PATTERN = re.compile(r"livemem://([^/]+)/(summary|rules|synthesis|bank/(.+))")
_FIXED = {
    "summary": "Rules, synthesis, bank and newest notes in one text.",
    "rules": "The files of the bank, and the content of each.",
    "synthesis": "The short text of the last consolidation.",
}
_TEMPLATES = {
    **{f"livemem://{{space_id}}/{name}": told for name, told in _FIXED.items()},
    "livemem://{space_id}/bank/{+path}": "A file of the bank.",
}


def templates() -> list[types.ResourceTemplate]:
    """The templates of the addresses."""
    return [
        types.ResourceTemplate(uri_template=uri, name=uri.split("/", 3)[3], description=told, mime_type=MARKDOWN)
        for uri, told in _TEMPLATES.items()
    ]


def listed(session: McpSession, cursor: str | None) -> tuple[list[types.Resource], str | None]:
    """A page: the resources of the connection's space, or of the next spaces that the token may see. Raises
    InvalidRequest for a cursor that no page gave, and LiveMemoryErrors.
    """
    after = cursors.decode_name(cursor)
    if session.space is not None:
        session.enter("read", None)
        return list(_of_space(session, session.space)), None
    if "read" not in session.principal.permissions:
        return [], None
    metas, more = directory.page(session.process, session.principal, limit=SPACES, after=after)
    return [one for meta in metas for one in _of_space(session, meta.space_id)], cursors.encode(more)


def _of_space(session: McpSession, space_id: str) -> Iterator[types.Resource]:
    for name, told in _FIXED.items():
        if name != "synthesis":
            yield _resource(space_id, name, told)
    info = summary.info(session.process, space_id)
    if info.synthesis_exists:
        yield _resource(space_id, "synthesis", _FIXED["synthesis"])
    for file in map(from_entry, info.bank):
        yield _resource(space_id, f"bank/{quote(file.path)}", f"{file.path}, of the bank.", file.size)


def _resource(space_id: str, rest: str, told: str, size: int | None = None) -> types.Resource:
    return types.Resource(
        uri=f"livemem://{space_id}/{rest}",
        name=f"{space_id}/{unquote(rest)}",
        description=told,
        mime_type=MARKDOWN,
        size=size,
    )


def read(session: McpSession, uri: str) -> str:
    """The Markdown at an address. Raises NotFound for an invalid one, and the errors of reading."""
    place = _PATTERN.fullmatch(uri)
    if not place:
        raise NotFound("resource", uri[:200])
    space_id, what, path = unquote(place[1]), place[2], place[3]
    try:
        space_id = session.enter("read", space_id)
        if path is not None:
            return history.read_file(session.process, space_id, unquote(path), at=None, sources=False)[0].content or ""
        if what == "rules":
            return rules.read(session.process, space_id)
        if what == "synthesis":
            return history.synthesis(session.process, space_id, at=None).content
        return markdown.summary(SpaceSummary.of_summary(summary.summary(session.process, space_id)))
    except InvalidRequest:
        raise NotFound("resource", uri[:200]) from None


def completed(session: McpSession, argument: str, begun: str, space_id: str | None) -> list[str]:
    """Values that begin so: ids of spaces, or paths of bank files in a space."""
    if "read" not in session.principal.permissions:
        return []
    if argument == "space_id":
        metas, _ = directory.page(session.process, session.principal, limit=NAMES, after=None)
        return [meta.space_id for meta in metas if meta.space_id.startswith(begun)]
    if argument == "path" and (space_id or session.space):
        space = session.enter("read", space_id)
        found = history.bank(session.process, space, at=None, content=False)
        return [file.path for file in found if file.path.startswith(begun)][:NAMES]
    return []
