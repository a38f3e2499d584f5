"""The files of the page: read, linked and compressed once, named after their content, with headers that bind a browser.

A page (`/`, `/docs`) is asked for again each time. It names its scripts and styles below `/assets/{version}/`, where
`version` is a digest of all files. So they never change, and a browser keeps them for a year. Nothing here needs a
token, a setting or the store: the page opens also while the service is not configured.
"""

import base64
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path, PurePosixPath
from typing import Any

from livemem_http import linking, negotiation, problems, routing, sending

ASSET = "/assets/{version}/{path+}"
PAGES = {"/": "index.html", "/docs": "docs.html"}
"""The file of each page, by its path."""
ROUTES = {f"{method} {path}": path for path in (*PAGES, ASSET) for method in ("GET", "HEAD")}
BASE = b"__BASE__"
"""Stands in pages for the path below which their scripts and styles are."""

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".txt": "text/plain; charset=utf-8",
    ".webmanifest": "application/manifest+json",
}
KEPT = "public, max-age=31536000, immutable"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
"""No code but the files here, no other host, and no text of a note that a browser would run."""
SECURITY = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
LEVEL = 9
"""Of zlib: a file is compressed once in the life of a process."""


def compressed(body: bytes) -> bytes:
    """In gzip, as small as zlib makes it."""
    how = zlib.compressobj(LEVEL, wbits=31, memLevel=zlib.DEF_MEM_LEVEL + 1)
    return how.compress(body) + how.flush()


@dataclass(frozen=True)
class File:
    """One file as it is sent. `kept`: it never changes, so it may be kept without a question."""

    media_type: str
    body: bytes
    kept: bool

    @cached_property
    def etag(self) -> str:
        """Of the plain body; weak, as it stands for the compressed one too."""
        return f'"{sha256(self.body).hexdigest()[:32]}"'

    @cached_property
    def packed(self) -> bytes | None:
        """The body in gzip. None: that saves nothing."""
        packed = compressed(self.body)
        return packed if len(packed) < len(self.body) > sending.COMPRESSED_FROM else None

    @property
    def headers(self) -> dict[str, str]:
        """All but those of the body's encoding."""
        return {
            **SECURITY,
            "Cache-Control": KEPT if self.kept else "no-cache",
            "ETag": f"W/{self.etag}",
            "Vary": "Accept-Encoding",
        }

    def answer(self, headers: Mapping[str, str]) -> dict[str, Any]:
        """The answer to a request with these headers, whose names are in lower case."""
        if sending.names(headers.get("if-none-match") or "", self.etag):
            return {
                "statusCode": HTTPStatus.NOT_MODIFIED,
                "headers": self.headers,
                "body": "",
                "isBase64Encoded": False,
            }
        answered = {**self.headers, "Content-Type": self.media_type}
        body = self.packed if negotiation.takes_gzip(headers.get("accept-encoding")) else None
        if body is not None:
            answered["Content-Encoding"] = "gzip"
        encoded = base64.b64encode(self.body if body is None else body).decode()
        return {"statusCode": HTTPStatus.OK, "headers": answered, "body": encoded, "isBase64Encoded": True}


class Site:
    """The files below a folder. Only they can be asked for: a path is looked up, never opened."""

    def __init__(self, folder: Path) -> None:
        """Read all files of the types that are known here, and link the scripts."""
        found = {one.relative_to(folder).as_posix(): one for one in sorted(folder.rglob("*")) if one.suffix in TYPES}
        bodies = linking.linked({name: one.read_bytes() for name, one in found.items()})
        digest = sha256(b"".join(f"{name}\n{sha256(body).hexdigest()}\n".encode() for name, body in bodies.items()))
        self.version = digest.hexdigest()[:16]
        base = f"/assets/{self.version}".encode()
        self._assets = {name: File(TYPES[PurePosixPath(name).suffix], body, kept=True) for name, body in bodies.items()}
        self._pages = {
            path: File(TYPES[".html"], bodies[name].replace(BASE, base), kept=False) for path, name in PAGES.items()
        }

    def answer(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """Answer one HTTP API event (payload 2.0); a problem document where there is no such file."""
        try:
            match = routing.match(event, ROUTES)
            file = self._file(ROUTES[match.key], match.parameters)
        except Exception as error:  # noqa: BLE001 - the edge: every error becomes an answer here
            answer = problems.as_event_answer(error, str(routing.request_context(event).get("requestId", "")))
            answer["headers"] |= {**SECURITY, "Cache-Control": "no-store"}
            return answer
        return file.answer({name.lower(): value for name, value in (event.get("headers") or {}).items()})

    def _file(self, path: str, parameters: Mapping[str, str]) -> File:
        if path in self._pages:
            return self._pages[path]
        file = self._assets.get(parameters["path"]) if parameters["version"] == self.version else None
        if file is None:
            raise routing.RouteNotFound("There is no such file in this version of the page. Load the page again.")
        return file
