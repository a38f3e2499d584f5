"""The notes that a block of turns names, by fixed rules: sentences that call themselves a decision, a todo or an issue,
word for word. Nothing is put in other words, so nothing is made up. Most blocks name none.

A label ("Decision:", "À faire :") or a plain statement ("we decided to", "il reste à") is needed. Questions, conditions
and denials name nothing, neither do quotes, tables, headings and code.
"""

import re
from typing import Any

from local.offline_llm import sentences
from local.offline_llm.listening import FEWEST_WORDS, LONGEST
from local.offline_llm.summary_prompt import SummaryRequest
from local.offline_llm.words import normalise

MOST = 5
"""Notes of a block, as the prompt asks."""

CUT_FROM = 4_000
"""Characters of a block from which on its end may cut a sentence. A long turn is cut at 4,800 characters at the least
(docs/conversations.md).
"""

_TEAM = r"(?:we|the team)(?:\s+(?:have|all|both|just|also|finally|now|then)|['’]ve)*\s+"
_ON = r"(?:on a|nous avons|l['’]équipe a|il (?:a été|est)|c['’]est)\s+(?:(?:tous|donc|aussi|finalement)\s+)*"
_LABELS = {
    "decision": "decision|decided|agreed|décision|décidé|convenu",
    "issue": "(?:known |open )?(?:issue|problem|bug)|(?:problème|bug)(?: connu| ouvert)?",
    "todo": "to[ -]?do|next steps?|action|still open|à faire|reste à faire|prochaines? étapes?",
}
"""What a sentence of each category begins with. Of more notes than MOST the first category is kept first."""
_STATEMENTS = {
    "decision": (
        rf"{_TEAM}(?:decided|agreed)",
        "(?:it|that) (?:is|was|has been) decided",
        "from now on,? we",
        rf"{_ON}(?:décidé|convenu)",
        "nous sommes convenus",
        "(?:désormais|dorénavant),? (?:on|nous|l['’]équipe)",
    ),
    "issue": (
        "(?:the|a) (?:known |open )?(?:problem|issue|bug) is that",
        "(?:is|are) (?:a )?known (?:problem|issue|bug)s?",
        r"le (?:problème|bug) est qu(?:e\b|['’])",
        "est un (?:problème|bug) connu",
    ),
    "todo": (
        "(?:we|somebody|someone) (?:still (?:have|has|need|needs) to|must still)",
        "(?:is|are) still to be done",
        "il (?:nous )?reste à",
        "il (?:nous )?faut encore",
        "(?:on doit|nous devons) encore",
    ),
}
"""What a sentence of each category says somewhere."""
_PATTERNS = {
    category: (
        re.compile(rf"\W*(?:{labels})\W{{0,3}}:\W*(?P<rest>.*)", re.IGNORECASE | re.DOTALL),
        re.compile(rf"(?<![\w'’-])(?:{'|'.join(_STATEMENTS[category])})(?!\w)", re.IGNORECASE),
    )
    for category, labels in _LABELS.items()
}
_DENIED = re.compile(
    r"\b(?:if|whether|unless|until|once|when|had|would|should|could|may|might|maybe|perhaps|suppose|not|never|nobody"
    r"|\w+n['’]t"
    r"|si|s['’]il|quand|lorsque|tant que|peut-être|jamais|pas|personne)\b",
    re.IGNORECASE,
)
_OVER = re.compile(
    r"\b(?:fixed|solved|resolved|gone|done|none|nothing|corrigée?|résolue?|réglée?|aucune?|rien)\b", re.IGNORECASE
)


def named_notes(request: SummaryRequest) -> list[dict[str, Any]]:
    """At most MOST notes for the answer to a request, in the order in which they were said. The same words count once.

    Of more than that, decisions come before issues and todos, and what was said last before the rest.
    """
    found: dict[str, dict[str, Any]] = {}
    large = sum(len(part.text) for part in request.parts) >= CUT_FROM
    for part in request.parts:
        if part.turn is not None:
            said = sentences.said(part.text)
            if large and part is request.parts[-1] and not sentences.is_whole(part.text):
                said = said[:-1]
            for text in said:
                category = _category(text)
                if category:
                    note = {"category": category, "content": text, "turns": [part.turn]}
                    found.setdefault(normalise(text), note)
    notes = list(enumerate(found.values()))
    ranks = list(_LABELS)
    kept = sorted(notes, key=lambda one: (ranks.index(one[1]["category"]), -one[0]))[:MOST]
    return [note for _, note in sorted(kept, key=lambda one: one[0])]


def _category(text: str) -> str | None:
    if "?" in text or not text.isprintable() or len(text) > LONGEST:
        return None
    for category, (label, statement) in _PATTERNS.items():
        labelled = label.match(text)
        stated = None if labelled else statement.search(text)
        if labelled:
            told, before = labelled["rest"], ""
        elif stated:
            told, before = text[stated.end() :], text[: stated.start()]
        else:
            continue
        over = category != "decision" and _OVER.search(told)
        return None if over or _DENIED.search(before) or len(told.split()) < FEWEST_WORDS - 1 else category
    return None
