"""Rules in the words of people: English, French, German and odd ones, in `rules/`. Each note finds its place."""

from pathlib import Path

from livemem.markdown import sections
from tests.support.cases import each
from tests.support.markdown import own_text
from tests.unit.local.offline_llm.support import fold_into, make_note

RULES = Path(__file__).parent / "rules"
CATEGORIES = ("todo", "question", "issue", "progress", "decision", "observation", "insight")
# The file and the heading for each of these categories; a file alone if it has no sections.
PLACES = {
    "french_files": """
        a-faire.md | questions.md#Questions ouvertes | problemes.md#Problèmes connus | acquis.md#Avancement
        | decisions.md | constats.md | acquis.md#Enseignements""",
    "french_plain_letters": """
        projet.md#A faire | projet.md#Questions | projet.md#Problemes connus | projet.md#Fait
        | notes.md#Decisions prises | notes.md#Constats et mesures | notes.md#Lecons""",
    "french_people": """
        equipe.md#Reste à faire | equipe.md#Questions en suspens | equipe.md#Anomalies | equipe.md#Livré
        | equipe.md#Décisions | equipe.md#Bon à savoir | equipe.md#Bon à savoir""",
    "french_numbered": """
        etat.md#À faire | questions.md#Questions ouvertes | etat.md#Problèmes connus | faits.md#Avancement
        | decisions.md | faits.md#Constats | faits.md#Enseignements""",
    "french_sayings": """
        memo.md#Ce qu'il faut faire | memo.md#Ce qu'on ne sait pas | memo.md#Ce qui coince | memo.md#Ce qui est fait
        | memo.md#Ce qu'on a décidé | memo.md#Ce qu'on a vu | memo.md#Ce qu'on a compris""",
    "other_words": """
        board.md#Backlog | board.md#Unknowns | board.md#Bugs and hazards | knowledge.md#Delivered
        | knowledge.md#Agreements | knowledge.md#Facts | knowledge.md#Takeaways""",
    "signs": """
        STATUS.md#📌 TODO | STATUS.md#❓ QUESTIONS | STATUS.md#🐞 BUGS | STATUS.md#✅ DONE
        | KNOWLEDGE.md#⚖️ DECISIONS | KNOWLEDGE.md#🔭 OBSERVATIONS | KNOWLEDGE.md#💡 LESSONS""",
    "german": """
        stand.md#Nächste Schritte | stand.md#Offene Fragen | stand.md#Bekannte Probleme | stand.md#Erledigt
        | wissen.md#Entscheidungen | wissen.md#Beobachtungen | wissen.md#Erkenntnisse""",
    "nothing": """
        notes.md#To do | notes.md#Open questions | notes.md#Known issues | notes.md#Progress
        | notes.md#Decisions | notes.md#Observations | notes.md#Insights""",
}


def place(bank: dict[str, str], text: str) -> str:
    """The file and the heading under which a text stands."""
    (found,) = [
        (name, part.path[-1].lstrip("# "), part.level)
        for name, content in bank.items()
        for part in sections.list_sections(content)
        if text in own_text(content, part)
    ]
    return f"{found[0]}#{found[1]}" if found[2] > 1 else found[0]


@each("name", list(PLACES))
def test_notes_of_each_category_find_their_places_in_rules_of_any_words(name: str) -> None:
    rules = (RULES / f"{name}.md").read_text("utf-8")
    contents = ("Alpha.", "Beta?", "Gamma.", "Delta.", "Epsilon.", "Zeta.", "Eta.")
    notes = [make_note(number, *pair) for number, pair in enumerate(zip(CATEGORIES, contents, strict=True), 1)]

    bank = fold_into({}, rules, notes)

    assert [place(bank, content) for content in contents] == [one.strip() for one in PLACES[name].split("|")]


def test_all_rules_of_the_folder_are_among_them() -> None:
    assert {path.stem for path in RULES.iterdir()} == set(PLACES)
