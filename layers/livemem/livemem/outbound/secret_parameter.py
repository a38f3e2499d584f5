"""Secrets of the settings. On AWS a setting has the name of the parameter (SSM, SecureString) that holds the secret."""

from functools import lru_cache
from typing import Any

KEPT_SECONDS = 300
"""How long a secret read from its parameter is kept. A new one takes effect without a deployment."""


class SecretUnreadable(Exception):
    """The secret can't be read, or is none. The text is a sentence."""


def read(setting: str, what: str) -> str:
    """The secret, which errors call `what`. Empty where the setting is empty. Raises SecretUnreadable."""
    # Names that matter begin with a slash, secrets never do.
    is_name = setting.startswith("/")
    # A file's last line break is no part of the secret in it.
    secret = (_parameter(setting, what) if is_name else setting).strip()
    if (is_name and not secret) or not (secret.isascii() and secret.isprintable()):
        raise SecretUnreadable(f"The {what} is empty, or has characters that no key can have.")
    return secret


def _parameter(name: str, what: str) -> str:
    from aws_lambda_powertools.utilities import parameters  # noqa: PLC0415
    from botocore.exceptions import BotoCoreError  # noqa: PLC0415

    try:
        return str(parameter_provider().get(name, max_age=KEPT_SECONDS, decrypt=True))
    except (parameters.exceptions.GetParameterError, BotoCoreError) as error:
        raise SecretUnreadable(f"The parameter with the {what} can't be read.") from error


@lru_cache(maxsize=1)
def parameter_provider() -> Any:
    """The reader of parameters, which caches them (KEPT_SECONDS)."""
    from aws_lambda_powertools.utilities.parameters import SSMProvider  # noqa: PLC0415
    from botocore.config import Config  # noqa: PLC0415

    # Health waits for it: with botocore's own limits (a minute, several times) the function would end first.
    return SSMProvider(boto_config=Config(connect_timeout=2, read_timeout=5, retries={"total_max_attempts": 2}))
