"""What a tidy run wrote rests on the notes of the sections from which its words came."""

from hypothesis import example, given
from hypothesis import strategies as st

from livemem.changes import provenance
from livemem.changes.records import Before, FileChange, Record
from livemem.changes.section_sources import PREAMBLE, State, Trace, own_texts

CRANE, FERRY, TEAM = (f"20260220T14000{number}_ann_progress_0000000{number}" for number in range(3))
BEFORE = """# Log

## Cranes

- The crane K4 lifts 40 tons.

## Ferries

- The ferry to Kiel leaves at noon.

## Team

- Ines looks after the harbour.
"""
STATE: State = {
    ("# Log", "## Cranes"): Trace({CRANE: 1}, [2], 3, "2026-02-20T15:00:00Z"),
    ("# Log", "## Ferries"): Trace({FERRY: 2}),
    ("# Log", "## Team"): Trace({TEAM: 3}),
}


def after(text: str, kind: str = "tidy") -> dict[str, set[str]]:
    """The notes of each section by its heading, after a tidy run wrote this text."""
    return {path[-1]: set(trace.sources) for path, trace in state_after(text, kind).items() if path and trace.sources}


def state_after(text: str, kind: str = "tidy") -> State:
    change = FileChange(path="log.md", action="updated", before=Before(etag="x", content=BEFORE), after=text)
    record = Record.model_validate(
        {"number": 9, "run_id": "r", "uid": "u", "kind": kind, "trigger": "api", "model": "m",
         "started_at": "2026-02-21T00:00:00Z", "committed_at": "2026-02-21T00:00:00Z"}
    )  # fmt: skip
    return provenance.after(STATE, record, change)


def test_a_section_that_stays_keeps_its_notes_and_no_others():
    shorter = BEFORE.replace("The ferry to Kiel", "Ferry Kiel")

    assert after(shorter) == {"## Cranes": {CRANE}, "## Ferries": {FERRY}, "## Team": {TEAM}}


def test_a_section_of_another_name_takes_its_notes_and_corrections_along():
    renamed = BEFORE.replace("## Cranes", "### Lifting")
    found = state_after(renamed)

    (lifting,) = [trace for path, trace in found.items() if path[-1:] == ("### Lifting",)]
    assert (lifting.sources, lifting.corrections, lifting.omitted) == ({CRANE: 1}, [2], 3)
    assert lifting.by_hand_at == "2026-02-20T15:00:00Z"


def test_a_joined_section_rests_on_the_notes_of_all_that_were_joined():
    joined = "# Log\n\n## Harbour\n\n- K4 lifts 40 tons, the ferry to Kiel leaves at noon.\n\n## Team\n\n- Ines.\n"

    assert after(joined) == {"## Harbour": {CRANE, FERRY}, "## Team": {TEAM}}


def test_a_line_that_moved_to_a_section_that_was_there_brings_its_notes():
    moved = "# Log\n\n## Ferries\n\n- The ferry to Kiel leaves at noon; the crane K4 waits.\n"

    assert after(moved)["## Ferries"] == {FERRY, CRANE}


def test_a_section_in_other_words_rests_on_the_notes_of_all_that_went():
    assert after("# Log\n\n## Résumé\n\n- Tout va bien.\n") == {"## Résumé": {CRANE, FERRY, TEAM}}


def test_a_consolidation_moves_no_notes():
    assert "## Lifting" not in after(BEFORE.replace("## Cranes", "## Lifting"), "consolidation")


@example(["# Log", "- The crane K4 lifts 40 tons.", "## Cranes", "- The crane K4 lifts 40 tons."])
@given(st.lists(st.sampled_from(BEFORE.splitlines()), max_size=14))
def test_every_sentence_rests_on_the_notes_that_it_rested_on(lines: list[str]):
    found = state_after("\n".join(lines) + "\n")
    own = own_texts("\n".join(lines) + "\n")

    for path, text in own.items():
        for sentence, note in (("crane K4", CRANE), ("to Kiel", FERRY), ("looks after", TEAM)):
            if sentence in text:
                assert note in found[path].sources
    assert PREAMBLE in found
