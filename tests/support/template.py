"""The SAM template as written, and what the transform makes of it without a network."""

import copy
from pathlib import Path
from typing import Any

from samtranslator.translator.transform import transform
from samtranslator.yaml_helper import yaml_parse

ROOT = Path(__file__).resolve().parents[2]
REGION = "eu-west-1"
CODE_URIS = {"AWS::Serverless::Function": "CodeUri", "AWS::Serverless::LayerVersion": "ContentUri"}

Template = dict[str, Any]


class ManagedPolicies:
    """The names of managed policies that SAM would ask IAM for; the template uses none."""

    def load(self) -> dict[str, str]:
        return {}


def read_template() -> Template:
    """The template as written."""
    parsed: Template = yaml_parse((ROOT / "template.yaml").read_text())
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
    compiled: Template = transform(packaged, parameters, ManagedPolicies())
    return compiled
