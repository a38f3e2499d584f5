"""What `livemem import` brings, over the client and real HTTP, into the functions: twice, interrupted, and in parts."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import unquote, urlsplit

import httpx
import pytest

from live_memory import Client, LiveMemoryError
from live_memory.cli.imports import placing, running, sending, talks
from live_memory.cli.imports.running import Order
from tests.support import front
from tests.support.part import part
from tests.support.policy import BUCKET
from tests.support.service import Service
from tests.support.sources import OLD_SPACE, chat_zip, chatgpt_chat, claude_chat, old_bucket, write
from tests.support.world import BOOTSTRAP_KEY
from tests.unit.imports.test_found_items import CLAUDE_MD, COFFEE, MEM0, SESSION, session_lines


class Web:
    """The store as a URL reaches it; it fails as often as it is told to."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.failures: list[int] = []
        self.puts: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        request.read()
        self.puts.append(request)
        if self.failures:
            return httpx.Response(self.failures.pop(0))
        key = unquote(urlsplit(str(request.url)).path).removeprefix(f"/{BUCKET}").removeprefix("/")
        self.service.s3.put_object(Bucket=BUCKET, Key=key, Body=request.content)
        return httpx.Response(200)


@pytest.fixture
def web(service: Service) -> Web:
    return Web(service)


@pytest.fixture
def client(service: Service) -> Iterator[Client]:
    with front.opened(service) as door, Client(f"http://127.0.0.1:{door.port}", BOOTSTRAP_KEY) as made:
        yield made


@pytest.fixture
def world(client: Client, web: Web) -> Iterator[running.World]:
    with httpx.Client(transport=httpx.MockTransport(web)) as opened:
        yield running.World(client, opened, sleep=lambda _: None)


def bring(world: running.World, path: Path, space_id: str | None = None, **order):
    wanted = Order(path, space_id, **order)
    source = running.look(wanted)
    if source.kind == "chats":
        planned = running.plan(source, wanted, datetime.now(UTC)).talk
        assert planned
        return running.talk(world, source, wanted, planned)
    with running.packed(source, wanted, "ann") as parcels:
        return running.send_all(world, parcels, wanted)


def turns(client: Client, space_id: str = "demo") -> list[list[tuple[str, str]]]:
    """What was said in each conversation of a space."""
    found = []
    for item in client.pages("list_conversations", {"space_id": space_id}):
        at = {"space_id": space_id, "conversation_id": item["conversation_id"], "order": "oldest"}
        said = client.call("list_turns", at)["items"]
        found.append([(turn.get("user_message", ""), turn.get("assistant_message", "")) for turn in said])
    return sorted(found)


@pytest.fixture
def space(client: Client) -> str:
    client.call("create_space", {"space_id": "demo"})
    return "demo"


def test_conversations_come_with_their_times_and_a_repeat_imports_nothing_twice(world, client, space, tmp_path):
    path = chat_zip(tmp_path / "export.zip", [claude_chat(), chatgpt_chat()])
    first = bring(world, path, space)
    there = turns(client)
    assert (first.conversations, first.begun, first.imported, first.repeated) == (2, 2, 4, 0)
    again = bring(world, path, space)
    assert (again.begun, again.imported, again.repeated) == (0, 0, 4)
    assert turns(client) == there
    assert [len(said) for said in there] == [2, 2]
    (item, _) = sorted(client.pages("list_conversations", {"space_id": space}), key=lambda one: one["title"])[::-1]
    first_turn = client.call(
        "list_turns", {"space_id": space, "conversation_id": item["conversation_id"], "order": "oldest"}
    )["items"][0]
    assert (item["title"], first_turn["client_timestamp"][:19]) == ("The import", "2026-02-20T14:01:00")


def test_of_a_later_export_only_what_is_new_comes(world, client, space, tmp_path):
    bring(world, chat_zip(tmp_path / "one.zip", [claude_chat()]), space)
    longer = claude_chat()
    longer["chat_messages"] += [
        {
            **longer["chat_messages"][0],
            "uuid": "m-5",
            "parent_message_uuid": "m-4",
            "created_at": "2026-02-21T14:00:00Z",
        }
    ]
    report = bring(world, chat_zip(tmp_path / "two.zip", [longer, claude_chat("c-2")]), space)
    assert (report.begun, report.imported, report.repeated) == (1, 3, 2)


class Interrupted(Exception):
    pass


@pytest.mark.slow
@pytest.mark.parametrize("after", part(range(8), 3))
def test_an_import_that_dies_after_any_request_is_finished_by_a_repeat(world, client, space, tmp_path, after):
    path = chat_zip(tmp_path / "export.zip", [claude_chat(), chatgpt_chat()])
    left = [after]

    class Dying:
        def call(self, name, arguments, *, idempotency_key=None):
            assert idempotency_key is None, "conversations are known by their folders"
            return self._do(client.call, name, arguments)

        def _do(self, operation, *arguments):
            answer = operation(*arguments)
            if not left[0]:
                raise Interrupted
            left[0] -= 1
            return answer

    with pytest.raises(Interrupted):
        bring(running.World(Dying(), world.web, world.sleep), path, space)
    bring(world, path, space)
    assert [len(said) for said in turns(client)] == [2, 2]


def test_lines_that_there_was_no_time_for_are_sent_again(world, client, space, tmp_path):
    sent = []

    class Slow:
        def call(self, name, arguments, **rest):
            if name != "append_turn":
                return client.call(name, arguments, **rest)
            sent.append(len(arguments["items"]))
            answer = client.call(name, {**arguments, "items": arguments["items"][:1]})
            return {**answer, "left": len(arguments["items"]) - 1}

    report = bring(running.World(Slow(), world.web, world.sleep), chat_zip(tmp_path / "e.zip", [claude_chat()]), space)
    assert (sent, report.imported, [len(said) for said in turns(client)]) == ([2, 1], 2, [2])


def test_a_conversation_that_is_unfit_is_told_and_the_others_come(world, client, space, tmp_path):
    bad = claude_chat("c-9", chat_messages="none")
    path = chat_zip(tmp_path / "export.zip", [bad, claude_chat(), claude_chat(), {"x": 1}, claude_chat("c-2", name=7)])
    report = bring(world, path, space)
    assert [line.partition(", ")[2] for line in report.left_out] == [
        "conversation 1 has no list of messages.",
        "conversation 3 has the id of an earlier one.",
        "conversation 4 is not a conversation of Claude or ChatGPT.",
    ]
    assert (report.imported, report.complete) == (4, False)


def test_what_one_conversation_is_refused_for_does_not_stop_the_others(world, client, space, tmp_path):
    bring(world, chat_zip(tmp_path / "one.zip", [claude_chat()]), space)
    other = claude_chat()
    other["chat_messages"][0]["content"][0]["text"] = "The same id, other words."
    report = bring(world, chat_zip(tmp_path / "two.zip", [other, chatgpt_chat()]), space)
    assert ("refused" in report.left_out[0], report.imported) == (True, 2)


def test_conversations_into_a_space_that_is_not_there_are_refused_as_a_whole(world, client, tmp_path):
    with pytest.raises(LiveMemoryError) as caught:
        bring(world, chat_zip(tmp_path / "e.zip", [claude_chat()]), "nowhere")
    assert caught.value.status == 404


def test_an_export_of_this_service_becomes_the_space_that_it_was(world, client, service, web, space, tmp_path):
    client.call("append_note", {"space_id": space, "category": "todo", "content": "One"})
    key = unquote(
        urlsplit(client.call("create_export", {"space_id": space})["result"]["archives"][0]["url"]).path
    ).removeprefix(f"/{BUCKET}")
    path = tmp_path / "demo.tar.gz"
    path.write_bytes(service.s3.get_object(Bucket=BUCKET, Key=key.removeprefix("/"))["Body"].read())
    (report,) = bring(world, path, "copy")
    assert (report.outcome, report.notes) == ("imported", 1)
    (note,) = client.pages("list_notes", {"space_id": "copy"})
    assert note["content"] == "One"
    assert not {"authorization", "transfer-encoding"} & set(web.puts[-1].headers)
    assert int(web.puts[-1].headers["content-length"]) == path.stat().st_size


def test_a_folder_of_markdown_becomes_the_bank_of_a_new_space(world, client, tmp_path):
    path = write(tmp_path / "bank", {"a.md": "# A\n", "b/active context.md": "# B\n", "c.png": "x", ".git/d.md": "x"})
    (report,) = bring(world, path, "fresh", description="Of Cline.", rules="Keep it short.")
    assert client.call("get_bank_file", {"space_id": "fresh", "path": "b/active-context.md"})["content"] == "# B\n"
    assert client.call("get_space", {"space_id": "fresh"})["description"] == "Of Cline."
    assert (report.bank_files, report.not_taken, len(report.changed)) == (2, {"files that are not Markdown": 1}, 1)


def test_a_bucket_of_the_known_implementation_comes_with_all_its_spaces_and_a_repeat_changes_nothing(
    world, client, service, tmp_path
):
    path = old_bucket(tmp_path / "bucket")
    first = bring(world, path)
    assert [(report.space_id, report.outcome) for report in first] == [("alpha", "imported"), ("beta", "imported")]
    there = [key for key in service.written() if not key.startswith("_uploads/")]
    again = bring(world, path)
    assert [report.outcome for report in again] == ["exists_already", "exists_already"]
    assert [key for key in service.written() if not key.startswith("_uploads/")] == there
    summary = client.markdown("get_summary", {"space_id": "alpha"})
    assert "We take S3." in summary
    assert "import" in summary


@pytest.mark.parametrize("failures", [[500], [503, 500]])
def test_a_store_that_fails_for_a_while_gets_the_archive_again(world, client, web, tmp_path, failures):
    web.failures = list(failures)
    (report,) = bring(world, write(tmp_path / "alpha", OLD_SPACE))
    assert (report.outcome, len(web.puts)) == ("imported", len(failures) + 1)
    assert len({request.content for request in web.puts}) == 1


@pytest.mark.parametrize("failures", [[403], [500, 500, 500]])
def test_a_store_that_does_not_take_the_archive_is_told_and_nothing_is_imported(world, client, web, tmp_path, failures):
    web.failures = list(failures)
    with pytest.raises(LiveMemoryError) as caught:
        bring(world, write(tmp_path / "alpha", OLD_SPACE))
    assert caught.value.code == "upload_failed"
    assert not list(client.pages("list_spaces", {}))


def test_sessions_of_claude_code_come_once_with_their_words_and_times(world, client, space, tmp_path):
    projects = write(tmp_path / "projects", {"-home-ines-ferry/s-1.jsonl": session_lines(SESSION)})

    first = bring(world, projects, space)
    again = bring(world, projects, space)

    assert (first.imported, first.begun, again.imported, again.repeated) == (2, 1, 0, 2)
    assert turns(client) == [
        [
            ("Why does the import fail? The key is [redacted:openai]", "I look.\n\nPort Kiel answers 503."),
            ("And by day?", ""),
        ]
    ]
    (item,) = client.pages("list_conversations", {"space_id": space})
    at = {"space_id": space, "conversation_id": item["conversation_id"], "order": "oldest"}
    assert client.call("list_turns", at)["items"][0]["client_timestamp"].startswith("2026-02-20T14:01:00")
    assert item["title"] == "The import fails at night"


def test_notes_and_memories_of_other_tools_come_once_also_from_another_machine(world, client, space, tmp_path):
    top = write(tmp_path, {"CLAUDE.md": CLAUDE_MD, "mem0.json": json.dumps(MEM0), "basic/coffee.md": COFFEE})

    for machine in ("one", "two"):
        for name in ("CLAUDE.md", "mem0.json", "basic"):
            source = running.look(Order(top / name, space))
            sent = placing.Sent.of(tmp_path / machine, client.url, space, "uid")
            report = running.place(world, running.items_of(source, datetime.now(UTC)), space, sent)
            assert [line for line in report.left_out if "refused" in line] == []

    notes = list(client.pages("list_notes", {"space_id": space}))
    assert len(notes) == 4
    (coffee,) = (one for one in notes if "Coffee" in one["content"])
    assert (coffee["said_at"], coffee["tags"]) == ("2026-01-05T08:30:00Z", ["brewing", "hot-drinks"])
    memories = client.call("search_memories", {"space_id": space})["items"]
    told = {(one.get("said_at"), one.get("author"), *one["subjects"]) for one in memories}
    assert told == {("2026-02-20T14:00:00Z", "lea", "ines", "lea", "code-style"), (None, None, "ines", "reviewer")}


def test_a_memory_with_an_end_ends_in_the_service_too_and_a_second_machine_adds_none(world, client, space, tmp_path):
    row = {"id": "q", "memory": "The quay is closed", "expiration_date": "2099-01-01"}
    source = running.look(Order(write(tmp_path, {"mem0.json": json.dumps([row])}) / "mem0.json", space))

    # Weeks apart, so that the time to live that is sent is another one.
    for machine, now in enumerate((datetime(2026, 2, 1, tzinfo=UTC), datetime(2026, 2, 20, tzinfo=UTC))):
        sent = placing.Sent.of(tmp_path / str(machine), client.url, space, "uid")
        report = running.place(world, running.items_of(source, now), space, sent)
        assert report.left_out == []

    (memory,) = client.call("search_memories", {"space_id": space})["items"]
    assert memory["expires_at"] > "2099-01-01"


def test_a_folder_of_markdown_keeps_its_front_matter_in_the_bank(world, client, tmp_path):
    folder = write(tmp_path / "m", {"quay.md": "---\nname: quay\ntype: place\n---\n\n# Quay\n\nFour.\n"})

    (report,) = bring(world, folder, "harbour")

    assert (report.outcome, report.changed) == ("imported", ["quay.md has its front matter as a block of code."])
    text = client.call("get_bank_file", {"space_id": "harbour", "path": "quay.md"})["content"]
    assert text == "```yaml\nname: quay\ntype: place\n```\n\n# Quay\n\nFour.\n"


class Forgetful:
    """A service whose answers to one operation are lost."""

    def __init__(self, client: Client, name: str) -> None:
        self.client, self.name = client, name

    def call(self, name, arguments, *, idempotency_key=None):
        answer = self.client.call(name, arguments, idempotency_key=idempotency_key)
        if name == self.name:
            raise LiveMemoryError("no_answer", "The answer was lost.")
        return answer


def test_an_import_whose_answer_was_lost_is_found_to_be_there(world, client, tmp_path):
    forgetful = running.World(Forgetful(client, "create_space"), world.web, world.sleep)
    (report,) = bring(forgetful, write(tmp_path / "alpha", OLD_SPACE))
    assert report.outcome == "imported"


def test_a_conversation_whose_beginning_had_no_answer_is_begun_once(world, client, space, tmp_path):
    forgetful = running.World(Forgetful(client, "create_conversation"), world.web, world.sleep)
    report = bring(forgetful, chat_zip(tmp_path / "e.zip", [claude_chat()]), space)
    assert (report.imported, len(turns(client))) == (2, 1)


def test_of_two_conversations_that_were_begun_at_once_the_first_one_is_taken(world, client, space, tmp_path):
    place = {"space_id": space, "cwd": "/imported/claude.ai/c-1", "host": "claude.ai"}
    begun = [client.call("create_conversation", place)["conversation_id"] for _ in range(2)]
    report = bring(world, chat_zip(tmp_path / "e.zip", [claude_chat()]), space)
    assert report.begun == 0
    assert client.call("get_conversation", {"space_id": space, "conversation_id": min(begun)})["turn_count"] == 2


def test_a_space_that_is_there_is_never_touched(world, client, tmp_path):
    client.call("create_space", {"space_id": "alpha"})
    with pytest.raises(LiveMemoryError) as caught:
        bring(world, write(tmp_path / "alpha", OLD_SPACE))
    assert caught.value.code == "space_exists"
    assert not list(client.pages("list_notes", {"space_id": "alpha"}))


def test_a_long_import_is_waited_for_and_a_failed_one_is_told(client, world, tmp_path):
    answers = [
        {"job": "x", "status": "running"},
        {"status": "failed", "error": {"code": "x", "detail": "It is damaged."}},
    ]
    waited = []

    class Service:
        def call(self, name, arguments, *, idempotency_key=None):
            if name == "create_space":
                return {"job": "x", "status": "running"}
            return client.call(name, arguments) if name == "create_upload" else answers.pop(0)

    (tmp_path / "x").write_bytes(b"archive")
    with (tmp_path / "x").open("rb") as archive:
        job = sending.send(Service(), world.web, [archive], "x", {}, waited.append)
    assert (job["error"]["detail"], waited) == ("It is damaged.", [sending.POLL_SECONDS] * 2)


def test_requests_stay_below_what_the_service_takes(monkeypatch, world, client, space, tmp_path):
    monkeypatch.setattr(talks, "BODY_BYTES", 300)
    monkeypatch.setattr(talks, "BODY_ITEMS", 2)
    bodies = []

    class Watched:
        def call(self, name, arguments, **rest):
            if name == "append_turn":
                bodies.append(arguments["items"])
            return client.call(name, arguments, **rest)

    bring(running.World(Watched(), world.web, world.sleep), chat_zip(tmp_path / "e.zip", [claude_chat()]), space)
    assert len(bodies) == 2
    assert bodies[0][0]["message_id"] == "m-1:m-2"
