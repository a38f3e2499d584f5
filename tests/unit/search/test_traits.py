import pytest

from livemem.search.sought import NAME, NUMBER, TIME, sought
from livemem.search.traits import Traits, traits


def test_a_text_tells_whether_it_asks_and_speaks_of_oneself():
    assert traits("What do you think?") == Traits(asks=True, tells=False, holds=0)
    assert traits("I moved my team to Lyon.").tells
    assert traits("J'ai choisi mon équipe.").tells
    assert not traits("").asks


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("", 0),
        ("The index was rebuilt.", 0),
        ("We rebuilt it last week.", TIME),
        ("On l'a refait la semaine dernière.", TIME),
        ("Depuis mardi tout va bien.", TIME),
        ("It took 40 tries.", NUMBER),
        ("Il y en a douze.", NUMBER),
        ("We chose Postgres.", NAME),
        ("Vas-y, demande à Léa.", NAME),
        ("c'est l'équipe d'Olivier", NAME),
        ("Yes. Then we stopped.", 0),
        ("Ann: Good morning.", 0),
        ("Since March Rémi has 2 keys.", TIME | NUMBER | NAME),
    ],
)
def test_a_text_holds_a_time_a_number_a_name(text, holds):
    assert traits(text).holds == holds


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("", 0),
        ("index rebuild", 0),
        ("What did Ann choose?", 0),
        ("Why does the backup fail?", 0),
        ("When did Ann move?", TIME),
        ("How many days did the import take?", TIME),
        ("Which day was the party?", TIME),
        ("Quand est-ce que Léa part ?", TIME),
        ("Depuis combien de temps le four est-il en panne ?", TIME),
        ("How many keys are there?", NUMBER),
        ("Combien coûte le four ?", NUMBER),
        ("Who has the keys?", NAME),
        ("Où sont les clés ?", NAME),
        ("Quel est le nom du chat ?", NAME),
        ("Avec qui part-elle ?", NAME),
        ("Le four, depuis quand est-il en panne ?", TIME),
        # These words join here.
        ("Pourquoi s'arrête-t-il quand on ouvre la porte ?", 0),
        ("Que font les gens qui voient mal ?", 0),
        # A part of a word asks for nothing.
        ("whenever, whoever: the quill", 0),
    ],
)
def test_a_question_asks_for_a_kind_of_answer(question, kind):
    assert sought(question) == kind
