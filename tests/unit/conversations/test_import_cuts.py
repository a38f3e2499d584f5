"""Where an import is cut into blocks does not depend on its parts, and not on when a worker looks."""

import json
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from livemem.conversations import log, turn_import
from tests.support import items
from tests.support.talk import Talk

SAID = datetime(2025, 5, 1, 9, tzinfo=UTC)
PAUSES = st.lists(st.sampled_from([1, 60, 1_100, 1_201, 90_000]), min_size=1, max_size=14)


def lines(pauses):
    moment, made = SAID, []
    for number, pause in enumerate(pauses):
        moment += timedelta(seconds=pause)
        one: dict[str, Any] = {"message_id": f"m{number}", "user_message": "u" * 90, "assistant_message": "a" * 40}
        made.append(json.dumps({**one, "client_timestamp": moment.isoformat()}))
    return made


def blocks(said, cuts, waits):
    """The blocks of an import in parts, where a worker looks so many seconds after each."""
    talk = Talk("windows", window_chars=500, min_flush_chars=100, group_chars=100_000)
    ends = [0, *sorted(cuts), len(said)]
    for place, (first, last) in enumerate(pairwise(ends)):
        if first < last:
            drafts = items.drafts("\n".join(said[first:last]))
            turn_import.take_in(talk.process, "demo", talk.id, "ann", drafts)
        if waits:
            talk.world.pass_time(waits[place % len(waits)])
            talk.update()
    log.close(talk.process, "demo", talk.id)
    talk.update()
    return [talk.world.text(f"demo/conversations/{talk.id}/{name}") for name in talk.names("v1/boundaries/l1/")]


@given(PAUSES, st.lists(st.integers(0, 14), max_size=5), st.lists(st.sampled_from([1, 1_300, 200_000]), max_size=3))
def test_the_blocks_of_an_import_are_the_same_in_any_parts_whenever_a_worker_looks(pauses, cuts, waits):
    said = lines(pauses)

    assert blocks(said, [min(cut, len(said)) for cut in cuts], waits) == blocks(said, [], [])


def test_what_arrives_as_it_is_said_ends_by_its_age():
    talk = Talk("windows", window_chars=500, min_flush_chars=100)
    now = talk.world.clock()
    talk.say("u" * 90, "a" * 40, message_id="m", client_timestamp=now.isoformat())
    talk.world.pass_time(1_300)

    talk.update()
    assert len(talk.names("v1/boundaries/l1/")) == 1
