"""The function: the schedule's look, and what it is invoked with."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from functions.digest import app
from livemem.errors import InvalidName, StillAtWork
from livemem.llm.client import LlmError
from livemem_http.views.jobs import JobView
from livemem_http.views.rooms import MessagePosted
from tests.support.chatter import Chatter, fact, fails_on, notes_facts
from tests.support.functions import Context, sample

handle: Any = app.handler


@pytest.fixture
def chatter(monkeypatch: pytest.MonkeyPatch) -> Chatter:
    monkeypatch.setenv("POWERTOOLS_METRICS_NAMESPACE", "LiveMemory")
    chatter = Chatter()
    # The function counts its deadline from the clock of the machine.
    chatter.world.clock.moment = datetime.now(UTC).replace(microsecond=0)
    monkeypatch.setattr(app, "process", lambda: chatter.process)
    return chatter


def emitted(capsys: pytest.CaptureFixture[str]) -> dict[str, float]:
    """The metrics that were written."""
    found: dict[str, float] = {}
    for line in capsys.readouterr().out.splitlines():
        if line.startswith("{") and "_aws" in line:
            blob = json.loads(line)
            names = [one["Name"] for one in blob["_aws"]["CloudWatchMetrics"][0]["Metrics"]]
            found |= {name: blob[name][0] for name in names}
    return found


def test_an_invocation_digests_and_tells_what_it_took(chatter, capsys):
    chatter.say(fact(1), after=0)

    answer = handle(sample("digest-run"), Context())

    (result,) = answer["results"]
    assert (result["result"], result["error"]) == ("done", None)
    assert chatter.memories() == [fact(1)]
    told = emitted(capsys)
    assert (told["DigestsDone"], told["DeadLetters"], told["llm_calls"], told["llm_tokens_used"]) == (1, 0, 1, 120)


def test_what_was_given_up_is_counted_for_the_alarm(chatter, capsys):
    chatter.say("poison", after=0)
    chatter.say(fact(1), room="other", after=0)
    chatter.llm.default = fails_on("poison")

    handle(sample("digest-run"), Context())

    assert emitted(capsys)["DeadLetters"] == 1


def test_a_digest_that_waits_is_told_and_no_error(chatter, capsys):
    chatter.say(fact(1), after=0)
    chatter.llm.queue.append(LlmError("llm_unavailable", "503"))

    answer = handle(sample("digest-run"), Context())

    assert answer["results"][0]["error"] == "llm_unavailable"
    told = emitted(capsys)
    assert (told["DigestsDone"], told["DigestsWaiting"]) == (0, 1)


def test_the_schedule_queues_what_is_due_and_tells_for_how_long_messages_wait(chatter, capsys):
    chatter.say(fact(1), after=0)
    chatter.world.clock.move(-3 * 3_600)
    now = chatter.world.clock()
    chatter.world.inner.objects.clear()
    chatter.world.create_space("other")
    chatter.world.new_process()
    from livemem.rooms import posting
    from livemem.rooms.message import MessageDraft

    posting.post(chatter.process, "other", "general", MessageDraft("a", fact(2)))
    chatter.world.clock.move(6 * 3_600)

    answer = app.start_due(chatter.world.clock().replace(year=now.year + 1))

    assert list(answer["queued"]) == ["other"]
    assert answer["hours_since_digest"] == 6
    assert emitted(capsys)["HoursSinceDigest"] == 6
    chatter.world.settle()
    assert app.start_due(chatter.world.clock().replace(year=now.year + 1)) == {"queued": {}, "hours_since_digest": 0}


def test_the_event_of_the_schedule_is_known(chatter):
    assert handle(sample("digest-schedule"), Context()) == {"queued": {}, "hours_since_digest": 0.0}


def test_what_lambda_must_try_again_is_raised(chatter):
    chatter.say(fact(1), after=0)

    def beside(messages):
        with pytest.raises(StillAtWork):
            handle(sample("digest-job") | {"by_hand": True}, Context())
        return notes_facts(messages)

    chatter.llm.queue.append(beside)
    handle(sample("digest-run"), Context())
    with pytest.raises(InvalidName):
        handle({"space_id": "../x"}, Context())


def test_views_tell_what_was_refused_and_what_was_given_up(chatter):
    from livemem.rooms import digest_reading, posting
    from livemem.rooms.message import MessageDraft

    chatter.say("poison", message_id="m1", after=0)
    (refused,) = posting.post_all(chatter.process, "demo", "general", [MessageDraft("a", "other", "m1")])
    shown = MessagePosted.of(refused, "m1").model_dump()
    assert shown["message_id"] == "m1"
    assert shown["error"]["code"] == "invalid_request"

    chatter.llm.default = fails_on("poison")
    done = chatter.digested()
    digest = digest_reading.load(chatter.process, "demo", done.slot)
    view = JobView.of(digest_reading.of_digest("demo", digest)).model_dump()
    assert view["result"]["dead_letters"] == [0]
    assert view["result"]["given_up"][0]["messages"] == 1
    assert "error" not in view
