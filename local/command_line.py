"""For a service that the command line (`livemem serve`, `livemem mcp`) has started: its options.

It gives the options of the start in a variable. The service keeps them once it works: a start that fails must not
change the next one. What the service says to its user then names options, which the command line knows.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from local.files import write_file

CHOICES = "LIVEMEM_CHOICES"
"""The options to keep, as JSON; empty: keep none."""
FILE = "serve.json"
OPTIONS = {
    "PORT": "--port",
    "S3_ENDPOINT_URL": "--s3",
    "S3_BUCKET_NAME": "--bucket",
    "S3_REGION_NAME": "--region",
    "LLMAAS_API_URL": "--llm",
    "LLMAAS_MODEL": "--model",
    "LIVEMEM_WORKERS": "--workers",
    "LIVEMEM_LLM_FOR": "--llm-for",
}
"""Variables for which `livemem serve` has an option."""
_VARIABLE = re.compile(rf"\b({'|'.join(OPTIONS)})\b")


def keep_choices(data: Path, environ: Mapping[str, str]) -> None:
    """Keep the options for later starts, where the command line gave some. Raises OSError."""
    if choices := environ.get(CHOICES):
        write_file(data / FILE, choices.encode(), mode=0o600)


def in_its_words(text: str, environ: Mapping[str, str]) -> str:
    """A text for the user, with options in the place of variables if the command line started the service."""
    return _VARIABLE.sub(lambda name: OPTIONS[name[0]], text) if CHOICES in environ else text
