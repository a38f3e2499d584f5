"""Deleting a conversation: nothing of it stays, and nothing that comes late brings it back."""

from contextlib import suppress

import pytest

from livemem.conversations import conversation as conversations
from livemem.conversations import log, maintenance, orders, reading, removal
from livemem.conversations.conversation import NewConversation
from livemem.conversations.turn import Draft, ToolCall
from livemem.errors import LiveMemoryError, NotFound
from livemem.jobs.package import look_at_space
from livemem.store.bucket import CONVERSATION, CONVERSATION_DELETED, IN_CONVERSATION, SEARCH_ORDER
from tests.support.counting import Killed
from tests.support.talk import Talk, extract, look_at_due
from tests.support.world import INVOCATION

A_DAY = 25 * 3_600


def talked():
    talk = Talk("turns")
    talk.say("a" * 100, "b" * 100, message_id="m", tool_calls=(ToolCall(name="x", result="r" * 40_000),))
    talk.update()
    return talk


def daily(talk):
    space = look_at_space(talk.world.new_process(), "demo", daily=True)
    assert space
    return maintenance.maintain(talk.process, space)


def search_orders(talk):
    return talk.world.keys(SEARCH_ORDER.key("demo", ""))


def left(talk):
    return [key for key in talk.world.inner.objects if talk.id in key]


def test_after_a_deletion_there_is_nothing_to_read_and_nothing_is_taken_in():
    talk = talked()
    removal.delete(talk.process, "demo", talk.id)
    for attempt in (
        lambda: log.append(talk.process, "demo", talk.id, "ann", Draft("a", message_id="n")),
        lambda: log.close(talk.process, "demo", talk.id),
        lambda: log.append_all(talk.process, "demo", talk.id, "ann", [Draft("a", message_id="n")]),
        lambda: reading.detail(talk.process, "demo", talk.id),
        lambda: reading.turns(talk.process, "demo", talk.id, limit=1),
        lambda: orders.rebuild(talk.process, "demo", talk.id, None, {}),
        lambda: orders.redo(talk.process, "demo", talk.id, 1, 1),
        lambda: removal.delete(talk.process, "demo", talk.id),
    ):
        with pytest.raises(NotFound):
            attempt()
    assert talk.update().outcome == "gone"
    assert reading.page(talk.process, "demo", cwd=None, host=None, limit=5, after=None) == ([], None)


def test_what_stays_for_a_while_says_nothing_of_it_and_goes_with_the_daily_look():
    talk = Talk()
    wanted = NewConversation(title="Secret plans", cwd="/home/ann/secret", host="secret", project_path="/secret")
    talk.conversation = conversations.create(talk.process, "demo", "ann", wanted)
    talk.id = talk.conversation.conversation_id
    talk.say("secret", "secret")
    removal.delete(talk.process, "demo", talk.id)
    assert not [key for key, one in talk.world.inner.objects.items() if talk.id in key and b"ecret" in one.body]
    daily(talk)
    assert left(talk), "a late request may still come"
    talk.world.pass_time(A_DAY)
    assert daily(talk)["conversations_cleaned"] == 1
    assert not [key for key in left(talk) if not key.startswith("_due/")]


def test_no_request_of_its_creation_brings_it_back():
    talk = Talk()
    talk.world.client.carry = lambda request: (talk.world.note_sent(request), request.send(talk.world.inner))[1]
    conversation = conversations.create(talk.process, "demo", "ann", NewConversation(cwd="/work", host="ada"))
    created = list(talk.world.sent)
    removal.delete(talk.process, "demo", conversation.conversation_id)
    for sent in created:
        talk.world.repeat(sent)
    assert conversations.find(talk.world.new_process(), "demo", conversation.conversation_id) is None
    assert reading.page(talk.process, "demo", cwd="/work", host="ada", limit=5, after=None) == ([], None)
    talk.world.pass_time(A_DAY)
    daily(talk)
    gone = conversation.conversation_id
    assert not [key for key in talk.world.inner.objects if gone in key and not key.startswith("_due/")]


def test_who_dies_in_a_deletion_leaves_it_to_the_sweep_and_the_search_is_told_all_the_same():
    point = 0
    while True:
        talk = talked()
        talk.world.new_process()
        talk.world.client.kill_at(point, done=False)
        try:
            removal.delete(talk.process, "demo", talk.id)
            break
        except Killed:
            point += 1
        talk.world.new_process()
        begun = conversations.find(talk.process, "demo", talk.id) is None
        talk.world.store.delete_many(search_orders(talk))
        talk.world.pass_time(A_DAY)
        daily(talk)
        if begun:
            assert not [key for key in left(talk) if not key.startswith("_due/")]
            assert search_orders(talk)
        else:
            assert conversations.find(talk.process, "demo", talk.id)
    assert point > 5


def test_a_turn_that_was_under_way_when_it_was_deleted_goes_with_the_daily_look():
    talk = talked()
    other = talk.world.with_parts()

    def meanwhile(index, verb):
        if verb == "PUT" and "/turns/" in talk.world.client.requests[index][1]:
            talk.world.client.before = lambda index, verb: None
            removal.delete(other, "demo", talk.id)

    talk.world.client.before = meanwhile
    with suppress(LiveMemoryError):
        talk.say("a", "b", message_id="late")
    assert talk.names("turns/")
    talk.world.pass_time(A_DAY)
    daily(talk)
    assert not [key for key in left(talk) if not key.startswith("_due/")]


def test_an_import_into_a_conversation_that_is_deleted_meanwhile_says_so():
    talk = talked()
    other = talk.world.with_parts()

    def meanwhile(index, verb):
        if verb == "PUT" and "/turns/" in talk.world.client.requests[index][1]:
            talk.world.client.before = lambda index, verb: None
            removal.delete(other, "demo", talk.id)

    talk.world.client.before = meanwhile
    with pytest.raises(NotFound):
        log.append_all(talk.process, "demo", talk.id, "ann", [Draft("a", message_id=f"n{n}") for n in range(3)])


def test_the_daily_look_leaves_what_lives_alone():
    talk = talked()
    before = talk.names()
    talk.world.pass_time(A_DAY)
    assert not daily(talk)
    assert talk.names() == before


def summarised_while_it_is_deleted(talk, *, after_write=False, dies=False):
    """The worker's summary comes when the conversation is deleted: while the model answers, or behind its last look."""
    other = talk.world.with_parts()

    def delete():
        talk.world.client.before = lambda index, verb: None
        removal.delete(other, "demo", talk.id)

    def meanwhile(index, verb):
        if verb == "PUT" and "/summaries/" in talk.world.client.requests[index][1]:
            delete()
            if dies:
                talk.world.client.after = killed

    def killed(index, verb):
        raise Killed

    def answer(messages):
        delete()
        return extract(messages)

    talk.say("Where is the treasure?", "The treasure is buried below the old oak.", message_id="t")
    if after_write:
        talk.world.client.before = meanwhile
    else:
        talk.llm.queue.append(answer)
    with suppress(Killed):
        assert talk.update().outcome == "gone"
    talk.world.new_process()


@pytest.mark.parametrize("after_write", [False, True])
def test_a_summary_that_comes_when_its_conversation_is_deleted_is_taken_back_at_once(after_write):
    talk = Talk("turns")
    summarised_while_it_is_deleted(talk, after_write=after_write)
    assert not talk.names("v1/summaries/")
    assert not [key for key, one in talk.world.inner.objects.items() if b"treasure" in one.body]


def test_what_a_worker_left_of_a_deleted_conversation_is_found_by_nobody_and_goes_with_the_next_sweep():
    talk = Talk("turns")
    summarised_while_it_is_deleted(talk, after_write=True, dies=True)
    assert talk.names("v1/summaries/"), "it died before it looked"
    talk.world.pass_time(15 * 60)
    look_at_due(talk.world.new_process(), talk.world.clock() + INVOCATION)
    assert [key for key in left(talk) if not key.startswith("_due/")] == [
        CONVERSATION.key("demo", talk.id),
        CONVERSATION_DELETED.key("demo", talk.id),
    ]
    assert not talk.world.queued
    for _ in range(5):
        talk.world.pass_time(15 * 60)
        look_at_due(talk.world.new_process(), talk.world.clock() + INVOCATION)
    assert not [key for key in left(talk) if key.startswith("_due/")], "nothing can come any more"
    talk.world.pass_time(A_DAY)
    daily(talk)
    assert not left(talk)


def test_whatever_comes_late_below_a_tombstone_goes_with_the_next_sweep():
    talk = talked()
    folder = IN_CONVERSATION.prefix("demo", talk.id)
    before = dict(talk.world.inner.objects)
    removal.delete(talk.process, "demo", talk.id)
    for key, stored in before.items():
        # Each turn, id, tool result, boundary, summary and job is written once more.
        if key.startswith(folder) and not key.endswith("conversation.json"):
            talk.world.inner.put_object(Bucket="", Key=key, Body=stored.body)
    assert len(left(talk)) > 8
    talk.world.pass_time(15 * 60)
    look_at_due(talk.world.new_process(), talk.world.clock() + INVOCATION)
    assert len([key for key in left(talk) if not key.startswith("_due/")]) == 2


def test_an_update_by_hand_of_a_conversation_whose_turns_go_meanwhile_does_not_say_that_there_is_none():
    talk = Talk("turns")
    talk.say("a" * 100, "b" * 100)
    talk.world.client.before = lambda index, verb: vanish(talk, index)
    answered = orders.carry_out(talk.process, "demo", talk.id, orders.Wish(), talk.world.clock() + INVOCATION)
    assert answered.status == "failed"
    assert answered.worked
    assert answered.worked.job
    assert answered.worked.job.error
    assert answered.worked.job.error.code == "interrupted"


def vanish(talk, index):
    """The turns are gone in the moment in which they are read, as a restore or a hand may have it."""
    verb, key = talk.world.client.requests[index]
    if verb == "PUT" and "/boundaries/" in key:
        talk.world.client.before = lambda index, verb: None
        talk.world.store.delete_many([f"demo/conversations/{talk.id}/{name}" for name in talk.names("turns/")])
