"""The variables that the functions read: those of their declarations, and Lambda's own."""

import os
from collections.abc import Iterable, Mapping

from local.functions.template import PSEUDO_PARAMETERS, Function

REGION = PSEUDO_PARAMETERS["AWS::Region"]
ACCOUNT = PSEUDO_PARAMETERS["AWS::AccountId"]
# The developer's own profiles and the metadata service of a cloud machine stay out of it.
_NO_CHAIN = {
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_EC2_METADATA_DISABLED": "true",
}
_CREDENTIALS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE")


def function_arn(function: Function) -> str:
    """Return the ARN under which a handler sees itself."""
    return f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{function.name}"


def build_environment(
    functions: Iterable[Function], outer: Mapping[str, str], provided: Mapping[str, str], *, own_credentials: bool
) -> dict[str, str]:
    """Build the variables of the process in which all functions run.

    `outer` are those so far, which override the template's values. `provided` by the runtime override both.
    With `own_credentials` the store is the caller's own: AWS credentials are passed on, and profiles too
    unless S3_ACCESS_KEY_ID says which key opens the store. A declared variable without a value is left out.
    """
    declared = {name: value for function in functions for name, value in function.environment.items()}
    chosen = {name: provided.get(name, outer.get(name, value)) for name, value in declared.items()}
    values = {name: value for name, value in outer.items() if name not in declared}
    values |= {name: value for name, value in chosen.items() if value is not None}
    for name in ("NO_PROXY", "no_proxy"):
        # Our own servers are never reached through a proxy.
        values[name] = ",".join(filter(None, [outer.get(name), "127.0.0.1", "localhost"]))
    if not own_credentials:
        for name in _CREDENTIALS:
            values.pop(name, None)
    if not own_credentials or outer.get("S3_ACCESS_KEY_ID"):
        values.pop("AWS_PROFILE", None)
        values |= _NO_CHAIN
        values.setdefault("AWS_ACCESS_KEY_ID", "local")
        values.setdefault("AWS_SECRET_ACCESS_KEY", "local")
    return values | {"AWS_REGION": REGION, "AWS_DEFAULT_REGION": REGION}
