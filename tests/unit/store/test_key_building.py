"""Every function that builds a key, on whatever names pass their checks: a key stays below the prefix of its kind."""

import inspect
import posixpath
import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from livemem.bank import paths
from livemem.errors import InvalidName
from livemem.llm import embeddings
from livemem.settings import Settings
from livemem.store import ask_keys, conversation_keys, keys, memory_keys, room_keys
from livemem.store.memory_keys import KINDS
from tests.support import hostile
from tests.support.cases import each

MODULES = (
    (keys, ""),
    (conversation_keys, "conversations: "),
    (memory_keys, "memories: "),
    (ask_keys, "asks: "),
    (room_keys, "rooms: "),
)
BUILDERS: dict[str, Callable[..., str]] = {
    f"{prefix}{name}": function
    for module, prefix in MODULES
    for name, function in inspect.getmembers(module, inspect.isfunction)
    if function.__module__ == module.__name__
    and not name.startswith("check_")
    and "space_id" in inspect.signature(function).parameters
    and inspect.signature(function).return_annotation is str
}
"""All that take a space's id."""
PARAMETERS = {name: inspect.signature(build).parameters.keys() for name, build in BUILDERS.items()}
BELOW = {
    "note": "live/",
    "live_keep": "live/",
    "live_prefix": "live/",
    "bank_file": "bank/",
    "bank_keep": "bank/",
    "bank_prefix": "bank/",
    "run": "_runs/",
    "runs_prefix": "_runs/",
    "runs_up_to": "_runs/",
    "plan": "_runs/",
    "review": "_runs/",
    "displaced": "_runs/",
    "record": "_consolidations/",
    "records_prefix": "_consolidations/",
    "records_since": "_consolidations/",
    "idempotency": "_idempotency/",
    "idempotency_prefix": "_idempotency/",
    "started_by_hand": "_runs/",
    "erasure": "_erasures/",
    "erasures_prefix": "_erasures/",
    "search_prefix": "_search/",
    "search_snapshot": "_search/",
    "vectors_prefix": "_vectors/",
    "vectors_of": "_vectors/",
    "segment": "_vectors/",
    "search_order": "_search/forget/",
    **{kind: "conversations/" for kind in BUILDERS if kind.startswith("conversations: ")},
    "conversations: by_cwd": "_by_cwd/",
    **{kind: "_asks/" for kind in BUILDERS if kind.startswith("asks: ")},
    **{kind: "sessions/" for kind in BUILDERS if kind.startswith("asks: session")},
    "conversations: by_cwd_prefix": "_by_cwd/",
    "conversations: user_signals": "_signals/",
    **{kind: "memories/" for kind in BUILDERS if kind.startswith("memories: ")},
    "memories: verdict": "_verdicts/",
    **{kind: "_digests/" for kind in BUILDERS if kind.startswith("rooms: ")},
    **{f"rooms: {kind}": "rooms/" for kind in ("rooms_prefix", "room_prefix", "message", "named")},
    **{f"rooms: {kind}": "_room_ids/" for kind in ("ids_prefix", "message_id")},
}
"""The prefix of its kind; of others the space's own."""
DAY = date(2026, 2, 20)
MOMENT = datetime(2026, 2, 20, 14, tzinfo=UTC)
OUTSIDE = {
    "backups_prefix": "_backups/{}/",
    "backup_prefix": "_backups/{}/",
    "backup_object": "_backups/{}/",
    "manifest": "_backups/{}/",
    "caps_of_space": "_system/caps/spaces/{}.json",
    "exports_prefix": "_exports/{}/",
    "export": "_exports/{}/",
    "export_state": "_exports/{}/",
}
"""Kinds that lie in no space: what a key of theirs begins with, the space's id in it."""

ANY = st.text() | st.text("./\\%2eE-_aZ9~ \x00\n\u2024\uff0e", max_size=12) | st.sampled_from(hostile.PATHS)


def mostly(good: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Good names, such with a piece of something else in them, and anything."""
    spoilt = st.builds(lambda name, at, piece: name[:at] + piece + name[at:], good, st.integers(0, 30), ANY)
    return good | spoilt | ANY


SPACE_IDS = mostly(st.from_regex(keys.SPACE_ID, fullmatch=True))
NOTE_IDS = mostly(st.from_regex(keys.NOTE_ID, fullmatch=True) | st.just("20260220T140000_ann_todo_00000000"))
RUN_IDS = mostly(st.from_regex(keys.RUN_ID, fullmatch=True))
BACKUP_IDS = mostly(st.from_regex(keys.BACKUP_ID, fullmatch=True) | st.just("2026-02-20T02-00-00"))
PATHS = mostly(st.from_regex(r"[a-z.]{1,3}(/[a-z._-]{1,3}){0,3}\.md", fullmatch=True))
MOMENTS = st.datetimes().map(lambda moment: keys.compact_time(moment.replace(tzinfo=UTC)))
NUMBERS = st.integers(0, 10**9)


def text_of(text: str) -> str:
    """The same as text: half a surrogate pair is refused before."""
    return text.encode(errors="replace").decode()


def model_of(text: str) -> str:
    """How the keys name a model of any name."""
    name = text.encode(errors="replace").decode().replace("\0", " ").strip() or "x"
    return embeddings.name(Settings(embeddings_model=name[:200]))


def given_to(kind: str, checked: dict[str, Any]) -> dict[str, Any] | None:
    """What a builder is called with, None where one of its names did not pass. A summary's name is a digest."""
    if kind.startswith("conversations: "):
        checked = checked | {"name": checked["digest"]}
    if kind.startswith("rooms: "):
        # That of a message, as its key was parsed.
        checked = checked | {"name": f"rooms/general/20260220T140000_{str(checked['digest'])[:16]}.json"}
    return {one: checked[one] for one in PARAMETERS[kind]} if PARAMETERS[kind] <= checked.keys() else None


def passes(check: Callable[[str], object], text: str) -> bool:
    try:
        check(text)
    except (InvalidName, paths.BankPathError):
        return False
    return True


@pytest.mark.slow
# Which constants Hypothesis tries depends on what its process has loaded: sometimes most are no ids.
@settings(suppress_health_check=[HealthCheck.filter_too_much])
@given(
    SPACE_IDS,
    NOTE_IDS,
    RUN_IDS,
    PATHS,
    st.from_regex(r"[0-9a-f]{64}", fullmatch=True),
    NUMBERS,
    st.builds(keys.RecordName, NUMBERS, MOMENTS, MOMENTS),
    BACKUP_IDS,
)
@example(
    "a",
    "20260220T140000_ann_todo_00000000",
    "0" * 26,
    ".a/..b/c...md",
    "0" * 64,
    1,
    keys.RecordName(1, "a", "b"),
    "2026-02-20T02-00-00",
)
def test_no_name_that_passes_its_check_makes_a_key_beside_its_kind(
    space_id: str, note_id: str, run_id: str, path: str, digest: str, number: int, name: keys.RecordName, backup_id: str
):
    assume(passes(keys.check_space_id, space_id))
    checked: dict[str, Any] = {"space_id": space_id, "digest": digest, "number": number, "name": name, "day": DAY}
    checked |= {
        "oldest": MOMENT,
        "schema": number,
        "turns": number,
        "dimensions": number,
        "model": model_of(digest + path),
    }
    checked |= {
        "index": number,
        "order": number,
        "version": number,
        "level": 2,
        "created_at": MOMENT,
        "moment": MOMENT,
        "kind": KINDS[number % 3],
    }
    # Whatever they are: in a key they are hashed.
    checked |= {"message_id": text_of(path), "host": text_of(note_id), "cwd": text_of(path), "user": text_of(path)}
    for one in ("conversation_id", "job_id", "order_id", "memory_id"):
        checked |= {one: run_id} if passes(conversation_keys.check_conversation_id, run_id) else {}
    checked |= {"chunk": number % 10_000}
    checked |= {"room": path} if passes(room_keys.check_room, path) else {"room": space_id}
    checked |= {"slot": backup_id} if passes(room_keys.check_slot, backup_id) else {"slot": "20260220T140000"}
    checked |= {"request_id": run_id} if passes(ask_keys.check_request_id, run_id) else {}
    checked |= {"note_id": note_id} if passes(keys.parse_note_id, note_id) else {}
    checked |= {"run_id": run_id} if passes(keys.check_run_id, run_id) else {}
    checked |= {"erasure_id": run_id} if passes(keys.check_run_id, run_id) else {}
    checked |= {"path": path} if passes(paths.check_bank_path, path) else {}
    checked |= {"below": f"bank/{path}"} if passes(paths.check_bank_path, path) else {}
    checked |= {"backup_id": backup_id} if passes(keys.check_backup_id, backup_id) else {}

    for kind, build in BUILDERS.items():
        if arguments := given_to(kind, checked):
            assert_stays(build(**arguments), space_id, kind)


def assert_stays(key: str, space_id: str, kind: str) -> None:
    home = OUTSIDE[kind].format(space_id) if kind in OUTSIDE else f"{space_id}/{BELOW.get(kind, '')}"
    assert key.startswith(home), kind
    assert posixpath.normpath(key) == key.rstrip("/"), kind
    assert posixpath.normpath(f"/bucket/{key}").startswith(f"/bucket/{home}".rstrip("/")), kind
    assert not {"", ".", ".."} & set(key.removesuffix("/").split("/")), kind
    assert re.fullmatch(r"[A-Za-z0-9._/~@-]+", key), kind
    assert kind in OUTSIDE or not key.startswith("_"), kind


def test_every_function_that_builds_a_key_is_tried_with_names_that_pass():
    tried: dict[str, Any] = {
        "space_id": "demo",
        "note_id": "20260220T140000_ann_todo_00000000",
        "run_id": "0" * 26,
        "path": "a/b.md",
        "below": "bank/a/b.md",
        "backup_id": "2026-02-20T02-00-00",
        "erasure_id": "0" * 26,
    }
    tried |= {
        "day": DAY,
        "oldest": MOMENT,
        "digest": "0" * 64,
        "number": 7,
        "schema": 1,
        "turns": 7,
        "dimensions": 384,
        "model": model_of("../Text Embedding"),
        "name": keys.RecordName(7, "20260220T140000", "20260220T140000"),
    }
    tried |= {"conversation_id": "0" * 26, "job_id": "0" * 26, "order_id": "0" * 26, "memory_id": "0" * 26}
    tried |= {
        "index": 7,
        "order": 7,
        "version": 1,
        "level": 2,
        "created_at": MOMENT,
        "moment": MOMENT,
        "kind": "self",
    }
    tried |= {"message_id": "../m", "host": "..", "cwd": "/a/../b", "user": "../u"}
    tried |= {"request_id": "0" * 26, "room": "general", "slot": "20260220T140000", "chunk": 3}

    for kind, build in BUILDERS.items():
        arguments = given_to(kind, tried)
        assert arguments, f"{kind}: say here which of its names are checked, and how"
        assert_stays(build(**arguments), "demo", kind)
    assert BELOW.keys() | OUTSIDE.keys() <= BUILDERS.keys()


@each("text", hostile.NAMES, ids=lambda text: ascii(text[:20]))
def test_a_hostile_name_passes_no_check(text: str):
    for check in (
        keys.check_space_id,
        keys.check_agent,
        keys.check_run_id,
        keys.check_backup_id,
        ask_keys.check_request_id,
        keys.parse_note_id,
        paths.check_bank_path,
        conversation_keys.check_conversation_id,
        conversation_keys.check_index,
        conversation_keys.check_level,
        conversation_keys.check_number,
    ):
        assert not passes(check, text)


def test_the_moment_of_a_note_is_no_place_for_a_path():
    for moment in (datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)):
        assert re.fullmatch(r"[0-9]{8}T[0-9]{6}", keys.compact_time(moment))


@given(ANY | st.text("./a-_\x00\n", max_size=8))
@example("bank/a//b.md")
@example("conversations/")
def test_a_name_that_passes_stays_below_its_space_in_a_bucket_and_in_a_file_system(name: str):
    assume(passes(keys.check_object_name, name))

    assert posixpath.normpath(f"/bucket/demo/{name}").startswith("/bucket/demo/")
    assert 1 <= len(name.encode()) <= keys.OBJECT_NAME_BYTES
    assert not re.search(r"[\x00-\x1f\x7f]", name)


@each("name", ["", "/a", "a/../b", "..", "./a", "a/.", "a\x00", "a\nb", "x" * 901, "\ud800"])
def test_a_name_that_would_not_is_refused(name: str):
    with pytest.raises(InvalidName):
        keys.check_object_name(name)
