"""The ids by which found documents are read, and the documents that they name."""

from livemem.markdown.sections import split_address
from livemem.recall import bank_sections
from livemem.recall.short_ids import FULL_OF_TALK
from livemem.search.documents import BANK, MEMORY, MESSAGE, SUMMARY, TURN, Document
from livemem.search.index import Index
from livemem.search.shape import IndexShape

_SIDES = ("user", "assistant", "tool")


def reading_id(document: Document) -> str:
    """The id of a found document, as the tool `read` takes it; for a message of a room its room's route."""
    source = document.source
    if document.kind == BANK:
        titles = map(bank_sections.title, split_address(source["section"])) if "section" in source else ()
        batch = list(titles)
        return bank_sections.section_id(document.group, batch) if batch else bank_sections.file_id(document.group)
    if document.kind == SUMMARY:
        return f"conversations/{source['conversation_id']}/summaries/{source['level']}/{source['number']}"
    if document.kind == TURN:
        return f"conversations/{source['conversation_id']}/turns/{source['turn_index']}"
    if document.kind == MEMORY:
        return f"memories/{document.id}"
    return f"rooms/{source['room']}/messages" if document.kind == MESSAGE else f"notes/{document.id}"


def document_ids(index: Index, index_shape: IndexShape, name: str) -> list[str]:
    """The ids of the documents that an id names, be it theirs or the one by which they are read; mostly one. The sides
    of a turn are documents of their own.
    """
    if index.number(name) is not None:
        return [name]
    if name.startswith(bank_sections.BANK):
        numbers = index_shape.documents[index_shape.of_kinds((BANK,))]
        sections = (index.document(int(number)) for number in numbers)
        return [section.id for section in sections if reading_id(section) == name]
    talk = FULL_OF_TALK.fullmatch(name)
    if not talk:
        batch = [name.removeprefix("notes/").removeprefix("memories/")]
    elif talk["turn"]:
        batch = [f"{talk['conversation']}/{talk['turn']}/{side}" for side in _SIDES]
    else:
        batch = [f"{talk['conversation']}/l{talk['summary']}"]
    return [item for item in batch if index.number(item) is not None]
