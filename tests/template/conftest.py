"""The template as written, and what SAM makes of it."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.support import policy
from tests.support.template import REGION, Template, compile_template, read_template


def lint_template(compiled: Template) -> list[str]:
    """Run cfn-lint, errors and warnings; one line for each finding."""
    # Here, since it brings a library of algebra with it, which only the process that lints should load.
    from cfnlint.api import ManualArgs, lint

    findings = lint(json.dumps(compiled), config=ManualArgs(regions=[REGION]))
    # With tracing off, which is the default, SAM leaves out all that refers to the parameter.
    return [f"{f.rule.id} {f.message}" for f in findings if f.message != "Parameter Tracing not used."]


@pytest.fixture(scope="session", autouse=True)
def region() -> Any:
    """The transform asks boto3 for the region; whatever the machine is set to must not matter."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_DEFAULT_REGION", REGION)
        patch.delenv("AWS_PROFILE", raising=False)
        yield


@pytest.fixture(scope="session")
def findings(region: None) -> Callable[[Template], list[str]]:
    """findings(source): what cfn-lint says about a SAM template once it is transformed."""
    return lambda source: lint_template(compile_template(source))


@pytest.fixture(scope="session")
def source(region: None) -> Template:
    return read_template()


@pytest.fixture(scope="session")
def compiled(source: Template) -> Template:
    return compile_template(source)


@pytest.fixture(scope="session")
def roles(compiled: Template) -> dict[str, policy.Role]:
    """Function (`Ingest`, ...) -> what its role allows."""
    return policy.roles(compiled)


@pytest.fixture(scope="session")
def traced(source: Template) -> Template:
    """What SAM makes of the template when tracing is asked for."""
    return compile_template(source, Tracing="Active")


@pytest.fixture(scope="session")
def functions(source: Template) -> dict[str, Template]:
    """Logical id -> properties of each function, with the globals merged in."""
    shared = source["Globals"]["Function"]
    return {
        name: merge(shared, resource["Properties"])
        for name, resource in source["Resources"].items()
        if resource["Type"] == "AWS::Serverless::Function"
    }


@pytest.fixture(scope="session")
def of_type(compiled: Template) -> Callable[[str], dict[str, Template]]:
    """of_type(t): logical id -> properties of each compiled resource of type t."""
    return lambda wanted: {
        name: resource.get("Properties", {})
        for name, resource in compiled["Resources"].items()
        if resource["Type"] == wanted
    }


def merge(shared: Any, own: Any) -> Any:
    """SAM's rule for globals: maps are merged, the function's own value wins, lists are joined."""
    if isinstance(shared, dict) and isinstance(own, dict):
        return shared | {key: merge(shared[key], value) if key in shared else value for key, value in own.items()}
    if isinstance(shared, list) and isinstance(own, list):
        return shared + own
    return own
