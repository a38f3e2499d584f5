"""What becomes of single objects when a note is erased."""

import base64
import json
from datetime import date

from livemem.changes.records import NoteSource, Record
from livemem.erasure.erased import fate
from livemem.erasure.scrubbing import ErasureTask, Fate, pieces_of
from livemem.notes import note as notes
from livemem.notes.stub import is_stub, stub
from livemem.store import keys
from tests.support.cases import each

NOTE = "20260220T140000_ann_progress_00000001"
OTHER = "20260220T140001_bob_progress_00000002"
SECRET = "Alice lives in Paris with cats"
DAY = date(2026, 2, 21)
TASK = ErasureTask("demo", frozenset({NOTE}), pieces_of([SECRET]), DAY)
RECORD = "_consolidations/000001_20260220T140000_20260220T140001.json"


def raw(content: str) -> str:
    return f'---\ntimestamp: "2026-02-20T14:00:00Z"\nagent: "ann"\ntags: ["secret-tag"]\n---\n\n{content}'


def record(*sources: dict, **fields) -> bytes:
    return json.dumps({"number": 1, "notes": list(sources), **fields}).encode()


def body_of(name: str, body: bytes, task: ErasureTask = TASK) -> bytes:
    wanted = fate(name, body, task).body
    assert wanted is not None
    return wanted


@each("name", ["a.json", "bank/a.md", "_runs/x.json", RECORD, "photo.bin", "live/x.txt"])
@each("body", [b"", b"{}", b"[1, 2", b'{"a":  1.50,"b": "x y"}', b"\xff\xfe", b"null", b'{"notes": [1, {"raw": 2}]}'])
def test_what_holds_nothing_of_the_note_stays_byte_for_byte(name, body):
    assert fate(name, body, TASK) == Fate(body)


def test_a_source_becomes_a_stub_and_keeps_fields_of_later_versions():
    body = record({"note_id": NOTE, "raw": raw(SECRET), "later": 1}, unknown={"deep": [f"- {SECRET}!"]})

    after = json.loads(body_of(RECORD, body))

    assert after["notes"][0]["later"] == 1
    assert after["notes"][0]["raw"].encode() == stub("demo", NOTE, DAY)
    assert after["unknown"] == {"deep": ["- [erased]!"]}


@each("name", [RECORD, "_runs/x.json"])
def test_a_warning_loses_the_words_of_an_erased_note_and_others_keep_theirs(name):
    mine = {"kind": "lost_detail", "text": "Nothing of this: Paris.", "word": "Paris", "note": NOTE}
    others = [{**mine, "note": OTHER}, {"kind": "lost_line", "text": "A line goes: Paris", "line": "Paris"}]
    body = json.dumps({"plan": {"warnings": [mine, *others]}}).encode()

    after = json.loads(body_of(name, body))["plan"]["warnings"]

    assert after == [{**mine, "text": "[erased]", "word": "[erased]"}, *others]


def test_a_source_that_is_no_text_becomes_a_stub_as_well():
    bytes_ = b"\xff" + SECRET.encode()
    source = {"note_id": NOTE, "raw": base64.b64encode(bytes_).decode(), "encoding": "base64"}

    (after,) = json.loads(body_of(RECORD, record(source)))["notes"]

    assert NoteSource.model_validate(after).body() == stub("demo", NOTE, DAY)


def test_sources_of_other_notes_stay_and_are_told_if_they_quote_it():
    source = {"note_id": OTHER, "raw": raw(f"Bob: {SECRET}")}

    outcome = fate(RECORD, record(source), TASK)

    assert outcome == Fate(record(source), frozenset({OTHER}))


def test_names_of_fields_are_texts_too():
    assert json.loads(body_of("x/y.json", json.dumps({SECRET: {SECRET: 1}}).encode())) == {"[erased]": {"[erased]": 1}}


def test_half_a_surrogate_pair_stays_what_it_is():
    body = b'{"a": "\\ud800", "b": "' + SECRET.encode() + b'"}'

    assert json.loads(body_of("x.json", body)) == {"a": "\ud800", "b": "[erased]"}


def test_what_is_no_text_is_scrubbed_within_its_other_bytes():
    assert body_of("photo.bin", b"\xff\x00" + SECRET.encode() + b"\x00\xfe") == b"\xff\x00[erased]\x00\xfe"


def test_json_nested_too_deep_to_walk_is_scrubbed_as_a_text():
    body = b"[" * 5_000 + b'"' + SECRET.encode() + b'"' + b"]" * 5_000

    assert SECRET.encode() not in body_of("x.json", body)


def test_a_record_is_still_one_afterwards():
    whole = Record(
        number=1,
        run_id="r",
        uid="u",
        kind="consolidation",
        trigger="api",
        started_at="2026-02-20T14:00:00Z",
        committed_at="2026-02-20T14:00:00Z",
        notes=[NoteSource(note_id=NOTE, raw=raw(SECRET))],
        discarded=[{"note": NOTE, "reason": f"{SECRET}: of no use"}],
    )

    after = Record.from_bytes(body_of(RECORD, whole.to_bytes()))

    assert after.discarded == [{"note": NOTE, "reason": "[erased]: of no use"}]
    assert after.name() == whole.name()


@each(
    ("body", "stays"),
    [
        ({"note_id": NOTE, "body": "x"}, False),
        ({"note_id": OTHER, "body": "x"}, True),
        ([], True),
        ("x", True),
    ],
)
def test_an_idempotency_key_goes_if_it_names_the_note(body, stays):
    assert (fate("_idempotency/abc.json", json.dumps(body).encode(), TASK).body is not None) is stays


def test_a_stub_says_when_and_is_known_again_also_in_another_space():
    body = stub("demo", NOTE, DAY)

    read = notes.parse_note("demo", keys.parse_note_id(NOTE), body)

    assert (read.content, read.tags, read.malformed) == ("Erased on 2026-02-21.", (), False)
    assert is_stub(NOTE, body)
    assert is_stub(NOTE, stub("other", NOTE, DAY))


@each(
    "body",
    [
        raw("Erased on 2026-02-21.").encode(),
        stub("demo", NOTE, DAY) + b" " + SECRET.encode(),
        stub("demo", OTHER, DAY),
        stub("demo", NOTE, DAY).replace(b"2026-02-21", b"2026-02-99"),
        b"Erased on 2026-02-21.",
    ],
)
def test_what_only_looks_like_a_stub_is_none(body):
    assert not is_stub(NOTE, body)
