"""An agent that answers from what its tools show, by fixed rules: which tools the words of the question suggest, then
whole sentences of the results. Nothing is put in other words, so nothing is made up.

It keeps nothing between two requests: how far it is stands in the messages.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from local.offline_llm import sentences
from local.offline_llm.prompt import text_of
from local.offline_llm.words import content_stems, is_french

QUESTION = "# The question of the user (JSON string)"
RESPOND = "respond"
SENTENCES = 3
"""Of an answer, at most."""
NEAR = 0.5
"""Score of a memory that is shown although it shares no word with the question: it may be in another language."""
LONGEST = 300
"""Characters of a sentence, after which it ends with a clause."""

_NAME = re.compile(r"\b[A-ZÀ-ÖØ-Þ][\w-]+")
_ASKS = re.compile(r"\?\s*$|\b(do|can|did) you remember\b|\bte souviens-tu\b|\btu te souviens\b", re.IGNORECASE)
_ORDERS = r"(?:^|[.!?,;:]\s*|\n\s*|\b(?:please|and|et|s['’]il (?:te|vous) pla[iî]t)\s+)"
"""Where an order begins: elsewhere the same word tells something."""
_REMEMBER = re.compile(
    _ORDERS + r"(?:(?:remember|keep in mind|retiens|retenez|souviens-toi|rappelle-toi|mémorise)\b"
    r"\s*[:,]?\s*(?:that\b|que\b|qu['’])?|note(?: bien)?\s*(?:that\b|que\b|qu['’]|:))\s*(?P<what>.+)",
    re.IGNORECASE | re.DOTALL,
)
_FORGET = re.compile(
    _ORDERS + r"(?:forget|delete|remove|oublie|oubliez|efface|supprime)\b\s*[:,]?\s*"
    r"(?:that\b|que\b|qu['’])?\s*(?P<what>.+)",
    re.IGNORECASE | re.DOTALL,
)
_REASON = re.compile(
    r"\b(?:(?:because|since|parce que|puisque|car)\b|(?:parce\s+|puis)qu['’])\s*(?P<why>.+)", re.IGNORECASE | re.DOTALL
)
_FOR_A_WHILE = re.compile(
    r"\b(?:for|pendant|pour)\s+(?P<count>[1-9][0-9]{0,2})\s+"
    r"(?P<unit>minute|hour|heure|day|jour|week|semaine|year|an)(?:née)?s?\b",
    re.IGNORECASE,
)
_UNITS = {"minute": "m", "hour": "h", "heure": "h", "day": "d", "jour": "d", "week": "w", "semaine": "w", "year": "y"}
_SUGGESTS = {
    "search_notes": r"notes?|bank|files?|decided|decisions?|decide|banque|fichiers?|décid\w*|décisions?",
    "search_conversations": r"said|say|says|talk(?:ed)?|told|tell|discuss\w*|dit|disait|parl\w+|raconté|discut\w*",
    "search_self": r"you|your|yourself|tu|toi|ton|ta|tes|vous",
    "search_goals": r"goals?|want|wants|wish|buts?|objectifs?|veux|voudrais",
    "get_recent_memories": r"recent(?:ly)?|latest|newest|news|récents?|récemment|derniers?|dernières?|nouveau(?:tés?)?",
}
_WORDS = {name: re.compile(rf"\b(?:{words})\b", re.IGNORECASE) for name, words in _SUGGESTS.items()}
_ALSO_COMMON = frozenset(
    "quoi comment où quand quel quell qu ai as fait dit tu te toi ton ta tes je me moi mon ma mes nous vous on sait "
    "sais know tell told said remember".split()
)
_SAYS = {
    "found": ("From what I know: ", "D'après ce que je sais : "),
    "nothing": ("I found nothing about that in memory.", "Je n'ai rien trouvé à ce sujet en mémoire."),
    "stored": ("I will remember that.", "Je m'en souviendrai."),
    "not_stored": ("I could not store that: ", "Je n'ai pas pu retenir cela : "),
    "deleted": ("I have forgotten that.", "Je l'ai oublié."),
    "not_deleted": ("I could not delete that: ", "Je n'ai pas pu l'effacer : "),
    "no_reason": ("I only delete a memory with a reason: say why.", "Je n'efface un souvenir qu'avec une raison."),
    "may_not": ("I may not change memories here.", "Je n'ai pas le droit de modifier les souvenirs ici."),
}


@dataclass(frozen=True)
class _Given:
    """A call that was made, and its result."""

    name: str
    result: Mapping[str, Any]


@dataclass(frozen=True)
class _State:
    """The question, the tools that are offered now, and the calls that were made for it."""

    question: str
    offered: Collection[str]
    given: Sequence[_Given]

    @property
    def french(self) -> bool:
        return is_french(self.question)

    def of(self, name: str) -> Mapping[str, Any] | None:
        """The result of the first call of a tool. None if there was none."""
        return next((one.result for one in self.given if one.name == name), None)

    def says(self, what: str, more: str = "") -> str:
        return _SAYS[what][self.french] + more


Call = tuple[str, dict[str, Any]]


def next_calls(messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]) -> list[Call]:
    """The tools to be called now, with their arguments. `messages` and `tools` as in OpenAI's chat completions."""
    state = _State(_question(messages), _names(tools), list(_given(messages)))
    wanted = [call for call in _wanted(state) if call[0] in state.offered]
    return wanted or [_response(state)]


def _names(tools: Sequence[Mapping[str, Any]]) -> list[str]:
    functions = [tool.get("function") for tool in tools if isinstance(tool, dict)]
    return [str(one.get("name")) for one in functions if isinstance(one, dict)]


def _question(messages: Sequence[Mapping[str, Any]]) -> str:
    """The question of Live Memory's own prompt, or else the last thing that the user said."""
    said = [text_of(message.get("content")) for message in messages if message.get("role") == "user"]
    for text in said:
        lines = text.split("\n")
        if QUESTION in lines:
            below = [line for line in lines[lines.index(QUESTION) + 1 :] if line.startswith('"')]
            found = _json(below[0]) if below else None
            if isinstance(found, str):
                return found
    return said[-1] if said else ""


def _given(messages: Sequence[Mapping[str, Any]]) -> Iterator[_Given]:
    names: dict[str, str] = {}
    for message in messages:
        calls = message.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            function = call.get("function") if isinstance(call, dict) else None
            if isinstance(function, dict):
                names[str(call.get("id"))] = str(function.get("name"))
        if message.get("role") == "tool":
            result = _json(text_of(message.get("content")))
            name = names.get(str(message.get("tool_call_id")), "")
            yield _Given(name, result if isinstance(result, dict) else {})


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _wanted(state: _State) -> list[Call]:
    """The calls to make before the answer."""
    stores, forgets = _to_store(state.question), _to_forget(state.question)
    if stores:
        return [] if state.given else [("store_memory", stores)]
    if forgets:
        return _forgetting(state, *forgets)
    query = {"query": state.question.strip()[:1_000] or "?"}
    if not state.given:
        suggested = [name for name, words in _WORDS.items() if words.search(state.question)]
        first = [name for name in ("search_memories", *suggested) if name != "get_recent_memories"]
        recent: list[Call] = [("get_recent_memories", {"limit": 10})] if "get_recent_memories" in suggested else []
        return [*((name, query) for name in first), *recent]
    done = {one.name for one in state.given}
    others = [name for name in ("search_notes", "search_conversations") if name not in done]
    return [] if list(_results(state)) and _sentences(state) else [(name, query) for name in others]


def _to_store(question: str) -> dict[str, Any] | None:
    """The memory to store, as the arguments of the tool. None if the question orders none."""
    found = None if _ASKS.search(question) else _REMEMBER.search(question)
    if not found or not found["what"].strip():
        return None
    what = " ".join(found["what"].split())[:4_000]
    names = [name.lower()[:50] for name in _NAME.findall(what) if content_stems(name)]
    held = _FOR_A_WHILE.search(what)
    ttl = held["count"] + _UNITS.get(held["unit"].lower(), "y") if held else None
    return {"content": what[0].upper() + what[1:], "subjects": list(dict.fromkeys(names))[:3], "ttl": ttl}


def _to_forget(question: str) -> tuple[str, str] | None:
    """The text to forget, and the reason, which may be empty. None if the question orders none."""
    found = None if _ASKS.search(question) else _FORGET.search(question)
    if not found:
        return None
    reason = _REASON.search(found["what"])
    what = found["what"][: reason.start()] if reason else found["what"]
    return what.strip(" ,.;") or found["what"], reason["why"].strip()[:300] if reason else ""


def _forgetting(state: _State, what: str, why: str) -> list[Call]:
    if not why or "delete_memory" not in state.offered:
        return []
    shown = state.of("search_memories")
    if shown is None:
        return [("search_memories", {"query": what[:1_000]})]
    stems = _stems(what)
    fitting = [one for one in _results(state) if stems & _stems(one["text"])]
    if state.of("delete_memory") is not None or not fitting:
        return []
    # The one that is meant most; of several the first, which the search found best.
    best = max(fitting, key=lambda one: len(stems & _stems(one["text"])))
    return [("delete_memory", {"id": best.get("id"), "reason": why})]


def _response(state: _State) -> Call:
    expression, message, sources = _answer(state)
    return RESPOND, {"expression": expression, "message": message, "sources": sources}


def _answer(state: _State) -> tuple[str, str, list[str]]:
    if _to_store(state.question):
        return _of_change(state, "store_memory", "stored", "not_stored")
    forgets = _to_forget(state.question)
    if forgets and not forgets[1]:
        return "curious", state.says("no_reason"), []
    if forgets and (state.of("delete_memory") is not None or state.of("search_memories") is None):
        return _of_change(state, "delete_memory", "deleted", "not_deleted")
    chosen = [] if forgets else _sentences(state)
    if not chosen:
        return "apologetic", state.says("nothing"), []
    told = " ".join(sentence for sentence, _ in chosen)
    return "neutral", state.says("found", told), list(dict.fromkeys(source for _, source in chosen))


def _of_change(state: _State, tool: str, done: str, failed: str) -> tuple[str, str, list[str]]:
    result = state.of(tool)
    if result is None:
        return "apologetic", state.says("may_not"), []
    if "error" in result:
        return "concerned", state.says(failed, str(result["error"])), []
    stored = result.get("stored")
    sources = [str(stored["id"])] if isinstance(stored, dict) and "id" in stored else []
    return "happy", state.says(done), sources


def _results(state: _State) -> Iterator[Mapping[str, Any]]:
    for one in state.given:
        results = one.result.get("results")
        for result in results if isinstance(results, list) else ():
            if isinstance(result, dict) and result.get("id") and isinstance(result.get("text"), str):
                yield result


def _sentences(state: _State) -> list[tuple[str, str]]:
    """The sentences of the results that have most in common with the question, in their order, with their ids."""
    wanted = _stems(state.question)
    found: dict[str, tuple[float, int, str]] = {}
    broad = state.of("get_recent_memories") is not None
    for result in _results(state):
        score = result.get("score")
        near = isinstance(score, int | float) and score >= NEAR and not wanted & _stems(result["text"])
        for text in sentences.split(result["text"]):
            sentence = text.lstrip("#•- ")
            common = len(wanted & _stems(sentence))
            # A question that was asked before tells nothing.
            if sentence and (common or near or broad) and not sentence.endswith("?"):
                shown = sentences.fitted(sentence, LONGEST)
                found.setdefault(shown, (common + 0.5 * near, len(found), str(result["id"])))
    best = sorted(found, key=lambda one: (-found[one][0], found[one][1]))[:SENTENCES]
    return [(one, found[one][2]) for one in sorted(best, key=lambda one: found[one][1])]


def _stems(text: str) -> set[str]:
    return set(content_stems(text)) - _ALSO_COMMON
