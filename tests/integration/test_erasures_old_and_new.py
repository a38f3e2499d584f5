"""Each old way to erase does what its new form does: the same answer, and the same bucket."""

from typing import Any

import pytest

from tests.support import damaged
from tests.support.damaged import SPACE, Whole

ERASE = f"POST {SPACE}/erasures"
OF_NOTE, OF_AGENT = f"DELETE {SPACE}/notes/{{note_id}}", f"DELETE {SPACE}/notes"
OF_MEMORY = f"POST {SPACE}/memories/{{memory_id}}/erase"
OF_TURN = f"POST {SPACE}/conversations/{{conversation_id}}/turns/{{turn_index}}/erase"


@pytest.fixture(scope="module")
def whole() -> Whole:
    return damaged.built()


def outcome(monkeypatch: pytest.MonkeyPatch, whole: Whole, route: str, ids: dict[str, str], **rest: Any) -> Any:
    agents, one = damaged.opened(monkeypatch, whole)
    first = damaged.http(agents, "archives", route, ids, **rest)
    again = damaged.http(agents, "archives", route, ids, **rest)
    one.world.settle()
    late = damaged.http(agents, "archives", route, ids, **rest)
    objects = {key: item.body for key, item in one.world.inner.objects.items() if not key.startswith("_system/")}
    return first, again, late, objects


def test_each_old_way_to_erase_does_what_its_new_form_does(whole: Whole, monkeypatch: pytest.MonkeyPatch):
    ids, confirmed = whole.ids, {"erase": "true"}
    turn = f"{ids['conversation_id']}/2"
    pairs: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
        (OF_NOTE, {"query": confirmed}, {"ids": [ids["note_id"]]}),
        (OF_AGENT, {"query": {**confirmed, "agent": "ann"}}, {"agent": "ann"}),
        (OF_AGENT, {"query": {**confirmed, "agent": "nobody"}}, {"agent": "nobody"}),
        (OF_MEMORY, {}, {"ids": [ids["memory_id"]]}),
        (OF_TURN, {}, {"ids": [turn]}),
    ]
    for old, rest, body in pairs:
        before = outcome(monkeypatch, whole, old, ids, **rest)
        after = outcome(monkeypatch, whole, ERASE, ids, body=body)
        assert before[:3] == after[:3], (old, before[:3], after[:3])
        assert before[3].keys() == after[3].keys(), old
        assert {key for key, item in before[3].items() if after[3][key] != item} == set(), old
        assert before[0][0] == (404 if body.get("agent") == "nobody" else 200), before[0]


def test_what_no_old_way_knows_no_new_form_knows(whole: Whole, monkeypatch: pytest.MonkeyPatch):
    unknown = {
        "note_id": "20260220T140000_ann_todo_00000000",
        "memory_id": "01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "turn_index": "77",
        "conversation_id": whole.ids["conversation_id"],
    }
    turn = f"{unknown['conversation_id']}/77"
    for old, query, item in (
        (OF_NOTE, {"erase": "true"}, unknown["note_id"]),
        (OF_MEMORY, None, unknown["memory_id"]),
        (OF_TURN, None, turn),
    ):
        before = outcome(monkeypatch, whole, old, unknown, query=query)
        after = outcome(monkeypatch, whole, ERASE, unknown, body={"ids": [item]})
        assert before == after
        assert before[0][0] == 404
