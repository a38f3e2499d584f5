"""The SAM template as written, and what the transform makes of it without a network."""

import copy
import json
import os
import sys
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
REGION = "eu-west-1"
CODE_URIS = {"AWS::Serverless::Function": "CodeUri", "AWS::Serverless::LayerVersion": "ContentUri"}

KEPT = ROOT / ".pytest_cache" / "templates"

Template = dict[str, Any]


class ManagedPolicies:
    """The names of managed policies that SAM would ask IAM for; the template uses none."""

    def load(self) -> dict[str, str]:
        return {}


@cache
def _written() -> str:
    """The template as JSON: reading it as YAML takes a second."""
    text = (ROOT / "template.yaml").read_text()

    def read() -> Template:
        from samtranslator.yaml_helper import yaml_parse

        parsed: Template = yaml_parse(text)
        return parsed

    return _kept(text, read)


def _kept(asked: str, make: Callable[[], Template]) -> str:
    """What is made of that, as JSON. Each process of a run of tests wants the same, so it is kept beside pytest's own
    cache, under the hash of all that it depends on. Only who makes it loads the transform.
    """
    told = f"{asked} {version('aws-sam-translator')} {sys.version}"
    kept = KEPT / f"{sha256(told.encode()).hexdigest()}.json"
    if not kept.is_file():
        kept.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile("w", dir=kept.parent, delete=False) as file:
            json.dump(make(), file)
        Path(file.name).replace(kept)
    return kept.read_text()


def read_template() -> Template:
    """The template as written, to be changed at will."""
    parsed: Template = json.loads(_written())
    return parsed


def compile_template(source: Template, **parameters: str) -> Template:
    """Transform a SAM template into CloudFormation, as the service does. It asks boto3 for the region.

    The transform itself looks at parameters: at `Tracing`, for one.
    """
    packaged = copy.deepcopy(source)
    for resource in packaged["Resources"].values():
        if folder := CODE_URIS.get(resource["Type"]):
            # `sam package` uploads folders first; the transform refuses local paths.
            resource["Properties"][folder] = "s3://packaged-code/archive.zip"
    asked = json.dumps([packaged, parameters, os.environ.get("AWS_DEFAULT_REGION")])

    def make() -> Template:
        from samtranslator.translator.transform import transform

        made: Template = transform(packaged, parameters, ManagedPolicies())
        return made

    compiled: Template = json.loads(_kept(asked, make))
    return compiled
