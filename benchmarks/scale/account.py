"""A simulated account of AWS in virtual time: functions with their environments, asynchronous queues, put events, and
what each invocation costs.

Memory, timeout and reserved concurrency of each function are those of template.yaml. Limits and delays are in aws.py.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from benchmarks.scale import aws
from benchmarks.scale.tally import GB_SECOND, HTTP_REQUEST, INVOCATION, LOG_LINE, Tally, TimedClient
from benchmarks.scale.virtual import Pool, Schedule, VirtualLock
from livemem.errors import LiveMemoryError
from livemem.process import Process
from livemem.settings import Settings
from livemem.spaces import totals
from tests.support.template import read_template
from tests.support.world import World

Work = Callable[[Process, datetime], Any]
ALL = "all functions"
OWN_RATES = ("a note", "a conversation", "a turn", "a message of a room", "a memory", "a start")
"""Operations whose routes have a rate of their own (RouteSettings of the template)."""


class Throttled(Exception):
    """No concurrency, or more requests than the API takes."""


@dataclass(frozen=True)
class FunctionKind:
    """What the template says of a function."""

    megabytes: int
    seconds: int
    slots: int | None
    """Reserved concurrency; None: none."""
    retries: int
    age: float
    """Seconds after which an event that waits is given up."""


@cache
def template_kinds() -> Mapping[str, FunctionKind]:
    """The functions of the template by name, with the default of each parameter."""
    template = read_template()
    usual = template["Globals"]["Function"]
    parameters = template["Parameters"]
    found = {}
    for name, resource in template["Resources"].items():
        if resource["Type"] == "AWS::Serverless::Function":
            own = resource["Properties"]
            reserved = own.get("ReservedConcurrentExecutions")
            slots = (parameters[reserved["Fn::If"][1]["Ref"]]["Default"] or None) if reserved else None
            events = own.get("EventInvokeConfig", {})
            found[name.removesuffix("Function").lower()] = FunctionKind(
                own.get("MemorySize", usual["MemorySize"]),
                own.get("Timeout", usual["Timeout"]),
                slots,
                events.get("MaximumRetryAttempts", 2),
                events.get("MaximumEventAgeInSeconds", 21_600),
            )
    return found


@dataclass
class Environment:
    """A process of a function, which serves one invocation at a time."""

    process: Process
    client: TimedClient
    idle_since: float = 0.0


@dataclass
class Event:
    """An asynchronous invocation on its way."""

    function: str
    operation: str
    work: Work
    queued_at: float
    failures: int = 0
    throttles: int = 0


@dataclass
class Bill:
    """What invocations of one operation took, without S3."""

    invocations: int = 0
    gb_seconds: float = 0.0
    requests: int = 0
    """To the HTTP API."""

    @property
    def dollars(self) -> float:
        """Lambda, the HTTP API, and 1 kB of logs for each invocation."""
        return self.invocations * (INVOCATION + LOG_LINE) + self.gb_seconds * GB_SECOND + self.requests * HTTP_REQUEST


def with_rates(settings: Settings, most: int | None = None) -> Settings:
    """Settings with the usual requests a second of each space and token, or with `most`."""
    names = ("requests_per_space_per_second", "requests_per_token_per_second")
    usual = {name: Settings.model_fields[name].default for name in names}
    return settings.model_copy(update=usual if most is None else dict.fromkeys(names, most))


@dataclass
class Account:
    """The account. `parts` of each process replace those of the world's. `slots` replaces reserved concurrency."""

    world: World
    schedule: Schedule
    parts: Mapping[str, Any]
    slots: Mapping[str, int] = field(default_factory=dict)
    api_rate: float = aws.API_RATE.value
    api_burst: float | None = None
    """Requests that the API takes at once, where it has rested. None: those of a second."""
    concurrency: float = aws.CONCURRENCY.value

    def __post_init__(self) -> None:
        self.tally = Tally()
        self.tally.most = {"writes": int(aws.S3_WRITES.value), "reads": int(aws.S3_READS.value)}
        self.kinds = {
            name: replace(kind, slots=self.slots.get(name, kind.slots)) for name, kind in template_kinds().items()
        }
        self.bills: defaultdict[str, Bill] = defaultdict(Bill)
        self.running: Counter[str] = Counter()
        self.peak: Counter[str] = Counter()
        self.throttled: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()
        self.given_up: Counter[str] = Counter()
        self.waits: defaultdict[str, list[float]] = defaultdict(list)
        """By function: seconds from the queueing of an event to its beginning."""
        self.waiting: Counter[str] = Counter()
        self.heard: Callable[[str], None] = lambda _: None
        """Called for each object that is put, a moment later."""
        self._idle: defaultdict[str, deque[Environment]] = defaultdict(deque)
        self._begun: defaultdict[str, deque[float]] = defaultdict(deque)
        self._gateway: dict[str, tuple[float, float]] = {}
        """By route, or "": how many requests pass at once, and at which moment that was so."""

    def invoke(self, function: str, operation: str, work: Work, computes: float = aws.COMPUTE_SECONDS.value) -> Any:
        """Let the function do the work now, after so many seconds. Raises Throttled, and what the work raises."""
        kind = self.kinds[function]
        with self._slot(function, kind.slots):
            environment, cold = self._environment(function)
            environment.client.who = operation
            began, bill = self.schedule.now, self.bills[operation]
            self.schedule.sleep(computes + cold * aws.COLD_SECONDS.value)
            try:
                return work(environment.process, self.world.clock() + timedelta(seconds=kind.seconds))
            finally:
                bill.invocations += 1
                if self.schedule.now - began > kind.seconds:
                    self.failed[f"{operation}: timed out"] += 1
                bill.gb_seconds += (self.schedule.now - began) * kind.megabytes / 1_024
                environment.idle_since = self.schedule.now
                self._idle[function].append(environment)

    def request(self, function: str, operation: str, work: Work, computes: float = aws.COMPUTE_SECONDS.value) -> Any:
        """A request over HTTP. None where it was throttled, or answered with an error."""
        try:
            self._pass_gateway(operation if operation in OWN_RATES else "")
            # AWS does not bill what API Gateway itself refuses.
            self.bills[operation].requests += 1
            return self.invoke(function, operation, work, computes)
        except Throttled:
            self.throttled[operation] += 1
        except LiveMemoryError as error:
            self.failed[f"{operation}: {error.code}"] += 1
        return None

    def _pass_gateway(self, route: str) -> None:
        """API Gateway limits requests by a bucket of tokens that fills at the rate, up to the burst."""
        now, most = self.schedule.now, self.api_burst or self.api_rate
        room, then = self._gateway.get(route, (most, now))
        room = min(most, room + (now - then) * self.api_rate)
        self._gateway[route] = room - (room >= 1), now
        if room < 1:
            raise Throttled

    def queue(self, function: str, operation: str, work: Work) -> None:
        """Queue an asynchronous invocation."""
        event = Event(function, operation, work, self.schedule.now)
        self.waiting[function] += 1
        self.schedule.at(self.schedule.now, lambda: self._deliver(event))

    def _deliver(self, event: Event) -> None:
        kind, now = self.kinds[event.function], self.schedule.now
        if now - event.queued_at > kind.age:
            self._give_up(event)
            return
        waited = now - event.queued_at
        try:
            self.invoke(event.function, event.operation, event.work)
        except Throttled:
            # Reserved concurrency is used up by design: it is a wait, and no loss.
            if kind.slots is None:
                self.throttled[event.operation] += 1
            pause = min(aws.THROTTLED_FIRST.value * 2**event.throttles, aws.THROTTLED_LONGEST.value)
            event.throttles += 1
            self.schedule.at(now + pause, lambda: self._deliver(event))
            return
        except LiveMemoryError as error:
            self.failed[f"{event.operation}: {error.code}"] += 1
            if event.failures == kind.retries:
                self._give_up(event)
                return
            pause = (aws.FIRST_RETRY, aws.SECOND_RETRY)[event.failures].value
            event.failures += 1
            self.schedule.at(self.schedule.now + pause, lambda: self._deliver(event))
            return
        self.waiting[event.function] -= 1
        self.waits[event.function].append(waited)

    def _give_up(self, event: Event) -> None:
        self.waiting[event.function] -= 1
        self.given_up[event.operation] += 1

    @contextmanager
    def _slot(self, function: str, slots: int | None) -> Iterator[None]:
        if (slots and self.running[function] >= slots) or self.running[ALL] >= self.concurrency:
            raise Throttled
        for name in (function, ALL):
            self.running[name] += 1
            self.peak[name] = max(self.peak[name], self.running[name])
        try:
            yield
        finally:
            self.running[function] -= 1
            self.running[ALL] -= 1

    def _environment(self, function: str) -> tuple[Environment, bool]:
        """The environment that was used last, or a new one. The oldest end when nobody has used them for long."""
        idle, now = self._idle[function], self.schedule.now
        while idle and now - idle[0].idle_since > aws.WARM_SECONDS.value:
            idle.popleft()
        if idle:
            return idle.pop(), False
        begun = self._begun[function]
        while begun and now - begun[0] > 10:
            begun.popleft()
        if len(begun) >= aws.RAMP.value:
            raise Throttled
        begun.append(now)
        return self._new_environment(), True

    def _new_environment(self) -> Environment:
        client = TimedClient(self.world.inner, self.schedule, self.tally, "", aws.S3_SECONDS.value, heard=self._heard)
        process = self.world.process_on(
            client,
            every=self.schedule.every,
            timer=lambda: self.schedule.now,
            in_background=lambda action: self.schedule.at(self.schedule.now, action),
            **{"settings": with_rates(self.world.settings), **self.parts},
        )
        object.__setattr__(process.store, "sleep", self.schedule.sleep)
        object.__setattr__(process.store, "_pool", Pool(self.schedule))
        # It is held while a document is read and written.
        process.cache(totals._Seen).locks = [VirtualLock(self.schedule) for _ in range(totals.SHARDS)]  # type: ignore[misc]  # noqa: SLF001
        return Environment(process, client)

    def _heard(self, key: str) -> None:
        self.schedule.at(self.schedule.now + aws.EVENT_SECONDS.value, lambda: self.heard(key))
