"""A chunk that one worker gives up while another one gets an answer."""

from livemem.rooms import digest_progress
from livemem.rooms.digest_documents import Extract, ExtractedFact, GivenUp
from livemem.store.bucket import DEAD_LETTER, EXTRACT, IN_DIGEST
from tests.support.chatter import Chatter

AT = "2026-02-20T14:00:00.000Z"


def prepared(meanwhile: Extract) -> Chatter:
    """A digest whose model gives nothing of use; at its last call another worker writes what became of the chunk."""
    chatter = Chatter()
    chatter.say("fact: the ferry leaves at nine")

    def fail(messages):
        if len(chatter.llm.asked) == 6:
            (slot,) = {found[1] for key in chatter.world.keys("demo/_digests/") if (found := IN_DIGEST.parse(key))}
            digest_progress.write(chatter.process, EXTRACT.key("demo", slot, 0), meanwhile)
        return "I'd rather not."

    chatter.llm.default = fail
    return chatter


def test_an_answer_that_another_worker_got_meanwhile_counts_and_nothing_is_given_up():
    fact = ExtractedFact(kind="fact", content="The ferry leaves at nine.")
    chatter = prepared(Extract(room="general", facts=[fact], messages=1, at=AT))
    done = chatter.digested()

    assert (done.dead_letters, done.new) == ([], 1)
    assert chatter.memories() == ["The ferry leaves at nine."]
    assert not any("/dead/" in key for key in chatter.world.keys("demo/_digests/"))


def test_what_another_worker_gave_up_is_kept_apart_also_where_that_one_died_before():
    why = GivenUp(code="llm_refused", detail="It was refused.")
    chatter = prepared(Extract(room="general", facts=[], messages=0, at=AT, given_up=why))
    done = chatter.digested()

    assert (done.dead_letters, done.new, chatter.memories()) == ([0], 0, [])
    assert '"llm_refused"' in chatter.world.text(DEAD_LETTER.key("demo", done.slot, 0))
