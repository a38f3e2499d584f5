"""The offline model on the messages of a room: by fixed rules, in their words."""

import json
from pathlib import Path
from zoneinfo import ZoneInfo

from livemem.memories.memory import Memory, Provenance
from livemem.rooms import chunks
from livemem.rooms.digest_documents import ExtractedFact
from livemem.rooms.message import Message
from local.offline_llm.chat import complete_chat
from tests.support.cases import each
from tests.support.world import START

ROOM = Path(__file__).resolve().parents[4] / "examples" / "room.ndjson"


def said(*contents: str, author: str = "Ines") -> list[Message]:
    return [
        Message(message_id=f"m{place}", author=author, content=content, timestamp="2026-02-20T14:00:00.000Z")
        for place, content in enumerate(contents, 1)
    ]


def known(content: str) -> Memory:
    moment = "2026-02-20T14:00:00.000Z"
    return Memory(
        memory_id="01KHXA0B7C9D2E4F6G8H0J2K4M",
        kind="fact",
        content=content,
        created_at=moment,
        updated_at=moment,
        provenance=Provenance(author="ann"),
    )


def listen(messages: list[Message], *memories: Memory) -> list[ExtractedFact]:
    """What the service takes from the offline model's answer to its own prompt."""
    question = chunks.prompt_of("general", messages, memories, ZoneInfo("Europe/Paris"), START, 100_000)
    completion = complete_chat({"model": "x", "messages": question})
    return chunks.parse(completion["choices"][0]["message"]["content"], messages, START)


@each(
    "text",
    [
        "We decided to move the import to the new API.",
        "On a décidé de garder S3 comme seul stockage.",
        "From now on a lease lives for 90 seconds.",
        "Désormais les sauvegardes partent à deux heures.",
        "Tom no longer works on the ferry timetable.",
        "Zoé s'occupe des factures du port.",
        "The team prefers short commit messages.",
        "I want to understand the listings.",
    ],
)
def test_decisions_changes_and_who_does_what_are_facts_in_the_words_of_the_message(text):
    (found,) = listen(said(text))

    assert found.kind == "fact"
    assert found.content.removeprefix("Ines: ") == text
    assert found.messages == ["m1"]
    assert found.subjects


@each(
    "text",
    [
        "Good morning all.",
        "Merci, c'est noté.",
        "Thanks, that answers it.",
        "lol",
        "How long does the id of a deleted space stay blocked?",
        "Est-ce que quelqu'un regarde la CI ?",
        "See you tomorrow.",
    ],
)
def test_small_talk_and_questions_are_not_worth_it(text):
    assert listen(said(text)) == []


@each(
    ("text", "ttl"),
    [
        ("Today the end-to-end tests run on MinIO only, because sam is out.", "1d"),
        ("Aujourd'hui Tom s'occupe de la CI.", "1d"),
        ("This week Ines leads the import.", "1w"),
        ("Cette semaine le port est toujours fermé.", "1w"),
        ("Ines always leads the import.", None),
    ],
)
def test_what_holds_for_a_time_only_has_a_time_to_live(text, ttl):
    (found,) = listen(said(text))

    assert found.ttl == ttl


def test_what_is_known_already_is_left_out_and_a_change_replaces_it():
    fact = known("Ines leads the ferry import since May.")

    assert listen(said("Ines leads the ferry import."), fact) == []
    (found,) = listen(said("Ines no longer leads the ferry import: Tom does."), fact)
    assert found.replace
    assert not listen(said("Zoé no longer drinks tea at noon."), fact)[0].replace


def test_a_sentence_that_speaks_of_its_author_names_them():
    (found,) = listen(said("We decided to stop at six.", author="Zoé Martin"))

    assert found.content == "Zoé Martin: We decided to stop at six."


def test_a_day_of_true_messages_gives_what_was_decided_and_no_small_talk():
    lines = [json.loads(line) for line in ROOM.read_text().splitlines()]
    messages = [Message(**line) for line in lines]

    found = listen(messages)

    assert 20 <= len(found) <= 30
    numbers = {one.messages[0] for one in found}
    assert {"room-0003", "room-0009", "room-0013", "room-0016", "room-0025", "room-0040"} <= numbers
    assert not numbers & {"room-0001", "room-0002", "room-0004", "room-0006", "room-0014", "room-0020", "room-0039"}
    assert listen(messages) == found


def test_no_message_takes_long():
    long = said(*["a" * 16_000, "we " * 5_000, "ne " * 5_000, "A" * 16_000, ": ; " * 4_000])

    assert len(listen(long)) <= 40
