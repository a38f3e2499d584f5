"""Deploy the stack on AWS without a question: `make deploy`. Take it down and keep its data: `make undeploy`.

    LLMAAS_API_URL=https://api.openai.com/v1 LLMAAS_MODEL=... LLMAAS_API_KEY=... make deploy

Variables: STACK (live-memory), BUCKET (STACK-ACCOUNT-REGION), ARCHITECTURE (arm64), LLMAAS_API_URL, LLMAAS_MODEL,
LLMAAS_API_KEY, ADMIN_BOOTSTRAP_KEY_SHA256, and what boto3 finds credentials and the region by. An update needs none of
them: parameters that you don't name keep their values. Other parameters: `make deploy ARGS="DigestHours=6,18"`.

A new stack gets a bootstrap key. It is kept in a file that only its user can read, before anything is deployed: a key
that was lost after the deployment would be a stack that nobody can enter.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from local import admin_key
from local.config import find_problems
from local.files import read_secret

SAM = (".venv-sam/bin/sam",)
DEFAULT_STACK = "live-memory"
RESERVED = {"ConsolidationConcurrency": 5, "SummaryConcurrency": 5, "MemoryConcurrency": 10, "BackupConcurrency": 5}
"""The concurrency that the template reserves by default; that of memories is reserved for two functions."""
UNRESERVED = 100
"""What Lambda wants to remain to the account's other functions."""
STEPS = ("Login", "MakeToken", "ConnectAgent")
"""The outputs that are commands, in the order of their use."""


class CannotDeployError(Exception):
    """Something is missing. The text is one sentence for the terminal."""


@dataclass(frozen=True)
class Account:
    """What the deployment must know of the account. `parameters` are those of the stack, None if there is none."""

    number: str
    region: str
    concurrency: int
    parameters: Mapping[str, str] | None


def plan(variables: Mapping[str, str], account: Account, key_sha256: str) -> dict[str, str]:
    """The parameters that `sam deploy` is given; all others keep their values. Raises CannotDeployError."""
    stack = variables.get("STACK") or DEFAULT_STACK
    named = {"LlmApiUrl": "LLMAAS_API_URL", "LlmModel": "LLMAAS_MODEL"}
    # Always the one that `make build` has built for, also if the stack was deployed for the other.
    wanted = {"Architecture": variables.get("ARCHITECTURE") or "arm64"}
    wanted |= {name: variables[variable] for name, variable in named.items() if variables.get(variable)}
    if variables.get("LLMAAS_API_KEY"):
        wanted["LlmApiKeyParameter"] = key_parameter(stack)
    if account.parameters is not None:
        return wanted
    if "LlmApiUrl" not in wanted:
        raise CannotDeployError(
            "A new stack needs a model: set LLMAAS_API_URL (and LLMAAS_MODEL, LLMAAS_API_KEY) to the address of an "
            "OpenAI-compatible API."
        )
    wanted["BucketName"] = variables.get("BUCKET") or f"{stack}-{account.number}-{account.region}".lower()
    wanted["AdminBootstrapKeySha256"] = key_sha256
    if account.concurrency - UNRESERVED < sum(RESERVED.values()):
        # An account with the starting quota: Lambda would refuse to reserve any.
        wanted |= dict.fromkeys(RESERVED, "0")
    return wanted


def key_parameter(stack: str) -> str:
    """The SSM parameter that holds the key of the stack's LLM."""
    return f"/{stack}/llm-api-key"


def look(stack: str) -> Account:
    """Ask AWS for the account, its quota, and the stack. Raises BotoCoreError or ClientError."""
    session = boto3.session.Session()
    number = session.client("sts").get_caller_identity()["Account"]
    try:
        limit = session.client("lambda").get_account_settings()["AccountLimit"]["ConcurrentExecutions"]
    except ClientError:
        # Who may not read the quota can't know that it suffices.
        limit = 0
    return Account(number, session.region_name, limit, _describe(stack, "Parameters", "ParameterKey", "ParameterValue"))


def outputs(stack: str) -> dict[str, str]:
    """The outputs of the stack."""
    return _describe(stack, "Outputs", "OutputKey", "OutputValue") or {}


def _describe(stack: str, part: str, key: str, value: str) -> dict[str, str] | None:
    try:
        found: Any = boto3.client("cloudformation").describe_stacks(StackName=stack)["Stacks"][0]
    except ClientError as error:
        if "does not exist" in str(error):
            return None
        raise
    # A first creation that failed leaves a stack that can only be deleted, and no parameter worth keeping.
    if found["StackStatus"] in {"REVIEW_IN_PROGRESS", "ROLLBACK_COMPLETE"}:
        return None
    return {one[key]: one.get(value, "") for one in found.get(part, [])}


def deploy(variables: Mapping[str, str], overrides: Sequence[str], sam: Sequence[str] = SAM) -> int:
    """Deploy what `make build` has built, and print what to do next; returns the exit status."""
    stack = variables.get("STACK") or DEFAULT_STACK
    try:
        account = look(stack)
        key_file = _key_folder(variables) / f"{stack}.key"
        known = variables.get("ADMIN_BOOTSTRAP_KEY_SHA256")
        if known and (problems := find_problems({"ADMIN_BOOTSTRAP_KEY_SHA256": known})):
            raise CannotDeployError(problems[0])
        wanted = plan(variables, account, known or "")
        if account.parameters is None and not known:
            key_file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            wanted["AdminBootstrapKeySha256"] = admin_key.sha256(read_secret(key_file))
        if variables.get("LLMAAS_API_KEY"):
            boto3.client("ssm").put_parameter(
                Name=key_parameter(stack), Value=variables["LLMAAS_API_KEY"], Type="SecureString", Overwrite=True
            )
    except (CannotDeployError, BotoCoreError, ClientError) as error:
        print(f"deploy: {error}", file=sys.stderr)
        return 1
    given = [f"{name}={value}" for name, value in wanted.items()] + list(overrides)
    command = [*sam, "deploy", "--stack-name", stack, "--no-confirm-changeset"]
    done = subprocess.run([*command, *(["--parameter-overrides", *given] if given else [])], check=False)
    if done.returncode == 0:
        print(tell(outputs(stack), key_file if key_file.exists() else None), flush=True)
    return done.returncode


def tell(told: Mapping[str, str], key_file: Path | None) -> str:
    """The outputs, and in the end the commands that give the memory to an agent."""
    lines = [f"{name:<16} {value}" for name, value in told.items() if name not in STEPS]
    commands = [told[name] for name in STEPS if name in told]
    if commands and key_file:
        commands[0] = f"{commands[0]} < {key_file}"
    return "\n".join([*lines, "", "Next:", *(f"  {command}" for command in commands)])


def _key_folder(variables: Mapping[str, str]) -> Path:
    base = variables.get("XDG_DATA_HOME") or Path(variables.get("HOME", "~")).expanduser() / ".local" / "share"
    return Path(base) / "livemem" / "stacks"


def undeploy(variables: Mapping[str, str], sam: Sequence[str] = SAM) -> int:
    """Delete the stack; its bucket stays, with all versions. Returns the exit status."""
    stack = variables.get("STACK") or DEFAULT_STACK
    try:
        bucket = (_describe(stack, "Parameters", "ParameterKey", "ParameterValue") or {}).get("BucketName")
    except (BotoCoreError, ClientError) as error:
        print(f"undeploy: {error}", file=sys.stderr)
        return 1
    if bucket is None:
        print(f"undeploy: there is no stack {stack}", file=sys.stderr)
        return 1
    done = subprocess.run([*sam, "delete", "--stack-name", stack, "--no-prompts"], check=False)
    if done.returncode == 0:
        print(f"The stack is gone. The bucket {bucket} has everything that was kept, and stays until you empty it.")
    return done.returncode


def main() -> int:
    """Deploy or take down."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--down", action="store_true", help="delete the stack and keep the bucket")
    parser.add_argument("overrides", nargs="*", metavar="Parameter=value", help="other parameters of the stack")
    said = parser.parse_args()
    return undeploy(os.environ) if said.down else deploy(os.environ, said.overrides)


if __name__ == "__main__":
    sys.exit(main())
