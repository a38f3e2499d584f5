"""The ids of what was found: each leads to what `read` gives, and back to the document."""

from livemem.bank import corrections
from livemem.memories import storing
from livemem.memories.memory import MemoryDraft
from livemem.recall import by_id, document_sources, search
from livemem.recall.by_id import ReadRequest
from livemem.recall.search_request import SearchRequest
from tests.support.searching import searching_world
from tests.support.talk import Talk


def test_every_document_is_named_by_the_id_by_which_it_is_read():
    world, _ = searching_world()
    talked = Talk(world=world)
    talked.say("Which oven is it?", "The oven is a Bosch.")
    talked.update()
    world.note("The oven needs oil.")
    storing.store(world.process, "demo", "ann", MemoryDraft("The oven stands in Kiel."))
    text = "The oven of all.\n\n# Oven\n\nIt is hot: the oven.\n\n## Oil\n\nOven oil.\n\n## Oil\n\nOven oil again.\n"
    corrections.write_file(world.process, "bob", "demo", "a/oven.md", text, None)
    asked = SearchRequest.of("oven", scope="all", limit=50)

    hits = search.search(world.process, "demo", asked).hits

    assert {hit.document.kind for hit in hits} >= {"turn", "note", "memory", "bank"}
    for hit in hits:
        name = document_sources.reading_id(hit.document)
        assert "oven" in str(by_id.read(world.process, "demo", ReadRequest.of(name))).lower()
        told = search.search(world.process, "demo", asked.asking_why_not(name)).why_not
        assert told, name
        assert told.reason == "found", name
