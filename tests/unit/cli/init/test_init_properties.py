"""Whatever stands in the files already: init and undo together change nothing, twice is once, all else stays."""

import json
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_memory.cli.init import clients, jsontext
from tests.unit.cli.init.support import CLIENTS, Desk, desk, json_texts, markdown_texts, toml_texts


@st.composite
def projects(draw):
    """A client, and files as they may be where it looks."""
    client = draw(st.sampled_from(CLIENTS))
    found = {}
    with desk() as made:
        places = clients.fitting(client, made.setup()).places
    for place in places:
        texts = {".json": json_texts(), ".toml": toml_texts()}.get(
            "." + place.relative.rpartition(".")[2], markdown_texts()
        )
        text = draw(st.none() | texts)
        if text is not None:
            found[place.relative] = text
    return client, found


def laid_out(found: dict[str, str], made: Desk) -> None:
    for relative, text in found.items():
        made.write(relative, text)


@pytest.mark.slow
@given(projects(), st.booleans(), st.booleans())
def test_init_and_undo_give_back_the_very_bytes(project, recorded, allowed):
    client, found = project
    with desk() as made:
        laid_out(found, made)
        before = made.tree()
        made.init(client, record=recorded, allow_reading=allowed)
        made.undo(client)
        assert made.tree() == before


@pytest.mark.slow
@given(projects())
def test_init_twice_is_init_once(project):
    client, found = project
    with desk() as made:
        laid_out(found, made)
        made.init(client, allow_reading=True)
        once = made.tree()
        assert made.init(client, allow_reading=True).steps == ()
        assert made.tree() == once


@pytest.mark.slow
@given(projects())
def test_what_others_wrote_before_or_afterwards_stays(project):
    client, found = project
    with desk() as made:
        laid_out(found, made)
        made.init(client, allow_reading=True)
        for relative in found:
            if relative.endswith(".json") and (parsed := parsed_or_none(made.read(relative))) is not None:
                made.write(relative, jsontext.put(made.read(relative), ["afterwards"], 1))
                assert {**parsed_or_none(found[relative]), **parsed}.keys() == parsed.keys()
        made.undo(client)
        for relative, text in found.items():
            before = parsed_or_none(text)
            if relative.endswith(".json") and before is not None:
                assert made.json(relative) == {**before, "afterwards": 1}


@pytest.mark.slow
@given(projects())
def test_without_a_record_nothing_of_ours_is_left_and_nothing_of_others_is_lost(project):
    client, found = project
    with desk() as made:
        laid_out(found, made)
        untouched = {step.shown for step in made.init(client).by_hand}
        made.forget()
        made.undo(client)
        for relative, text in found.items():
            path = made.project / relative
            left = path.read_bytes().decode() if path.exists() else ""
            if any(place.endswith(relative) for place in untouched):
                assert left == text
            elif relative.endswith(".toml"):
                assert tomllib.loads(left.replace("\r\n", "\n")) == tomllib.loads(text.replace("\r\n", "\n"))
            elif not relative.endswith(".json"):
                assert left.split() == text.split()


def parsed_or_none(text):
    try:
        found = json.loads(text.removeprefix("\ufeff")) if text.strip("\ufeff \t\r\n") else {}
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


@pytest.mark.slow
@given(projects(), st.lists(st.booleans(), min_size=1, max_size=3))
def test_whatever_was_recorded_before_the_last_init_decides_and_undo_gives_back_the_very_bytes(project, earlier):
    client, found = project
    with desk() as made:
        laid_out(found, made)
        before = made.tree()
        made.init(client, record=False)
        once = made.tree()
        for recorded in (*earlier, False):
            made.init(client, record=recorded)
        assert made.tree() == once
        made.undo(client)
        assert made.tree() == before
