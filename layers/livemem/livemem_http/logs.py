"""One logger per function, which the domain's own loggers follow: JSON lines with the request's id.

LOG_LEVEL is theirs alone. At DEBUG the libraries log all that they send and receive: the key of the LLM as SSM gives
it, tokens in headers, notes on their way to the store.
"""

import logging
import os
from typing import get_args

from aws_lambda_powertools import Logger
from aws_lambda_powertools.logging.utils import copy_config_to_registered_loggers

from livemem.settings import LogLevel

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
    copy_config_to_registered_loggers(logger, include=set(PACKAGES))
    return logger


def _quiet_libraries() -> None:
    # Lambda sets the root logger, which libraries inherit from, to the level of the function's LoggingConfig.
    root = logging.getLogger()
    root.setLevel(max(root.level, logging.INFO))
    for name in CHATTY_LOGGERS:
        logging.getLogger(name).setLevel(logging.WARNING)
