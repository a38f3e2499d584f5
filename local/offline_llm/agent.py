"""An agent that answers from what its tools show, by fixed rules: it searches, and answers in whole sentences of the
results. It stores what a user asks it to remember. The messages say how far it is: it keeps nothing between requests.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from local.offline_llm import sentences
from local.offline_llm.prompt import parse, read_prompts, text_of
from local.offline_llm.words import VOCABULARY, content_stems, is_french, pattern

QUESTION = "The question of the user"
RESPOND = "respond"
SENTENCES, LONGEST = 3, 300
"""Of an answer, and the characters of each."""
NEAR = 0.5
"""Score of a memory that is shown although it shares no word with the question: it may be in another language."""

_NAME = re.compile(r"\b[A-ZÀ-ÖØ-Þ][\w-]+")
_ASKS, _REMEMBER = (pattern(VOCABULARY["patterns"][name]) for name in ("asks", "remember"))
_OTHERS = ("search_notes", "search_conversations", "search_self", "search_goals")
"""Where it looks if memories have nothing."""
_ALSO_COMMON = frozenset(VOCABULARY["agent"]["common"].split())

Call = tuple[str, dict[str, Any]]  # the name of a tool, and its arguments


def next_calls(messages: Sequence[Mapping[str, Any]], offered: Collection[str]) -> list[Call]:
    """The tools to be called now. `messages` as in OpenAI's chat completions; `offered` are the names of the tools."""
    prompts = list(read_prompts(messages))
    asked = (prompt.values.get(QUESTION) for prompt in prompts)
    # Another service's question is the last thing that the user said.
    question = next((text for text in asked if isinstance(text, str)), prompts[-1].text if prompts else "")
    results = [parse(text_of(message)) for message in messages if message.get("role") == "tool"]
    results = [result if isinstance(result, dict) else {} for result in results]
    memory, query = _to_store(question), {"query": question.strip()[:1_000] or "?"}
    calls: list[Call] = []
    if not results:
        calls = [("store_memory", memory) if memory else ("search_memories", query)]
    elif len(results) == 1 and not memory and not _sentences(question, results):
        calls = [(name, query) for name in _OTHERS]
    return [call for call in calls if call[0] in offered] or [_response(question, results, memory)]


def _to_store(question: str) -> dict[str, Any] | None:
    """The memory to store, as the arguments of the tool. None if the question orders none."""
    order = None if _ASKS.search(question) else _REMEMBER.search(question)
    what = " ".join(order["what"].split())[:4_000] if order else ""
    names = [name.lower()[:50] for name in _NAME.findall(what) if content_stems(name)]
    return {"content": what[0].upper() + what[1:], "subjects": list(dict.fromkeys(names))[:3]} if what else None


def _response(question: str, results: Sequence[dict[str, Any]], memory: Mapping[str, Any] | None) -> Call:
    said, more, sources = "nothing", "", []
    if memory and not results:
        said = "may_not"
    elif memory:
        stored, error = results[0].get("stored"), results[0].get("error")
        said, more = ("stored", "") if error is None else ("not_stored", str(error))
        sources = [str(stored["id"])] if isinstance(stored, dict) and "id" in stored else []
    elif chosen := _sentences(question, results):
        said, more = "found", " ".join(sentence for sentence, _ in chosen)
        sources = list(dict.fromkeys(source for _, source in chosen))
    expression, *texts = VOCABULARY["agent"][said]
    return RESPOND, {"expression": expression, "message": texts[is_french(question)] + more, "sources": sources}


def _sentences(question: str, results: Sequence[dict[str, Any]]) -> list[tuple[str, str]]:
    """Up to three sentences of the results that have most in common with the question, the best first, with their ids.
    None has only half as much as the best.
    """
    wanted = _stems(question)
    texts: dict[str, tuple[float, int, str]] = {}
    for result in results:
        hits = result.get("results")
        for hit in hits if isinstance(hits, list) else ():
            if not isinstance(hit, dict) or not hit.get("id") or not isinstance(hit.get("text"), str):
                continue
            score = hit.get("score")
            near = isinstance(score, int | float) and score >= NEAR and not wanted & _stems(hit["text"])
            for text in sentences.split(hit["text"]):
                sentence = text.lstrip("#•- ")
                common = len(wanted & _stems(sentence))
                # A question that was asked before tells nothing.
                if sentence and (common or near) and not sentence.endswith("?"):
                    shown = sentences.fitted(sentence, LONGEST)
                    texts.setdefault(shown, (common + 0.5 * near, len(texts), str(hit["id"])))
    best = sorted(texts, key=lambda text: (-texts[text][0], texts[text][1]))[:SENTENCES]
    return [(text, texts[text][2]) for text in best if texts[text][0] * 2 > texts[best[0]][0]]


def _stems(text: str) -> set[str]:
    return set(content_stems(text)) - _ALSO_COMMON
