"""Settings from the environment, checked once. Names are those of the template's parameters."""

from functools import lru_cache
from typing import Any, Literal

from pydantic import Field, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

WEAK_KEYS = ("changeme", "change-me", "change_me", "change me", "password", "your-", "your_", "example", "replace")
"""How well-known placeholder values begin; a key that begins so, or has few different characters, is refused."""

LEFT_OUT_WHEN_EMPTY = ("llmaas_temperature", "llmaas_max_tokens", "llmaas_json_mode")
"""Settings whose emptiness has a meaning: the parameter is not sent, for providers that refuse it."""


class Settings(BaseSettings):
    """All settings. Times in seconds, sizes in tokens where the name says so."""

    model_config = SettingsConfigDict(frozen=True)

    s3_bucket_name: str = "live-memory"
    s3_endpoint_url: str | None = None
    s3_region_name: str | None = None
    s3_access_key_id: str | None = None
    s3_secret_access_key: str | None = None
    s3_signature: Literal["v4", "hybrid"] = "v4"

    llmaas_api_url: str | None = None
    llmaas_api_key: str = ""
    llmaas_model: str = "qwen3-2507:235b"
    llmaas_max_tokens: int | None = Field(default=100_000, ge=256)
    llmaas_temperature: float | None = Field(default=0.3, ge=0, le=2)
    llmaas_context_tokens: int = Field(default=100_000, ge=2_000)
    llmaas_json_mode: bool = True

    consolidation_timeout: float = Field(default=600, gt=0)
    consolidation_max_notes: int = Field(default=500, ge=1, le=1_000)
    consolidation_threshold: int = Field(default=30, ge=0)
    keep_uncited_notes: bool = False
    pending_note_limit: int = Field(default=86_400, ge=60)
    """Age at which a live note in a space with automatic consolidation turns health to `degraded`."""

    consolidate_function_name: str = "ConsolidateFunction"
    admin_bootstrap_key: str = ""

    def bootstrap_key_problem(self) -> str | None:
        """Why the bootstrap key can't be trusted, or None. At least 32 characters, and no well-known weak value."""
        key = self.admin_bootstrap_key
        if len(key) < 32:
            return "ADMIN_BOOTSTRAP_KEY has fewer than 32 characters"
        if len(set(key)) < 5 or key.lower().startswith(WEAK_KEYS):
            return "ADMIN_BOOTSTRAP_KEY is a well-known or trivial value"
        return None

    @model_validator(mode="before")
    @classmethod
    def _empty_means_default(cls, values: dict[str, Any]) -> dict[str, Any]:
        # SAM can't leave a declared variable unset, so an empty string stands for "not given".
        kept = {name: value for name, value in values.items() if value != "" or name.lower() in LEFT_OUT_WHEN_EMPTY}
        for name in ("llmaas_temperature", "llmaas_max_tokens"):
            if kept.get(name) == "":
                kept[name] = None
        if kept.get("llmaas_json_mode") == "":
            kept["llmaas_json_mode"] = False
        return kept


@lru_cache(maxsize=1)
def settings() -> Settings:
    """The settings of this process."""
    return Settings()
