"""Lets everything come to rest: faults off, queues worked off, the sweep, and notes that must be folded."""

import json
import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from benchmarks.chaos.bucket import Bucket
from benchmarks.chaos.client import Client
from benchmarks.chaos.findings import Findings, head_of, runs_of, spaces_of
from benchmarks.chaos.programs import Runtime
from benchmarks.chaos.work import THRESHOLD, Work
from livemem.store.bucket import LEASE
from tests.support.audit import live, records_of, standing
from tests.support.bucket import Stored

_POLL = 3.0
_SERVED_WITHIN = 90.0
_SILENT_FOR = 120.0
"""A space that stands still for longer, of which health says nothing, is a violation."""


@dataclass
class Stillness:
    """How long each space was held by one piece of work after the last fault, in seconds, by which, and what health
    said of it meanwhile.
    """

    seconds: dict[str, float] = field(default_factory=dict)
    why: dict[str, str] = field(default_factory=dict)
    said: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))


class Rest:
    """The end of a run of the benchmark."""

    def __init__(self, bucket: Bucket, runtime: Runtime, work: Work) -> None:
        self.still = Stillness()
        self.late_duplicates = 0
        self._since: dict[str, tuple[float, str]] = {}
        self._bucket, self._runtime, self._work = bucket, runtime, work
        self._admin: Client = work.admin

    def come(self, patience: float) -> list[str]:
        """Wait until nothing is under way and the sweep has found nothing more to do; returns what is left.

        `patience`: seconds without any progress after which what is left is left.
        """
        moved, swept = time.monotonic(), 0
        before: tuple[object, ...] = ()
        while True:
            reasons, waiting = self._reasons(), self._runtime.waiting()
            self._watch(reasons)
            self._listen(reasons)
            state = (len(waiting), tuple(sorted(reasons.items())))
            moved, before = (moved if state == before else time.monotonic()), state
            late = time.monotonic() - moved > patience
            if (not reasons or late) and not waiting:
                if swept == 2 or (late and swept):
                    return [f"{space_id}: {why}" for space_id, why in reasons.items()]
                self.sweep()
                swept += 1
            elif late:
                left = [f"queue: {entry['function']} {entry['event']}" for entry in waiting]
                return [*(f"{space_id}: {why}" for space_id, why in reasons.items()), *left]
            time.sleep(_POLL)

    def _watch(self, reasons: Mapping[str, str]) -> None:
        """Note for how long each space has been held by the very same work; what waits for a slot is not held."""
        now = time.monotonic()
        for space_id, why in reasons.items():
            since, held = self._since.get(space_id, (now, ""))
            self._since[space_id] = (since if held == why else now, why)
            seconds = round(now - self._since[space_id][0], 1)
            if not why.endswith(" queued") and seconds > self.still.seconds.get(space_id, 0.0):
                self.still.seconds[space_id], self.still.why[space_id] = seconds, why
        self._since = {space_id: self._since[space_id] for space_id in reasons}

    def sweep(self) -> None:
        """The schedule of once a day comes round: events get lost here, and markers with them."""
        self._admin.invoke("SweepFunction", {"spaces": "all"}, later=False, seconds=320)

    def read(self, found: Findings) -> None:
        """Hold what readers are shown against the bucket, before anything has mended it."""
        objects, busy = self._bucket.read(), self._reasons()
        for space_id in spaces_of(objects):
            if space_id in busy or _deleted(objects, space_id):
                continue
            records = standing(records_of(objects, space_id))
            held = {source.note_id for record in records for source in record.notes}
            for note_id in held & live(objects, space_id):
                self.late_duplicates += 1
                reply = self._admin.ask("GET", f"/spaces/{space_id}/notes/{note_id}")
                if not reply.ok or reply.body["status"] != "consolidated":
                    status = reply.body["status"] if reply.ok else reply.code
                    found.add("wrong reads", space_id, [f"{note_id} is read as {status}"])

    def feed(self, found: Findings) -> None:
        """Write as many notes to each space as start a run: they are folded, or the space is blocked."""
        for space in self._work.spaces:
            self._work.resolve(space)
        waiting = {space.space_id: space for space in self._work.alive()}
        for space in waiting.values():
            self._admin.ask("PATCH", f"/spaces/{space.space_id}", {"auto_paused": False})
            markers = [self._work.ledger.marker("n") for _ in range(THRESHOLD)]
            notes = [{"category": "progress", "content": f"{marker} at rest"} for marker in markers]
            reply = self._admin.ask("POST", f"/spaces/{space.space_id}/notes", {"items": notes})
            if space.life:
                self._work.take(reply, markers, space.life, "batches at rest")
            if not reply.ok:
                found.add("blocked", space.space_id, [f"a batch of notes is answered with {reply.code}"])
        began = time.monotonic()
        left: dict[str, int] = {}
        while waiting and time.monotonic() - began < _SERVED_WITHIN:
            time.sleep(_POLL)
            for space_id in list(waiting):
                info = self._admin.ask("GET", f"/spaces/{space_id}")
                left[space_id] = info.body["live"]["notes_count"] if info.ok else -1
                if 0 <= left[space_id] < THRESHOLD:
                    del waiting[space_id]
        for space_id in waiting:
            found.add("blocked", space_id, [f"{left.get(space_id)} notes wait; {self._why(space_id)}"])

    def hear_health(self, found: Findings, objects: Mapping[str, Stored]) -> None:
        """Hold health's word against the bucket, everything being at rest."""
        reply = self._admin.ask("GET", "/health")
        if not reply.ok:
            found.add("wrong health", "all", [f"answers {reply.code}"])
            return
        wrong = {text.partition(":")[0] for items in found.columns.values() for text in items}
        said = {problem["space_id"] for problem in reply.body["spaces"]}
        for problem in reply.body["spaces"]:
            if problem["space_id"] not in wrong and problem["code"] != "auto_paused":
                found.add(
                    "wrong health", problem["space_id"], [f"is said to be {problem['code']}, and nothing is wrong"]
                )
        for space_id in spaces_of(objects):
            if LEASE.key(space_id) in objects and space_id not in said and not _deleted(objects, space_id):
                found.add("wrong health", space_id, ["has a lease at rest, and health says nothing"])
        for space_id, seconds in self.still.seconds.items():
            if seconds > _SILENT_FOR and not self.still.said[space_id]:
                why = self.still.why[space_id]
                found.add("wrong health", space_id, [f"stood still for {seconds:.0f} s without a word: {why}"])

    def _reasons(self) -> dict[str, str]:
        """Why each space is not free."""
        objects = self._bucket.read()
        coming = {entry["event"].get("job_id") for entry in self._runtime.waiting()}
        found: dict[str, str] = {}
        for space_id in spaces_of(objects):
            if _deleted(objects, space_id):
                continue
            head = head_of(objects, space_id)
            reasons = []
            if head and head["committed_run"]:
                reasons.append(f"committed_run {head['committed_run']}")
            if lease := objects.get(LEASE.key(space_id)):
                told = json.loads(lease.body)
                if told["kind"] != "backoff":
                    reasons.append(f"lease {told['kind']} of {told['owner']} until {told['expires_at']}")
            # A run whose invocation got lost is queued for an hour: that is not waited for.
            unended = [run for run in runs_of(objects, space_id) if run["status"] in ("queued", "running")]
            started = [run for run in unended if run["status"] == "running" or run["job_id"] in coming]
            reasons += [f"run {run['job_id']} {run['status']}" for run in started]
            if reasons:
                found[space_id] = ", ".join(reasons)
        return found

    def _listen(self, reasons: Mapping[str, str]) -> None:
        if reasons and (reply := self._admin.ask("GET", "/health")).ok:
            for problem in reply.body["spaces"]:
                self.still.said[problem["space_id"]].add(problem["code"])

    def _why(self, space_id: str) -> str:
        info = self._admin.ask("GET", f"/spaces/{space_id}")
        paused = "paused" if info.ok and info.body["auto_paused"] else "not paused"
        return f"{paused}; {self._reasons().get(space_id, 'nothing holds it')}"


def _deleted(objects: Mapping[str, Stored], space_id: str) -> bool:
    head = head_of(objects, space_id)
    return head is None or bool(head["deleted_at"])
