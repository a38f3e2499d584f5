"""A start tells what the last sessions were about, while the bank leaves place, and which new decisions are at odds."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from livemem.conversations import conversation as conversations
from livemem.conversations import log, removal
from livemem.conversations.conversation import NewConversation
from livemem.conversations.parameters import Parameters
from livemem.conversations.turn import Draft
from livemem.erasure import erasure
from livemem.recall import start, start_material
from livemem.recall.start import StartRequest
from livemem.recall.start_material import PastSession
from livemem.spaces import head as heads
from livemem.text.code_version import CodeVersion
from tests.support.talk import Summariser, captures, frank
from tests.support.world import EVERYONE, INVOCATION, World
from tests.unit.recall.test_start import live, material, pieces

FORMER = "Decision: PDFs are made with ReportLab, which has no system dependencies."
NEWER = "We decided to make PDFs with WeasyPrint instead of ReportLab."


def session(world: World, words: str, title: str | None = "codex session 0b1c", *, asked: bool = False) -> str:
    """A session in which so much is said, closed and summarised."""
    parameters = Parameters(verbatim_chars=0)
    wanted = NewConversation(title=title, profile="windows", parameters=parameters)
    session_id = conversations.create(world.process, "demo", "ann", wanted).conversation_id
    log.append(world.process, "demo", session_id, "ann", Draft(words, "Done.", asked=asked))
    log.close(world.process, "demo", session_id)
    world.work()
    world.clock.move(60)
    return session_id


def told(world: World, max_chars: int = 9_500) -> list[str]:
    """The lines on sessions."""
    return shown_sessions(start.start(world.process, "demo", StartRequest(max_chars=max_chars)))


def shown_sessions(found: start.Start) -> list[str]:
    """The parts on sessions."""
    return [text for part, text in zip(found.parts, pieces(found), strict=True) if part.why == "sessions"]


def world_of() -> World:
    world = World(session_folds=True)
    world.create_space()
    world.llm = Summariser(frank)  # type: ignore[assignment]
    return world


def test_each_of_the_last_sessions_has_a_line_with_its_time_author_and_client_the_newest_first():
    world = world_of()
    session(world, "The import fails at night.", title="Why so? (codex session 0b1c)")
    session(world, "The quay is closed.", title="Winter timetable")
    session(world, "Said by the client itself.", title="ann session 1")

    itself, first, second = told(world)
    assert itself.endswith("[2026-02-20T14:02 ann] Said by the client itself. Done.\n")
    assert "## Last sessions, and what held then\n- [" in itself
    assert first == "- [2026-02-20T14:01 ann Winter timetable] The quay is closed. Done.\n"
    assert second == "- [2026-02-20T14:00 ann codex] The import fails at night. Done.\n"


def test_a_session_that_is_deleted_or_erased_or_only_asks_is_not_told():
    world = world_of()
    gone, erased = session(world, "Words that go."), session(world, "Words of a secret.")
    session(world, "What do we know?", asked=True)
    removal.delete(world.process, "demo", gone)
    erasure.erase(world.process, EVERYONE, "demo", [f"{erased}/1"], world.clock() + INVOCATION)

    assert told(world) == []


def test_a_session_does_not_say_again_what_stands_above_and_has_the_mark_of_its_branch():
    price, boat, cat = "Tickets are priced per kilometre.", "The ferry has two decks.", "Bob asked about a cat."
    place = "example.org/ferry"
    note = replace(live(price)[0], code=CodeVersion(place, "feature/z"))
    ids = [note.note_id]
    sessions = [
        PastSession("conversations/x/summaries/1/1", "2026-02-20T14:02:00Z", "ann", "", f"{price} Done.", ids),
        PastSession("conversations/y/summaries/1/1", "2026-02-20T14:01:00Z", "ann", "", f"{boat} {price} {cat}", ids),
        PastSession("conversations/z/summaries/1/1", "2026-02-20T14:00:00Z", "ann", "", "Done."),
    ]
    bank = {"a.md": f"# Decks\n\n- {boat[:-1]} (on main)\n"}
    shown = material(bank, sessions=sessions, live=[note], reader=CodeVersion(place, "main"))

    assert shown_sessions(start.render(shown, 9_500, "en")) == [
        f"\n## Last sessions, and what held then\n- [2026-02-20T14:01 ann] {cat} (on feature/z)\n",
        "- [2026-02-20T14:00 ann] Done.\n",
    ]


def test_small_talk_of_a_session_that_notes_are_captured_from_is_not_told():
    decided = {"category": "decision", "content": "S3 stays the only store.", "turns": [1]}
    for turns, lines in ((["S3 stays.", "My cat sleeps."], 1), (["My cat sleeps."], 0)):
        world = world_of()
        wanted = NewConversation(profile="windows", capture="notes")
        session_id = conversations.create(world.process, "demo", "ann", wanted).conversation_id
        for words in turns:
            named = [decided] if "S3" in words else []
            world.llm = Summariser(captures(*named, of=frank))  # type: ignore[assignment]
            log.append(world.process, "demo", session_id, "ann", Draft(words, "Done."))
            log.close(world.process, "demo", session_id)
            world.work()
        assert len(told(world)) == lines
        assert "cat" not in "".join(told(world))


def test_no_request_for_sessions_is_made_where_the_bank_fills_half_of_the_start_or_there_is_none():
    world = world_of()
    session(world, "The import fails at night.")
    world.store.put("demo/bank/a.md", b"# A\n\n" + b"long " * 1_000)
    assert told(world) == []
    assert len(told(world, 20_000)) == 1
    world.settings = world.settings.model_copy(update={"session_folds": False})
    world.new_process()
    assert told(world, 20_000) == []
    heads.update(world.process, "demo", lambda _: {"has_conversations": True})
    assert len(told(world, 20_000)) == 1


def test_the_last_six_sessions_are_told_at_so_many_requests():
    world = world_of()
    for number in range(8):
        session(world, f"Session {number}.")
    told(world)
    world.client.reset()
    assert [line.partition("] ")[2] for line in told(world)] == [
        f"Session {number}. Done.\n" for number in range(7, 1, -1)
    ]
    with_them = dict(world.client.counts)
    world.settings = world.settings.model_copy(update={"session_folds": False})
    world.process = replace(world.process, settings=world.settings)
    world.client.reset()
    told(world)
    more = {verb: count - world.client.counts[verb] for verb, count in with_them.items()}
    assert more == {"GET": 12, "LIST": 7}


SESSIONS = st.lists(
    st.builds(
        start_material.PastSession,
        st.just("conversations/x/summaries/1/1"),
        st.just("2026-02-20T14:00:00Z"),
        st.text(max_size=9),
        st.text(max_size=30),
        st.text(max_size=2_000),
    ),
    max_size=6,
)


@given(sessions=SESSIONS, most=st.integers(2_000, 9_500), bank=st.text(max_size=3_000))
def test_sessions_of_any_words_keep_the_start_within_its_characters(sessions, most, bank):
    found = start.render(material({"a.md": bank}, sessions=sessions, live=live("a note")), most, "en")
    assert len(found.markdown) <= most
    rows = [text.partition("held then\n")[2] or text for text in shown_sessions(found)]
    assert all(len(row.splitlines()) == 1 and row.startswith("- [2026") for row in rows)
    assert sum(part.chars for part in found.parts) == len(found.markdown)
    assert all(len(row) < start.SESSION + 500 for row in rows)


def test_of_two_new_decisions_that_are_at_odds_each_names_the_time_of_the_other():
    former, newer, other = live(FORMER, NEWER, "We write the test first.", category="decision")
    former, newer = replace(former, said_at="2026-02-18T09:00:00Z"), replace(newer, said_at="2026-02-19T10:00:00Z")
    text = start.render(material({}, live=[former, newer, other]), 4_000, "en").markdown

    assert f"[2026-02-18T09:00 ann decision replaced 2026-02-19T10:00?] {FORMER}" in text
    assert f"[2026-02-19T10:00 ann decision against 2026-02-18T09:00?] {NEWER}" in text
    assert "ann decision] We write the test first." in text
