"""Caps: what one token, or one space, may have at most, counted in the bucket, however many ask at once."""

from datetime import timedelta

import pytest

from livemem.access import rotation, secret, tokens
from livemem.access.principal import Principal
from livemem.conversations import conversation as conversations
from livemem.conversations.conversation import NewConversation
from livemem.copies import export, fork, importing, taking
from livemem.errors import CapReached, InvalidRequest, SpaceExists, TooLarge
from livemem.rooms import posting
from livemem.rooms.message import MessageDraft
from livemem.spaces import caps, lifecycle
from livemem.store.bucket import TOKEN_CAPS
from tests.support.actors import Actor
from tests.support.asking import Asking
from tests.support.world import EVERYONE, INVOCATION, World

HASH = f"sha256:{'0a' * 32}"
ANN = Principal("ann", frozenset({"read", "write"}), frozenset({"home"}), token_hash=HASH)
DAY = 86_400


def make(world: World, name: str, who: Principal = ANN, process=None):
    return lifecycle.create(process or world.process, who, lifecycle.SpaceRequest(name, rules="x"))


def refused(action, *args, **more) -> CapReached:
    with pytest.raises(CapReached) as caught:
        action(*args, **more)
    return caught.value


def test_a_token_makes_so_many_spaces_a_day_and_is_told_which_setting_says_so_and_when_it_may_go_on():
    world = World(spaces_per_token_per_day=2)
    make(world, "one")
    world.clock.move(3_600)
    make(world, "two")

    error = refused(make, world, "three")

    assert (error.status, error.code, error.retry_after) == (429, "spaces_per_token_per_day", DAY - 3_600)
    assert "SPACES_PER_TOKEN_PER_DAY is 2" in error.detail
    assert "2026-02-21T14:00:00Z" in error.detail
    assert not world.keys("three/")
    # Another token is another matter; and so is the next day.
    make(world, "three", Principal("bob", ANN.permissions, ANN.space_ids, token_hash=f"sha256:{'0b' * 32}"))
    world.clock.move(DAY - 3_600)
    make(world, "four")
    assert refused(make, world, "five").retry_after == 3_600


def test_a_space_that_was_not_made_does_not_count():
    world = World(spaces_per_token_per_day=1)
    world.create_space("home")
    for _ in range(3):
        with pytest.raises(SpaceExists):
            make(world, "home")
    make(world, "one")
    refused(make, world, "two")


def test_an_admin_of_all_spaces_is_not_counted_and_one_of_some_is_also_for_what_is_brought():
    world = World(spaces_per_token_per_day=1)
    world.create_space("home")
    for number in range(3):
        make(world, f"s-{number}", EVERYONE)
    assert not world.keys("_system/caps/")
    boss = Principal("boss", EVERYONE.permissions, frozenset({"home"}), token_hash=HASH)
    fork.order(world.process, boss, "home", "copy", None, world.clock() + INVOCATION)

    refused(fork.order, world.process, boss, "home", "copy-2", None, world.clock() + INVOCATION)


def test_a_token_that_was_rotated_gets_no_new_places():
    world = World(spaces_per_token_per_day=2)
    world.create_space("home")
    made = tokens.create(world.process, EVERYONE, secret.new(), tokens.TokenRequest("ann", ["read", "write"], ["home"]))
    who = Principal("ann", ANN.permissions, ANN.space_ids, token_hash=made.token.hash)
    for number in range(2):
        make(world, f"s-{number}", who)
        rotated = rotation.rotate(world.process, who, secret.new())
        who = Principal("ann", ANN.permissions, ANN.space_ids, token_hash=rotated.made.token.hash)

    refused(make, world, "s-2", who)


@pytest.mark.parametrize("loses", [None, "again"])
def test_of_forty_at_once_in_forty_processes_as_many_make_a_space_as_may(loses):
    world = World(spaces_per_token_per_day=7)

    def work(actor: Actor) -> None:
        make(world, actor.name, process=actor.process)

    actors = [Actor(f"s-{number}", world, work, world.clock() + INVOCATION) for number in range(40)]
    for actor in actors[:3]:
        actor.loses = loses
    while waiting := [actor for actor in actors if not actor.done]:
        for actor in waiting:
            actor.step()

    assert len([actor for actor in actors if actor.error is None]) == 7
    assert all(isinstance(actor.error, CapReached) for actor in actors if actor.error)


def test_backups_and_archives_of_a_space_have_their_caps_but_asking_again_for_one_is_free():
    world = World(backups_per_space_per_day=1, exports_per_space_per_day=1)
    world.create_space("demo")
    world.create_space("other")
    end, wanted = world.clock() + INVOCATION, taking.BackupRequest("api", "x")
    taking.order(world.process, "demo", wanted, deadline=end)
    made = export.export(world.process, EVERYONE, "demo", end)

    error = refused(taking.order, world.process, "demo", wanted, deadline=end)
    assert error.code == "backups_per_space_per_day"
    assert refused(export.export, world.process, EVERYONE, "demo", end).code == "exports_per_space_per_day"
    # It is there.
    assert export.export_backup(world.process, EVERYONE, "demo", made.value.job_id, end).value == made.value
    taking.order(world.process, "other", wanted, deadline=end)
    # By night it is not asked for.
    world.clock.move(60)
    world.note("x")
    world.back_up(trigger="schedule")


def test_an_archive_of_a_deleted_space_leaves_nothing_in_its_folder():
    world = World()
    world.create_space("demo")
    backup_id = world.back_up().job_id
    lifecycle.delete(world.process, "demo", "demo")

    export.export_backup(world.process, EVERYONE, "demo", backup_id, world.clock() + INVOCATION)

    assert world.keys("demo/") == ["demo/_meta.json"]


def test_uploads_have_a_cap_and_a_size():
    world = World(uploads_per_token_per_day=2)
    with pytest.raises(TooLarge):
        importing.begin_upload(world.process, EVERYONE, (1 << 30) + 1)
    with pytest.raises(InvalidRequest):
        importing.begin_upload(world.process, EVERYONE, 0)
    for _ in range(2):
        importing.begin_upload(world.process, EVERYONE, 10)

    assert refused(importing.begin_upload, world.process, EVERYONE, 10).code == "uploads_per_token_per_day"


@pytest.mark.parametrize("name", ["asks_at_once_per_token", "asks_at_once_per_space"])
def test_one_token_asks_as_so_many_users_at_once_and_no_more(name):
    asking = Asking(World(**{name: 3}))
    world = asking.world
    # Others are answered elsewhere at this moment.
    for _ in range(3):
        caps.begin_question(world.process, "demo", world.ids(), "ann")

    error = refused(asking.order, user="u-4")

    assert (error.code, error.retry_after) == (name, 10)
    assert not world.keys("demo/_asks/")
    # A question whose worker died keeps its place for a while only.
    world.clock.move(timedelta(minutes=20).total_seconds() + 1)
    assert asking.ask(user="u-4").status == "done"


def test_a_question_that_has_ended_gives_its_place_back():
    asking = Asking(asks_at_once_per_space=1)
    for _ in range(3):
        assert asking.ask(user="ines").status == "done"
    # A repeat of one that is answered needs none.
    first = asking.ask(key="k")
    caps.begin_question(asking.process, "demo", asking.world.ids(), "ann")
    assert asking.ask(key="k") == first


def test_without_caps_nothing_is_counted():
    names = ("spaces_per_token", "uploads_per_token", "backups_per_space", "exports_per_space")
    world = World(**{f"{name}_per_day": 0 for name in names}, asks_at_once_per_space=0, asks_at_once_per_token=0)
    make(world, "one")
    importing.begin_upload(world.process, ANN, 10)
    taking.order(world.process, "one", taking.BackupRequest("api"), deadline=world.clock() + INVOCATION)
    caps.begin_question(world.process, "one", "x", "ann")
    caps.end_question(world.process, "one", "x")

    assert world.keys("_system/caps/") == []


def test_caps_that_can_not_be_read_begin_anew():
    world = World(spaces_per_token_per_day=1)
    world.store.put(TOKEN_CAPS.key("0a" * 32), b"broken")
    make(world, "one")
    refused(make, world, "two")


def test_a_token_begins_so_many_conversations_a_day_and_a_refused_one_leaves_nothing():
    world = World(conversations_per_token_per_day=2)
    world.create_space("home")

    def begin(who: Principal = ANN) -> None:
        with caps.beginning_conversation(world.process, who):
            conversations.create(world.process, "home", who.name, NewConversation())

    begin()
    begin()
    there = world.keys("home/conversations/")

    error = refused(begin)
    assert (error.status, error.code, error.retry_after) == (429, "conversations_per_token_per_day", DAY)
    assert world.keys("home/conversations/") == there
    begin(EVERYONE)
    world.clock.move(DAY)
    begin()


def test_so_many_rooms_of_a_space_get_a_first_message_on_a_day_and_those_go_on():
    world = World(rooms_per_space_per_day=2)
    for space_id in ("home", "other"):
        world.create_space(space_id)

    def say(room: str, space_id: str = "home", process=None) -> None:
        posting.post(process or world.process, space_id, room, MessageDraft("Ann", "Hello."))

    say("one")
    say("two")
    error = refused(say, "three")
    assert (error.status, error.code, error.retry_after) == (429, "rooms_per_space_per_day", DAY)
    assert not world.keys("home/rooms/three/")
    # Rooms that were counted go on, also when a digest has emptied them, and in a new process.
    for key in world.keys("home/rooms/one/"):
        world.inner.delete_object(Bucket="bucket", Key=key)
    say("one", process=world.new_process())
    say("two")
    say("three", "other")
    world.clock.move(DAY)
    say("three", process=world.new_process())
