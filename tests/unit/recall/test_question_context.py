from livemem.recall import by_id, message_context
from livemem.recall.by_id import ReadRequest
from tests.support.world import World

FILES = {
    "people.md": "Before.\n\n# People\n\nAll.\n\n## Team\n\n- Ines.\n\n## Guests\n\n### Old > new\n\n- Jo.\n",
    "two/titles.md": "# One\n\n- a\n\n## Same\n\n- b\n\n# Two\n\n## Same\n\n- c\n\n## Same\n\n- d\n",
    "plain.md": "No heading at all.\n",
}


def outline_of(world: World) -> message_context.Outline:
    return message_context.context_of_question(world.process, "demo", "Where is the crane?", room=None).outline


def test_every_entry_of_the_outline_can_be_read():
    world = World()
    world.create_space()
    for path, text in FILES.items():
        world.store.put(f"demo/bank/{path}", text.encode())

    outline = outline_of(world)

    assert outline == {
        "bank/people.md": ["People", "Team", "Guests > Old > new"],
        "bank/plain.md": [],
        "bank/two/titles.md": ["One", "One > Same", "Two > Same", "Two > Same"],
    }
    for file, headings in outline.items():
        for name in (file, *(f"{file}#{heading}" for heading in headings)):
            assert by_id.read(world.process, "demo", ReadRequest.of(name)).content


def test_an_outline_is_empty_where_there_is_no_bank():
    world = World()
    world.create_space()

    assert outline_of(world) == {}
