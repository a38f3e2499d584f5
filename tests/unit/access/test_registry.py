"""The registry of tokens: a cache of 30 s, asked again by ETag, changed by compare-and-swap alone."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from livemem.access import decision, look_rate
from livemem.access import registry as registries
from livemem.access.principal import Principal
from livemem.access.registry import Registry, Token
from livemem.errors import Busy, Forbidden, PreconditionLost, RegistryUnreadable, TooSoon, Unauthenticated
from livemem.spaces import head as heads
from livemem.spaces import lifecycle
from livemem.spaces.lifecycle import SpaceRequest
from livemem.store.bucket import TOKENS
from livemem.store.stored import UPDATE_TRIES
from livemem.store.stored_documents import StoredDocument
from tests.support.cases import each
from tests.support.counting import Killed
from tests.support.world import World
from tests.unit.access.test_access import SECRET, enter, token, world_with

LIFE = 30
QUARTER = 21 * 60


def put(world: World, *tokens: Token) -> None:
    world.inner.put_object(Bucket="b", Key=TOKENS, Body=Registry(tokens=list(tokens)).to_bytes())


def stored(world: World) -> list[Token]:
    return Registry.from_bytes(world.text(TOKENS).encode()).tokens


def test_the_registry_is_asked_once_in_thirty_seconds():
    world = world_with(token())

    for _ in range(10):
        enter(world)
        world.clock.move(2.9)

    assert world.client.requests == [("GET", TOKENS)]


def test_after_thirty_seconds_it_is_asked_again_by_its_etag_and_not_transferred():
    world = world_with(token())
    asked: list[dict[str, Any]] = []
    get = world.inner.get_object

    def listening(**arguments: Any) -> Any:
        asked.append(arguments)
        return get(**arguments)

    world.inner.get_object = listening
    enter(world)
    etag = world.inner.objects[TOKENS].etag

    world.clock.move(LIFE)
    enter(world)
    enter(world)

    assert [arguments.get("IfNoneMatch") for arguments in asked] == [None, etag]


def test_a_newer_version_is_read_by_its_new_lines_alone_and_is_what_all_of_it_says(monkeypatch: pytest.MonkeyPatch):
    world = world_with(*(token(hash=f"sha256:{number:064x}", name=f"a{number}") for number in range(50)))
    first = registries.registry(world.process)
    parsed: list[bytes] = []
    parse = vars(StoredDocument)["from_bytes"].__func__

    def noting(cls: type[StoredDocument], body: bytes) -> StoredDocument:
        parsed.append(body)
        return parse(cls, body)

    monkeypatch.setattr(StoredDocument, "from_bytes", classmethod(noting))
    changed = [first.tokens[0].model_copy(update={"revoked": True}), *first.tokens[2:], token(hash=f"sha256:{99:064x}")]
    put(world, *changed)

    found = registries.registry(world.process, fresh=True)

    # The beginning, the revoked one and the new one.
    assert len(parsed) == 3
    monkeypatch.undo()
    assert found == Registry.from_bytes(world.text(TOKENS).encode())
    assert found.tokens == changed


@each(
    "body",
    [
        StoredDocument.to_bytes,
        lambda registry: registry.model_dump_json().encode(),
        lambda registry: registry.to_bytes().replace(b"\n  ]\n}\n", b'\n  ],\n  "later": 1\n}\n'),
        lambda registry: registry.to_bytes().replace(b"},\n{", b"}, {"),
        lambda registry: Registry().to_bytes(),
    ],
    ids=["of older versions", "in one line", "with a field behind", "two entries in a line", "empty"],
)
def test_a_registry_in_any_layout_is_read(body: Any):
    world = world_with(*(token(hash=f"sha256:{number:064x}") for number in range(3)))
    there = Registry(tokens=stored(world))
    world.inner.put_object(Bucket="b", Key=TOKENS, Body=body(there))

    found = registries.registry(world.process, fresh=True)

    assert found.tokens == Registry.from_bytes(world.text(TOKENS).encode()).tokens
    assert len(found.tokens) in (3, 0)


def test_a_read_that_ends_late_does_not_take_the_place_of_a_newer_one():
    """In a process that answers several requests at once."""
    world = world_with(token())
    enter(world)
    world.clock.move(LIFE)
    get, newer = world.inner.get_object, []

    def late(**arguments: Any) -> Any:
        world.inner.get_object = get
        answer = get(**{**arguments, "IfNoneMatch": "other"})
        revoked = stored(world)[0].model_copy(update={"revoked": True})
        put(world, revoked)
        newer.append(registries.registry(world.process, fresh=True))
        return answer

    world.inner.get_object = late
    registries.registry(world.process)

    assert newer[0].tokens[0].revoked
    world.client.requests.clear()
    with pytest.raises(Unauthenticated):
        enter(world)


def test_requests_at_once_with_known_and_unknown_tokens_are_told_apart():
    world = world_with(*(token(f"lm_{number}", name=f"a{number}") for number in range(20)))

    def ask(number: int) -> bool:
        world.clock.move(0.5)
        try:
            return enter(world, f"Bearer lm_{number % 40}").name == f"a{number % 40}"
        except (Unauthenticated, TooSoon):
            return number % 40 >= 20

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(2_000)))


def test_a_revocation_works_within_thirty_seconds():
    world = world_with(token())
    enter(world)
    put(world, token(revoked=True))

    world.clock.move(LIFE)

    with pytest.raises(Unauthenticated):
        enter(world)


def test_a_new_token_works_within_thirty_seconds():
    world = world_with()
    with pytest.raises(Unauthenticated):
        enter(world)
    put(world, token())

    world.clock.move(LIFE)

    assert enter(world).name == "ann"


def test_the_first_token_of_a_bucket_without_a_registry_works_within_thirty_seconds():
    world = World()
    with pytest.raises(Unauthenticated):
        enter(world)
    put(world, token())

    world.clock.move(LIFE)

    assert enter(world).name == "ann"


def test_a_registry_that_was_removed_lets_nobody_in_any_more():
    world = world_with(token())
    enter(world)
    world.inner.delete_object(Bucket="b", Key=TOKENS)

    world.clock.move(LIFE)

    with pytest.raises(Unauthenticated):
        enter(world)


def test_a_registry_that_became_unreadable_lets_nobody_in_although_it_was_read_before():
    world = world_with(token())
    enter(world)
    world.inner.put_object(Bucket="b", Key=TOKENS, Body=b"{")

    world.clock.move(LIFE)

    for _ in range(2):
        with pytest.raises(RegistryUnreadable):
            enter(world)
    put(world, token())
    assert enter(world).name == "ann"


def limited(name: str = "ann", *space_ids: str) -> Principal:
    return Principal(name, frozenset(("read", "write")), frozenset(space_ids), token_hash=token().hash)


def create(world: World, principal: Principal, space_id: str = "new") -> heads.Meta:
    wanted = SpaceRequest(space_id, "", "Keep a log.", None, None, None)
    return lifecycle.create(world.process, principal, wanted)


def test_a_token_with_a_list_gets_the_space_that_it_creates_at_once_and_others_do_not():
    bob = token("lm_bob", name="bob", space_ids=["demo"])
    world = world_with(token(space_ids=["demo"]), bob)
    with pytest.raises(Forbidden):
        enter(world, space_id="new")

    create(world, limited("ann", "demo"))

    assert enter(world, space_id="new").space_ids == {"demo", "new"}
    assert stored(world)[1] == bob


def test_a_token_for_all_spaces_stays_one_for_all_spaces():
    world = world_with(token())
    before = world.text(TOKENS)

    meta = create(world, limited("ann"))

    assert world.text(TOKENS) == before
    assert meta.consolidation_threshold == world.settings.consolidation_threshold


def test_a_space_that_is_on_the_list_already_changes_nothing():
    world = world_with(token(space_ids=["demo"]))

    registries.allow_space(world.process, limited("ann", "demo"), "demo")

    assert world.client.counts["PUT"] == 0


def test_a_deleted_space_leaves_all_lists_so_that_a_later_namesake_is_not_inherited():
    world = world_with(
        token(space_ids=["demo", "other"]),
        token("lm_bob", name="bob", space_ids=["demo"]),
        token("lm_cat", name="cat", space_ids=["other"]),
        token("lm_dan", name="dan"),
    )
    world.create_space()

    lifecycle.delete(world.process, "demo", "demo")

    assert [(entry.name, entry.space_ids, entry.revoked) for entry in stored(world)] == [
        ("ann", ["other"], False),
        # Its last space: an empty list would mean all spaces.
        ("bob", ["demo"], True),
        ("cat", ["other"], False),
        ("dan", [], False),
    ]
    world.clock.move(QUARTER)
    world.create_space()
    with pytest.raises(Forbidden):
        enter(world, space_id="demo")
    with pytest.raises(Unauthenticated):
        enter(world, "Bearer lm_bob", space_id="demo")


def test_a_deletion_that_is_refused_costs_nobody_a_token():
    world = world_with(token(space_ids=["demo"]))
    world.create_space()
    heads.update(world.process, "demo", lambda meta: {"committed_run": "01HZZZZZZZ0000000000000099"})

    with pytest.raises(Busy):
        lifecycle.delete(world.process, "demo", "demo")

    assert enter(world, space_id="demo").name == "ann"


def test_a_commit_in_the_very_moment_of_a_deletion_costs_nobody_a_token():
    world = world_with(token(space_ids=["demo"]))
    world.create_space()

    def committed(index: int, verb: str) -> None:
        if verb == "PUT":
            world.client.before = lambda index, verb: None
            process = world.with_parts()
            heads.update(process, "demo", lambda meta: {"committed_run": "01HZZZZZZZ0000000000000099"})

    world.client.before = committed
    with pytest.raises(Busy):
        lifecycle.delete(world.process, "demo", "demo")

    assert enter(world, space_id="demo").name == "ann"


def test_a_deletion_that_died_before_it_changed_the_lists_leaves_nobody_the_next_space():
    world = world_with(token(space_ids=["demo", "other"]))
    world.create_space()
    world.client.reset()
    world.client.kill_at(2, done=True)
    with pytest.raises(Killed):
        lifecycle.delete(world.process, "demo", "demo")
    world.new_process()
    assert heads.find(world.process, "demo") is None
    for _ in range(2):
        world.clock.move(QUARTER)
        world.sweep()

    world.create_space()

    with pytest.raises(Forbidden):
        enter(world, space_id="demo")


def test_deleting_a_space_that_is_on_no_list_does_not_touch_the_registry():
    world = world_with(token(space_ids=["other"]))
    before = world.text(TOKENS)

    registries.forget_space(world.process, "demo")

    assert world.text(TOKENS) == before
    assert world.client.counts["PUT"] == 0


def test_a_change_that_loses_the_race_is_made_again_on_the_newest_registry():
    world = world_with(token(space_ids=["demo"]))

    def somebody_else(index: int, verb: str) -> None:
        if verb == "PUT":
            world.client.before = lambda index, verb: None
            put(world, token(space_ids=["demo"]), token("lm_bob", name="bob"))

    world.client.before = somebody_else
    registries.allow_space(world.process, limited("ann", "demo"), "new")

    assert [(entry.name, entry.space_ids) for entry in stored(world)] == [("ann", ["demo", "new"]), ("bob", [])]


def test_a_change_that_always_loses_is_given_up():
    world = world_with(token(space_ids=["demo"]))
    count = 0

    def somebody_else(index: int, verb: str) -> None:
        nonlocal count
        if verb == "PUT":
            count += 1
            put(world, token(space_ids=["demo"], email=f"{count}@example.org"))

    world.client.before = somebody_else

    with pytest.raises(PreconditionLost):
        registries.allow_space(world.process, limited("ann", "demo"), "new")
    assert count == UPDATE_TRIES


def test_fields_that_a_newer_version_added_survive_a_change_of_the_registry():
    world = world_with(token(space_ids=["demo"], colour="blue"))
    body = json.loads(world.text(TOKENS)) | {"scheme": "v2"}
    world.inner.put_object(Bucket="b", Key=TOKENS, Body=json.dumps(body).encode())

    registries.allow_space(world.process, limited("ann", "demo"), "new")

    after = json.loads(world.text(TOKENS))
    assert (after["scheme"], after["tokens"][0]["colour"]) == ("v2", "blue")
    assert after["tokens"][0]["space_ids"] == ["demo", "new"]


def test_the_registry_never_holds_the_token_itself():
    world = world_with(token(space_ids=["demo"]))

    registries.allow_space(world.process, limited("ann", "demo"), "new")

    assert SECRET not in world.text(TOKENS)


def gets(world: World) -> int:
    return world.client.counts["GET"]


@pytest.mark.parametrize("seconds", [0, 2])
def test_a_token_that_was_just_made_works_at_once_in_a_process_that_read_the_registry_before(seconds: int):
    world = world_with()
    other = world.with_parts()
    registries.registry(other)
    world.clock.move(seconds)
    put(world, token())

    assert decision.authorise(other, f"Bearer {SECRET}", needs=None, space_id=None).name == "ann"


def test_that_a_token_is_unknown_is_remembered_for_thirty_seconds():
    world = world_with(token())
    enter(world)
    world.clock.move(2)
    world.client.reset()

    for _ in range(20):
        with pytest.raises(Unauthenticated):
            enter(world, "Bearer lm_nobody")
        world.clock.move(1)

    # Once because it is unknown; the registry that was read then is good for half a minute.
    assert gets(world) == 1


def test_any_number_of_unknown_tokens_costs_a_few_requests_a_second():
    world = world_with(token())
    enter(world)
    world.client.reset()

    for second in range(10):
        for number in range(50):
            with pytest.raises(Unauthenticated if number < look_rate.LOOKS_A_SECOND else TooSoon):
                enter(world, f"Bearer lm_{second}_{number}")
        world.clock.move(1)

    assert gets(world) == 10 * look_rate.LOOKS_A_SECOND
    # What was not looked for is not remembered either.
    put(world, token(), token("lm_9_49", name="bob"))
    assert enter(world, "Bearer lm_9_49").name == "bob"


def test_any_number_of_new_tokens_may_come_in_one_second():
    world = world_with(token())
    enter(world)
    for number in range(3 * look_rate.LOOKS_A_SECOND):
        put(world, token(f"lm_{number}", name="bob"))

        assert enter(world, f"Bearer lm_{number}").name == "bob"


def test_what_is_remembered_of_unknown_tokens_is_bounded():
    world = world_with(token())

    for number in range(2 * registries.MOST_UNKNOWN):
        world.clock.move(0.01)
        with pytest.raises((Unauthenticated, TooSoon)):
            enter(world, f"Bearer lm_{number}")

    assert 0 < len(world.process.cache(registries._Cache).unknown) <= registries.MOST_UNKNOWN


def test_a_token_that_was_unknown_is_let_in_as_soon_as_a_registry_that_has_it_is_read():
    world = world_with(token("lm_other", name="bob"))
    with pytest.raises(Unauthenticated):
        enter(world)
    put(world, token())
    world.clock.move(2)

    # Another unknown one makes the process look.
    with pytest.raises(Unauthenticated):
        enter(world, "Bearer lm_nobody")

    assert enter(world).name == "ann"


def test_of_two_entries_of_one_hash_the_first_one_counts():
    world = world_with(token(revoked=True), token())

    with pytest.raises(Unauthenticated):
        enter(world)


def test_a_space_that_another_process_made_is_open_to_its_token_at_once():
    world = world_with(token(space_ids=["demo"]))
    enter(world, space_id="demo")
    for number in range(3):
        # As a client does that looks for the space, makes it and goes on.
        with pytest.raises(Forbidden):
            enter(world, space_id=f"new-{number}")
        names = ["demo", *(f"new-{one}" for one in range(number + 1))]
        put(world, token(space_ids=names))

        assert enter(world, space_id=f"new-{number}").space_ids == set(names)
        world.clock.move(1)


def test_a_list_that_became_one_of_all_spaces_and_a_token_that_was_revoked_are_seen_at_a_refusal():
    world = world_with(token(space_ids=["demo"]))
    enter(world, space_id="demo")
    put(world, token())
    assert enter(world, space_id="new").space_ids == frozenset()

    put(world, token(space_ids=["demo"], revoked=True))
    assert enter(world, space_id="demo").name == "ann"
    world.clock.move(LIFE)
    with pytest.raises(Unauthenticated, match="revoked"):
        enter(world, space_id="new")


def test_a_flood_of_refusals_costs_a_few_requests_a_second_and_a_right_space_gets_through_it():
    bob = token("lm_bob", name="bob", space_ids=["home"])
    world = world_with(token(space_ids=["demo"]), bob)
    enter(world)
    world.client.reset()

    for second in range(10):
        for number in range(50):
            with pytest.raises(Forbidden):
                enter(world, space_id=f"s-{second}-{number}")
        world.clock.move(1)

    assert gets(world) == 10 * look_rate.LOOKS_A_SECOND
    # The looks of the flood are looks for all.
    put(world, token(space_ids=["demo"]), bob.model_copy(update={"space_ids": ["home", "new"]}))
    for number in range(50):
        with pytest.raises(Forbidden):
            enter(world, space_id=f"s-{number}")
    assert enter(world, "Bearer lm_bob", space_id="new").name == "bob"


@each("name", ["../x", "a b", "x" * 999, "", "Ä"])
def test_a_name_that_no_space_can_have_costs_no_look(name: str):
    world = world_with(token(space_ids=["demo"]))
    enter(world)
    world.client.reset()

    with pytest.raises(Forbidden):
        enter(world, space_id=name)

    assert gets(world) == 0


def test_a_permission_that_a_token_lacks_costs_no_look():
    world = world_with(token(space_ids=["demo"]))
    enter(world)
    world.client.reset()

    with pytest.raises(Forbidden, match="permission"):
        enter(world, needs="write", space_id="new")

    assert gets(world) == 0
