"""Found documents that say again what another found document says: they would take the place of others.

Pure functions. They know the kinds of documents, which the engine does not.
"""

from collections.abc import Sequence

from livemem.recall import conversation_documents
from livemem.recall.conversation_documents import SUMMARY, TURN
from livemem.recall.document_sources import ARCHIVE, BANK, LIVE
from livemem.search.documents import Document


def copies(found: Sequence[Document]) -> set[str]:
    """The ids of the copies among them: a consolidated note whose words stand in a section, a note that was captured
    from a turn, and the summary of one turn.
    """
    turns = {(one.source["conversation_id"], int(one.source["turn_index"])) for one in found if one.kind == TURN}
    sections = [_plain(one.text) for one in found if one.kind == BANK]

    def is_copy(document: Document) -> bool:
        if document.kind == ARCHIVE and any(_plain(document.text) in section for section in sections):
            return True
        if not turns or document.kind not in (SUMMARY, LIVE, ARCHIVE):
            return False
        ends = conversation_documents.ends(document.source, "covers")
        if not ends or (document.kind == SUMMARY and ends[0] != ends[1]):
            return False
        conversation = document.source["conversation_id"]
        return any(name == conversation and ends[0] <= index <= ends[1] for name, index in turns)

    return {one.id for one in found if is_copy(one)}


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()
