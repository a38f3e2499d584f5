"""A look at the LLM's API that costs nothing: does it answer, does it take the key, does it know the model?"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from livemem.llm.client import LlmError, call, key_of
from livemem.settings import Settings

if TYPE_CHECKING:
    import openai


@dataclass(frozen=True)
class Look:
    """Whether the LLM's API answers as it should, and what is to be said of it."""

    status: Literal["ok", "unreachable", "refused", "not_configured"]
    detail: str | None = None


def look(settings: Settings, *, timeout: float = 3) -> Look:
    """Ask the LLM's API for its models, with the key: it costs nothing, and shows a bad address, key or model.

    `timeout` is in seconds, for all of it.
    """

    def request(client: "openai.OpenAI") -> object:
        return client.get("/models", cast_to=object)

    try:
        names = call(settings, key_of(settings), timeout, request, _model_names)
    except LlmError as error:
        return _look_at(error)
    if names and not _lists(names, settings.llmaas_model):
        return Look("ok", f"The LLM's API does not list the model {settings.llmaas_model!r}.")
    return Look("ok")


def _model_names(body: object) -> set[str]:
    """The names in a list of models; empty where the answer is JSON of another form. Raises ValueError for no JSON."""
    if isinstance(body, str):
        raise ValueError("no JSON")  # noqa: TRY004 - it is what is wrong with the answer, not with a caller
    models = body.get("data") if isinstance(body, dict) else body
    if not isinstance(models, list):
        return set()
    return {model["id"] for model in models if isinstance(model, dict) and isinstance(model.get("id"), str)}


def _lists(names: set[str], model: str) -> bool:
    # Ollama lists `qwen3:latest` and takes `qwen3`; Google lists `models/gemini-...` and takes it without.
    return not names.isdisjoint({model, f"{model}:latest", f"models/{model}"})


def _look_at(error: LlmError) -> Look:
    if error.http_status in (404, 405, 501):
        # Not every provider lists its models; but this is also what a wrong path looks like.
        return Look("ok", f"{error.detail} It has no list of models, or LLMAAS_API_URL has a wrong path (/v1?).")
    if error.code in ("llm_not_configured", "llm_key_unreadable"):
        return Look("not_configured", error.detail)
    if error.code in ("llm_timeout", "llm_unreachable", "llm_unavailable"):
        return Look("unreachable", error.detail)
    return Look("refused", error.detail)
