"""How well a heading or a description suits a category of notes: a table of keywords with weights."""

from collections.abc import Mapping
from functools import lru_cache

from local.offline_llm.words import all_stems, stem, unaccented

# Not a category of notes: progress that is reported as begun ("Started ..."), for sections such as "Current focus".
CURRENT = "current"

# What kinds of entry can be closed later: a todo is done, a question answered, an issue solved, begun work finished.
OPEN_KINDS = ("todo", "question", "issue", CURRENT)
# From this weight on a heading is taken to hold entries of that kind (filing prefers, closing searches there).
OPEN_KIND_WEIGHT = 3.0

# 5: the word names the category; 4: a usual name for it; 3 and below: related.
# English, with the usual French and German words.
_KEYWORDS: Mapping[str, str] = {
    "observation": """
        observation:5 observations:5 observed:5 finding:4 fact:4 measurement:4 behaviour:3 behavior:3 note:3
        notes:3 tech:2 technical:2 context:2 environment:3 constraint:3 tool:2 stack:3 learned:2 log:2 misc:2
        general:2 diary:2 everything:4 else:4 divers:4 constats:5 mesures:4 comportement:3 environnement:3
        outils:2 technique:2 contexte:2 appris:2 vu:4 beobachtungen:5""",
    "decision": """
        decision:5 decisions:5 decided:5 choice:4 adr:5 architecture:2 pattern:2 convention:2 principle:2
        design:2 rationale:4 requirement:2 scope:2 policy:2 agreed:4 agreement:4 agreements:4 décisions:5 décidé:5
        choix:4 accords:4 convenu:4 exigences:2 périmètre:2 entscheidungen:5 beschlossen:5""",
    "todo": """
        todo:5 todos:5 task:5 tasks:5 jobs:4 backlog:5 next:4 remaining:4 left:4 upcoming:4 pending:4 planned:4
        plan:3 roadmap:4 open:3 steps:2 tâches:5 prochaines:4 faire:4 reste:4 ouvert:3 ouvertes:3 étapes:2
        aufgaben:5 offen:3 offene:3 nächste:4""",
    "insight": """
        insight:5 insights:5 finding:4 lesson:5 lessons:5 learned:5 learning:5 takeaway:5 conclusion:4 retrospective:4
        understanding:3 pattern:2 principle:3 why:2 enseignements:5 leçons:5 appris:5 apprises:5 compris:4
        erkenntnisse:5""",
    "question": """
        question:5 questions:5 unknown:4 unclear:4 unanswered:5 undecided:5 ask:3 open:3 clarify:4
        interrogations:5 inconnues:4 ouvert:3 ouvertes:3 suspens:4 fragen:5 offen:3 offene:3""",
    "progress": """
        progress:4 done:5 works:4 working:4 completed:5 finished:5 achieved:5 delivered:5 shipped:5 milestone:5 status:3
        state:2 changes:3 changelog:5 recent:2 focus:2 fait:5 jalons:5 terminé:5 réalisé:5 livré:5 avancement:5
        avancées:5 progrès:4 fonctionne:4 erledigt:5 fortschritt:5""",
    "issue": """
        issue:5 issues:5 problem:5 problems:5 bug:5 bugs:5 risk:4 blocker:5 blocked:4 trouble:4 limitation:4
        debt:4 trap:4 defect:5 failure:4 broken:5 breakages:5 concern:3 incident:4 outage:4 problèmes:5 bogues:5
        anomalies:5 pannes:4 risques:4 pièges:4 blocages:5 bloquants:5 coince:5 risiken:4 fehler:5 probleme:5""",
    CURRENT: """
        focus:5 current:4 currently:4 ongoing:5 doing:4 wip:5 underway:5 actuel:4 actuellement:4 cours:4
        moment:4 aktuell:4""",
}
# This program runs without the service's packages.
CATEGORIES = tuple(name for name in _KEYWORDS if name != CURRENT)


@lru_cache(maxsize=1)
def _weights() -> Mapping[str, Mapping[str, float]]:
    """Category to stem to weight; where two words share a stem the higher weight counts."""
    table: dict[str, dict[str, float]] = {}
    for category, text in _KEYWORDS.items():
        row = table.setdefault(category, {})
        for pair in text.split():
            word, weight = pair.split(":")
            for french in (False, True):
                key = stem(unaccented(word), french=french)
                row[key] = max(row.get(key, 0.0), float(weight))
    return table


def affinities(text: str) -> dict[str, float]:
    """Category to weight (0 to 5) of the best keyword that the text holds for it."""
    words = all_stems(text)
    return {
        category: max((weight for key, weight in row.items() if key in words), default=0.0)
        for category, row in _weights().items()
    }


def open_kinds(heading: str, description: str = "") -> frozenset[str]:
    """Which kinds of closable entry a section holds, from its heading and, where that says too little, its description.

    A heading that names a category ("What works", "Decisions") is not overruled by its description.
    """
    by_heading = affinities(heading)
    strongest = max(by_heading.values())
    kinds = {kind for kind in OPEN_KINDS if by_heading[kind] >= OPEN_KIND_WEIGHT}
    if strongest > OPEN_KIND_WEIGHT:
        # "Open questions" and "Open tasks" share a word that says only that things wait.
        return frozenset(kind for kind in kinds if by_heading[kind] > OPEN_KIND_WEIGHT)
    if kinds == {"todo", "question"}:
        kinds |= {"issue"}  # "Still open"
    by_description = affinities(description)
    return frozenset(kinds | {kind for kind in OPEN_KINDS if by_description[kind] > OPEN_KIND_WEIGHT})
