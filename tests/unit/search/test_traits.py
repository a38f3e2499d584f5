import time

from hypothesis import given
from hypothesis import strategies as st

from livemem.search.sought import CONSENT, NAME, NUMBER, TIME, asks_model, sought
from livemem.search.traits import Traits, traits
from tests.support.cases import each


def test_a_text_tells_whether_it_asks_and_speaks_of_oneself():
    assert traits("What do you think?") == Traits(asks=True, tells=False, holds=0)
    assert traits("I moved my team to Lyon.").tells
    assert traits("J'ai choisi mon équipe.").tells
    assert not traits("").asks


@each(
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
        ("Yes. Then we stopped.", CONSENT),
        ("« Oui », sauf la nuit.", CONSENT),
        ("NON : la loi l'interdit.", CONSENT),
        ("Nonetheless we stopped.", 0),
        ("We said yes.", 0),
        ("Ann: Good morning.", 0),
        ("Since March Rémi has 2 keys.", TIME | NUMBER | NAME),
    ],
)
def test_a_text_holds_a_time_a_number_a_name_or_begins_with_yes_or_no(text, holds):
    assert traits(text).holds == holds


@each(
    ("question", "kind"),
    [
        ("", 0),
        ("index rebuild", 0),
        ("What did Ann choose?", 0),
        ("Did Ann choose it?", CONSENT),
        ("The oven: is it on?", CONSENT),
        ("Could you show me the oven?", 0),
        ("do not touch the oven", 0),
        ("Peut-on effacer une facture ?", CONSENT),
        ("Une caméra qui filme la rue peut-elle filmer une porte ?", CONSENT),
        ("Facture annulée : est-ce légal ?", CONSENT),
        ("Le four, c'est dangereux ?", CONSENT),
        ("Le four, c'est quoi ?", 0),
        ("le four, c'est dangereux", 0),
        ("Qu'est-ce que le four ?", 0),
        ("De quoi les clients doivent-ils être informés ?", 0),
        ("Comment les mots de passe sont-ils hachés ?", 0),
        ("le rendez-vous de mardi", 0),
        ("À quel moment rappelle-t-on les clients ?", TIME),
        ("À quelle fréquence l'équipe se voit-elle ?", TIME),
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


@each(
    ("question", "of_model"),
    [
        ("How did you recommend structuring the work?", True),
        ("Which library did you first suggest?", True),
        ("Remind me of the hotel that you told me about.", True),
        ("the three books you have already mentioned", True),
        ("What was your advice on the deadline?", True),
        ("Qu'as-tu recommandé pour le four ?", True),
        ("Quel hôtel m'avez-vous conseillé ?", True),
        ("l'hôtel que vous m'avez indiqué", True),
        ("quel était ton conseil ?", True),
        ("What did I say about the hotel?", False),
        ("What would you recommend?", False),
        ("Can you list the order in which I brought up the hotel?", False),
        ("How do you give a name to a space?", False),
        ("Quel hôtel ai-je choisi ?", False),
        ("avez-vous une clé ?", False),
    ],
)
def test_a_question_asks_what_the_model_said(question, of_model):
    assert asks_model(question) == of_model


@given(st.text(max_size=300))
def test_any_text_is_a_question_of_at_most_one_kind(text):
    assert sought(text) in {0, TIME, NUMBER, NAME, CONSENT}
    assert asks_model(text) in {False, True}


@each("piece", ["a-t-", "est-ce ", "c'est ", "you ", "tu m'", " : ", "? ", "is ", "œ-on "])
def test_a_hostile_question_takes_no_longer_than_its_length(piece):
    text = piece * (20_000 // len(piece))
    started = time.perf_counter()
    sought(text), asks_model(text)
    assert time.perf_counter() - started < 5
