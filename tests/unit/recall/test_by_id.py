"""One thing by its id: what each kind costs, its form over HTTP, and its pages."""

import json

from hypothesis import given
from hypothesis import strategies as st

from livemem.memories import storing
from livemem.memories.memory import MemoryDraft
from livemem.recall import by_id
from livemem.recall.by_id import ReadRequest, TextPlace
from livemem.store import cursors
from livemem_http.views.read import ReadView, read_as_markdown
from tests.support.talk import Talk
from tests.support.world import ScriptedLlm

LOG = "# Log\n\n## A\n\n- apples\n"
COSTS = {
    "rules": {"GET": 2},
    "synthesis": {"GET": 2},
    "bank": {"GET": 1, "LIST": 1},
    "bank/log.md": {"GET": 2},
    "bank/log.md#Log > A": {"GET": 3},
    "live": {"GET": 3, "LIST": 1},
    "consolidated": {"GET": 3, "LIST": 1},
    "memory": {"GET": 2, "LIST": 6},
    "turn": {"GET": 5, "LIST": 1},
    "summary": {"GET": 5, "LIST": 1},
}


def test_each_kind_is_read_with_the_requests_that_the_call_says():
    talk = Talk()
    world = talk.world
    folded = world.note("apples")
    world.llm = ScriptedLlm()
    file = {"filename": "log.md", "action": "created", "content": LOG, "notes": [1]}
    world.llm.queue.append(json.dumps({"bank_files": [file], "synthesis": "x"}))
    world.consolidate()
    world.llm = talk.llm  # type: ignore[assignment]
    live = world.note("pears")
    fact = storing.store(world.process, "demo", "ann", MemoryDraft("The store is S3.")).memory
    for said in ("one", "two", "three"):
        talk.say(said, f"{said} it is")
    talk.update()
    ids = {
        "live": f"notes/{live.note_id}",
        "consolidated": f"notes/{folded.note_id}",
        "memory": f"memories/{fact.memory_id}",
        "turn": f"conversations/{talk.id}/turns/2",
        "summary": f"conversations/{talk.id}/summaries/1/1",
    }

    costs, views = {}, {}
    for name in COSTS:
        process = world.new_process()
        wanted = ReadRequest.of(ids.get(name, name))
        views[name] = ReadView.of(wanted, by_id.read(process, "demo", wanted))
        costs[name] = {verb: count for verb, count in world.client.counts.items() if count}
        if name == "bank/log.md#Log > A":
            world.client.reset()
            by_id.read(process, "demo", wanted)
            assert world.client.counts == {"GET": 1}

    assert costs == COSTS
    assert {view.kind for view in views.values()} == {
        *("rules", "synthesis", "bank", "file", "section", "note", "memory", "turn", "summary")
    }
    assert {name for name, view in views.items() if view.verified_at} == {"bank/log.md#Log > A", "memory"}
    assert views["memory"].verified_at == fact.updated_at


@given(
    st.text(st.sampled_from("ab \n"), min_size=1, max_size=4_000),
    st.integers(by_id.CHARS_LEAST, 1_000),
    st.sampled_from([None, "2026-02-20T14:00:00Z"]),
)
def test_pages_are_the_whole_text_and_never_longer_than_asked(text: str, most: int, verified_at: str | None):
    thing = by_id.Thing("section", text, verified_at)
    whole, cursor, pages = "", None, 0
    while True:
        view = ReadView.of(ReadRequest.of("x", max_chars=most, cursor=cursor), thing)
        assert len(read_as_markdown(view)) <= most
        whole, cursor, pages = whole + view.text, view.next_cursor, pages + 1
        assert view.chars == len(whole) + view.remaining
        if cursor is None:
            break
    assert whole == text.strip("\n") + "\n"
    assert pages <= 1 + len(text) // (most // 2 - by_id.NOTICE_CHARS)


@given(st.text(max_size=60))
def test_what_is_no_place_is_no_place(told: str):
    try:
        place = TextPlace.parse(told)
    except ValueError:
        return
    assert cursors.decode_with(TextPlace.parse, cursors.encode(f"{place.offset}/{place.text}")) == place
