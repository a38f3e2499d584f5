"""What a question asks for: a time, a number, a name, a yes or no, what a model said, or what held before.

A text that holds no time does not say when. The kinds are bits, so that a text can hold several.
"""

import re

TIME, NUMBER, NAME, CONSENT = 1, 2, 4, 8

# French `quand`, `qui` and `où` also join sentences. They ask where a sentence or a part of it begins.
_BEGINS = r"(?:^|[.:;,?!(] ?)(?:(?:à|a|de|avec|chez|pour|par|depuis|et|mais|ou) |jusqu['’]à |d['’])?"
_KINDS = {
    TIME: (
        r"\b(?:when|how (?:long|often)|how many (?:days|weeks|months|years)|"
        r"(?:what|which) (?:date|day|month|year|time)|"
        r"combien (?:de temps|de jours|de semaines|de mois|d['’]ann[ée]es)|tous les combien|"
        r"[àa] quel(?:le)? (?:moment|fr[ée]quence|rythme)|"
        rf"quelle (?:date|heure|dur[ée]e|ann[ée]e)|quels? (?:jours?|mois))\b|{_BEGINS}quand\b"
    ),
    NUMBER: r"\b(?:how (?:many|much|old|far|tall|big|large)|combien|quel [âa]ge)\b",
    NAME: rf"\b(?:who|whom|whose|where|which|names?|named|called|noms?)\b|{_BEGINS}(?:qui|où)\b",
}
_ASKED = {kind: re.compile(question, re.IGNORECASE) for kind, question in _KINDS.items()}

_PARTS = re.compile(r"(?<=[.:;,!?])\s+|\s+:\s+")
# Before the verb, these ask for something else than yes or no. Within a sentence `qui` and `que` join.
_OTHERWISE = re.compile(
    r"^\W*(?:(?:à|a|de|avec|chez|pour|par|depuis|et|mais|ou|sur|en|dans) |jusqu['’]à |d['’])?(?:qui|que|qu)\b|"
    r"\b(?:quoi|comment|quand|où|pourquoi|combien|quel(?:le)?s?|(?:le|la|les)quel(?:le)?s?)\b",
    re.IGNORECASE,
)
_INVERTED = re.compile(
    r"\b(?!rendez-vous)[^\W\d_]+-(?:t-)?(?:je|tu|ils?|elles?|on|nous|vous|ce)\b|\bc['’]est (?!qu)(?=[^?]*\?)",
    re.IGNORECASE,
)
_AUXILIARY = re.compile(
    r"^\W*(?:is|are|am|was|were|do|does|did|has|have|had|can|could|should|may|must|will|would|might)(?:n['’]t)? "
    r"(?!you\b|not\b)",
    re.IGNORECASE,
)
"""`Could you ...` asks for a deed."""

_SAY = "recommend|suggest|say|tell|advise|explain|propose|mention|give|show|describe|list|provide|outline|answer|warn"
_SAID = (
    "recommended|suggested|said|told|advised|explained|proposed|mentioned|gave|given|showed|shown|described|listed|"
    "provided|outlined|answered|warned"
)
_DIT = "recommand|conseill|sugg[ée]r|propos|dit|expliqu|r[ée]pondu|indiqu|mentionn|donn|montr|d[ée]crit|cit[ée]"
_OF_MODEL = re.compile(
    rf"\bdid you (?:\w+ )?(?:{_SAY})\b|"
    rf"\byou(?:['’]ve| had| have)? (?:\w+ly |already |just |once |first )?(?:{_SAID})\b|"
    r"\byour (?:recommendation|suggestion|advice|answer|reply|explanation|response)s?\b|"
    rf"\b(?:as-tu|avez-vous|tu (?:m['’]|nous )?as|vous (?:m['’]|nous )?avez) (?:{_DIT})|"
    r"\b(?:ton|ta|tes|votre|vos) (?:conseil|recommandation|suggestion|r[ée]ponse|explication|proposition)s?\b",
    re.IGNORECASE,
)
_PAST = re.compile(
    r"\b(?:previous(?:ly)?|former(?:ly)?|used to|histor\w+|earlier|old|past|switched|replaced|superseded"
    r"|auparavant|ancien\w*|autrefois|remplacée?s?"
    r"|before(?!\s+(?:an?|the|this|that|each|every|any|our|my|\d))|avant(?!\s+(?:l[ea]s?|une?|de|ce|chaque|que|\d|\w['’])))\b",
    re.IGNORECASE,
)
"""Not the past tense: "what did we decide" asks for what holds. Nor "before a release", which is a time."""


_FACT = re.compile(
    r"(?:^|[.:;,?!(] ?)(?:(?:and|but|or|so|in|on|at|to|by|for|until|since|from|with|of|after|before|under|over|"
    r"et|mais|ou|à|a|de|avec|chez|pour|par|depuis|sur|sous|dans|en) |jusqu['’]à |d['’])*"
    r"(?:who|whom|whose|when|where|which|what|qui|quand|où|combien|(?:le|la|les)?quel(?:le)?s?|quoi|que|qu['’]|"
    # "How tall" asks for a number, "how do we" for a manner.
    r"how (?!(?:do|does|did|is|are|was|were|has|have|can|could|should|shall|will|would|to|about|come)\b)\w+)\b",
    re.IGNORECASE,
)
_ADVICE = re.compile(r"\b(?:should|devrai(?:t|s|ent)|devri(?:ons|ez)|faut-il)\b", re.IGNORECASE)


_ASKS = (
    r"(?:what|who|whom|whose|when|where|why|how|which|is|are|was|were|do|does|did|can|should|will|"
    r"qui|que|quoi|quand|où|comment|combien|pourquoi|est-ce|"
    r"(?:à|a|de|avec|pour) (?:qui|quoi|quel(?:le)?s?)|quel(?:le)?s?)\b|qu['’]"
)
_NEXT_QUESTION = re.compile(
    rf"\?+\s+|(?:\s*[,;])?\s+(?:and|but|or|et|mais|ou)\s+(?={_ASKS})|\s*[,;]\s+(?={_ASKS})", re.IGNORECASE
)
MOST_QUESTIONS = 4
"""In a text. One with more is no question, but a longer text that holds some."""


def questions(text: str) -> list[str]:
    """The questions that a text joins ("Who owns billing, and what about the logo?"), the whole text first. Each may
    have a subject of its own, and an answer that shares nothing with the others. A wish has no question mark ("Prepare
    the party, and who owns billing").
    """
    parts = [part for part in _NEXT_QUESTION.split(text) if part.strip()]
    return [text, *(parts if 1 < len(parts) <= MOST_QUESTIONS else [])]


def sought(question: str) -> int:
    """The kind of answer that a text asks for, 0 for none or for any other. Of several it is the first of TIME, NUMBER,
    NAME and CONSENT: "which day" asks for a time.
    """
    kind = next((kind for kind, asked in _ASKED.items() if asked.search(question)), 0)
    return kind or CONSENT * any(map(_asks_consent, _PARTS.split(question)))


def asks_fact(question: str) -> bool:
    """Whether it asks for a fact that a statement either holds or not: who, when, which, how many. Not how, why or what
    one should do, to which all that is known of the subject may help.
    """
    return bool(_FACT.search(question)) and not _ADVICE.search(question)


def _asks_consent(part: str) -> bool:
    """Whether a part of a sentence can be answered by yes or no."""
    inverted = _INVERTED.search(part)
    return bool(_AUXILIARY.search(part) or (inverted and not _OTHERWISE.search(part[: inverted.start()])))


def asks_model(question: str) -> bool:
    """Whether it asks what the one who is asked, a model, said before ("what did you recommend")."""
    return bool(_OF_MODEL.search(question))


def asks_past(question: str) -> bool:
    """Whether it asks for what held before ("who owned it before?")."""
    return bool(_PAST.search(question))
