"""Facts worth remembering of messages, by fixed rules: whole sentences that tell a decision, a change or a state.
Nothing is put in other words, so nothing is made up.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from local.offline_llm import sentences
from local.offline_llm.digest_prompt import DigestRequest, Said
from local.offline_llm.orders import gives_orders
from local.offline_llm.words import content_stems, normalise, stems

MOST = 40
GOALS = 2
SUBJECTS = 4
FEWEST_WORDS = 4
STATEMENT_WORDS = 7
"""Of a sentence that tells something without any word of decision or change."""
LONGEST = 500
"""Characters of a sentence; a longer one is no single fact."""
SHARED = 2
"""Words that a change has in common with what it changes."""

_SMALL_TALK = re.compile(
    r"(hi|hello|hey|good (morning|evening|night)|morning|thanks?|thank you|ok(ay)?|yes|no|nice|great|lol|brb|bye|"
    r"see you|bonjour|bonsoir|salut|merci|d['’]accord|oui|non|super|à (demain|plus)|bonne (nuit|journée))\b[^.]{0,60}",
    re.IGNORECASE,
)
_TELLS = re.compile(
    r"\b(decid\w+|agreed|from now on|no longer|instead|never|always|must|prefers?|responsible|in charge|leads?|"
    r"works? (on|for|in)|moved? to|switch\w* to|because|so that|unless|by default|every (night|day|week|month)|"
    r"décid\w+|convenu|désormais|dorénavant|jamais|toujours|préfère(nt)?|responsable|dirige(nt)?|"
    r"travaille(nt)? (sur|pour|à|chez)|s['’]occupe(nt)?|parce qu[e'’]|remplace(nt)?|par défaut|"
    r"chaque (nuit|jour|semaine|mois))\b|, so\b",
    re.IGNORECASE,
)
_CHANGES = re.compile(
    r"\b(from now on|no longer|instead|any ?more|moved? to|switch\w* to|désormais|dorénavant|ne\b.{1,40}\bplus|"
    r"remplace(nt)?)\b",
    re.IGNORECASE,
)
_WANTS = re.compile(
    r"\b(I|we) (want|need|would like|wish)\b|\bI['’]d like\b|"
    r"\b(je|nous) (veux|voulons|voudrais|voudrions|souhait\w+)\b|\b(j['’]ai|nous avons|on a) besoin\b",
    re.IGNORECASE,
)
_GOALS = (
    ("understanding", re.compile(r"\b(understand|know why|find out|comprendre|savoir pourquoi)\b", re.IGNORECASE)),
    ("connection", re.compile(r"\b(meet|talk to|get to know|rencontrer|parler (à|avec))\b", re.IGNORECASE)),
    ("capability_request", re.compile(r"\b(be able|can do|tool|access to|pouvoir|outil|accès)\b", re.IGNORECASE)),
)
_SELF = (
    ("limitation", re.compile(r"\A(you (can['’]?t|cannot|can not|must not|don['’]t)|tu (ne|n['’]))", re.IGNORECASE)),
    ("capability", re.compile(r"\A(you can|you know how|tu peux|tu sais)\b", re.IGNORECASE)),
    ("preference", re.compile(r"\A(you should|tu dois|tu devrais)\b", re.IGNORECASE)),
    ("context", re.compile(r"\A(you are|you['’]re|tu es)\b", re.IGNORECASE)),
)
_FOR_A_TIME = (
    ("1d", re.compile(r"\b(today|tonight|right now|aujourd['’]hui|ce soir)\b", re.IGNORECASE)),
    ("2d", re.compile(r"\b(tomorrow|demain)\b", re.IGNORECASE)),
    ("1w", re.compile(r"\b(this week|cette semaine)\b", re.IGNORECASE)),
    ("5w", re.compile(r"\b(this month|ce mois)\b", re.IGNORECASE)),
)
_FIRST_PERSON = re.compile(
    r"\b(I|me|my|we|us|our|je|moi|mon|ma|mes|nous|notre|nos)\b|\b[jm]['’]|\bI['’]|\bon (a|ne|n['’]|va|est|doit|peut)\b",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?<![\w.])[A-ZÀ-ÖØ-Þ][\w-]{2,40}")
_WORD = re.compile(r"[^\W\d_][\w-]{3,40}")


@dataclass(frozen=True)
class _Told:
    said: Said
    text: str


def listen(request: DigestRequest) -> dict[str, Any]:
    """The answer to a request for a digest, in the form of the contract."""
    known = [(normalise(text), stems(text)) for text in request.known]
    seen = {text for text, _ in known}
    found: list[dict[str, Any]] = []
    goals = 0
    for told in _sentences(request.said):
        memory = _memory(told, [words for _, words in known])
        if not memory or normalise(memory["content"]) in seen or _is_known(memory["content"], known):
            continue
        goals += memory["kind"] == "goal"
        if memory["kind"] == "goal" and goals > GOALS:
            continue
        seen.add(normalise(memory["content"]))
        found.append(memory)
    return {"memories": found[:MOST]}


def _sentences(said: Sequence[Said]) -> Iterator[_Told]:
    for one in said:
        if gives_orders(one.content):
            continue
        for told in sentences.split(one.content):
            if len(told.split()) >= FEWEST_WORDS and len(told) <= LONGEST:
                yield _Told(one, told)


def _memory(told: _Told, known: Sequence[frozenset[str]]) -> dict[str, Any] | None:
    """The memory that a sentence is, or None."""
    text = told.text
    if text.endswith("?") or _SMALL_TALK.fullmatch(text.rstrip(".! ")):
        return None
    wants = _WANTS.search(text)
    self_kind = next((category for category, pattern in _SELF if pattern.search(text)), None)
    if not wants and not self_kind and not _TELLS.search(text) and not _states(text):
        return None
    kind, category = "fact", None
    if wants:
        kind = "goal"
        category = next((name for name, pattern in _GOALS if pattern.search(text)), "curiosity")
    elif self_kind:
        kind, category = "self", self_kind
    changes = bool(_CHANGES.search(text)) and any(len(stems(text) & words) >= SHARED for words in known)
    return {
        "kind": kind,
        "category": category,
        # Alone, a sentence does not tell who "we" are.
        "content": f"{told.said.author}: {text}" if told.said.author and _FIRST_PERSON.search(text) else text,
        "subjects": _subjects(text),
        "ttl": next((ttl for ttl, pattern in _FOR_A_TIME if pattern.search(text)), None),
        "replace": changes,
        "messages": [told.said.number],
    }


def _states(text: str) -> bool:
    """Whether it is a statement that holds something to find it by: a number, a name, or code."""
    body = text[1:]
    return len(text.split()) >= STATEMENT_WORDS and bool(
        re.search(r"[0-9_`]", body) or _NAME.search(body) or ":" in body or ";" in body
    )


def _is_known(content: str, known: Sequence[tuple[str, frozenset[str]]]) -> bool:
    """Whether all words of it, numbers too, are in one memory that is known."""
    words = stems(content)
    return bool(words) and any(words <= there for _, there in known)


def _subjects(text: str) -> list[str]:
    """The names in a sentence, and else its longest words, in lower case."""
    names = [name.lower() for name in _NAME.findall(text[1:])]
    words = sorted((word.lower() for word in _WORD.findall(text) if content_stems(word)), key=lambda word: -len(word))
    return list(dict.fromkeys([*names, *words]))[:SUBJECTS]
