"""Found documents that say again what another found document says: they would take the place of others.

Pure functions. They know the kinds of documents, which the engine does not.
"""

from collections.abc import Iterator, Sequence

from livemem.recall import conversation_documents
from livemem.recall.conversation_documents import SUMMARY, TURN
from livemem.recall.document_sources import ARCHIVE, BANK, LIVE
from livemem.search.documents import Document


def copies(found: Sequence[Document]) -> dict[str, str]:
    """The ids of the copies among them, each with that of its original: a consolidated note whose words stand in a
    section, a note that was captured from a turn, and the summary of one turn.
    """
    turns = {(one.source["conversation_id"], int(one.source["turn_index"])): one for one in found if one.kind == TURN}
    sections = [(_plain(one.text), one) for one in found if one.kind == BANK]

    def originals(document: Document) -> Iterator[Document]:
        if document.kind == ARCHIVE:
            words = _plain(document.text)
            yield from (section for text, section in sections if words in text)
        if not turns or document.kind not in (SUMMARY, LIVE, ARCHIVE):
            return
        ends = conversation_documents.ends(document.source, "covers")
        if not ends or (document.kind == SUMMARY and ends[0] != ends[1]):
            return
        conversation = document.source["conversation_id"]
        yield from (one for (name, index), one in turns.items() if name == conversation and ends[0] <= index <= ends[1])

    said = ((one.id, next(originals(one), None)) for one in found)
    return {name: original.id for name, original in said if original}


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()
