"""Which setting to change when the API of a model refuses or can't be reached: one sentence for each cause.

Providers have no codes in common, so a refusal is known by its status and by words of its message. Nothing of the
message itself is in an advice. The words are those of OpenAI, Azure, vLLM, llama.cpp, Ollama, LM Studio, OpenRouter
and LiteLLM.
"""

import re
import socket
import ssl
from collections.abc import Iterator

NO_MODEL = "No language model: fixed rules. `livemem serve --llm claude` sets Claude Code, LLMAAS_API_URL any other."
"""About the offline LLM (local/offline_llm)."""
PAGE = re.compile(r"\s*<(?:!doctype|html|head|body|\?xml)", re.IGNORECASE)

STREAM = re.compile(r"\s*(?:(?:data|event|id|retry)?:|\{[^\n]*\}\r?\n\s*\{)")
"""How a stream begins: server-sent events, of which a comment begins with a colon, or JSON objects line by line."""

_STREAMS = (
    "It only streams, which the service does not read: switch streaming off in the server or in the proxy before it, "
    "or set {v}_MODEL to a model that answers as a whole."
)
_CHECK_KEY = "Check {v}_API_KEY, and what it may use."
_NO_CREDIT = "The account of {v}_API_KEY has no credit left."
_REASONS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(words, re.IGNORECASE), advice)
    for words, advice in (
        (
            r"context.?(?:length|window|size)|maximum context|n_ctx|max_model_len|too many tokens|prompt is too long",
            "Set {v}_CONTEXT_TOKENS to the model's window, or give the server a longer one.",
        ),
        (
            r"does not support tool|tool.?choice|tools? (?:is|are) not supported|tool use",
            "{v}_MODEL must be able to call tools, and the server must allow it.",
        ),
        (
            r"response_format|json_schema|json_object|json mode|structured output|grammar",
            "Set {v}_JSON_MODE to another form: object, schema or off.",
        ),
        # Qwen's provider: models that think answer in a stream only.
        (r"enable_thinking", """Set {v}_EXTRA, such as {{"enable_thinking": false}}, to what the model takes."""),
        (
            (
                r"only supports? stream|streaming is (?:required|mandatory)|"
                r"stream (?:must|should|needs to) be (?:set to )?true|non-?stream\w* .{0,40}not "
                r"(?:supported|allowed)|(?:must|should) (?:have|set|use) ['\"`]?stream\b|not support\w* non-?stream"
            ),
            _STREAMS,
        ),
        (r"temperature", "Set {v}_TEMPERATURE to empty, or to a value that the model takes."),
        (r"max_(?:completion_|output_)?tokens", "Set {v}_MAX_TOKENS to a value that the model takes."),
        (
            (
                r"reasoning_effort|chat_template_kwargs|num_ctx|extra_forbidden|(?:unknown|unrecognized|unexpected|"
                r"unsupported|extra) (?:request )?(?:arguments?|fields?|inputs?|name|parameters?|property)"
            ),
            "If {v}_EXTRA has the parameter that it names, take it out.",
        ),
        # LiteLLM without a database, for any key but its own.
        (r"no connected db", _CHECK_KEY),
        (r"insufficient_quota|exceeded your current quota|billing|credit|payment", _NO_CREDIT),
    )
)
_NO_MODEL = re.compile(r"model|deployment", re.IGNORECASE)


def refused(variable: str, status: int, message: str) -> str:
    """The advice for an error status, with a blank before it. Empty where no setting helps.

    `variable` begins the settings' names, `message` is the provider's.
    """
    return _sentence(variable, _reason(variable, status, message))


def _reason(variable: str, status: int, message: str) -> str:
    if status in (401, 403):
        return _CHECK_KEY
    if status == 402:
        return _NO_CREDIT
    if status in (404, 405):
        if status == 404 and _NO_MODEL.search(message):
            return "Check {v}_MODEL: the server must know that name."
        return "Check {v}_API_URL: it is the base URL, which mostly ends in /v1."
    advice = next((reason for words, reason in _REASONS if words.search(message)), "")
    if advice and (variable == "LLMAAS" or "_API_KEY" in advice):
        return advice
    if status == 429:
        return "The limit of {v}_API_KEY or of the server is reached: wait, or raise that limit."
    return "Check {v}_MODEL." if status in (400, 422) and re.search(r"\bmodel\b", message, re.IGNORECASE) else ""


def page(variable: str) -> str:
    """The advice where the address answers with a page for people."""
    return _sentence(variable, "{v}_API_URL answers with a web page: it is the base URL, which mostly ends in /v1.")


def streams(variable: str) -> str:
    """The advice where the address answers with a stream, though none was asked for."""
    return _sentence(variable, _STREAMS)


def malformed(variable: str) -> str:
    """The advice where the address answers with something else."""
    return _sentence(variable, "Check {v}_API_URL: it is the base URL, which mostly ends in /v1.")


def unreachable(variable: str, error: BaseException) -> str:
    """The advice for an error of the connection."""
    causes = list(_causes(error))
    if any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        advice = "Nothing listens at {v}_API_URL: start the server, or correct host and port."
    elif any(isinstance(cause, socket.gaierror) for cause in causes):
        advice = "The host name in {v}_API_URL is unknown."
    elif any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes):
        advice = (
            "The certificate of {v}_API_URL is not trusted: name its authority in SSL_CERT_FILE, or correct the host."
        )
    elif any(isinstance(cause, ssl.SSLError) for cause in causes):
        advice = "{v}_API_URL does not speak TLS as https demands: is it http?"
    else:
        advice = "Check {v}_API_URL."
    return _sentence(variable, advice)


def _causes(error: BaseException) -> Iterator[BaseException]:
    ids: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in ids:
        ids.add(id(cause))
        yield cause
        cause = cause.__cause__ or cause.__context__


def _sentence(variable: str, advice: str) -> str:
    return f" {advice.format(v=variable)}" if advice else ""
