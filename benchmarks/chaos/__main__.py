"""`python -m benchmarks.chaos`: faults for some minutes, then rest, then the audit. Exits with 1 if it finds any."""

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.chaos import findings as auditing
from benchmarks.chaos.bucket import Bucket
from benchmarks.chaos.findings import Findings
from benchmarks.chaos.programs import BUCKET, ProgramError
from benchmarks.chaos.rest import Rest
from benchmarks.chaos.world import Options, World, default_data, running, write_report
from livemem.store import keys
from livemem.store.bucket import IN_SPACE

PROGRESS_SECONDS = 15.0
SHORT_PATIENCE = 45.0
SHOWN = 12


def main() -> int:
    """Run it; returns the exit status."""
    wanted = _arguments()
    data = wanted.data or default_data("chaos")
    options = Options(
        data=data,
        seed=wanted.seed,
        rate=wanted.rate,
        kill_seconds=wanted.kill_seconds,
        llm_seconds=(wanted.llm_seconds / 10, wanted.llm_seconds * 2),
        clock_minutes=wanted.clock_minutes,
        spaces=wanted.spaces,
        writers=wanted.writers,
        sweep_seconds=wanted.sweep_seconds,
        minio=wanted.minio,
    )
    print(f"Chaos for {wanted.minutes:g} minutes, seed {wanted.seed}. Data and logs: {data}", flush=True)
    try:
        with running(options) as world:
            _play(world, wanted.minutes * 60)
            found, left, still = _conclude(world, wanted.patience)
            print(_table(world, found, left, still))
            return 1 if found.count() else 0
    except ProgramError as error:
        print(error, file=sys.stderr)
        return 2


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.chaos", description="The running service under faults.")
    parser.add_argument("--minutes", type=float, default=2.0, help="how long there are faults (default 2)")
    parser.add_argument("--seed", type=int, default=1, help="of all chances; threads make no two runs the same")
    parser.add_argument("--rate", type=float, default=0.02, help="part of the store's requests that are broken")
    parser.add_argument("--kill-seconds", type=float, default=6.0, help="mean time between two kills")
    parser.add_argument("--llm-seconds", type=float, default=2.0, help="about how long the LLM takes")
    parser.add_argument("--clock-minutes", type=float, default=2.5, help="minutes by which its clock is off")
    parser.add_argument("--spaces", type=int, default=16)
    parser.add_argument("--writers", type=int, default=6)
    parser.add_argument("--sweep-seconds", type=float, default=60.0, help="the sweep's schedule meanwhile")
    parser.add_argument("--patience", type=float, default=300.0, help="seconds without progress at the end")
    parser.add_argument("--minio", type=Path, help="a MinIO program, to be used as the store")
    parser.add_argument("--data", type=Path, help="folder for data and logs; emptied first (default .local/chaos/...)")
    return parser.parse_args()


def _play(world: World, seconds: float) -> None:
    for space in world.work.spaces:
        world.work.create(space)
    world.mischief.on = True
    world.work.start(world.options.writers, world.options.operators)
    world.killer.start()
    began = time.monotonic()
    told = began
    while time.monotonic() - began < seconds and not world.killer.failure:
        time.sleep(0.5)
        if time.monotonic() - told > PROGRESS_SECONDS:
            told = time.monotonic()
            _tell(world, told - began)
    world.stop.set()
    world.mischief.on = False
    world.killer.join()
    world.work.join()
    if world.killer.failure:
        raise ProgramError(world.killer.failure)


def _tell(world: World, seconds: float) -> None:
    done = world.ledger.done
    print(
        f"  {seconds:5.0f} s: {done['notes']} notes, {len(world.llm.asked)} questions to the LLM, "
        f"{world.proxy.requests()} requests, {sum(world.mischief.counts.values())} broken, "
        f"{sum(world.killer.counts.values())} kills, {len(world.work.alive())} spaces",
        flush=True,
    )
    world.flush()


def _conclude(world: World, patience: float) -> tuple[Findings, list[str], Rest]:
    print("Faults are off; coming to rest.", flush=True)
    world.stop.clear()
    for space in world.work.spaces:
        world.work.resolve(space)
    while world.proxy.outstanding() or world.events.outstanding():
        time.sleep(1.0)
    bucket = Bucket(world.store.client(), BUCKET)
    rest = Rest(bucket, world.runtime, world.work)
    shown = Findings()
    rest.read(shown)
    left = rest.come(patience)
    first = _look(world, bucket)
    first.merge(shown)
    rest.feed(first)
    # What was left then would only be waited for again.
    left = list(dict.fromkeys([*left, *rest.come(SHORT_PATIENCE if left else patience)]))
    found = _look(world, bucket)
    found.merge(first)
    rest.hear_health(found, bucket.read())
    _keep(world, found, left, rest, bucket)
    return found, left, rest


def _look(world: World, bucket: Bucket) -> Findings:
    return auditing.look(bucket.read(), world.ledger, world.llm.asked, world.proxy.hit)


def _keep(world: World, found: Findings, left: list[str], rest: Rest, bucket: Bucket) -> None:
    """Leave the report, and for each space with a violation its documents and its requests in order."""
    world.flush()
    objects = bucket.read()
    report = {
        "violations": found.columns,
        "left": left,
        "not due yet": found.not_due,
        "stood still": rest.still.seconds,
        "health said": {space: sorted(codes) for space, codes in rest.still.said.items()},
        "answers": dict(sorted(world.ledger.answers.items())),
    }
    write_report(world.data / "report.json", report)
    spaces = {text.partition(":")[0] for items in found.columns.values() for text in items}
    folder = world.data / "violations"
    for space_id in spaces & set(auditing.spaces_of(objects)):
        folder.mkdir(exist_ok=True)
        prefix = IN_SPACE.prefix(space_id)
        names = [key for key in objects if key.startswith(prefix) and key.endswith(".json")]
        documents = {key: json.loads(objects[key].body) for key in names if "_idempotency" not in key}
        write_report(folder / f"{space_id}.documents.json", documents)
        lines = [line for line in world.log.path.read_text("utf-8").splitlines() if f'"{prefix}' in line]
        lines.sort(key=lambda line: float(json.loads(line)["done"]))
        (folder / f"{space_id}.requests.jsonl").write_text("\n".join(lines) + "\n", "utf-8")


def _table(world: World, found: Findings, left: list[str], rest: Rest) -> str:
    done, killed = world.ledger.done, Counter(world.killer.counts)
    for kind in ("kill before", "kill after"):
        killed[f"runtime, {kind.replace('kill ', '')} a request"] += world.mischief.counts[kind]
    broken = {kind: count for kind, count in world.mischief.counts.items() if not kind.startswith("kill")}
    committed = found.records["consolidation"]
    lines = [
        "",
        "What was done",
        *_rows({name: count for name, count in sorted(done.items()) if name != "notes"}),
        f"  {'notes acknowledged':<38}{done['notes']:>8}",
        f"  {'requests of the functions to the store':<38}{world.proxy.requests():>8}",
        "Kills",
        *_rows(killed),
        "Broken requests",
        *_rows(broken),
        "Put events",
        *_rows(world.events.counts),
        "Runs delivered several times",
        *_rows(world.twins),
        "Runs in the bucket, by their status; changes in the history, by kind",
        *_rows(found.runs),
        *_rows({f"change: {kind}": count for kind, count in found.records.items()}),
        f"  {'questions to the LLM / consolidations':<38}{len(world.llm.asked):>8} / {committed}",
        f"  {'consolidations that met no fault':<38}{len(found.untouched):>8}",
        f"  {'... of them delivered several times':<38}{len(found.untouched & world.twin_runs):>8}",
        f"  {'late duplicates when the faults ended':<38}{rest.late_duplicates:>8}",
        f"  {'events given up (dead letters)':<38}{world.runtime.given_up():>8}",
        f"  Clocks of the runtime, by the notes' ids (s): {_clocks(world)}",
        f"  Hold for longest by one work, after the faults (s): {_slowest(rest)}",
        "",
        "| " + " | ".join(found.columns) + " |",
        "| " + " | ".join("-" * len(name) for name in found.columns) + " |",
        "| " + " | ".join(f"{len(items):>{len(name)}}" for name, items in found.columns.items()) + " |",
        "",
    ]
    for name, items in found.columns.items():
        lines += [f"{name}: {item}" for item in items[:SHOWN]]
        lines += [f"{name}: and {len(items) - SHOWN} more"] if len(items) > SHOWN else []
    lines += [f"left when patience was over: {item}" for item in left[:SHOWN]]
    lines += [f"not due yet: {told}" for told in found.not_due[:SHOWN]]
    if len(found.not_due) > SHOWN:
        lines.append(f"not due yet: and {len(found.not_due) - SHOWN} more")
    lines.append(f"Everything is in {world.data}; requests of a space with a violation in violations/.")
    return "\n".join(lines)


def _rows(counts: dict[str, Any]) -> list[str]:
    return [f"  {name:<38}{count:>8}" for name, count in sorted(counts.items())] or ["  none"]


def _clocks(world: World) -> str:
    off: Counter[int] = Counter()
    for note in world.ledger.notes:
        written = keys.parse_note_id(note.note_id).timestamp.timestamp()
        off[30 * round((written - note.at) / 30)] += 1
    return ", ".join(f"{seconds:+d}: {count} notes" for seconds, count in sorted(off.items()))


def _slowest(rest: Rest) -> str:
    worst = sorted(rest.still.seconds.items(), key=lambda pair: -pair[1])[:3]
    told = [f"{space} {seconds:.0f} ({', '.join(sorted(rest.still.said[space])) or 'ok'})" for space, seconds in worst]
    return ", ".join(told) or "none had to"


if __name__ == "__main__":
    sys.exit(main())
