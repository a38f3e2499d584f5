"""The SAM template as written, and what the transform makes of it without a network."""

import copy
import json
import os
import sys
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import samtranslator
from samtranslator.translator.transform import transform
from samtranslator.yaml_helper import yaml_parse

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
    return json.dumps(yaml_parse((ROOT / "template.yaml").read_text()))


def read_template() -> Template:
    """The template as written, to be changed at will."""
    parsed: Template = json.loads(_written())
    return parsed


def compile_template(source: Template, **parameters: str) -> Template:
    """Transform a SAM template into CloudFormation, as the service does. It asks boto3 for the region.

    The transform itself looks at parameters: at `Tracing`, for one. It takes seconds, and each process of a run of
    tests wants the same: so what it made is kept beside pytest's own cache, under the hash of all that it depends on.
    """
    packaged = copy.deepcopy(source)
    for resource in packaged["Resources"].values():
        if folder := CODE_URIS.get(resource["Type"]):
            # `sam package` uploads folders first; the transform refuses local paths.
            resource["Properties"][folder] = "s3://packaged-code/archive.zip"
    asked = json.dumps(
        [packaged, parameters, os.environ.get("AWS_DEFAULT_REGION"), samtranslator.__version__, sys.version]
    )
    kept = KEPT / f"{sha256(asked.encode()).hexdigest()}.json"
    if not kept.is_file():
        kept.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile("w", dir=kept.parent, delete=False) as file:
            json.dump(transform(packaged, parameters, ManagedPolicies()), file)
        Path(file.name).replace(kept)
    compiled: Template = json.loads(kept.read_text())
    return compiled
