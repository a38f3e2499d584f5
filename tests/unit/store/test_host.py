"""Functions in a program that runs them itself: its check stands before each request, also in threads beside them."""

from contextvars import ContextVar, copy_context
from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import BotoCoreError

from livemem.errors import OutOfTime
from livemem.recall import fan_out
from livemem.settings import Settings
from livemem.store.clients import HOST, Host, open_store, s3_client
from livemem.store.objects import ThreadPool
from tests.support.world import World

ELSEWHERE = Settings(
    s3_bucket_name="b", s3_endpoint_url="http://127.0.0.1:9", s3_access_key_id="a", s3_secret_access_key="b"
)
OF_THE_REQUEST: ContextVar[str] = ContextVar("of the request", default="nothing")


def refuse() -> None:
    raise OutOfTime("The time of this invocation is over.")


def host(**parts: Any) -> Host:
    return Host(lambda *_: ({}, False), lambda *_: None, refuse, **parts)


def test_a_store_of_the_program_is_asked_before_each_request():
    def opened() -> Any:
        HOST.set(host(s3=object()))
        return open_store(Settings(s3_bucket_name="b"))

    with pytest.raises(OutOfTime):
        copy_context().run(opened).get("a")


def test_a_client_of_another_store_asks_before_it_sends_a_request_also_again():
    def opened() -> Any:
        HOST.set(host())
        return s3_client(ELSEWHERE)

    with pytest.raises(OutOfTime):
        copy_context().run(opened).get_object(Bucket="b", Key="a")
    with pytest.raises(BotoCoreError):
        s3_client(ELSEWHERE).head_bucket(Bucket="b")


def test_a_piece_of_work_with_a_time_of_its_own_ends_with_that_of_its_invocation_too():
    world = World()
    store = world.process.store.checked(refuse)
    object.__setattr__(world.process, "store", store)
    piece = world.process.within(world.clock() + timedelta(hours=1))

    with pytest.raises(OutOfTime, match="invocation"):
        piece.store.get("a")


def test_threads_beside_a_request_belong_to_it():
    OF_THE_REQUEST.set("this one")
    world = World()
    object.__setattr__(world.process.store, "threads", 4)
    seen = ThreadPool(4).map(lambda _: OF_THE_REQUEST.get(), range(20))
    seconds = dict.fromkeys("0123", 5.0)
    results, failures = fan_out.done(world.process, seconds, dict.fromkeys(seconds, OF_THE_REQUEST.get))

    assert set(seen) == {"this one"}
    assert (set(results.values()), failures) == ({"this one"}, {})
