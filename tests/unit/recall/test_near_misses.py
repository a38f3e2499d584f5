"""A search for a fact finds nothing where the best texts share its subject alone."""

from functools import cache

from livemem.process import Process
from livemem.recall.search import SpaceHits
from livemem.store.bucket import BANK_FILE
from tests.support.cases import each
from tests.support.searching import find, run_indexer, searching_world

TEAM = [
    "Jonas is on call in odd weeks.",
    "Mira is on call in even weeks.",
    "Jonas gives access to the VPN.",
    "The gateway LG-200 has 512 MB of memory.",
    "Issue LRK-118: vane leaks handles.",
    "The rate limit of the public interface is 60.",
    "Logs stay for 14 days in Loki.",
    "Charts are drawn by uPlot.",
    "Readings are kept for 90 days.",
    "Invoices go out on Mondays.",
]
LONG = f"Jonas {'wrote about the ferry and the harbour ' * 12}"


@cache
def team(*notes: str, bank: str = "") -> Process:
    world, _ = searching_world()
    world.create_space()
    for note in (*TEAM, *notes):
        world.note(note)
    if bank:
        world.store.put(BANK_FILE.key("demo", "team.md"), f"# Team\n\n## People\n\n{bank}\n".encode())
    run_indexer(world)
    return world.process


def asked(question: str, *notes: str, bank: str = "") -> SpaceHits:
    return find(team(*notes, bank=bank), question)


@each(
    ("question", "finds"),
    [
        ("Which keyboard and which chair does Jonas want?", False),
        ("When does Jonas leave for Oslo?", False),
        ("LRK-512", False),
        ("LRK-118", True),
        ("When is Jonas on call?", True),
        ("How long do logs stay?", True),
        # What is known of the subject may help.
        ("How should one ask Jonas for the VPN of the harbour?", True),
        ("Jonas", True),
        ("Which keyboard does Jonas like, and who is on call?", True),
    ],
)
def test_a_question_for_a_fact_finds_nothing_where_only_its_subject_is_known(question, finds):
    answer = asked(question)

    assert bool(answer.hits) is finds
    assert answer.below_floor is not finds


def test_a_line_of_a_section_does_not_answer_with_the_words_of_another_line():
    lines = "- Jonas gives access to the tunnel.\n- The keyboard of the kiosk is broken."

    assert not asked("Which keyboard does Jonas like for work?", bank=lines).hits
    assert asked("Which keyboard is broken?", bank=lines).hits


def test_a_long_text_may_hold_the_fact_in_other_words():
    question = "Which keyboard does Jonas like about the harbour and the ferry of Oslo, Bergen, Kiel, Riga and Turku?"

    assert asked(question, LONG).hits
    assert not asked(question, LONG[:44]).hits
