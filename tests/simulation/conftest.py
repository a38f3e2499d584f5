"""What the plays in a process of pytest read again and again is parsed once."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from livemem.consolidation import losses
from livemem.markdown import front_matter
from livemem.store.stored_documents import StoredDocument
from livemem.text import language, text_tokens


@pytest.fixture(scope="package", autouse=True)
def parsed_once() -> Iterator[None]:
    """The same bytes are the same document: nobody changes one in place, which is checked at the end."""
    parse: Any = vars(StoredDocument)["from_bytes"].__func__
    known: dict[tuple[type[StoredDocument], bytes], StoredDocument] = {}
    split = cache(front_matter.read)

    def from_bytes(cls: type[StoredDocument], body: bytes) -> StoredDocument:
        if (cls, body) not in known:
            known[cls, body] = parse(cls, body)
        return known[cls, body]

    def read(text: str) -> tuple[dict[str, Any], str]:
        fields, content = split(text)
        return dict(fields), content

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StoredDocument, "from_bytes", classmethod(from_bytes))
        patch.setattr(front_matter, "read", read)
        for module, name in ((text_tokens, "read"), (losses, "words_of"), (language, "detect")):
            patch.setattr(module, name, cache(getattr(module, name)))
        yield
        assert [found for (cls, body), found in known.items() if found != parse(cls, body)] == []
