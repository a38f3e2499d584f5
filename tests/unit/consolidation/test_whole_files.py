"""Models that know only whole files: what they call a change does not matter, what it does is said."""

import json
from typing import Any

from livemem.bank import history
from tests.support.world import World
from tests.unit.consolidation.test_pipeline_notes import record_of, space_with_notes


def whole(action: str, content: str, **more: Any) -> str:
    return json.dumps(
        {"bank_files": [{"filename": "log.md", "action": action, "content": content, **more}], "synthesis": "x"}
    )


def said(world: World, number: int) -> list[Any]:
    (change,) = record_of(world, number).files
    (shown,) = history.read(world.process, "demo", number).changes
    assert (shown["action"], shown["said"]) == (change.action, change.said)
    return [change.action, change.said]


def test_updated_for_a_file_that_is_not_there_is_a_creation_and_created_for_one_that_is_a_replacement():
    world = space_with_notes("ann")
    world.llm.queue.append(whole("updated", "# Log\n\n- ann 1\n"))
    assert world.consolidate().metrics["bank_files_created"] == 1
    world.note("bob 2")
    world.llm.queue.append(whole("created", "# Log\n\n- ann 1\n- bob 2\n"))
    assert world.consolidate().metrics["bank_files_updated"] == 1
    world.note("cat 3")
    world.llm.queue.append(whole("updated", "# Log\n\n- ann 1\n- bob 2\n- cat 3\n"))
    world.consolidate()

    assert world.bank() == {"log.md": "# Log\n\n- ann 1\n- bob 2\n- cat 3\n"}
    assert [said(world, number) for number in (1, 2, 3)] == [
        ["created", "updated"],
        ["updated", "created"],
        ["updated", None],
    ]
    assert len(world.llm.prompts) == 3
    assert world.live_ids() == []


def test_created_over_a_file_that_it_would_wipe_needs_a_reason():
    world = space_with_notes("ann")
    world.llm.queue.append(whole("created", "# Log\n\n" + "- a fact\n" * 20))
    world.consolidate()
    world.note("bob 2")
    world.llm.queue.extend([whole("created", "# Log\n"), whole("created", "# Log\n", reason="all withdrawn")])

    assert world.consolidate().state == "done"

    assert "would shrink" in world.llm.prompts[2][-1]["content"]
    assert world.bank() == {"log.md": "# Log\n"}
