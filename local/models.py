"""Which LLM and embedding model the functions are given: the caller's, the offline ones, or no embeddings."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from local.config import Config

OFFLINE_MODEL = "offline-fuse"
_VARIABLE = "EMBEDDINGS_API_URL"
_OFF = "off"


def read_embeddings(variables: dict[str, str]) -> str | None:
    """The address of an API of embeddings, empty for none (`off`), and None for the offline model.

    `variables` are left without the word `off`, which is no address for the functions.
    """
    given = variables.get(_VARIABLE, "")
    if given.strip().lower() == _OFF:
        variables[_VARIABLE] = ""
        return ""
    return given or None


def provide(config: "Config", offline_url: str) -> dict[str, str]:
    """The variables of both models that follow from the choice. They override the template."""
    # The template's value of a key is the name of a parameter that exists on AWS only.
    given = {
        "LLMAAS_API_URL": config.llm_url or offline_url,
        "LLMAAS_API_KEY": config.outer.get("LLMAAS_API_KEY", ""),
        "EMBEDDINGS_API_URL": config.embeddings_url or "",
        "EMBEDDINGS_API_KEY": config.outer.get("EMBEDDINGS_API_KEY", ""),
    }
    if config.llm_url is None:
        given |= {"LLMAAS_MODEL": "offline-rules", "LLMAAS_API_KEY": "offline"}
    if config.embeddings_url is None:
        given |= {_VARIABLE: offline_url, "EMBEDDINGS_API_KEY": "offline", "EMBEDDINGS_MODEL": OFFLINE_MODEL}
        # They would be those of another model.
        given |= dict.fromkeys(("EMBEDDINGS_DIMENSIONS", "EMBEDDINGS_QUERY_PREFIX", "EMBEDDINGS_TEXT_PREFIX"), "")
    return given


def tell(config: "Config", offline_url: str) -> dict[str, object]:
    """The entries for them in the file of endpoints."""
    return {
        "llm": config.own_model.described() if config.own_model else config.llm_url or offline_url,
        "llm_is_offline_stand_in": config.llm_url is None and not config.own_model,
        "embeddings": offline_url if config.embeddings_url is None else config.embeddings_url or None,
        "embeddings_are_offline": config.embeddings_url is None,
    }


def describe(endpoints: Mapping[str, object]) -> dict[str, str]:
    """A line for each, for the terminal."""
    llm, found = str(endpoints["llm"]), str(endpoints["embeddings"] or "none: search goes by words alone")
    if endpoints["llm_is_offline_stand_in"]:
        llm += "  (offline stand-in: fixed rules, no language model; set LLMAAS_API_URL for a real one)"
    if endpoints["embeddings_are_offline"]:
        found += "  (offline: a small model of 16 languages; EMBEDDINGS_API_URL sets another, or off)"
    return {"LLM": llm, "Embeddings": found}
