"""What the roles of the template allow, decided as IAM decides it, for the little of IAM that the template uses.

There is no library for it in Python that would do: moto's evaluator takes the dots of a pattern for any character and
a condition that does not hold for a denial. What this one does not know, it refuses to judge.
"""

import copy
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product
from typing import Any

from tests.support.template import REGION, Template

ACCOUNT = "123456789012"
BUCKET = "live-memory"
STACK = "live-memory"
# Parameters without a default, and one whose emptiness would hide what the role is for.
GIVEN = {
    "BucketName": BUCKET,
    "EmbeddingsApiKeyParameter": "/live-memory/embeddings-api-key",
    "OidcClientSecretParameter": "/live-memory/oidc-secret",
}
PSEUDO_PARAMETERS = {
    "AWS::Partition": "aws",
    "AWS::Region": REGION,
    "AWS::AccountId": ACCOUNT,
    "AWS::StackName": STACK,
}
KNOWN_ELEMENTS = {"Sid", "Effect", "Action", "Resource", "Condition"}


@dataclass(frozen=True, order=True)
class Request:
    """An action on a resource (ARN), with the condition keys that AWS would tell."""

    action: str
    resource: str
    context: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return f"{self.action} {self.resource}"


@dataclass(frozen=True)
class Grant:
    """One action on one pattern of resources: a statement says one or several of them at once."""

    sid: str
    effect: str
    action: str
    resource: str
    condition: tuple[tuple[str, str], ...] = ()

    def covers(self, request: Request) -> bool:
        """Whether the request is one of those that it speaks of."""
        context = dict(request.context)
        return (
            self.action == request.action
            and matches(self.resource, request.resource)
            and all(context.get(key) == value for key, value in self.condition)
        )

    def __str__(self) -> str:
        return f"{self.sid}: {self.action} {self.resource}"


@dataclass(frozen=True)
class Role:
    """The role of one function."""

    grants: tuple[Grant, ...]

    def allows(self, request: Request) -> bool:
        """Whether IAM would let the request through: allowed somewhere and denied nowhere."""
        return {grant.effect for grant in self._covering(request)} == {"Allow"}

    def superfluous(self, requests: Collection[Request]) -> list[Grant]:
        """The grants without which all these requests would be allowed as well."""
        needed: set[Grant] = set()
        for request in requests:
            covering = self._covering(request)
            if len(covering) == 1:
                needed.update(covering)
        return [grant for grant in self.grants if grant.effect == "Allow" and grant not in needed]

    def _covering(self, request: Request) -> list[Grant]:
        return [grant for grant in self._by_action.get(request.action, ()) if grant.covers(request)]

    @cached_property
    def _by_action(self) -> dict[str, list[Grant]]:
        return {one.action: [grant for grant in self.grants if grant.action == one.action] for one in self.grants}


def object_arn(key: str) -> str:
    """The ARN of an object of the bucket; of the bucket itself for an empty key."""
    return f"arn:aws:s3:::{BUCKET}/{key}" if key else f"arn:aws:s3:::{BUCKET}"


def matches(pattern: str, resource: str) -> bool:
    """Whether a resource is one of the pattern's: `*` is any text, slashes included, `?` any one character."""
    return _expression(pattern).fullmatch(resource) is not None


@cache
def _expression(pattern: str) -> re.Pattern[str]:
    expression = "".join({"*": ".*", "?": "."}.get(character, re.escape(character)) for character in pattern)
    return re.compile(expression, re.DOTALL)


def roles(compiled: Template) -> dict[str, Role]:
    """The roles of a transformed template by function (`Ingest`, ...), in a stack with all defaults but GIVEN."""
    from samtranslator.intrinsics.resolver import IntrinsicsResolver

    resolver = IntrinsicsResolver(
        PSEUDO_PARAMETERS
        | {name: parameter.get("Default") for name, parameter in compiled["Parameters"].items()}
        | GIVEN
    )
    return {
        role_name(name): Role(
            tuple(
                grant
                for policy in resource["Properties"].get("Policies", [])
                for statement in as_list(policy["PolicyDocument"]["Statement"])
                for grant in read_statement(resolver.resolve_parameter_refs(copy.deepcopy(statement)))
            )
        )
        for name, resource in compiled["Resources"].items()
        if resource["Type"] == "AWS::IAM::Role" and name.endswith("FunctionRole")
    }


def read_statement(statement: dict[str, Any]) -> Iterator[Grant]:
    """The grants of a statement whose parameters are resolved. Raises ValueError for what would be misjudged."""
    condition = statement.get("Condition", {})
    actions = as_list(statement["Action"])
    if unknown := (set(statement) - KNOWN_ELEMENTS) | (set(condition) - {"StringEquals"}):
        raise ValueError(f"not known here: {unknown}")
    if any("*" in action or "?" in action for action in actions):
        raise ValueError(f"actions are named one by one: {actions}")
    wanted = tuple((key, _text(value)) for key, value in condition.get("StringEquals", {}).items())
    for action, resource in product(actions, as_list(statement["Resource"])):
        yield Grant(statement.get("Sid", ""), statement["Effect"], action, _text(resource), wanted)


def role_name(logical_id: str) -> str:
    """`Ingest` for the role of IngestFunction."""
    return logical_id.removesuffix("FunctionRole")


def as_list(value: Any) -> list[Any]:
    """IAM's one or many."""
    return value if isinstance(value, list) else [value]


def _text(value: Any) -> str:
    match value:
        case str():
            return value
        case {"Fn::Sub": str(text)} if "${" not in text:
            return text
        case {"Fn::GetAtt": [str(name), "Arn"]}:
            # A resource of the stack whose name only the service knows.
            return f"arn of {name}"
    raise ValueError(f"not resolved: {value}")
