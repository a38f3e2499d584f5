"""The choices of the person who starts the runtime, by environment variables."""

import ipaddress
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import tzlocal
from pydantic import ValidationError

from livemem import clock
from local import ROOT
from local.admin_key import given_hash
from local.front.guard import Networks
from local.functions.async_queue import RETRY_SECONDS
from local.functions.expressions import read_expression
from local.functions.pools import MAX_INVOCATIONS
from local.models import read_embeddings
from local.own_model.choice import PROGRAM, PURPOSE, OwnModelChoice, read_program, take_own_model

DEFAULT_PORT = 3000
DEFAULT_BUCKET = "live-memory"
# Any of them means a store of one's own: at S3_ENDPOINT_URL, or without that at AWS.
_STORE_VARIABLES = ("S3_REGION_NAME", "S3_ACCESS_KEY_ID", "S3_SECRET_ACCESS_KEY")

_T = TypeVar("_T")


class ConfigError(ValueError):
    """Variables hold impossible values. The text is one sentence a line for the terminal."""

    status = 2
    """Exit status of a program that it stops."""


@dataclass(frozen=True)
class Config:
    """The choices. `outer` is the whole environment, of which functions may see what the template declares.

    `parameters` replace defaults of the template's parameters that no variable of a function could replace.

    A URL that is None means that the runtime starts its own server, but with `aws` the store is S3 itself. An empty one
    means that there are no embeddings.
    """

    host: str
    port: int
    data: Path
    template: Path
    bucket: str
    s3_url: str | None
    aws: bool
    llm_url: str | None
    embeddings_url: str | None
    admin_key_sha256: str | None
    sweep_seconds: float | None
    retry_seconds: tuple[float, ...]
    invoke_from: Networks
    parameters: Mapping[str, str]
    outer: Mapping[str, str]
    log_file: Path | None = None
    """The file that standard output and standard error go to, to be kept small."""
    shared: bool = False
    """Whether others than this machine's programs send requests, directly or by a proxy on this machine."""
    invocations: int = MAX_INVOCATIONS
    """At once, of a function that reserves no concurrency."""
    metrics_key: str | None = field(default=None, repr=False)
    """What opens `/metrics`; without it only programs of this machine may read it, and nobody if others are served."""
    workers: int = 1
    """Processes at the port."""
    make_bucket: bool = False
    """Whether the bucket is made in a store of one's own that has none of its name."""
    logs_to_stdout: bool = False
    """Whether the functions' lines go to standard output and not to files: a container's are read there."""
    own_model: OwnModelChoice | None = None
    """The program of this machine that is the model (`cli:claude`)."""

    @property
    def embedded(self) -> bool:
        """Whether the runtime is its own store."""
        return self.s3_url is None and not self.aws

    @property
    def region(self) -> str:
        """The region of a store of one's own."""
        names = ("S3_REGION_NAME", "AWS_REGION", "AWS_DEFAULT_REGION")
        return next((self.outer[name] for name in names if self.outer.get(name)), "us-east-1")


def find_problems(variables: Mapping[str, str]) -> list[str]:
    """The problems of the service's variables, one sentence for each, never with a value.

    `variables` is a whole environment; what the service does not read is not looked at.
    """
    from livemem.settings import Settings, problems  # noqa: PLC0415 - a process that checks nothing does without them

    given = {name.lower(): value for name, value in variables.items() if name.lower() in Settings.model_fields}
    try:
        settings = Settings(**given)  # texts, as in the environment
    except ValidationError as error:
        return [f"{problem}." for problem in problems(error)]
    is_given = given.get("admin_bootstrap_key") or given.get("admin_bootstrap_key_sha256")
    problem = settings.bootstrap_key_problem() if is_given else None
    return [f"{problem}."] if problem else []


class Checks:
    """Reads one variable after the other and keeps the sentences about those that are wrong."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables
        self.problems = find_problems(variables)

    def read(self, name: str, reader: Callable[[str], _T], default: _T, takes: str = "") -> _T:
        """The value that `reader` makes of a variable, or the default where it is unset, empty or wrong.

        A reader raises ConfigError with a sentence of its own. After any other error the sentence says what the
        variable takes.
        """
        text = self._variables.get(name)
        try:
            return reader(text) if text else default
        except ConfigError as error:
            self.problems.append(str(error))
        except (ValueError, KeyError, OSError):
            self.problems.append(f"{name} is {text[:80]!r}; it takes {takes}." if text else "")
        return default


def read_config(variables: Mapping[str, str] | None = None) -> Config:
    """Read the variables, by default those of this process. Raises ConfigError, also about those of the functions."""
    values = dict(os.environ if variables is None else variables)
    embeddings_url, is_own = read_embeddings(values), take_own_model(values)
    checks, truth = Checks(values), {"true": True, "false": False}
    program = checks.read(PROGRAM, read_program, None) if is_own else None
    for_all = checks.read(PURPOSE, {"folds": False, "all": True}.__getitem__, False, "folds or all")
    config = Config(
        host=values.get("HOST") or "127.0.0.1",
        port=checks.read("PORT", _number(0, 65535), DEFAULT_PORT, "a number from 0 (any free port) to 65535"),
        data=Path(values.get("LIVEMEM_DATA_DIR") or ROOT / ".local").expanduser().absolute(),
        template=Path(values.get("LIVEMEM_TEMPLATE") or ROOT / "template.yaml").absolute(),
        bucket=values.get("S3_BUCKET_NAME") or DEFAULT_BUCKET,
        s3_url=values.get("S3_ENDPOINT_URL") or None,
        aws=not values.get("S3_ENDPOINT_URL") and any(values.get(name) for name in _STORE_VARIABLES),
        llm_url=values.get("LLMAAS_API_URL") or None,
        embeddings_url=embeddings_url,
        admin_key_sha256=given_hash(values),
        sweep_seconds=checks.read("LIVEMEM_SWEEP_SECONDS", _seconds, None, "a number of seconds from 0.1 to 9,999,999"),
        retry_seconds=checks.read(
            "LIVEMEM_RETRY_SECONDS",
            lambda text: tuple(_seconds(part, 0) for part in text.split(",")),
            RETRY_SECONDS,
            "numbers of seconds with commas, like 60,120",
        ),
        invoke_from=checks.read(
            "LIVEMEM_INVOKE_FROM",
            lambda text: tuple(ipaddress.ip_network(part.strip()) for part in text.split(",") if part.strip()),
            (),
            "networks like 172.17.0.0/16, with commas between them",
        ),
        parameters=_read_parameters(checks, values),
        outer=values,
        log_file=Path(values["LIVEMEM_LOG_FILE"]).absolute() if values.get("LIVEMEM_LOG_FILE") else None,
        shared=checks.read("LIVEMEM_SHARED", truth.__getitem__, False, "true or false"),
        invocations=checks.read("LIVEMEM_ENVIRONMENTS", _number(2, 256), MAX_INVOCATIONS, "a number from 2 to 256"),
        metrics_key=checks.read("LIVEMEM_METRICS_KEY", _metrics_key, None),
        workers=checks.read("LIVEMEM_WORKERS", _number(1, 64), 1, "a number from 1 to 64"),
        make_bucket=checks.read("LIVEMEM_MAKE_BUCKET", truth.__getitem__, False, "true or false"),
        logs_to_stdout=checks.read(
            "LIVEMEM_LOGS", {"files": False, "stdout": True}.__getitem__, False, "files or stdout"
        ),
        own_model=OwnModelChoice(program, for_all) if program else None,
    )
    if config.embedded and config.workers > 1:
        checks.problems.append(
            "LIVEMEM_WORKERS needs a store that several processes can share: set S3_ENDPOINT_URL, or S3_REGION_NAME "
            "for AWS S3. The embedded store belongs to one process."
        )
    if config.own_model and config.workers > 1:
        checks.problems.append(
            "LLMAAS_API_URL names a program of this machine, of which one runs at a time: no LIVEMEM_WORKERS."
        )
    if checks.problems:
        raise ConfigError("\n".join(checks.problems))
    return config


def _read_parameters(checks: Checks, values: Mapping[str, str]) -> dict[str, str]:
    """The time zone of this machine, and the parameters of the schedule of backups."""
    zone, states = "an IANA name, like Europe/Paris", {"ENABLED": "ENABLED", "DISABLED": "DISABLED"}
    given = {
        "BackupSchedule": checks.read("BACKUP_SCHEDULE", _schedule, None),
        "DefaultTimezone": zone_of_machine(values) if not values.get("DEFAULT_TIMEZONE") else None,
        "BackupTimezone": checks.read("BACKUP_TIMEZONE", lambda text: clock.zone(text).key, None, zone),
        "BackupScheduleState": checks.read("BACKUP_SCHEDULE_STATE", states.__getitem__, None, "ENABLED or DISABLED"),
    }
    return {name: value for name, value in given.items() if value is not None}


def zone_of_machine(variables: Mapping[str, str]) -> str:
    """The time zone by its IANA name: that of `TZ`, else of the system's settings; `UTC` where neither tells it.

    A `TZ` in the form of POSIX (`CET-1CEST`) is no name.
    """
    names = [variables.get("TZ", "").removeprefix(":")]
    # Settings that contradict each other name none.
    with suppress(LookupError, ValueError, OSError):
        names.append(tzlocal.get_localzone_name() or "")
    for name in names:
        with suppress(ValueError):
            return clock.zone(name).key
    return "UTC"


def _schedule(text: str) -> str:
    try:
        read_expression(text)
    except ValueError as error:
        raise ConfigError(
            f"BACKUP_SCHEDULE takes an expression like cron(0 2 * * ? *) or rate(1 day): {error}."
        ) from error
    return text


def _metrics_key(text: str) -> str:
    if len(text) < 32:
        raise ConfigError("LIVEMEM_METRICS_KEY has fewer than 32 characters; it takes random ones.")
    return text


def _number(lowest: int, highest: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not text.isascii() or not text.isdecimal() or not lowest <= int(text[:9]) <= highest:
            raise ValueError
        return int(text)

    return read


def _seconds(text: str, lowest: float = 0.1) -> float:
    # Written so that NaN, which is in no order, is refused too.
    if not lowest <= (seconds := float(text)) < 1e7:
        raise ValueError
    return seconds
