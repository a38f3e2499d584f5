"""Shows how S3 stores behave where the service depends on it, and says whether it can run on them.

    .venv/bin/python -m benchmarks.stores                                            every store found on this machine
    .venv/bin/python -m benchmarks.stores minio rclone                               some of them
    .venv/bin/python -m benchmarks.stores --endpoint https://s3.example --bucket b   your own store

For your own store the credentials are those of boto3 (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile). The
bucket must exist; everything is written below one new prefix of it, but for the key of the service's capability check,
and deleted at the end. It takes about 4,000 requests. Exits with 1 if the service can't run on one of the stores.
"""

import argparse
import logging
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Any
from urllib.error import URLError

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from benchmarks.store_looks import LOOKS, NEEDED, PROBE, Look, answer
from tests.support.object_stores import KINDS, Target, find, running

FAILURES = (ClientError, BotoCoreError, URLError)


def measure(look: Look) -> dict[str, str]:
    """All behaviours of one store, by title; what a store can't do at all is its error."""
    found = {}
    for title, see in LOOKS:
        try:
            found[title] = see(look)
        except FAILURES as error:
            found[title] = f"**{answer(_raising(error))}**"
        print(f"{look.target.name}: {title}: {found[title]}", file=sys.stderr, flush=True)
    return found


def _raising(error: BaseException) -> Callable[[], Any]:
    def again() -> None:
        raise error

    return again


def fit(found: dict[str, str]) -> bool:
    """Whether the service can run on it: its capability check says so and nothing that it needs is broken."""
    return found[PROBE] == "ok" and not any("**" in found[t] for t in NEEDED)


def table(results: dict[str, dict[str, str]]) -> Iterator[str]:
    """A Markdown table, a column per store; what is wrong is bold."""
    yield "| | " + " | ".join(results) + " |"
    yield "|---|" + "---|" * len(results)
    for title, _ in LOOKS:
        yield f"| {title} | " + " | ".join(found[title] for found in results.values()) + " |"
    yield (
        "| **the service can run on it** | "
        + " | ".join("yes" if fit(found) else "no" for found in results.values())
        + " |"
    )


@contextmanager
def looking_at(target: Target, client: Any, bucket: str) -> Iterator[Look]:
    """A look at a store, below a prefix that is removed at the end."""
    look = Look(target, client, bucket, f"livemem-check-{uuid.uuid4().hex}/")
    try:
        yield look
    finally:
        with suppress(*FAILURES):
            while entries := look.list().get("Contents"):
                for entry in entries:
                    client.delete_object(Bucket=bucket, Key=entry["Key"])


def own(endpoint: str | None, bucket: str, region: str | None) -> tuple[str, dict[str, str]]:
    """Measure somebody's own store with boto3's credentials."""
    session = boto3.Session()
    found = session.get_credentials()
    frozen = found.get_frozen_credentials() if found else None
    if not frozen:
        raise SystemExit("no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
    where = region or session.region_name or "us-east-1"
    name = endpoint or f"https://s3.{where}.amazonaws.com"
    # A temporary credential has a third part, which only boto3's own client sends.
    access_key, secret_key = ("", "") if frozen.token else (frozen.access_key or "", frozen.secret_key or "")
    target = Target(name, name, access_key, secret_key, region=where)
    client = session.client("s3", endpoint_url=name, region_name=where) if frozen.token else target.client()
    with looking_at(target, client, bucket) as look:
        return name, measure(look)


def local(names: list[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Measure the stores of this machine, each started for it."""
    for name in names or list(KINDS):
        kind = KINDS[name]
        if find(kind) is None:
            print(f"{name}: not on this machine (scripts/stores.sh {kind.program})", file=sys.stderr)
            continue
        with running(kind) as target:
            client = target.client()
            client.create_bucket(Bucket="check")
            with looking_at(target, client, "check") as look:
                yield f"{name} {target.version}", measure(look)


def main() -> int:
    """Print the table; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stores", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("stores", nargs="*", metavar="STORE", help=f"of {', '.join(KINDS)}; all unless named")
    parser.add_argument("--endpoint", help="URL of your own store (absent with --bucket: Amazon S3)")
    parser.add_argument("--bucket", help="an existing bucket of your own store")
    parser.add_argument("--region")
    wanted = parser.parse_args()
    if unknown := set(wanted.stores) - set(KINDS):
        parser.error(f"unknown store {', '.join(sorted(unknown))}")
    if wanted.endpoint and not wanted.bucket:
        parser.error("--endpoint needs --bucket")
    logging.disable(logging.CRITICAL)
    started = time.monotonic()
    if wanted.bucket:
        results = dict([own(wanted.endpoint, wanted.bucket, wanted.region)])
    else:
        results = dict(local(wanted.stores))
    print("\n".join(table(results)))
    print(f"\n{datetime.now(UTC):%Y-%m-%d}, {time.monotonic() - started:.0f} s")
    return 0 if all(fit(found) for found in results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
