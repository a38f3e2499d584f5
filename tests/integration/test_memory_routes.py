"""Memories over HTTP: what is answered to good requests, to repeats, and to whatever else may be sent."""

import json
import time
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from livemem.memories.memory import CATEGORIES
from livemem.memories.reading import FOUND_MOST
from livemem.memories.storing import BATCH
from livemem.process import Process
from livemem_http import environment
from tests.support.cases import each
from tests.support.policy import BUCKET

SPACE = "/v1/spaces/{space_id}"
ALL = f"{SPACE}/memories"
ONE = f"{ALL}/{{memory_id}}"
NOBODY = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


class Memories:
    """The memories of a space `mine`."""

    def __init__(self, service):
        self.service = service
        service.http("backup", "POST", "/v1/spaces", body={"space_id": "mine", "consolidation_threshold": 0})

    def ask(self, method, route=ALL, **rest):
        answer = self.service.http("memories", method, route, space_id="mine", **rest)
        kind = answer["headers"].get("Content-Type", "")
        body = answer["body"] if "markdown" in kind or not answer["body"] else json.loads(answer["body"])
        return answer["statusCode"], body

    def store(self, content, status=201, *, key=None, token=None, **body):
        rest = {"headers": {"idempotency-key": key}} if key is not None else {}
        rest |= {"token": token} if token else {}
        got, answer = self.ask("POST", body={"content": content, **body}, **rest)
        assert got == status, answer
        return answer

    def get(self, route=ALL, status=200, memory_id=None, token=None, **query):
        rest = {"memory_id": memory_id} if memory_id else {}
        rest |= {"token": token} if token else {}
        got, answer = self.ask("GET", route, query=query, **rest)
        assert got == status, answer
        return answer

    def contents(self, route=ALL, **query):
        return [item["content"] for item in self.get(route, **query)["items"]]

    def token(self, name, *permissions):
        body = {"name": name, "permissions": list(permissions), "space_ids": ["mine"]}
        return json.loads(self.service.http("admin", "POST", "/v1/tokens", body=body)["body"])["token"]

    def fields(self, method, route=ALL, **rest):
        """The fields that a refusal names, in words that are not pydantic's."""
        status, problem = self.ask(method, route, **rest)
        assert status == 422, problem
        assert not any(words in json.dumps(problem) for words in ("Value error", "Input should")), problem
        return [item["field"] for item in problem["errors"]]


@pytest.fixture
def memories(service):
    return Memories(service)


def test_a_memory_is_stored_whole_and_read_again(memories):
    conversation_id, note_id = NOBODY, "20260220T140000_ann_todo_00000000"
    made = memories.store(
        "Ann prefers short answers.",
        category="style",
        subjects=["Ann", "Port  Kiel"],
        ttl="30d",
        source="conversation",
        conversation_id=conversation_id,
        note_id=note_id,
    )

    read = memories.get(ONE, memory_id=made["memory_id"])

    assert {**made, "history": []} == read
    assert (read["kind"], read["category"], read["source"]) == ("fact", "style", "conversation")
    assert (read["subjects"], read["revision"]) == (["ann", "port kiel"], 1)
    assert read["provenance"] == {"author": "admin", "conversation_id": conversation_id, "note_id": note_id}
    # Its source says when it was said, and by whom.
    assert (read["said_at"], read["author"]) == ("2026-02-20T14:00:00Z", "ann")
    life = datetime.fromisoformat(read["expires_at"]) - datetime.fromisoformat(read["created_at"])
    assert life == timedelta(days=30)


def test_the_same_again_is_one_memory_and_what_says_more_stands(memories):
    first = memories.store("Notes are kept in S3.", subjects=["store"])
    again = memories.store("notes are kept in S3", 200, subjects=["s3"])

    assert (again["memory_id"], again["merged_into"]) == (first["memory_id"], first["memory_id"])
    assert (again["by"], again["kept"], again["score"]) == ("text", "former", 1.0)
    assert (again["content"], again["former"]) == ("Notes are kept in S3.", "Notes are kept in S3.")
    assert (again["subjects"], again["revision"]) == (["store", "s3"], 2)
    replaced = memories.store("Notes are kept in S3!", 200, replace=True)
    assert (replaced["kept"], replaced["content"], replaced["former"]) == (
        "new",
        "Notes are kept in S3!",
        first["content"],
    )
    assert len(memories.contents()) == 1


def test_a_repeat_with_its_key_is_answered_as_the_first_and_another_memory_is_refused(memories):
    first = memories.store("Notes are kept in S3.", key="k")
    again = memories.store("Notes are kept in S3.", 200, key="k")

    assert again == {**first, "repeated": True}
    memories.ask("DELETE", ONE, memory_id=first["memory_id"], query={"reason": "x"})
    # Also when it is gone: who repeats wants to know what became of the first.
    assert memories.store("Notes are kept in S3.", 200, key="k")["repeated"]
    assert memories.contents() == []
    body, headers = {"content": "Something else."}, {"idempotency-key": "k"}
    assert memories.fields("POST", body=body, headers=headers) == ["Idempotency-Key"]
    # Another token's key is another one.
    assert memories.store("Something else.", key="k", token=memories.token("ann", "write"))["revision"] == 1
    assert memories.fields("POST", body=body, headers={"idempotency-key": "k" * 201}) == ["Idempotency-Key"]
    assert memories.fields("POST", body=body, headers={"idempotency-key": ""}) == ["Idempotency-Key"]


def test_a_key_of_one_memory_is_none_of_a_batch(memories):
    headers = {"idempotency-key": "k"}
    memories.store("One.", key="0/k")
    memories.store("Two.", key="k/0")

    _, done = memories.ask("POST", ALL, body={"items": [{"content": "Three."}]}, headers=headers)

    assert [item["status"] for item in done["items"]] == [201]


@each(
    ("body", "field"),
    [
        ({}, "content"),
        ({"content": ""}, "content"),
        ({"content": " \n"}, "content"),
        ({"content": None}, "content"),
        ({"content": 1}, "content"),
        ({"content": "x", "kind": "facts"}, "kind"),
        ({"content": "x", "kind": None}, "kind"),
        ({"content": "x", "kind": "self", "category": "understanding"}, "category"),
        ({"content": "x", "kind": "goal", "category": ""}, "category"),
        ({"content": "x", "category": " "}, "category"),
        ({"content": "x", "subjects": "ann"}, "subjects"),
        ({"content": "x", "subjects": ["x"] * 11}, "subjects"),
        ({"content": "x", "subjects": [f"s{number}" for number in range(10_000)]}, "subjects"),
        ({"content": "x", "subjects": ["fine", "a/b"]}, "subjects.1"),
        ({"content": "x", "subjects": [""]}, "subjects.0"),
        ({"content": "x", "subjects": ["x" * 51]}, "subjects.0"),
        ({"content": "x", "subjects": [1]}, "subjects.0"),
        ({"content": "x", "source": "gossip"}, "source"),
        ({"content": "x", "replace": "yes"}, "replace"),
        ({"content": "x", "note_id": "../x"}, "note_id"),
        ({"content": "x", "said_at": "2026-02-30T10:00:00Z"}, "said_at"),
        ({"content": "x", "said_at": 7}, "said_at"),
        ({"content": "x", "author": "a\nb"}, "author"),
        ({"content": "x", "conversation_id": "x" * 1_000}, "conversation_id"),
        ({"content": "x", "colour": "red"}, "colour"),
    ],
)
def test_a_memory_that_is_none_is_refused_by_field_and_nothing_is_stored(memories, body, field):
    assert memories.fields("POST", body=body) == [field]
    assert not [key for key in memories.service.written() if "/memories/" in key or "/memory/" in key]


BAD_TTLS = [
    "",
    "0d",
    "01d",
    "7",
    "d",
    "7D",
    "7 d",
    " 7d",
    "7d\n",
    "-7d",
    "1.5h",
    "10000d",
    "7days",
    "٧d",
    "9999y",
    7,
    True,
]


@pytest.mark.parametrize("ttl", BAD_TTLS)
def test_a_life_that_is_none_is_refused_and_never_taken_for_ever(memories, ttl):
    assert memories.fields("POST", body={"content": "x", "ttl": ttl}) == ["ttl"]
    made = memories.store("x", ttl="1h")
    assert memories.fields("PATCH", ONE, memory_id=made["memory_id"], body={"ttl": ttl}) == ["ttl"]
    assert memories.get(ONE, memory_id=made["memory_id"])["expires_at"] == made["expires_at"]


@pytest.mark.parametrize(("ttl", "life"), [("1m", timedelta(minutes=1)), ("2w", timedelta(weeks=2)), (None, None)])
def test_a_life_is_counted_from_the_request_and_null_is_for_ever(memories, ttl, life):
    made = memories.store("x", ttl=ttl)

    expires = made.get("expires_at")
    assert (expires and datetime.fromisoformat(expires) - datetime.fromisoformat(made["created_at"])) == life


def test_every_category_of_every_kind_is_taken(memories):
    for kind, some in CATEGORIES.items():
        for one in some:
            assert memories.store(f"{kind} {one}", kind=kind, category=one)["category"] == one
    assert memories.store("facts have free ones", category="anything at all")["kind"] == "fact"


def test_a_content_that_is_too_large_is_refused(memories):
    assert memories.ask("POST", body={"content": "x" * 8_001})[0] == 413
    memories.store("x" * 8_000)


def test_what_has_expired_is_found_nowhere(memories, monkeypatch):
    made = memories.store("Ann is away.", ttl="1h", subjects=["ann"])
    memories.store("Ann is in Kiel.")
    later = datetime.now(UTC) + timedelta(hours=2)
    monkeypatch.setattr(environment, "Process", partial(Process, clock=lambda: later))
    memories.service.cold = True

    assert memories.contents() == memories.contents(order="recent") == ["Ann is in Kiel."]
    assert memories.contents(q="Ann is away") == ["Ann is in Kiel."]
    assert memories.contents(subject="ann") == []
    assert memories.ask("PATCH", ONE, memory_id=made["memory_id"], body={"ttl": None})[0] == 404
    assert memories.get(ONE, 404, memory_id=made["memory_id"])["code"] == "memory_not_found"


def test_a_batch_tells_of_each_what_became_of_it(memories):
    memories.store("Two.")
    body = {"items": [{"content": "One."}, {"content": "Two."}, {"content": "Three.", "kind": "goal"}]}
    headers = {"idempotency-key": "b"}

    status, done = memories.ask("POST", ALL, body=body, headers=headers)
    _, again = memories.ask("POST", ALL, body=body, headers=headers)

    assert (status, done["failed"]) == (200, 0)
    assert [(item["index"], item["status"]) for item in done["items"]] == [(0, 201), (1, 200), (2, 201)]
    assert [item["memory"]["content"] for item in done["items"]] == ["One.", "Two.", "Three."]
    assert done["items"][1]["memory"]["merged_into"]
    assert [(item["status"], item["memory"]["repeated"]) for item in again["items"]] == [(200, True)] * 3
    assert len(memories.contents()) == 3
    body["items"][2]["content"] = "Four."
    _, other = memories.ask("POST", ALL, body=body, headers=headers)
    assert (other["failed"], other["items"][2]["status"], other["items"][2]["code"]) == (1, 422, "invalid_request")


def test_a_batch_is_checked_whole_before_the_first_is_stored(memories):
    good = {"content": "x"}
    for wrong, field in (
        ({"content": ""}, "items.1.content"),
        ({"content": "x", "ttl": "soon"}, "items.1.ttl"),
        ({"content": "x", "subjects": ["a", "b,c"]}, "items.1.subjects.1"),
        ({"content": "x", "kind": "self", "category": "x"}, "items.1.category"),
        ({"content": "x", "kind": "dream"}, "items.1.kind"),
    ):
        assert memories.fields("POST", ALL, body={"items": [good, wrong]}) == [field]
    assert memories.fields("POST", ALL, body={"items": []}) == ["items"]
    assert memories.ask("POST", ALL, body={"items": [good] * (BATCH + 1)})[0] == 413
    assert not [key for key in memories.service.written() if "/memories/" in key]


def test_with_everything_the_most_like_a_question_come_first_whatever_their_scores(memories):
    memories.store("The ferry to Kiel leaves at nine.", subjects=["ferry"])
    memories.store("Ann prefers short answers.", subjects=["ann"])
    memories.store("I learn about the ferries.", kind="goal", category="curiosity")

    found = memories.get(q="when does the ferry leave for Kiel", everything="true")

    assert found["ranking"] == "lexical"
    assert found["items"][0]["content"] == "The ferry to Kiel leaves at nine."
    scores = [item["score"] for item in found["items"]]
    assert (len(scores), scores) == (3, sorted(scores, reverse=True))
    assert len(memories.contents(q="ferry", limit="1")) == 1
    assert memories.contents(q="ferry", kind="goal") == ["I learn about the ferries."]
    assert memories.contents(q="ferry", subject="Ann", everything="true") == ["Ann prefers short answers."]
    assert memories.contents(q="ferry", subject="nobody") == []


def test_only_what_answers_a_question_comes_and_an_answer_without_any_says_why(memories):
    memories.store("The port of staging is 8080.", subjects=["staging"])
    memories.store("The port of production is 9443.", subjects=["production"])
    memories.store("Ann prefers short answers.", subjects=["ann"])
    former = memories.store("Ann lives in Lyon.", subjects=["ann"])
    memories.ask("PATCH", ONE, memory_id=former["memory_id"], body={"content": "Ann lives in Nantes."})

    assert memories.contents(q="Which port does staging have?") == ["The port of staging is 8080."]
    # What a memory said before is no answer, and what is about another subject is not asked for.
    assert memories.contents(q="Who lives in Lyon, Ann?") == ["Ann lives in Nantes."]
    assert memories.contents(q="Which port does staging have?", subject="ann") == []
    assert memories.contents(q="Which port does staging have?", limit="1") == ["The port of staging is 8080."]
    nothing = memories.get(q="sourdough bread with butter")
    assert (nothing["items"], nothing["nothing"]) == ([], "below_floor")
    assert memories.get(q="sourdough bread", subject="bob")["nothing"] == "no_match"
    assert len(memories.contents(q="sourdough bread with butter", everything="true")) == 4
    assert "nothing" not in memories.get(q="staging port")


def test_without_a_question_the_newest_come_first(memories):
    for number in range(25):
        memories.store(f"Fact number {number} is of thing {number}.", subjects=["even" if number % 2 == 0 else "odd"])

    found = memories.get()
    recent = memories.contents(order="recent", limit="20")

    assert found["ranking"] == "newest"
    assert not any("score" in item for item in found["items"])
    assert [item["content"] for item in found["items"]] == recent[:10]
    assert recent == [f"Fact number {number} is of thing {number}." for number in range(24, 4, -1)]
    first = memories.get(ALL, order="recent", limit="20")
    rest = memories.get(ALL, order="recent", limit="20", cursor=first["next_cursor"])
    assert [one["content"] for one in rest["items"]] == [f"Fact number {n} is of thing {n}." for n in range(4, -1, -1)]
    assert rest["next_cursor"] is None
    assert memories.contents(subject="even", limit="50") == [
        f"Fact number {number} is of thing {number}." for number in range(24, -1, -2)
    ]
    assert memories.contents(order="recent", kind="goal") == []


@each(
    ("route", "query", "field"),
    [
        (ALL, {"q": " "}, "q"),
        (ALL, {"limit": "0"}, "limit"),
        (ALL, {"limit": str(FOUND_MOST + 1)}, "limit"),
        (ALL, {"kind": "facts"}, "kind"),
        (ALL, {"subject": "a/b"}, "subject"),
        (ALL, {"cursor": "x"}, "cursor"),
        (ALL, {"limit": "many"}, "limit"),
        (ALL, {"cursor": "bm9uZQ"}, "cursor"),
        (ALL, {"order": "best"}, "order"),
        (ALL, {"q": "x", "order": "recent"}, "q"),
        (ALL, {"min_score": "0.5"}, "min_score"),
        (ALL, {"everything": "true"}, "everything"),
        (ALL, {"q": "x", "cursor": "x"}, "q"),
        (f"{ALL}/changes", {"memory_id": "none"}, "memory_id"),
        (f"{ALL}/changes", {"limit": "51"}, "limit"),
        (f"{ALL}/changes", {"cursor": "x"}, "cursor"),
        (f"{ALL}/changes", {"cursor": "ZmFjdC8tMQ"}, "cursor"),
        (f"{ALL}/changes", {"cursor": "ZHJlYW0vMQ"}, "cursor"),
    ],
)
def test_a_query_that_is_none_is_refused(memories, route, query, field):
    assert memories.fields("GET", route, query=query) == [field]


def test_a_correction_changes_what_it_names_and_keeps_what_it_said_before(memories):
    one = memories.store("The port is 8080.", category="network", subjects=["port"], ttl="7d")["memory_id"]

    status, changed = memories.ask("PATCH", ONE, memory_id=one, body={"content": "The port is 9090.", "ttl": None})

    assert (status, changed["content"], changed["revision"]) == (200, "The port is 9090.", 2)
    assert "expires_at" not in changed
    read = memories.get(ONE, memory_id=one)
    assert (read["category"], read["subjects"]) == ("network", ["port"])
    assert [former["content"] for former in read["history"]] == ["The port is 8080."]
    assert memories.ask("PATCH", ONE, memory_id=one, body={"category": None, "subjects": []})[1]["subjects"] == []
    assert "category" not in memories.get(ONE, memory_id=one)


def test_a_memory_says_when_it_was_said_and_by_whom_in_every_answer_and_search_dates_it_so(memories):
    said = {"said_at": "2025-03-01T09:30:00Z", "author": "Inès"}
    made = memories.store("The port is 8080.", said_at="2025-03-01T10:30:00+01:00", author="Inès", key="k")
    one = made["memory_id"]

    assert made.items() >= said.items()
    assert memories.get(ONE, memory_id=one).items() >= said.items()
    assert memories.get(q="port")["items"][0].items() >= said.items()
    markdown = memories.ask("GET", query={"q": "port"}, headers={"accept": "text/markdown"})[1]
    assert ", said 2025-03-01T09:30:00Z, said by admin for Inès] The port is 8080." in markdown
    asked = {"q": "port", "scope": "memories", "until": "2025-04-01T00:00:00Z", "author": "Inès"}
    answer = memories.service.http("search", "GET", f"{SPACE}/search", space_id="mine", query=asked)
    (hit,) = json.loads(answer["body"])["items"]
    assert (hit["time"], hit["author"]) == (said["said_at"], "Inès")
    assert hit["verified_at"][:10] == made["updated_at"][:10]
    # Another time is another memory, for a key too.
    again = {"content": "The port is 8080.", "author": "Inès"}
    assert memories.fields("POST", body=again, headers={"idempotency-key": "k"}) == ["Idempotency-Key"]
    assert "said_at" not in memories.ask("PATCH", ONE, memory_id=one, body={"said_at": None})[1]
    assert memories.ask("PATCH", ONE, memory_id=one, body={"author": "Zoé"})[1]["author"] == "Zoé"
    assert "author" not in memories.ask("PATCH", ONE, memory_id=one, body={"content": "The port is 9090."})[1]
    assert memories.fields("PATCH", ONE, memory_id=one, body={"author": "a\nb"}) == ["author"]


@pytest.mark.parametrize("body", [{}, {"revision": 1}, {"content": None}, {"subjects": None}])
def test_a_correction_of_nothing_is_refused(memories, body):
    one = memories.store("x")["memory_id"]
    assert memories.fields("PATCH", ONE, memory_id=one, body=body) == ["body"]


def test_a_correction_of_what_somebody_else_has_corrected_is_refused_by_its_revision(memories):
    one = memories.store("The port is 8080.")["memory_id"]
    assert memories.ask("PATCH", ONE, memory_id=one, body={"content": "9090", "revision": 1})[0] == 200
    status, problem = memories.ask("PATCH", ONE, memory_id=one, body={"content": "7070", "revision": 1})

    assert (status, problem["code"]) == (409, "precondition_lost")
    assert memories.get(ONE, memory_id=one)["content"] == "9090"


def test_a_deletion_is_taken_back(memories):
    one = memories.store("The port is 8080.")["memory_id"]
    assert memories.fields("DELETE", ONE, memory_id=one) == ["reason"]
    assert memories.fields("DELETE", ONE, memory_id=one, query={"reason": " "}) == ["reason"]

    assert memories.ask("DELETE", ONE, memory_id=one, query={"reason": "It moved."}) == (204, "")
    assert memories.get(ONE, 404, memory_id=one)["code"] == "memory_not_found"
    assert memories.ask("DELETE", ONE, memory_id=one, query={"reason": "It moved."})[0] == 404
    status, back = memories.ask("POST", f"{ONE}/restore", memory_id=one)

    assert (status, back["content"], back["revision"]) == (200, "The port is 8080.", 2)
    assert memories.contents() == ["The port is 8080."]
    # Its answer may have been lost: who asks again is told the same, and nothing is done.
    assert memories.ask("POST", f"{ONE}/restore", memory_id=one) == (200, back)
    status, problem = memories.ask("POST", f"{ONE}/restore", memory_id="0" * 26)
    assert (status, problem["code"]) == (404, "deleted_memory_not_found")


def test_who_stored_it_or_an_admin_deletes_and_restores_a_memory(memories):
    ann, bob = memories.token("ann", "read", "write"), memories.token("bob", "read", "write")
    chief = memories.token("chief", "write", "admin")
    one = memories.store("x", token=ann)["memory_id"]

    def delete(token):
        return memories.ask("DELETE", ONE, memory_id=one, query={"reason": "x"}, token=token)[0]

    def restore(token):
        return memories.ask("POST", f"{ONE}/restore", memory_id=one, token=token)[0]

    assert delete(bob) == 403
    assert (delete(ann), restore(bob), restore(ann)) == (204, 403, 200)
    assert (delete(chief), restore(chief)) == (204, 200)


@pytest.mark.parametrize(
    ("method", "route", "rest"),
    [
        ("POST", ALL, {"body": {"content": "x"}}),
        ("POST", ALL, {"body": {"items": [{"content": "x"}]}}),
        ("PATCH", ONE, {"body": {"content": "x"}}),
        ("DELETE", ONE, {"query": {"reason": "x"}}),
        ("POST", f"{ONE}/restore", {}),
    ],
)
def test_who_only_reads_changes_nothing(memories, method, route, rest):
    one = memories.store("y")["memory_id"]
    rest |= {"memory_id": one} if "{memory_id}" in route else {}
    before = memories.service.written()

    assert memories.ask(method, route, token=memories.token("ann", "read"), **rest)[0] == 403

    assert [key for key in memories.service.written() if "_system" not in key] == [
        key for key in before if "_system" not in key
    ]


@pytest.mark.parametrize("route", [ALL, f"{ALL}/changes", ONE])
def test_who_only_writes_reads_nothing(memories, route):
    path = {"memory_id": NOBODY} if route == ONE else {}
    assert memories.ask("GET", route, token=memories.token("ann", "write"), **path)[0] == 403


def test_what_was_done_is_told_newest_first_page_by_page(memories):
    ann = memories.token("ann", "read", "write")
    one = memories.store("The port is 8080.", token=ann)["memory_id"]
    memories.store("the port is 8080", 200)
    # Of two kinds in one millisecond nobody knows which was first.
    time.sleep(0.002)
    memories.store("Learn about ports.", kind="goal")
    time.sleep(0.002)
    memories.ask("PATCH", ONE, memory_id=one, body={"content": "The port is 9090."})
    memories.ask("PATCH", ONE, memory_id=one, body={"subjects": ["port"]})
    memories.ask("DELETE", ONE, memory_id=one, query={"reason": "It moved."})
    memories.ask("POST", f"{ONE}/restore", memory_id=one)

    told, cursor, pages = [], None, 0
    while cursor or not told:
        page = memories.get(f"{ALL}/changes", limit="2", **({"cursor": cursor} if cursor else {}))
        told, cursor, pages = told + page["items"], page["next_cursor"], pages + 1

    assert pages == 4
    whats = ["restored", "deleted", "corrected", "corrected", "stored", "merged", "stored"]
    assert [item["what"] for item in told] == whats
    assert [item["kind"] for item in told] == ["fact"] * 4 + ["goal"] + ["fact"] * 2
    restored, deleted, subjects, corrected, _, merged, stored = told
    assert (deleted["reason"], deleted["content"]) == ("It moved.", "The port is 9090.")
    assert restored["reason"] == "Brought back: It moved."
    assert (subjects["corrected"], "former" in subjects) == (["subjects"], False)
    assert (corrected["corrected"], corrected["former"]) == (["content"], "The port is 8080.")
    assert (merged["by"], merged["kept"], "former" in merged) == ("text", "former", False)
    assert (stored["author"], merged["author"]) == ("ann", "admin")
    assert [item["number"] for item in memories.get(f"{ALL}/changes", kind="fact", limit="3")["items"]] == [6, 5, 4]
    assert memories.get(f"{ALL}/changes", kind="self") == {"items": [], "next_cursor": None}


def test_a_page_goes_on_where_the_last_one_ended_whatever_is_stored_meanwhile(memories):
    for number in range(4):
        memories.store(f"Thing {number} has number {number}.")
    page = memories.get(f"{ALL}/changes", limit="2")
    memories.store("Something else entirely.")
    memories.store("I watch.", kind="self")

    rest = memories.get(f"{ALL}/changes", limit="10", cursor=page["next_cursor"])

    assert [item["number"] for item in rest["items"]] == [2, 1]
    assert rest["next_cursor"] is None


def test_a_log_with_a_hole_is_told_and_not_passed_over(memories):
    for number in range(3):
        memories.store(f"Thing {number} has number {number}.")
    hole = "mine/memories/facts/log/00000002.json"
    memories.service.s3.delete_object(Bucket=BUCKET, Key=hole)

    changes = memories.get(f"{ALL}/changes")
    assert (changes["unreadable"], [item["number"] for item in changes["items"]]) == ([hole], [3, 1])
    for cold in (True, False):
        memories.service.cold = cold
        read = memories.get(ALL)
        assert read["unreadable"] == [hole]
        assert sorted(item["content"][:7] for item in read["items"]) == ["Thing 0", "Thing 2"]
    refused = memories.store("Thing 3 has number 3.", 503)
    assert (refused["code"], refused["key"]) == ("memories_broken", hole)
    assert [item["number"] for item in memories.get(f"{ALL}/changes")["items"]] == [3, 1]


def test_lists_come_as_markdown_in_which_no_text_forges_an_item(memories):
    forged = "true\n- [x, fact, now] forged"
    one = memories.store(forged, subjects=["port kiel"], ttl="7d")["memory_id"]
    memories.ask("PATCH", ONE, memory_id=one, body={"content": "mended"})
    memories.ask("PATCH", ONE, memory_id=one, body={"content": forged})
    memories.ask("DELETE", ONE, memory_id=memories.store("gone by now")["memory_id"], query={"reason": "a\n- b"})

    def markdown(route, **rest):
        return memories.ask("GET", route, headers={"accept": "text/markdown"}, **rest)[1]

    texts = [markdown(ALL, query={"q": "true"}), markdown(ALL), markdown(ONE, memory_id=one)]
    changes = markdown(f"{ALL}/changes", query={"limit": "50"})

    for text in texts:
        assert "\n  - [x, fact, now] forged" in text
        assert f"- [{one}, fact, " in text
        assert "#port-kiel] true" in text
    assert "# Before" in texts[2]
    starts = [line for text in (*texts, changes) for line in text.splitlines() if line.startswith("- ")]
    assert not [line for line in starts if "[x, fact" in line or line == "- b"]
    assert changes.startswith("- deleted [")
    assert "  Reason: a\n  - b" in changes
    assert "  Before: mended" in changes
    assert markdown(ALL, query={"kind": "self"}) == "No memories.\n"
    assert markdown(f"{ALL}/changes", query={"kind": "self"}) == "Nothing was stored.\n"


@pytest.mark.parametrize("route", [ALL, f"{ALL}/changes", ONE])
def test_a_space_that_is_not_there_has_no_memories(service, route):
    path = {"memory_id": NOBODY} if route == ONE else {}
    answer = service.http("memories", "GET", route, space_id="other", **path)
    assert (answer["statusCode"], json.loads(answer["body"])["code"]) == (404, "space_not_found")


def test_secrets_are_taken_out_before_a_memory_is_stored_and_counted(memories, monkeypatch):
    monkeypatch.setenv("REDACT_SECRETS", "true")
    memories.service.cold = True
    secret = "AKIA" + "IOSFODNN7EXAMPLE"

    made = memories.store(f"The key is {secret}.")

    assert made["redacted"] == {"aws": 1}
    written = [key for key in memories.service.written() if "/memories/" in key]
    assert written
    for key in written:
        assert secret.encode() not in memories.service.s3.get_object(Bucket=BUCKET, Key=key)["Body"].read()
