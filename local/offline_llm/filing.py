"""Which section of which file a note goes to: by its category, and by the words that it shares with the rules."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from local.offline_llm.entries import Note
from local.offline_llm.rules import FileSpec, Path
from local.offline_llm.words import stem, stems, unaccented, word_stems

OPEN = ("todo", "question", "issue")
"""Categories of notes that wait for somebody."""
_NAMES = 4.0
"""From this weight on a heading is named after a category."""
_NAMES_OPEN = 3.0
_MOST_SHARED = 2.0
_FOREIGN = -3.0

# 5: the word names the category; 4: a usual name for it; 3 and below: related.
# English, with the usual French and German words.
_KEYWORDS: Mapping[str, str] = {
    "observation": """
        observation:5 observed:5 finding:4 fact:4 measurement:4 behaviour:3 behavior:3 note:3 tech:2 technical:2
        context:2 environment:3 constraint:3 tool:2 stack:3 learned:2 log:2 misc:2 general:2 diary:2 everything:4
        else:4 divers:4 constats:5 mesures:4 comportement:3 environnement:3 outils:2 technique:2 appris:2 vu:4
        beobachtungen:5""",
    "decision": """
        decision:5 decided:5 choice:4 adr:5 architecture:2 pattern:2 convention:2 principle:2 design:2 rationale:4
        requirement:2 scope:2 policy:2 agreed:4 agreement:4 choix:4 accords:4 convenu:4 exigences:2 périmètre:2
        entscheidungen:5 beschlossen:5""",
    "todo": """
        todo:5 task:5 jobs:4 backlog:5 next:4 remaining:4 left:4 upcoming:4 pending:4 planned:4 roadmap:4 open:3
        steps:2 tâches:5 prochaines:4 faire:4 reste:4 ouvert:3 étapes:2 aufgaben:5 offen:3 nächste:4""",
    "insight": """
        insight:5 finding:4 lesson:5 learned:5 learning:5 takeaway:5 conclusion:4 retrospective:4 understanding:3
        pattern:2 principle:3 why:2 enseignements:5 leçons:5 appris:5 apprises:5 compris:4 erkenntnisse:5""",
    "question": """
        question:5 unknown:4 unclear:4 unanswered:5 undecided:5 ask:3 open:3 clarify:4 interrogations:5 inconnues:4
        ouvert:3 suspens:4 fragen:5 offen:3""",
    "progress": """
        progress:4 done:5 working:4 completed:5 finished:5 achieved:5 delivered:5 shipped:5 milestone:5 status:3
        state:2 changes:3 changelog:5 recent:2 focus:2 fait:5 jalons:5 terminé:5 réalisé:5 livré:5 avancement:5
        avancées:5 progrès:4 fonctionne:4 erledigt:5 fortschritt:5""",
    "issue": """
        issue:5 problem:5 bug:5 risk:4 blocker:5 blocked:4 trouble:4 limitation:4 debt:4 trap:4 defect:5 failure:4
        broken:5 breakages:5 concern:3 incident:4 outage:4 bogues:5 anomalies:5 pannes:4 risques:4 pièges:4
        blocages:5 bloquants:5 coince:5 risiken:4 fehler:5""",
}

CATEGORIES = tuple(_KEYWORDS)


@dataclass(frozen=True)
class Shelf:
    """A place for notes: a section, or a whole file without sections. `draws`: how well each category fits.
    `words`: the weight of each word that describes it. `kinds`: the open kinds that it holds.
    """

    spec: FileSpec
    path: Path
    draws: Mapping[str, float]
    words: Mapping[str, float]
    kinds: frozenset[str]


def list_shelves(files: Sequence[FileSpec]) -> list[Shelf]:
    """The places that the files offer, in their order."""
    return [_shelf(spec, path) for spec in files for path in spec.leaves or [()]]


def _shelf(spec: FileSpec, path: Path) -> Shelf:
    name = f"{spec.name.removesuffix('.md')} {spec.title}"
    heading = " ".join(part.text for part in path if not part.day) if path else name
    description = " ".join(part.description for part in path) if path else spec.description
    parts = ((heading, 1.0), (description, 0.4), (f"{name} {spec.description}", 0.25))
    kinds, named = open_kinds(heading, description), affinities(heading)
    draws = {category: sum(affinities(text)[category] * weight for text, weight in parts) for category in CATEGORIES}
    if kinds or max(named.values()) >= _NAMES:
        # It is named after other categories.
        fitting = kinds or {category for category in CATEGORIES if named[category] >= 2}
        draws |= {category: draws[category] + _FOREIGN for category in CATEGORIES if category not in fitting}
    words: dict[str, float] = {}
    for text, weight in reversed(parts):
        words |= dict.fromkeys(stems(text), weight)
    return Shelf(spec, path, draws, words, kinds)


def choose_shelf(note: Note, category: str, shelves: Sequence[Shelf]) -> Shelf:
    """The best place for a note filed as `category`, of equal ones the first in the order of the rules."""
    said = stems(note.text)

    def score(shelf: Shelf) -> float:
        # fsum, because the order of a set's words differs between processes and the result must not.
        shared = math.fsum(weight for word, weight in shelf.words.items() if word in said)
        return shelf.draws[category] + min(shared, _MOST_SHARED)

    return max(shelves, key=score)


@lru_cache(maxsize=1)
def _weights() -> Mapping[str, Mapping[str, float]]:
    """Category to stem to weight; where two words share a stem the higher weight counts."""
    table: dict[str, dict[str, float]] = {category: {} for category in CATEGORIES}
    for category, text in _KEYWORDS.items():
        for word, weight in (pair.split(":") for pair in text.split()):
            for key in (stem(unaccented(word), french=french) for french in (False, True)):
                table[category][key] = max(table[category].get(key, 0.0), float(weight))
    return table


def affinities(text: str) -> dict[str, float]:
    """Category to weight (0 to 5) of the best keyword that the text holds for it."""
    words = word_stems(text)
    return {category: max((row.get(word, 0.0) for word in words), default=0.0) for category, row in _weights().items()}


def open_kinds(heading: str, description: str = "") -> frozenset[str]:
    """The open kinds that a section holds, by its heading, or by its description where that names nothing better."""
    named, described = affinities(heading), affinities(description)
    strongest = max(named.values())
    kinds = {kind for kind in OPEN if named[kind] == strongest >= _NAMES_OPEN}
    if strongest <= _NAMES_OPEN:
        kinds |= {kind for kind in OPEN if described[kind] > _NAMES and described[kind] == max(described.values())}
    return frozenset(kinds)
