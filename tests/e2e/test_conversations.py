"""A conversation from its first turn to its deletion: summaries come by the store's put events alone."""

import json
import uuid

import pytest

from tests.e2e.spaces import fresh_space

TOPICS = ("the ferry timetable", "the import at night", "the port of Kiel", "the queue of retries")


@pytest.fixture
def talk(service):
    """The path of a new conversation, and a folder that no other has."""
    with fresh_space(service, 0) as space:
        folder = f"/home/{uuid.uuid4().hex}/./ferry//x/.."
        parameters = {"group_raw_chars": 500, "batch_delay_ms": 0}
        body = {"cwd": folder, "host": "laptop", "title": "Ferries", "parameters": parameters}
        begun = service.call("POST", f"/spaces/{space}/conversations", body)
        assert begun.status == 201, begun
        assert begun.body["cwd"] == folder.replace("/./", "/").replace("//x/..", "")
        yield f"/spaces/{space}/conversations/{begun.body['conversation_id']}", folder


def say(service, path, number, status=201):
    text = f"What about {TOPICS[number % 4]}? " * 6
    body = {"user_message": text, "assistant_message": f"It is number {number}. " * 6, "message_id": f"m-{number}"}
    answer = service.call("POST", f"{path}/turns", body)
    assert answer.status == status, answer
    return answer.body


def sealed(service, path, level):
    return [item["number"] for item in service.get(f"{path}/summaries?level={level}&state=sealed")["items"]]


def test_turns_are_summarised_by_events_read_in_layers_and_deleted(service, talk):
    path, folder = talk
    turns = [say(service, path, number) for number in range(4)]
    assert [turn["turn_index"] for turn in turns] == [1, 2, 3, 4]
    assert say(service, path, 2, 200) == turns[2]

    service.wait_until(lambda: sealed(service, path, 1), lambda numbers: numbers == [4, 3, 2, 1])
    service.wait_until(lambda: sealed(service, path, 2), bool)

    (listed,) = service.get(f"{path.rpartition('/')[0]}?cwd={folder}")["items"]
    assert (listed["title"], listed["turn_count"]) == ("Ferries", 4)
    shown = service.get(f"{path}/turns?limit=2")
    assert [turn["turn_index"] for turn in shown["items"]] == [4, 3]
    older = service.get(f"{path}/turns?limit=2&cursor={shown['next_cursor']}")
    assert [turn["turn_index"] for turn in older["items"]] == [2, 1]
    first = next(item for item in service.get(f"{path}/summaries?level=1")["items"] if item["number"] == 1)
    assert (first["covers"], first["state"]) == ({"turns": [1, 1]}, "sealed")
    # A job notes its end after the last summary is there.
    service.wait_until(
        lambda: {job["status"] for job in service.get(f"{path}/jobs")["items"]}, lambda status: status == {"done"}
    )
    done = service.call("POST", f"{path}/summaries/update")
    assert (done.status, done.body["status"]) == (200, "nothing_to_do")

    assert service.call("DELETE", path).status == 204
    assert service.call("GET", path).status == 404


def test_an_import_is_repeated_and_rebuilt_with_other_parameters(service, talk):
    path, _ = talk
    lines = [
        json.dumps(
            {"message_id": f"i-{number}", "role": ("user", "assistant")[number % 2], "content": TOPICS[number % 4]}
        )
        for number in range(6)
    ]
    sent = "\r\n".join(lines).encode()
    assert service.call("POST", f"{path}/import", raw=sent, Content_Type="application/x-ndjson").body == {
        "imported": 6,
        "repeated": 0,
        "last_turn": 6,
        "left": 0,
    }
    assert service.call("POST", f"{path}/import", raw=sent).body["repeated"] == 6
    service.wait_until(lambda: sealed(service, path, 1), bool)

    ordered = service.call("POST", f"{path}/summaries/update", {"strategy": "full", "ratio": 0.3})

    assert ordered.status == 202, ordered
    job = service.wait_until(
        lambda: service.get(ordered.headers["location"].removeprefix("/v1")),
        lambda job: job["status"] in ("done", "failed"),
    )
    assert (job["status"], job["generation"]) == ("done", 2)
    assert service.get(path)["generation"] == 2
