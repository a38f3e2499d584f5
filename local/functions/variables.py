"""The variables that a function's environment starts with: those of its declaration, and Lambda's own."""

import os
from collections.abc import Mapping
from pathlib import Path

from local.functions.template import PSEUDO_PARAMETERS, Function

REGION = PSEUDO_PARAMETERS["AWS::Region"]
ACCOUNT = PSEUDO_PARAMETERS["AWS::AccountId"]
# What a program needs of the machine that it runs on.
_MACHINE = ("PATH", "HOME", "LANG", "LC_ALL", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE")
_PROXY = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
# The developer's own profiles and the metadata service of a cloud machine stay out of it.
_NO_CHAIN = {
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_EC2_METADATA_DISABLED": "true",
}
_PROFILE = ("AWS_PROFILE", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_EC2_METADATA_DISABLED")
_CREDENTIALS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")


def function_arn(function: Function) -> str:
    """Return the ARN under which a handler sees itself."""
    return f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{function.name}"


def build_environment(
    function: Function,
    outer: Mapping[str, str],
    provided: Mapping[str, str],
    *,
    lambda_url: str,
    own_credentials: bool,
) -> dict[str, str]:
    """Build a function's variables.

    A function gets only the variables that the template declares for it, as on AWS: one that is missing from the
    template fails here and not after the deployment.

    Args:
        function: the declaration.
        outer: the variables of the runtime's own process, which override the template's values.
        provided: the variables that the runtime decides (addresses of its own servers). They override both.
        lambda_url: where boto3's Lambda client finds the Invoke API.
        own_credentials: the store is the caller's own: pass AWS credentials on instead of dummies, and profiles too
            unless S3_ACCESS_KEY_ID says which key opens the store.
    Returns:
        All variables of the process.
    """
    values = {name: outer[name] for name in (*_MACHINE, *_PROXY) if name in outer}
    for name in ("NO_PROXY", "no_proxy"):
        # Our own servers are never reached through a proxy.
        values[name] = ",".join(filter(None, [outer.get(name), "127.0.0.1", "localhost"]))
    for name, value in function.environment.items():
        chosen = provided.get(name, outer.get(name, value))
        if chosen is not None:
            values[name] = chosen
    if own_credentials:
        values |= {name: outer[name] for name in _CREDENTIALS if name in outer}
    if own_credentials and not outer.get("S3_ACCESS_KEY_ID"):
        values |= {name: outer[name] for name in _PROFILE if name in outer}
    else:
        values |= _NO_CHAIN
        # What a function's role is on AWS: the key of the embedded store.
        values.setdefault("AWS_ACCESS_KEY_ID", provided.get("S3_ACCESS_KEY_ID", "local"))
        values.setdefault("AWS_SECRET_ACCESS_KEY", provided.get("S3_SECRET_ACCESS_KEY", "local"))
    return values | {
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ENDPOINT_URL_LAMBDA": lambda_url,
        "AWS_LAMBDA_FUNCTION_NAME": function.name,
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(function.memory),
        "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
        "AWS_LAMBDA_LOG_GROUP_NAME": f"/aws/lambda/{function.name}",
        "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
        "LAMBDA_TASK_ROOT": str(function.code),
        "_HANDLER": function.handler,
        "TZ": ":UTC",
        "PYTHONUNBUFFERED": "1",
    }


def import_paths(function: Function) -> list[Path]:
    """Return the beginning of the function's import path: its own folder, then its layers, as in Lambda."""
    return [function.code, *function.layers]
