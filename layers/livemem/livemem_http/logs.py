"""One logger per function, which the domain's own loggers follow: JSON lines with the request's id."""

import logging

from aws_lambda_powertools import Logger
from aws_lambda_powertools.logging.utils import copy_config_to_registered_loggers

PACKAGES = ("livemem", "livemem_http")


def function_logger(service: str) -> Logger:
    """The logger of a function. The packages log with the standard library; their records come out the same way."""
    logger = Logger(service=service)
    for package in PACKAGES:
        logging.getLogger(package)
    copy_config_to_registered_loggers(logger, include=set(PACKAGES))
    return logger
