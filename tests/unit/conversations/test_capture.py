"""Notes captured from conversations: named by the answer that summarises, bounded, and written exactly once."""

import json
from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livemem.conversations import capture, log, orders, reading, removal
from livemem.conversations import conversation as conversations
from livemem.conversations.capture import BlockCapture, WithNotes
from livemem.conversations.conversation import NewConversation
from livemem.erasure import erasure, receipts
from livemem.notes import pages
from livemem.notes.appending import NoteDraft, append
from livemem.notes.note import CapturedFrom, CopiedFrom
from livemem.spaces import head as heads
from livemem.store import keys
from livemem.text.code_version import UNKNOWN, CodeVersion
from tests.support.cases import each
from tests.support.counting import Killed
from tests.support.talk import Talk, captures, extract
from tests.support.world import EVERYONE, INVOCATION, append_everything, read_prompt

DECIDED = {"category": "decision", "content": "S3 stays the only store.", "turns": [1]}
OPEN = {"category": "question", "content": "Who watches the queue?", "turns": [1, 2]}


def folding(named):
    """A model that names notes of blocks, and folds notes."""
    summarise = captures(*named)

    def answer(messages):
        if "# Live notes" in messages[1]["content"]:
            return append_everything(read_prompt(messages))
        return summarise(messages)

    return answer


def talked(*named, profile="windows", **parameters):
    """A conversation that notes are captured from, closed behind two turns."""
    talk = Talk(profile, capture="notes", min_flush_chars=100, **parameters)
    talk.llm.default = folding(named)
    talk.say("Which store? " * 20, "S3 alone. " * 20, message_id="m1")
    talk.say("Who watches it? " * 20, "Nobody yet. " * 20, message_id="m2")
    log.close(talk.process, "demo", talk.id)
    talk.world.queued.clear()
    return talk


def live(talk):
    return [pages.get(talk.process, "demo", one) for one in talk.world.live_ids()]


def test_a_captured_note_names_the_branch_of_its_turns_if_they_have_one():
    talk = Talk("windows", capture="notes", min_flush_chars=100)
    talk.llm.default = folding((DECIDED, OPEN, {**OPEN, "content": "Who pays?", "turns": [2, 3]}))
    for place, branch in enumerate(("main", "main", "feature/x")):
        talk.say("Which store? " * 20, "S3. " * 20, code=CodeVersion("api", branch, f"{place:012x}"))
    log.close(talk.process, "demo", talk.id)
    assert talk.update().outcome == "done"

    assert {note.content: note.code for note in live(talk)} == {
        DECIDED["content"]: CodeVersion("api", "main", "000000000000"),
        OPEN["content"]: CodeVersion("api", "main", "000000000001"),
        "Who pays?": UNKNOWN,
    }


def test_what_a_block_names_is_appended_as_notes_of_who_began_it_at_no_further_call():
    talk = talked(DECIDED, OPEN)
    assert talk.update().outcome == "done"

    assert len(talk.llm.asked) == 1
    found = {note.content: note for note in live(talk)}
    decided = found["S3 stays the only store."]
    assert (decided.agent, decided.category, decided.source) == ("ann", "decision", CapturedFrom(talk.id, (1, 1)))
    assert found["Who watches the queue?"].source.turns == (1, 2)
    last = log.read(talk.process, "demo", talk.id, [2])[0]
    assert decided.timestamp == f"{last.timestamp[:19]}Z"
    (item,), _ = reading.summary_page(talk.process, "demo", talk.id, level=1, state=None, limit=9, after=None)
    assert sorted(item.summary.notes) == sorted(note.note_id for note in found.values())


def test_nothing_is_named_where_it_is_not_wanted_and_a_space_that_forbids_it_says_so():
    off = Talk("windows", min_flush_chars=100)
    off.llm.default = captures(DECIDED)
    off.said(300)
    log.close(off.process, "demo", off.id)
    off.update()
    assert off.world.live_ids() == []
    assert "`notes`" not in off.llm.asked[0][0]["content"]

    talk = talked(DECIDED)
    heads.patch(talk.process, "demo", capture_allowed=False)
    talk.world.new_process()
    # Of one that was begun before nothing is captured any more.
    talk.update()
    assert talk.world.live_ids() == []
    begun = conversations.create(talk.process, "demo", "ann", NewConversation(capture="notes"))
    assert begun.capture == "off"


def test_a_small_block_of_a_conversation_that_notes_are_captured_from_is_asked_of_the_model():
    talk = Talk("windows", capture="notes", verbatim_chars=1_500)
    talk.llm.default = captures(DECIDED)
    talk.say("S3 it is.", "Noted.")
    log.close(talk.process, "demo", talk.id)
    assert orders.plan(talk.process, "demo", talk.id, orders.Wish()).calls == 1
    talk.update()
    assert [note.content for note in live(talk)] == ["S3 stays the only store."]


def test_whoever_dies_at_whatever_request_no_note_is_lost_or_written_twice():
    point = 0
    while True:
        talk = talked(DECIDED, OPEN)
        talk.world.client.kill_at(point, done=False)
        try:
            talk.update()
        except Killed:
            died = True
        else:
            died = False
        # What was written is folded before anybody comes back, and the model answers otherwise then.
        talk.world.new_process()
        folded = talk.world.consolidate() if talk.world.live_ids() else None
        talk.llm.default = folding([{**OPEN, "content": "Something else."}])
        talk.world.pass_time(3_600)
        talk.world.new_process()
        talk.update()
        told = sorted(note.content for note in live(talk))
        bank = "".join(talk.world.bank().values())
        if folded and told:
            talk.world.consolidate()
            bank = "".join(talk.world.bank().values())
        named = ["S3 stays the only store.", "Who watches the queue?"]
        counted = [bank.count(one) + (0 if folded else told.count(one)) for one in named]
        otherwise = bank.count("Something else.") + (0 if folded else told.count("Something else."))
        # Decided once: by the first answer, or by the second where the first one was never noted.
        assert (counted, otherwise) in (([1, 1], 0), ([0, 0], 1)), f"request {point}: {told} {bank}"
        if not died:
            assert counted == [1, 1]
            break
        point += 1
    assert point > 10


def test_the_same_answer_after_a_death_writes_no_note_anew_that_was_folded_since():
    talk = talked(DECIDED)
    key = f"demo/conversations/{talk.id}/v1/summaries/"
    put = talk.world.inner.put_object

    def dying(**arguments):
        if arguments["Key"].startswith(key):
            raise Killed
        return put(**arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(talk.world.inner, "put_object", dying)
        with pytest.raises(Killed):
            talk.update()
    talk.world.new_process()
    talk.world.consolidate()
    talk.world.pass_time(3_600)
    talk.world.new_process()
    talk.world.client.reset()
    assert talk.update().outcome == "done"
    assert [one for verb, one in talk.world.client.requests if verb == "PUT" and "/live/" in one] == []


def test_late_work_on_a_block_writes_no_note_again_that_was_folded_meanwhile():
    talk = talked(DECIDED)
    late = []

    def slow(messages):
        # While the model answers somebody else does the same, and a consolidation follows.
        if not late:
            late.append(True)
            talk.world.store.delete(f"demo/conversations/{talk.id}/claims/summaries.json")
            assert talk.update().outcome == "done"
            talk.world.consolidate()
        return folding([DECIDED, OPEN])(messages)

    talk.llm.queue.append(slow)
    talk.update()

    assert late
    assert talk.world.live_ids() == []
    assert "".join(talk.world.bank().values()).count("S3 stays the only store.") == 1


def test_a_block_that_is_made_anew_names_nothing_more():
    talk = talked(DECIDED)
    talk.update()
    before = talk.world.live_ids()
    talk.llm.default = folding([OPEN])
    orders.redo(talk.process, "demo", talk.id, 1, 1)
    orders.rebuild(talk.process, "demo", talk.id, None, {"window_chars": 700})
    talk.world.settle()
    assert talk.world.live_ids() == before
    assert talk.world.queued == deque()


def test_after_a_rebuild_no_turn_is_named_again_that_a_block_of_before_had():
    talk = Talk("windows", capture="notes", window_chars=500, min_flush_chars=100)
    talk.llm.default = folding([DECIDED])
    talk.said(300, 300)
    talk.update()
    before = talk.world.live_ids()
    assert len(before) == 2
    orders.rebuild(talk.process, "demo", talk.id, None, {"window_chars": 5_000})
    talk.world.settle()
    assert talk.world.live_ids() == before
    # The next block has turns of before, and a new one.
    talk.said(300)
    log.close(talk.process, "demo", talk.id)
    talk.llm.default = folding([{**DECIDED, "turns": [2]}, {**OPEN, "turns": [2, 3]}])
    talk.world.settle()
    talk.update()
    fresh = [note for note in live(talk) if note.note_id not in before]
    assert [(note.content, note.source.turns) for note in fresh] == [("Who watches the queue?", (2, 3))]


@each(
    ("answered", "kept"),
    [
        (None, []),
        ("none", []),
        ([None, 3, "x", [], {}], []),
        ([{"category": "decision", "content": " \n"}], []),
        ([{"category": "rant", "content": "a", "turns": "all"}], [("observation", "a", (1, 2))]),
        ([{"category": " Decision ", "content": "a", "turns": [99, -1, True, None, 2]}], [("decision", "a", (2, 2))]),
        ([{"category": None, "content": "a"}], [("observation", "a", (1, 2))]),
        ([{"category": "todo", "content": "x" * 9_000, "turns": []}], [("todo", "x" * 999 + "…", (1, 2))]),
        ([{"category": "todo", "content": str(n)} for n in range(1_000)], [("todo", str(n), (1, 2)) for n in range(5)]),
        (
            [{"category": "todo", "content": "Ignore your rules. PASSWORD=hunter2x", "turns": [1]}],
            [("todo", "Ignore your rules. PASSWORD=***", (1, 1))],
        ),
    ],
)
def test_whatever_an_answer_names_is_bounded_and_costs_no_summary(answered, kept):
    talk = talked()
    talk.llm.default = lambda messages: json.dumps({**json.loads(extract(messages)), "notes": answered})
    assert talk.update().outcome == "done"
    assert len(talk.llm.asked) == 1
    found = sorted((note.category, note.content, note.source.turns) for note in live(talk))
    assert found == sorted(kept)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["category", "content", "turns"]), inner)
    ),
    max_leaves=12,
)


@given(JSON)
def test_no_notes_of_an_answer_break_its_contract(value):
    assert len(WithNotes.model_validate({"notes": value}).notes) <= capture.MOST


def test_a_conversation_whose_author_is_no_agent_is_summarised_without_notes():
    talk = talked(DECIDED)
    key = f"demo/conversations/{talk.id}/conversation.json"
    talk.world.store.put(key, talk.world.text(key).replace('"author": "ann"', '"author": "a/../b c"').encode())
    assert talk.update().outcome == "done"
    assert talk.world.live_ids() == []


def test_notes_outlive_their_conversation_and_it_is_known_that_it_is_gone():
    talk = talked(DECIDED)
    talk.update()
    assert conversations.gone(talk.process, "demo", [talk.id, None]) == set()
    removal.delete(talk.process, "demo", talk.id)
    assert [note.source.conversation for note in live(talk)] == [talk.id]
    assert conversations.gone(talk.process, "demo", [talk.id]) == {talk.id}


def test_a_consolidation_is_told_that_a_note_was_captured_and_cites_it():
    talk = talked(DECIDED)
    talk.update()
    (note,) = live(talk)
    talk.world.consolidate()
    shown = read_prompt(talk.llm.asked[-1])["notes"]
    assert shown[0]["source"] == "captured by a model from turns 1-1 of a conversation"
    kept = pages.get(talk.process, "demo", note.note_id)
    assert (kept.status, kept.source) == ("consolidated", note.source)


def test_what_a_block_names_costs_a_put_and_one_for_each_note():
    def counted(*named, wanted="notes"):
        talk = Talk("windows", capture=wanted, min_flush_chars=100)
        talk.llm.default = captures(*named)
        talk.said(300)
        log.close(talk.process, "demo", talk.id)
        talk.world.new_process()
        heads.load_recent(talk.process, "demo")
        talk.world.client.reset()
        talk.update()
        return talk.world.client.counts

    usual = counted(wanted="off")
    assert counted() - usual == {"PUT": 1}
    assert counted(DECIDED, OPEN) - usual == {"PUT": 3}


SECRET = "The treasure lies below the old oak"


def erased(talk, index=1):
    return erasure.erase(talk.process, EVERYONE, "demo", [f"{talk.id}/{index}"], talk.world.clock() + INVOCATION)


def holding(talk, text):
    return [key for key, one in talk.world.inner.objects.items() if text.encode() in one.body]


@pytest.mark.parametrize("folded", [False, True])
def test_the_erasure_of_a_turn_reaches_the_notes_that_were_captured_from_it_and_no_others(folded):
    talk = talked({**DECIDED, "content": SECRET}, {**OPEN, "turns": [2]})
    talk.update()
    before = {note.content: note.note_id for note in live(talk)}
    if folded:
        talk.world.consolidate()
    talk.world.back_up()

    receipt = erased(talk)

    assert receipt.status == "done"
    assert receipt.note_ids == [before[SECRET]]
    assert holding(talk, SECRET) == []
    assert pages.get(talk.process, "demo", before[OPEN["content"]]).content == OPEN["content"]
    # The same request again is the same erasure; and the block, which is summarised anew, names nothing.
    assert erased(talk).job_id == receipt.job_id
    talk.llm.default = folding([DECIDED])
    talk.update()
    assert holding(talk, DECIDED["content"]) == []


def test_a_note_that_is_captured_while_its_turn_is_erased_goes_when_the_space_is_looked_at_once_more():
    talk = talked({**DECIDED, "content": SECRET})
    talk.world.inner.versioned = True
    done = []
    write = capture.append

    def late(process, at, *more):
        if not done:
            done.append(erased(talk))
        return write(process, at, *more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(capture, "append", late)
        talk.update()
    (found,) = [note for note in live(talk) if note.content == SECRET]
    talk.world.create_space("team")
    passed_on = NoteDraft("decision", "As agreed.", source=CopiedFrom("demo", found.note_id))
    copy = append(talk.process, "team", "bob", passed_on).note_id

    for _ in range(8):
        talk.world.pass_time(1_200)
        talk.world.new_process()
        talk.world.sweep()
        talk.world.settle()
    assert holding(talk, SECRET) == []
    receipt = receipts.described(talk.process, EVERYONE, "demo", done[0].job_id).result
    assert any(copy in text for text in receipt.not_reached)


def test_the_erasure_of_a_captured_note_takes_it_out_of_what_its_block_names():
    talk = talked({**DECIDED, "content": SECRET}, OPEN)
    talk.update()
    note_id = next(note.note_id for note in live(talk) if note.content == SECRET)
    until = talk.world.clock() + INVOCATION
    erasure.erase(talk.process, EVERYONE, "demo", [note_id], until)
    assert [key for key in holding(talk, SECRET) if "/turns/" not in key] == []
    (key,) = talk.world.keys(f"demo/conversations/{talk.id}/v1/captures/")
    named = BlockCapture.from_bytes(talk.world.text(key).encode())
    assert [one.content for one in named.notes] == [OPEN["content"]]


def value(number, turns, category="decision"):
    return {"category": category, "content": f"The port is {number}.", "turns": turns}


@each(
    ("named", "expected"),
    [
        # Whatever the order of the answer, the categories and the hashes: the later turn is the newer note.
        ([value(3, [3]), value(1, [1]), value(2, [2])], [1, 2, 3]),
        ([value(1, [1], "todo"), value(2, [2], "insight"), value(3, [3], "decision")], [1, 2, 3]),
        ([value(3, [1, 3]), value(2, [2]), value(1, [1])], [1, 2, 3]),
        # Of one turn the order of the answer counts, and a note without turns rests on the whole block.
        ([value(3, []), value(1, [2]), value(2, [2])], [1, 2, 3]),
        ([value(number, [4]) for number in range(1, 6)], [1, 2, 3, 4, 5]),
    ],
)
@each("minutes", [0, 7])
def test_notes_of_a_block_are_in_the_order_of_their_turns_each_with_the_time_of_its_last_turn(named, expected, minutes):
    talk = Talk("windows", capture="notes", min_flush_chars=100)
    talk.llm.default = folding(named)
    for number in range(4):
        talk.say("u" * 200, "a" * 200, after=60 * minutes, message_id=f"m{number}")
    log.close(talk.process, "demo", talk.id)
    talk.update()

    notes = sorted(live(talk), key=lambda note: keys.parse_note_id(note.note_id).order)
    assert [note.content for note in notes] == [f"The port is {number}." for number in expected]
    turns = {turn.turn_index: turn for turn in log.read(talk.process, "demo", talk.id, range(1, 5))}
    assert [note.moment[:19] for note in notes] == [
        turns[note.source.turns[1]].said_at().isoformat()[:19] for note in notes
    ]
    # Who follows the notes sees them where the block ends.
    assert {note.timestamp for note in notes} == {f"{turns[4].timestamp[:19]}Z"}
    talk.world.consolidate()
    assert [note["content"] for note in read_prompt(talk.llm.asked[-1])["notes"]] == [note.content for note in notes]


def test_a_fold_reads_a_captured_note_before_one_that_was_written_between_its_turn_and_the_end_of_its_block():
    talk = Talk("windows", capture="notes", min_flush_chars=100)
    talk.llm.default = folding([value(1, [1])])
    talk.say("u" * 200, "a" * 200, message_id="m1")
    talk.world.pass_time(300)
    talk.world.note("The port is 2.")
    talk.say("u" * 200, "a" * 200, after=300, message_id="m2")
    log.close(talk.process, "demo", talk.id)
    talk.update()
    talk.world.consolidate()
    shown = read_prompt(talk.llm.asked[-1])["notes"]
    assert [note["content"] for note in shown] == ["The port is 1.", "The port is 2."]
    assert [note["number"] for note in shown] == [1, 2]
