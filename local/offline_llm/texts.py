"""The words that the fold itself writes into a bank and a synthesis, in the language of the rules."""

from collections.abc import Mapping
from dataclasses import dataclass

from local.offline_llm.words import is_french


@dataclass(frozen=True)
class Texts:
    """The words of one language. `closed` and `labels` are by the kinds of open entries."""

    labels: Mapping[str, str]
    closed: Mapping[str, str]
    headings: Mapping[str, str]
    kinds: Mapping[str, str]
    of: str
    was: str
    undated: str
    note_of: str
    unknown: str
    made_by: str
    head: str
    period: str
    by: str
    counts: Mapping[str, tuple[str, str]]
    decisions: str
    progress: str
    open: Mapping[str, str]
    newest: str


ENGLISH = Texts(
    labels={"todo": "Todo:", "question": "Question:", "issue": "Issue:", "current": "Current:"},
    closed={
        "todo": "Closes the todo",
        "question": "Answers the question",
        "issue": "Settles the issue",
        "current": "Finishes",
        "statement": "Replaces",
        "": "Closes",
    },
    headings={
        "progress": "Progress",
        "todo": "To do",
        "question": "Open questions",
        "issue": "Known issues",
        "decision": "Decisions",
        "observation": "Observations",
        "insight": "Insights",
    },
    kinds={"": "open"},
    of="{kind} of {stamp}",
    was="was {kind}",
    undated="undated",
    note_of="A note of category {category}:",
    unknown="unknown",
    made_by="Made by the offline rules (model `offline-rules`), not by a language model.",
    head="{period}: {count} notes{who} ({kinds}).",
    period="{first} to {last}",
    by=" by {who}",
    counts={
        "observation": ("observation", "observations"),
        "decision": ("decision", "decisions"),
        "todo": ("todo", "todos"),
        "insight": ("insight", "insights"),
        "question": ("question", "questions"),
        "progress": ("progress", "progress"),
        "issue": ("issue", "issues"),
    },
    decisions="Latest decisions",
    progress="Latest progress",
    open={"todo": "Open todos", "question": "Open questions", "issue": "Open issues", "current": "Under way"},
    newest=" ({shown} newest of {total})",
)
FRENCH = Texts(
    labels={"todo": "Tâche :", "question": "Question :", "issue": "Problème :", "current": "En cours :"},
    closed={
        "todo": "Clôt la tâche ",
        "question": "Répond à la question ",
        "issue": "Règle le problème ",
        "current": "Termine ",
        "statement": "Remplace ",
        "": "Clôt ",
    },
    headings={
        "progress": "Avancement",
        "todo": "À faire",
        "question": "Questions ouvertes",
        "issue": "Problèmes connus",
        "decision": "Décisions",
        "observation": "Constats",
        "insight": "Enseignements",
    },
    kinds={"todo": "tâche", "issue": "problème", "current": "en cours", "": "ouvert", "statement": "valeur"},
    of="{kind} du {stamp}",
    was="était : {kind}",
    undated="sans date",
    note_of="Une note de la catégorie {category} :",
    unknown="inconnue",
    made_by="Fait par des règles fixes (modèle `offline-rules`), pas par un modèle de langue.",
    head="{period} : {count} notes{who} ({kinds}).",
    period="du {first} au {last}",
    by=" de {who}",
    counts={
        "observation": ("constat", "constats"),
        "decision": ("décision", "décisions"),
        "todo": ("tâche", "tâches"),
        "insight": ("enseignement", "enseignements"),
        "question": ("question", "questions"),
        "progress": ("avancement", "avancements"),
        "issue": ("problème", "problèmes"),
    },
    decisions="Dernières décisions",
    progress="Derniers avancements",
    open={
        "todo": "Tâches ouvertes",
        "question": "Questions ouvertes",
        "issue": "Problèmes ouverts",
        "current": "En cours",
    },
    newest=" (les {shown} plus récents sur {total})",
)


def of_language(tag: str, rules: str) -> Texts:
    """The words in the language of a tag, such as `fr-CA`. "": in that of the rules. English for all others."""
    french = tag.lower().partition("-")[0] == "fr" if tag else is_french(rules)
    return FRENCH if french else ENGLISH
