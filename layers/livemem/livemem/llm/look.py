"""A free check of an API: does it answer, does it take the key, does it know the model?"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from livemem.llm.api import ApiError, LlmApi, call, key_of

if TYPE_CHECKING:
    import openai


PLACEHOLDERS = frozenset({"any", "default", "local", "local-model", "model", "none"})
"""Names that say "the model that the server has", for servers that serve one model under any name."""


@dataclass(frozen=True)
class ApiState:
    """Whether the API answers as it should, and a sentence about it."""

    status: Literal["ok", "unreachable", "refused", "not_configured"]
    detail: str | None = None


def look(api: LlmApi, model: str, *, timeout: float = 3) -> ApiState:
    """Ask the API for its models, with the key. This is free, and shows a bad address, key or model.

    `timeout` is in seconds, for all of it.
    """

    def request(client: "openai.OpenAI") -> object:
        return client.get("/models", cast_to=object)

    try:
        names = call(api, key_of(api), timeout, request, _model_names)
    except ApiError as error:
        return _look_at(api, error)
    if names and not _lists(names, model):
        return ApiState("ok", unlisted(api, model))
    return ApiState("ok")


def unlisted(api: LlmApi, model: str) -> str:
    """The sentence about a model that the API does not list. Only a call shows whether the API takes the name."""
    return f"The {api.title}'s API does not list the model {model!r}."


def _model_names(body: object) -> set[str]:
    """The names in a list of models; empty where the answer is JSON of another form, and where the server has one
    model, which it serves under any name. Raises ValueError for no JSON.
    """
    if isinstance(body, str):
        raise ValueError("no JSON")  # noqa: TRY004 - it is what is wrong with the answer, not with a caller
    models = body.get("data") if isinstance(body, dict) else body
    if not isinstance(models, list):
        return set()
    with_ids = [model for model in models if isinstance(model, dict) and isinstance(model.get("id"), str)]
    # llama.cpp's server; its router, which reads the name, lists several.
    ignored = len(with_ids) == 1 and with_ids[0].get("owned_by") == "llamacpp"
    return set() if ignored else {model["id"] for model in with_ids}


def _lists(names: set[str], model: str) -> bool:
    # Ollama lists `qwen3:latest` and takes `qwen3`; Google lists `models/gemini-...` and takes it without.
    return model.lower() in PLACEHOLDERS or not names.isdisjoint({model, f"{model}:latest", f"models/{model}"})


def _look_at(api: LlmApi, error: ApiError) -> ApiState:
    if error.http_status in (404, 405, 501):
        # Not every provider lists its models, but a wrong path looks the same.
        return ApiState(
            "ok", f"{error.detail} It has no list of models, or {api.variable}_API_URL has a wrong path (/v1?)."
        )
    kind = error.code.removeprefix(f"{api.name}_")
    if kind in ("not_configured", "key_unreadable"):
        return ApiState("not_configured", error.detail)
    if kind in ("timeout", "unreachable", "unavailable"):
        return ApiState("unreachable", error.detail)
    return ApiState("refused", error.detail)
