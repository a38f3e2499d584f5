"""Which embedding model the functions are given: one of the caller's, the offline one, or none."""

from collections.abc import Mapping
from dataclasses import dataclass

OFFLINE_MODEL = "offline-fuse"
_VARIABLE = "EMBEDDINGS_API_URL"
_OFF = "off"


@dataclass(frozen=True)
class Embeddings:
    """The caller's choice: an address of an API, none (`off`), or with neither the offline model."""

    url: str | None = None
    off: bool = False

    @property
    def offline(self) -> bool:
        """Whether the offline server is to serve them."""
        return self.url is None and not self.off


def read_embeddings(variables: dict[str, str]) -> Embeddings:
    """The choice, and `variables` without the word `off`, which is no address for the functions."""
    given = variables.get(_VARIABLE, "")
    if given.strip().lower() == _OFF:
        variables[_VARIABLE] = ""
        return Embeddings(off=True)
    return Embeddings(given or None)


def provide(chosen: Embeddings, outer: Mapping[str, str], offline_url: str) -> dict[str, str]:
    """The variables that follow from the choice. They override the template."""
    if chosen.offline:
        return {
            _VARIABLE: offline_url,
            "EMBEDDINGS_API_KEY": "offline",
            "EMBEDDINGS_MODEL": OFFLINE_MODEL,
            # They would be those of another model.
            "EMBEDDINGS_DIMENSIONS": "",
            "EMBEDDINGS_QUERY_PREFIX": "",
            "EMBEDDINGS_TEXT_PREFIX": "",
        }
    # The template's value of the key is the name of a parameter that exists on AWS only.
    return {_VARIABLE: chosen.url or "", "EMBEDDINGS_API_KEY": outer.get("EMBEDDINGS_API_KEY", "")}


def tell(chosen: Embeddings, offline_url: str) -> dict[str, object]:
    """The entry for it in the file of endpoints."""
    return {
        "embeddings": offline_url if chosen.offline else chosen.url,
        "embeddings_are_offline": chosen.offline,
    }


def describe(endpoints: Mapping[str, object]) -> str:
    """One line for the terminal."""
    if endpoints["embeddings_are_offline"]:
        url = endpoints["embeddings"]
        return f"{url}  (offline: a small model of 16 languages; EMBEDDINGS_API_URL sets another, or off)"
    return str(endpoints["embeddings"] or "none: search goes by words alone")
