"""A space whose LLM was down for days: it is asked once at a look, and all is caught up afterwards."""

from livemem.llm.client import LlmError
from tests.support.world import World, append_everything

DAYS = 10
LOOKS_A_DAY = 3
NOTES_A_DAY = 20
AT_ONCE = 40


def down(_: object) -> str:
    raise LlmError("llm_unreachable", "The LLM does not answer.")


def test_after_days_without_an_llm_all_notes_are_folded_by_runs_that_follow_each_other():
    world = World(consolidation_max_notes=AT_ONCE)
    world.create_space("demo", threshold=10)
    world.llm.default = down
    for _ in range(DAYS):
        for number in range(NOTES_A_DAY):
            world.note(f"note {number}")
            world.clock.move(1)
        world.count()
        for _ in range(LOOKS_A_DAY):
            world.settle()
            world.clock.move(8 * 3_600)
            world.sweep()
            world.new_process()
    world.settle()
    asked = len(world.llm.prompts)
    assert len(world.live_ids()) == DAYS * NOTES_A_DAY
    # No more often with more notes.
    assert DAYS <= asked <= DAYS * (LOOKS_A_DAY + 1)

    world.llm.default = append_everything
    world.clock.move(3_600)
    world.sweep()
    world.settle()

    assert world.live_ids() == []
    assert len(world.llm.prompts) - asked == DAYS * NOTES_A_DAY // AT_ONCE
