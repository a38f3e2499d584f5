"""Texts that give orders to the model which reads them, by a short list of phrases in English, French and German.

It is no protection: other words get through. A text that quotes such a phrase within a sentence is none.
"""

import re

from local.offline_llm import sentences

_ALL = r"(?:(?:all|any|every|each|the|your|these|those|previous|prior|earlier|above|former|of|my|our|its)\s+){1,5}"
_TES = r"(?:tout(?:e|es|s)?\s+)?(?:tes|vos|les|ces|mes)\s+(?:\w+\s+)?"
_DEINE = r"(?:(?:alle|deine|die|ihre|diese|bisherigen|vorherigen)\s+){1,3}"
_ORDER = re.compile(
    r"\W*(?:(?:important|system|urgent|attention|wichtig|achtung)\s*:\s*\W*)?"
    r"(?:(?:please|now|then|and|s['’]il te pla[iî]t|bitte)[\s,]+)?"
    rf"(?:(?:ignore|disregard|forget|override|discard)\s+{_ALL}(?:instructions?|rules|prompts?|directives|guidelines|orders)"
    r"|you are now (?:in|an?|the)\b"
    rf"|(?:ignore[rz]?|oublie[rz]?|oublier)\s+{_TES}(?:consignes|instructions|règles|directives)"
    rf"|(?:ignoriere|vergiss|vergessen sie)\s+{_DEINE}(?:anweisungen|regeln|befehle))\b",
    re.IGNORECASE,
)


def gives_orders(text: str) -> bool:
    """Whether a sentence of the text begins by ordering its reader to forget its instructions."""
    return any(_ORDER.match(sentence) for sentence in sentences.split(text))
