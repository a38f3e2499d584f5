"""Whether notes are of the same fact, by a fixed rule: `same` of the same words. Of all other pairs it says both, which
is no verdict: a model that can tell may be asked later.
"""

from typing import Any

from local.offline_llm.prompt import Prompt, PromptError

_OPENING, _CLOSING = "«“(", ".,;:!…»”)"


def judge(prompt: Prompt) -> dict[str, Any]:
    """The answer about all pairs of a prompt. Raises PromptError."""
    try:
        pairs = [(one["pair"], one["there"], new["new"]) for new in prompt.items("Pairs") for one in new["pairs"]]
    except (KeyError, TypeError) as error:
        raise PromptError("Each entry must have a new note and its pairs.") from error
    verdicts = [
        {"pair": number, "verdict": verdict}
        for number, there, new in pairs
        for verdict in (["same"] if _words(str(there)) == _words(str(new)) else ["same", "different"])
    ]
    return {"verdicts": verdicts}


def _words(text: str) -> list[str]:
    # "the" alone is none: plan A, the LA office, le poste and la poste.
    bare = (word.lstrip(_OPENING).rstrip(_CLOSING) for word in text.casefold().split())
    return [word for word in bare if word not in ("", "the")]
