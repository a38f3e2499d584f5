"""What all plays of a process of pytest read again and again is parsed once."""

from collections.abc import Iterator
from typing import Any

import pytest

from livemem.store.documents import Document


@pytest.fixture(scope="session", autouse=True)
def documents_parsed_once() -> Iterator[None]:
    """Bodies of the same bytes give the same document: nobody changes one in place, who wants another copies it."""
    parse: Any = vars(Document)["from_bytes"].__func__
    known: dict[tuple[type[Document], bytes], Document] = {}

    def from_bytes(cls: type[Document], body: bytes) -> Document:
        if (cls, body) not in known:
            known[cls, body] = parse(cls, body)
        return known[cls, body]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Document, "from_bytes", classmethod(from_bytes))
        yield
        assert [found for (cls, body), found in known.items() if found != parse(cls, body)] == []
