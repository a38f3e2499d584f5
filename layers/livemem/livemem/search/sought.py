"""The kind of answer that a question asks for: a time, a number or a name.

A text that holds no time does not say when. The kinds are bits, so that a text can hold several.
"""

import re

TIME, NUMBER, NAME = 1, 2, 4

# French `quand`, `qui` and `où` also join sentences. They ask where a sentence or a part of it begins.
_BEGINS = r"(?:^|[.:;,?!(] ?)(?:(?:à|a|de|avec|chez|pour|par|depuis|et|mais|ou) |jusqu['’]à |d['’])?"
_KINDS = {
    TIME: (
        r"\b(?:when|how (?:long|often)|how many (?:days|weeks|months|years)|"
        r"(?:what|which) (?:date|day|month|year|time)|"
        r"combien (?:de temps|de jours|de semaines|de mois|d['’]ann[ée]es)|"
        rf"quelle (?:date|ann[ée]e)|quels? (?:jours?|mois))\b|{_BEGINS}quand\b"
    ),
    NUMBER: r"\b(?:how (?:many|much|old|far|tall|big|large)|combien|quel [âa]ge)\b",
    NAME: rf"\b(?:who|whom|whose|where|which|names?|named|called|noms?)\b|{_BEGINS}(?:qui|où)\b",
}
_ASKED = {kind: re.compile(asked, re.IGNORECASE) for kind, asked in _KINDS.items()}


def sought(question: str) -> int:
    """The kind of answer that a text asks for, 0 for none or for any other. Of several it is the first of TIME, NUMBER
    and NAME: "which day" asks for a time.
    """
    return next((kind for kind, asked in _ASKED.items() if asked.search(question)), 0)
