"""Settings from the environment, checked once. Names are those of the template's parameters."""

import hashlib
import json
import os
import re
from functools import lru_cache
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from livemem import clock, limits
from livemem.errors import NotConfigured, plain_reason

WEAK_KEYS = ("changeme", "change-me", "change_me", "change me", "password", "your-", "your_", "example", "replace")
"""How well-known placeholder values begin. A key that begins so, or has few different characters, is refused."""

LEFT_OUT_WHEN_EMPTY = ("llmaas_temperature", "llmaas_max_tokens", "llmaas_json_mode")
"""Settings whose emptiness has a meaning: the parameter is not sent, for providers that refuse it."""


JSON_MODES = {"true": "object", "false": "off", "": "off"}
"""Former values of the setting, from when it had two positions only. Deployed stacks keep their parameters."""

FORMER = {"consolidation_timeout": "llm_timeout_seconds"}
_BY_SERVICE = "belongs to the service"
SENT_ALREADY = {
    "model": "is LLMAAS_MODEL",
    "temperature": "is LLMAAS_TEMPERATURE",
    "max_tokens": "is LLMAAS_MAX_TOKENS",
    "max_completion_tokens": "is LLMAAS_MAX_TOKENS",
    **dict.fromkeys(("response_format", "format"), "is LLMAAS_JSON_MODE"),
    **dict.fromkeys(("grammar", "json_schema", "structured_outputs"), "is LLMAAS_JSON_MODE"),
    **dict.fromkeys(("guided_json", "guided_regex", "guided_choice", "guided_grammar"), "is LLMAAS_JSON_MODE"),
    **dict.fromkeys(("messages", "prompt", "n", "stream", "stream_options"), _BY_SERVICE),
    **dict.fromkeys(("tools", "tool_choice", "functions", "function_call"), _BY_SERVICE),
}
"""Parameters of a call that LLMAAS_EXTRA may not replace, in lower case, and what decides about them."""

BOUNDS = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}
"""pydantic's names of bounds, for people."""

PREFIX_CHARACTERS = 500
"""Limit of the text before each text: an instruction for a model has some hundred."""

MOST_PLACES = 1_000
"""The largest cap: as many places as one small document holds (spaces/caps.py)."""

LOOPBACK = ("127.0.0.1", "::1", "localhost")

LogLevel = Literal["DEBUG", "INFO", "WARNING", "ERROR"]


def _http_url(value: str) -> str:
    try:
        url = urlsplit(value)
        fits = url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0
    except ValueError:
        fits = False
    if not fits or any(character.isspace() for character in value):
        raise ValueError("must be an http or https URL")
    return value


def _issuer(value: str) -> str:
    """An address that clients compare byte for byte: without a path, a query, or a slash at its end."""
    url = urlsplit(_http_url(value))
    if url.scheme != "https" and url.hostname not in LOOPBACK:
        raise ValueError("must be an https URL (http on loopback alone)")
    if value != f"{url.scheme}://{url.netloc}" or "@" in url.netloc or value != value.lower():
        raise ValueError("must be scheme and host alone, in lower case, without a slash at the end")
    return value


def _oidc_issuer(value: str) -> str:
    url = urlsplit(_http_url(value))
    if url.scheme != "https" and url.hostname not in LOOPBACK:
        raise ValueError("must be an https URL (http on loopback alone)")
    if url.query or url.fragment or "@" in url.netloc:
        raise ValueError("must be a URL without user, query and fragment")
    return value


def _short(value: str) -> str:
    if len(value) > PREFIX_CHARACTERS:
        raise ValueError(f"must have at most {PREFIX_CHARACTERS} characters")
    return value


def _bank_chars(value: int) -> int:
    if problem := limits.bank_chars_problem(value):
        raise ValueError(problem)
    return value


def _hours(value: str) -> str:
    try:
        hours = [int(part) for part in value.split(",")]
    except ValueError:
        hours = []
    if not hours or sorted(set(hours)) != hours or not 0 <= hours[0] <= hours[-1] <= 23:
        raise ValueError("must be hours of a day from 0 to 23 in their order, such as 2,6,10,14,18,22")
    return ",".join(str(hour) for hour in hours)


def _zone(value: str) -> str:
    try:
        clock.zone(value)
    except ValueError:
        raise ValueError("must be the name of a time zone such as Europe/Paris") from None
    return value


def _json_mode(value: object) -> object:
    name = str(value).lower()
    return JSON_MODES.get(name, name)


def _extra(value: object) -> object:
    try:
        items = json.loads(value) if isinstance(value, str) else value
        # JSON that can be sent: without NaN, infinite numbers and half surrogate pairs, which Python reads.
        json.dumps(items, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        items = None
    if not isinstance(items, dict):
        # pydantic turns a ValueError alone into a refusal.
        raise ValueError('must be a JSON object, such as {"reasoning_effort": "low"}')  # noqa: TRY004
    # Servers in Go read names in any case.
    own = sorted(name for name in items if name.lower() in SENT_ALREADY)
    if own:
        how = "; ".join(f"{name} {SENT_ALREADY[name.lower()]}" for name in own)
        raise ValueError(f"must not have what the service sends itself: {how}")
    return items


def _sha256(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


def _upper(value: object) -> object:
    return value.upper() if isinstance(value, str) else value


class Settings(BaseModel):
    """All settings. Times in seconds, sizes in tokens where the name says so."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, validate_default=True)

    def __init__(self, **given: Any) -> None:
        """What nobody gave is that of the environment, whose names may have letters of any case."""
        # Sorted without case: where both names of the timeout are set, the present one counts.
        names = {FORMER.get(key := name.lower(), key): os.environ[name] for name in sorted(os.environ, key=str.lower)}
        super().__init__(**({name: value for name, value in names.items() if name in type(self).model_fields} | given))

    s3_bucket_name: str = "live-memory"
    s3_endpoint_url: Annotated[str, AfterValidator(_http_url)] | None = None
    s3_region_name: str | None = None
    s3_access_key_id: str | None = None
    s3_secret_access_key: str | None = None
    s3_signature: Literal["v4", "hybrid"] = "v4"

    llmaas_api_url: Annotated[str, AfterValidator(_http_url)] | None = None
    llmaas_api_key: str = ""
    llmaas_model: str = "qwen3-2507:235b"
    llmaas_max_tokens: int | None = Field(default=None, ge=256)
    llmaas_temperature: float | None = Field(default=0.3, ge=0, le=2, allow_inf_nan=False)
    llmaas_context_tokens: int = Field(default=100_000, ge=2_000)
    llmaas_json_mode: Annotated[Literal["object", "schema", "off"], BeforeValidator(_json_mode)] = "object"
    llmaas_extra: Annotated[dict[str, Any], BeforeValidator(_extra)] = {}
    """Further parameters of each call: those of one provider, such as how a model reasons."""

    embeddings_api_url: Annotated[str, AfterValidator(_http_url)] | None = None
    """OpenAI-compatible, with `/v1`. None: search ranks by words alone."""
    embeddings_api_key: str = ""
    embeddings_model: str = "text-embedding-3-small"
    embeddings_dimensions: int | None = Field(default=None, ge=2, le=8_192)
    """Numbers of a vector, for models that can be asked for fewer than they have. None: as many as they have."""
    embeddings_query_prefix: Annotated[str, AfterValidator(_short)] = ""
    """Text before each question, for models that were trained with it. Blanks at its end count."""
    embeddings_text_prefix: Annotated[str, AfterValidator(_short)] = ""

    consolidation_max_notes: int = Field(default=500, ge=1, le=1_000)
    consolidation_threshold: int = Field(default=30, ge=0)
    bank_chars: Annotated[int, AfterValidator(_bank_chars)] = 10_000
    """Characters that the bank of a new space should have (docs/consolidation.md, "The length of a bank"). 0: any."""
    consolidation_cooldown_seconds: int = Field(default=10, ge=0, le=86_400)
    """Least time between two runs of a space that are started by hand. 0: none."""
    llm_timeout_seconds: float = Field(default=600, gt=0, allow_inf_nan=False)
    """Seconds that any one call of the LLM may take. Less where its invocation has less time."""
    llm_daily_token_budget: int = Field(default=0, ge=0)
    """Tokens of the LLM that all spaces together may use on a day (UTC). 0: any number."""
    llm_daily_token_budget_per_space: int = Field(default=0, ge=0)
    spaces_per_token_per_day: int = Field(default=100, ge=0, le=MOST_PLACES)
    """Spaces that one token may make within a day. 0: any number. One with `admin` for all spaces is not counted."""
    uploads_per_token_per_day: int = Field(default=100, ge=0, le=MOST_PLACES)
    """Uploads that one token may begin within a day. 0: any number."""
    backups_per_space_per_day: int = Field(default=50, ge=0, le=MOST_PLACES)
    """Backups of one space that may be asked for within a day. 0: any number. Nightly backups are not counted."""
    exports_per_space_per_day: int = Field(default=50, ge=0, le=MOST_PLACES)
    """Archives of one space that may be asked for within a day. 0: any number."""
    asks_at_once_per_space: int = Field(default=20, ge=0, le=MOST_PLACES)
    """Questions that may be answered at once in one space. 0: any number."""
    asks_at_once_per_token: int = Field(default=10, ge=0, le=MOST_PLACES)
    """Questions of one token that may be answered at once. 0: any number."""
    conversations_per_token_per_day: int = Field(default=1_000, ge=0, le=MOST_PLACES)
    """Conversations that one token may begin within a day. 0: any number."""
    rooms_per_space_per_day: int = Field(default=200, ge=0, le=MOST_PLACES)
    """Rooms of one space that may get a first message within a day. 0: any number."""
    requests_per_space_per_second: int = Field(default=200, ge=0, le=10_000)
    """Requests about one space that are answered in a second, over ten seconds (access/request_rate.py), and as many
    that write. 0: any number. Those of tokens with `admin` for all spaces are not counted. It is four times that of a
    token, so that one token can't take all of a space's."""
    requests_per_token_per_second: int = Field(default=50, ge=0, le=10_000)
    """The same for the requests of one token."""
    work_at_once_per_space: int = Field(default=3, ge=0, le=MOST_PLACES)
    """Conversations of one space that are summarised at once while other work waits for a slot, and as many questions
    that are continued. 0: any number."""
    pending_note_limit: int = Field(default=86_400, ge=60)
    """Age at which a live note in a space with automatic consolidation turns health to `degraded`."""

    backup_retention_days: int = Field(default=30, ge=1, le=3_650)
    """Days for which backups of a space are kept."""
    backup_keep_last: int = Field(default=7, ge=1, le=365)
    """How many of the newest backups of a space are kept however old they are."""
    backup_skip_unchanged: bool = True
    """Whether a space that is unchanged since its last backup is not copied again."""
    backups_expected: bool = False
    """Whether every space is backed up each night, so that health says which one was not."""
    run_retention_days: int = Field(default=90, ge=31, le=3_650)
    """Days for which the documents of runs are kept. Usage reports go back 31 days."""

    room_min_relevance: float = Field(default=0.1, ge=0, le=1, allow_inf_nan=False)
    """The least cosine of a question and a message found in rooms. Below it messages mostly have only a word in common
    with the question. 0: any (docs/recall.md).
    """

    digest_hours: Annotated[str, AfterValidator(_hours)] = "2,6,10,14,18,22"
    """Hours of the day, in the zone of each space, at which its rooms are digested."""
    default_timezone: Annotated[str, AfterValidator(_zone)] = "Europe/Paris"
    """The time zone of the spaces that name none."""

    memory_merge: Literal["model", "similarity"] = "model"
    """Whether the LLM alone decides that two memories are one, or their similarity too (docs/memories.md, "One fact,
    once")."""

    oauth_issuer: Annotated[str, AfterValidator(_issuer)] | None = None
    """The public address of the service, for sign-in by OAuth (`https://memory.example.org`). None: no sign-in."""

    oidc_issuer: Annotated[str, AfterValidator(_oidc_issuer)] | None = None
    """The address of an outside provider (OpenID Connect) by which people may sign in instead of showing a token, byte
    for byte as it names itself. None: tokens alone.
    """
    oidc_client_id: str = ""
    oidc_client_secret: str = ""
    """The secret, or the name of the parameter that holds it. Empty: a public client."""
    oidc_claim: str = Field(default="email", min_length=1, max_length=100)
    """What of a person leads to tokens: `email` to those with this e-mail address, another claim to those whose name is
    a value of it.
    """
    oidc_scope: str = Field(default="openid email", max_length=500)
    """What the provider is asked for."""

    redact_secrets: bool = False
    """Whether texts that look like secrets are removed from everything that is written (redaction). Recorded turns and
    questions are always redacted.
    """

    session_folds: bool = False
    """Whether notes are folded at the end of a session, and those of a day, however few: for the memory of one person.
    The local runtime sets it for its own machine.
    """

    read_cache_mb: int = Field(default=64, ge=0, le=4_096)
    """Memory for objects that a process has read and that can't have changed since (store/cache.py). 0: none."""

    put_events: bool = True
    """Whether the store sends an event for each written note. Else each sweep looks at all spaces."""

    consolidate_function_name: str = "ConsolidateFunction"
    backup_function_name: str = "BackupFunction"
    indexer_function_name: str = "IndexerFunction"
    summarize_function_name: str = "SummarizeFunction"
    digest_function_name: str = "DigestFunction"
    ask_function_name: str = "AskFunction"
    # Those that have routes, which MCP's tools are made of.
    ingest_function_name: str = "IngestFunction"
    reads_function_name: str = "ReadsFunction"
    search_function_name: str = "SearchFunction"
    conversations_function_name: str = "ConversationsFunction"
    memories_function_name: str = "MemoriesFunction"
    rooms_function_name: str = "RoomsFunction"
    admin_function_name: str = "AdminFunction"
    start_function_name: str = "StartFunction"
    archives_function_name: str = "ArchivesFunction"
    admin_bootstrap_key_sha256: str = ""
    """The SHA-256 of the bootstrap key, 64 hex digits in lower case: a function needs to know no more of it."""
    admin_bootstrap_key: str = ""
    """The key itself, for a process that gets it instead. The template gives it to no function."""
    log_level: Annotated[LogLevel, BeforeValidator(_upper)] = "INFO"
    """The level of the service's own loggers. Those of libraries stay at INFO (livemem_http/logs.py)."""

    def function_name(self, function: str) -> str:
        """The name under which Lambda knows the function of this folder (`backup`)."""
        return str(getattr(self, f"{function}_function_name"))

    def has_offline_llm(self) -> bool:
        """Whether the LLM is the offline one (local/offline_llm), which follows fixed rules."""
        return self.llmaas_model == "offline-rules"

    def spends_a_subscription(self) -> bool:
        """Whether the LLM is the command line of somebody's client (local/own_model)."""
        return self.llmaas_model.partition("/")[0] == "claude-code"

    def bootstrap_hash(self) -> str:
        """The SHA-256 of the bootstrap key in hex digits. That of no key, if there is none."""
        return self.admin_bootstrap_key_sha256 or _sha256(self.admin_bootstrap_key)

    def bootstrap_key_problem(self) -> str | None:
        """Why the bootstrap key can't be trusted, or None.

        Where the key is known: at least 32 characters, and no well-known weak value. Of its hash alone only what no
        hash of a key can be.
        """
        key, digest = self.admin_bootstrap_key, self.admin_bootstrap_key_sha256
        if not key and not digest:
            return "ADMIN_BOOTSTRAP_KEY_SHA256 is not set (nor ADMIN_BOOTSTRAP_KEY)"
        if digest and not re.fullmatch("[0-9a-f]{64}", digest):
            return "ADMIN_BOOTSTRAP_KEY_SHA256 must be 64 hex digits in lower case, the SHA-256 of the key"
        if digest == _sha256("") or (digest and len(set(digest)) < 5):
            return "ADMIN_BOOTSTRAP_KEY_SHA256 is the SHA-256 of an empty text, or not a hash"
        if not key:
            return None
        if len(key) < 32:
            return "ADMIN_BOOTSTRAP_KEY has fewer than 32 characters"
        if len(set(key)) < 5 or key.lower().startswith(WEAK_KEYS):
            return "ADMIN_BOOTSTRAP_KEY is a well-known or trivial value"
        if digest and digest != _sha256(key):
            return "ADMIN_BOOTSTRAP_KEY_SHA256 is not the SHA-256 of ADMIN_BOOTSTRAP_KEY"
        return None

    @field_validator("*", mode="before")
    @classmethod
    def _is_text(cls, value: object) -> object:
        # Bytes that are no UTF-8 come from the environment as half surrogate pairs, which nothing can send on.
        if isinstance(value, str) and not value.isascii() and any("\ud800" <= sign <= "\udfff" for sign in value):
            raise ValueError("must be text in UTF-8")
        return value

    @model_validator(mode="before")
    @classmethod
    def _empty_means_default(cls, values: dict[str, Any]) -> dict[str, Any]:
        # SAM can't leave a declared variable unset, so an empty string stands for "not given".
        filled = {name: value for name, value in values.items() if value != "" or name.lower() in LEFT_OUT_WHEN_EMPTY}
        for name in ("llmaas_temperature", "llmaas_max_tokens"):
            if filled.get(name) == "":
                filled[name] = None
        return filled


@lru_cache(maxsize=1)
def settings() -> Settings:
    """The settings of this process. Raises NotConfigured, which names the variables that can't be read."""
    try:
        return Settings()
    except ValidationError as error:
        faults = problems(error)
    # Not from within: a trace of the error's causes would show what pydantic was given.
    raise NotConfigured(f"The service is not set up: {'; '.join(faults)}.")


def problems(error: ValidationError) -> list[str]:
    """One sentence for each variable that is wrong: its name, what is wrong, its bounds; never a value."""
    return [_problem(str(item["loc"][0]), item["type"], item["msg"]) for item in error.errors(include_input=False)]


def _problem(name: str, kind: str, message: str) -> str:
    bounds = _bounds(name)
    plain = {"int": "must be a whole number", "float": "must be a number", "bool": "must be true or false"}
    message = plain.get(kind.removesuffix("_parsing"), message)
    # What pydantic says of a bound is in the bounds. All else is reported in a sentence about the variable.
    reason = "is out of bounds" if bounds and kind.startswith(("greater_than", "less_than")) else message
    return f"{name.upper()}: {plain_reason(reason)}{f' ({bounds})' if bounds else ''}"


def _bounds(name: str) -> str:
    constraints = Settings.model_fields[name].metadata
    limits = {key: getattr(item, key) for item in constraints for key in BOUNDS if hasattr(item, key)}
    return ", ".join(f"{BOUNDS[key]} {limit}" for key, limit in limits.items())
