"""A conversation from its first turn to its deletion: summaries come by the store's put events alone."""

import uuid

import pytest

from tests.e2e.spaces import fresh_space

TOPICS = ("the ferry timetable", "the import at night", "the port of Kiel", "the queue of retries")


@pytest.fixture
def talk(service):
    """A new conversation, and a folder that no other has."""
    with fresh_space(service, 0) as space:
        folder = f"/home/{uuid.uuid4().hex}/./ferry//x/.."
        parameters = {"group_raw_chars": 500, "batch_delay_ms": 0}
        body = {"cwd": folder, "host": "laptop", "title": "Ferries", "parameters": parameters}
        begun = service.send("POST", f"/spaces/{space}/conversations", body)
        assert begun.status == 201, begun
        assert begun.body["cwd"] == folder.replace("/./", "/").replace("//x/..", "")
        yield {"space_id": space, "conversation_id": begun.body["conversation_id"]}, folder


def path_of(talk):
    return "/spaces/{space_id}/conversations/{conversation_id}".format(**talk)


def say(service, talk, number, status=201):
    text = f"What about {TOPICS[number % 4]}? " * 6
    body = {"user_message": text, "assistant_message": f"It is number {number}. " * 6, "message_id": f"m-{number}"}
    answer = service.send("POST", f"{path_of(talk)}/turns", body)
    assert answer.status == status, answer
    return answer.body


def sealed(service, talk, level):
    return [one.number for one in service.conversations.list_summaries(**talk, level=level, state="sealed").items]


def test_turns_are_summarised_by_events_read_in_layers_and_deleted(service, talk):
    talk, folder = talk
    path = path_of(talk)
    turns = [say(service, talk, number) for number in range(4)]
    assert [turn["turn_index"] for turn in turns] == [1, 2, 3, 4]
    assert say(service, talk, 2, 200) == turns[2]

    service.wait_until(lambda: sealed(service, talk, 1), lambda numbers: numbers == [4, 3, 2, 1])
    service.wait_until(lambda: sealed(service, talk, 2), bool)

    (listed,) = service.conversations.list(talk["space_id"], cwd=folder).items
    assert (listed.title, listed.turn_count) == ("Ferries", 4)
    shown = service.conversations.list_turns(**talk, limit=2)
    assert [turn.turn_index for turn in shown.items] == [4, 3]
    older = service.conversations.list_turns(**talk, limit=2, cursor=shown.next_cursor)
    assert [turn.turn_index for turn in older.items] == [2, 1]
    first = next(one for one in service.conversations.list_summaries(**talk, level=1).items if one.number == 1)
    assert (first.covers.turns, first.state) == ([1, 1], "sealed")
    # A job notes its end after the last summary is there.
    jobs = {"space_id": talk["space_id"], "kind": "summaries", "subject": talk["conversation_id"]}
    service.wait_until(
        lambda: {job.status for job in service.jobs.list(**jobs).items},
        lambda status: status == {"done"},
    )
    done = service.send("POST", f"{path}/summaries/update")
    assert (done.status, done.body["status"]) == (200, "nothing_to_do")

    assert service.send("DELETE", path).status == 204
    assert service.send("GET", path).status == 404


def test_an_import_is_repeated_and_rebuilt_with_other_parameters(service, talk):
    talk, _ = talk
    path = path_of(talk)
    items = [
        {"message_id": f"i-{number}", "role": ("user", "assistant")[number % 2], "content": TOPICS[number % 4]}
        for number in range(6)
    ]
    done = service.send("POST", f"{path}/turns", {"items": items}).body
    assert done == {"imported": 6, "repeated": 0, "last_turn": 6, "left": 0}
    assert service.send("POST", f"{path}/turns", {"items": items}).body["repeated"] == 6
    service.wait_until(lambda: sealed(service, talk, 1), bool)

    ordered = service.send("POST", f"{path}/summaries/update", {"strategy": "full", "ratio": 0.3})

    assert ordered.status == 202, ordered
    job = service.ended(ordered.body["job"])
    assert (job.status, job.generation) == ("done", 2)
    assert service.conversations.get(**talk).generation == 2
