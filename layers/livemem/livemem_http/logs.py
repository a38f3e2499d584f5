"""One logger per function, which the domain's own loggers follow: JSON lines with the ids of the request and its trace.

LOG_LEVEL is theirs alone. At DEBUG the libraries log all that they send and receive: the key of the LLM as SSM gives
it, tokens in headers, notes on their way to the store.
"""

import logging
import os
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from functools import wraps
from typing import Any, get_args

from aws_lambda_powertools import Logger
from aws_lambda_powertools.logging.utils import copy_config_to_registered_loggers
from aws_lambda_powertools.utilities.typing import LambdaContext

from livemem.settings import LogLevel
from livemem_http import tracing

Handler = Callable[[dict[str, Any], LambdaContext], dict[str, Any]]

_INVOCATION: ContextVar[Mapping[str, Any] | None] = ContextVar("invocation", default=None)
"""What the log lines of the invocation of this thread say about it. Powertools' own way to add it is for one invocation
at a time, and the functions of a desk's service run in one process.
"""

PACKAGES = ("livemem", "livemem_http", "livemem_mcp")
CHATTY_LOGGERS = ("httpx", "httpx2", "mcp")
"""The first two write the whole URL of each request at INFO, and the LLM's may hold a password; the last one writes two
lines for each request.
"""


def function_logger(service: str) -> Logger:
    """The logger of a function. The packages log with the standard library; their records come out the same way."""
    _quiet_libraries()
    # Read here, since a module is loaded before settings may fail. Health reports an invalid level.
    level = os.environ.get("LOG_LEVEL", "").upper()
    logger = Logger(service=service, level=level if level in get_args(LogLevel) else "INFO")
    for package in PACKAGES:
        logging.getLogger(package)
    # The packages' loggers share the handler, so one filter reaches all lines, also those of other threads.
    logger.registered_handler.addFilter(_with_invocation)
    copy_config_to_registered_loggers(logger, include=set(PACKAGES))
    return logger


def entry(logger: Logger) -> Callable[[Handler], Handler]:
    """A function's entry. Log lines of an event have the ids of its invocation and of its trace. The handler of an
    asynchronous invocation gets the payload that was queued, and the answer to a request names the trace in a header.
    """

    def wrap(handler: Handler) -> Handler:
        @wraps(handler)
        def enter(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
            token = _INVOCATION.set(_told(logger, context))
            try:
                return traced(event, context)
            finally:
                _INVOCATION.reset(token)

        def traced(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
            if "requestContext" not in event:
                with tracing.at_work(event.get(tracing.NAME)):
                    return handler({name: value for name, value in event.items() if name != tracing.NAME}, context)
            # API Gateway hands names over in lower case; `sam local` capitalises them.
            headers = {name.lower(): value for name, value in (event.get("headers") or {}).items()}
            with tracing.at_work(headers.get(tracing.NAME)):
                answer = handler(event, context)
                named = {tracing.ANSWER: str(tracing.current())}
            return {**answer, "headers": {**(answer.get("headers") or {}), **named}}

        return enter

    return wrap


def _told(logger: Logger, context: LambdaContext) -> dict[str, Any]:
    return {
        "service": logger.service,
        "function_name": context.function_name,
        "function_memory_size": context.memory_limit_in_mb,
        "function_arn": context.invoked_function_arn,
        "function_request_id": context.aws_request_id,
    }


def _with_invocation(record: logging.LogRecord) -> bool:
    vars(record).update(_INVOCATION.get() or {})
    trace = tracing.current()
    if trace:
        record.trace_id, record.span_id = trace.trace_id, trace.span_id
    return True


def _quiet_libraries() -> None:
    # Lambda sets the root logger, which libraries inherit from, to the level of the function's LoggingConfig.
    root = logging.getLogger()
    root.setLevel(max(root.level, logging.INFO))
    for name in CHATTY_LOGGERS:
        logging.getLogger(name).setLevel(logging.WARNING)
