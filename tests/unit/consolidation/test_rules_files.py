"""What the rules ask to exist exists after the first consolidation, or the record says why not."""

import json

from hypothesis import given
from hypothesis import strategies as st

from livemem.bank import corrections, history
from livemem.changes.bank_warnings import BankWarning
from livemem.consolidation import asked_files, outcome
from tests.support.world import World
from tests.unit.consolidation.test_pipeline_notes import record_of

RULES = """# Rules

Never write README.md. See also plan.md for more.

## Files

### log.md

- `# The log`
- `## Done`: what was done. <!-- load first -->

### openIssues.md

- **Bugs**: what is broken.
- **Risks:** what may break.

- `people.md`: who is who, with `## Team` and `## Guests`
- days/YYYY-MM-DD.md: one for each day
- a:b.md is a name that cannot be
- secret.md must not be written

```
code.md
```
"""


def first_answer(world: World) -> None:
    content = "# The log\n\n## Done\n\n- one\n"
    files = [{"filename": "log.md", "action": "created", "content": content, "notes": [1]}]
    world.llm.queue.append(json.dumps({"bank_files": files, "synthesis": "One."}))
    world.note("one")
    world.consolidate()


def test_files_of_the_rules_that_the_first_answer_lacks_are_created_with_their_headings():
    world = World()
    world.create_space(rules=RULES)
    first_answer(world)

    assert world.bank() == {
        "log.md": "# The log\n\n## Done\n\n- one\n",
        "openIssues.md": "# Open issues\n\n## Bugs\n\n## Risks\n",
        "people.md": "# People\n\n## Team\n\n## Guests\n",
    }
    record = record_of(world, 1)
    text = "The rules ask for days/YYYY-MM-DD.md, which was not created: its name is a pattern for several files."
    assert record.warnings == [BankWarning(kind="file_not_created", text=text, file="days/YYYY-MM-DD.md")]
    assert [change.reason for change in record.files] == [None, outcome.REASON, outcome.REASON]
    assert record.metrics["bank_files_created"] == 3
    assert history.read(world.process, "demo", 1).warnings == record.warnings


def test_a_file_that_was_deleted_later_is_not_created_again():
    world = World()
    world.create_space(rules=RULES)
    first_answer(world)
    before = world.bank()
    edit = {"op": "append_to_section", "heading": "## Done", "content": "- two", "notes": [1]}
    corrections.delete_file(world.process, "ann", "demo", "people.md", None)
    world.note("two")
    answer = {"bank_files": [{"filename": "log.md", "action": "edited", "edits": [edit]}], "synthesis": "Two."}
    world.llm.queue.append(json.dumps(answer))
    world.consolidate()
    assert set(world.bank()) == set(before) - {"people.md"}


def test_a_file_for_which_the_window_has_no_room_is_named_and_the_notes_are_folded_all_the_same():
    world = World(llmaas_context_tokens=20_000)
    wide = "\n".join(f"- `## {'x' * 900} {number}`" for number in range(40))
    world.create_space(rules=f"### log.md\n\n- `# The log`\n\n### wide.md\n\n{wide}\n")
    first_answer(world)
    assert list(world.bank()) == ["log.md"]
    (warning,) = record_of(world, 1).warnings
    assert warning.text.startswith("The rules ask for wide.md, which was not created: wide.md is too large")


@given(st.text(max_size=400) | st.lists(st.sampled_from(RULES.splitlines())).map("\n".join))
def test_any_text_can_be_the_rules(text: str):
    for asked in asked_files.asked_for(text):
        assert asked.path.endswith(".md")
        assert asked.text().endswith("\n")
