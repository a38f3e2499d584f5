"""How like two contents are, by their text alone."""

from hypothesis import given
from hypothesis import strategies as st

from livemem.text import similarity
from tests.support.cases import each

WORDS = st.text(alphabet="abcdefghij é", min_size=1, max_size=60)
ANY = st.text(max_size=120)


@each(
    ("one", "other"),
    [
        ("The port is 8080.", "the port  is 8080"),
        ("« Le port est 8080 »", "Le port est 8080"),
        ("- The port is 8080", "The port is 8080"),
        ("L’API est lente…", "L'API est lente"),
        ("Ｔｈｅ ｐｏｒｔ ｉｓ ８０８０", "The port is 8080"),
        ("Équipe", "E\u0301quipe"),
        ("The API\u00a0is\u2011new", "the api is-new"),
    ],
)
def test_the_same_words_in_another_dress_are_the_same_text(one, other):
    assert similarity.normalised(one) == similarity.normalised(other)


@each(
    ("one", "other"),
    [
        ("The limit is 10²", "The limit is 102"),
        ("It takes 1½ hours", "It takes 11/2 hours"),
        ("Ann likes tea", "Ann likes tea?"),
        ("Pêcher au port", "Pécher au port"),
        ("The file is .env", "The file is env"),
        ("-5 degrees", "5 degrees"),
    ],
)
def test_what_is_written_otherwise_for_a_reason_is_another_text(one, other):
    assert similarity.normalised(one) != similarity.normalised(other)


@given(ANY)
def test_what_was_normalised_stays_as_it_is(text):
    once = similarity.normalised(text)
    assert similarity.normalised(once) == once


@given(ANY, ANY)
def test_likeness_is_the_same_both_ways_and_between_0_and_1(one, other):
    score = similarity.lexical(one, other)
    assert 0 <= score <= 1
    assert score == similarity.lexical(other, one)


@given(ANY)
def test_a_text_is_wholly_like_itself_and_like_its_other_dress(text):
    assert similarity.lexical(text, text) == 1
    assert similarity.lexical(text, f" {similarity.normalised(text)}. ") == 1


@given(ANY)
def test_a_text_neither_adds_to_itself_nor_differs_from_itself(text):
    assert not similarity.adds(text, text)
    assert not similarity.differs(text, text)


SENTENCES = st.lists(st.sampled_from("Ann Bob prefers tea the port 8080 9090 is not node-2 daily".split()), max_size=8)


@given(SENTENCES.map(" ".join), SENTENCES.map(" ".join))
def test_whether_two_are_of_two_things_does_not_depend_on_their_order(one, other):
    assert similarity.differs(one, other) == similarity.differs(other, one)


@each(
    ("new", "old"),
    [
        ("the port is 9090", "the port is 8080 for the API"),
        ("The backup runs at 03:00", "The nightly backup runs at 02:00 on host db-1"),
        ("Bob leads payments", "Payments are led by Ann in Lyon"),
        ("Deploys on Friday are not allowed", "Deploys on Friday are allowed after 5 in Paris"),
        ("On ne livre plus le vendredi", "On livre le vendredi, chez Ariane"),
        ("It isn't in use", "Redis 7 is in use for sessions"),
        ("See https://wiki.test/a", "See https://wiki.test/b, page 4"),
        ("The key is in api_key_2", "The key is in the vault of Ann"),
        ("Deploys need an approval", "Deploys are free"),
    ],
)
def test_what_says_something_new_is_never_taken_for_a_vaguer_restatement(new, old):
    assert similarity.adds(new, old)


@each(
    ("new", "old"),
    [
        ("We use Postgres", "We use Postgres 15 for billing"),
        ("The backup runs at night", "The backup runs every night at 02:00 on db-1"),
        ("Ann prefers tea", "Ann prefers green tea in the morning"),
        ("On utilise Postgres", "Pour la facturation, on utilise Postgres 15 chez OVH"),
        ("10 000 requests", "10,000 requests a day at most"),
    ],
)
def test_a_shorter_and_vaguer_restatement_adds_nothing(new, old):
    assert not similarity.adds(new, old)


@each(
    ("new", "old"),
    [
        ("Ann prefers tea", "Bob prefers tea"),
        ("Staging runs on Postgres 15", "Production runs on Postgres 15"),
        ("Room 4 has a projector", "Room 5 has a projector"),
        ("Ship 3", "Ship 4"),
        ("fact one", "fact two"),
        ("Bob eats meat", "Ann does not eat meat"),
        ("Ticket PAY-311 waits for the bank", "Ticket PAY-318 waits for the bank"),
        ("Mehdi speaks Arabic and wants tests", "Mehdi speaks Arabic and wants docs"),
        ("La limite d'envoi est de 20 Mo", "La limite de téléchargement est de 20 Mo"),
        ("La clé d'Ann pour le dépôt expire en mai", "La clé de Bob pour le dépôt expire en mai"),
    ],
)
def test_the_same_said_of_another_is_another_fact(new, old):
    assert similarity.differs(new, old)


@each(
    ("new", "old"),
    [
        ("The backup runs at 03:00", "The backup runs at 02:00"),
        ("Paul's time zone is Berlin", "Paul's time zone is Paris"),
        ("Le port de l'API est 9090", "Le port de l'API est 8080"),
        ("Deploys on Friday are not allowed", "Deploys on Friday are allowed"),
        ("The weekly report goes out on Thursday", "The weekly report goes out on Monday"),
        ("Errors go to #platform-alerts", "Errors go to #ops-alerts"),
        ("the port is 9090", "the port is 8080 for the API"),
        ("La maquette a été refusée par Denis", "La maquette a été validée par Denis"),
        ("Uploads take 40 MB at most", "Uploads take 20 MB at most"),
    ],
)
def test_a_new_value_of_the_same_thing_is_no_other_fact(new, old):
    assert not similarity.differs(new, old)


@each(
    ("one", "other"),
    [
        ("The front-end uses Vite", "The frontend uses Vite"),
        ("The retention of audit logs is 400 days", "The retention of audit-logs is 400 days"),
        ("We chose Postgres over MySQL for orders", "For orders it was decided to use Postgres rather than MySQL"),
        ("Tests run without any network access", "The test suite must not use the network"),
    ],
)
def test_the_same_in_other_words_is_no_other_fact(one, other):
    assert not similarity.differs(one, other)


def test_of_a_very_long_text_only_the_beginning_is_set_side_by_side():
    same = "word " * similarity.MOST_WORDS
    assert similarity.differs(f"Ann {same}", f"Bob {same}")
    assert not similarity.differs(f"{same} Ann prefers tea", f"{same} Bob prefers tea")


def test_words_that_say_little_do_not_make_texts_alike():
    far = similarity.lexical("The port of the API is 8080", "The name of the cat is Tom")
    near = similarity.lexical("The port of the API is 8080", "API port: 8080")
    assert far < 0.3
    assert near > 0.6


def test_a_text_of_common_words_alone_is_compared_by_them():
    assert similarity.lexical("It is here", "It is here") == 1
    assert similarity.lexical("It is here", "You were there") < 0.5


@each(
    ("new", "old", "is_against"),
    [
        ("We make PDFs with WeasyPrint instead of ReportLab.", "PDFs are made with ReportLab.", True),
        ("The export waits 45 seconds for an answer now.", "The export waits 30 seconds for an answer.", True),
        ("Deploys no longer run from laptops.", "We decided that deploys run from laptops.", True),
        ("Nous gardons les horaires en UTC au lieu de l'heure locale.", "Les horaires sont en heure locale.", True),
        ("Deploys run on Friday at 10:00.", "Deploys run on Friday.", False),
        ("The port of the API is 8080.", "The port of the desk is 3000.", False),
        ("Staging deploys on Monday.", "Production deploys on Friday.", False),
        ("We write the failing test first.", "The program sends no mail.", False),
        ("We keep S3 instead of a database.", "The failing test is written first.", False),
        ("We keep S3 instead of a database.", "The database is upgraded on Friday.", False),
    ],
)
def test_a_statement_is_against_an_older_one_that_it_replaces_or_gives_another_value(new, old, is_against):
    assert similarity.contradicts(new, old) is is_against
    assert not similarity.contradicts(new, new)
