"""What starts a consolidation without a request: the store's put events, and the sweep's schedule."""

import json
from pathlib import Path

from tests.e2e.spaces import fresh_space, post_notes
from tests.e2e.stack import KIND

EVENTS = Path(__file__).resolve().parents[2] / "events"
INVOCATION = "POST /2015-03-31/functions/CounterFunction/invocations"


def counted(lines, space):
    """What the counter logged about a space: a line per event of a note. Those of other objects have no outcome."""
    return [line for line in lines if '"counted"' in line and f'"{space}":' in line]


def test_the_log_shows_that_the_stores_put_event_started_the_consolidation(service, log_lines, capsys):
    with fresh_space(service, 3) as space:
        before = sum(INVOCATION in line for line in log_lines())
        post_notes(service, space, 3)
        record = service.wait_until(
            lambda: service.call("list_consolidations", {"space_id": space})["items"], lambda items: len(items) == 1
        )[0]
        assert record["trigger"] == "threshold"

        def started() -> list[str]:
            return [line for line in counted(log_lines(), space) if '"started"' in line]

        (line,) = service.wait_until(started, bool)
        invocations = [line for line in log_lines() if INVOCATION in line][before:]
    if KIND == "sam":
        # Nobody else knows the address: only MinIO's webhook asks for the counter.
        assert invocations
    with capsys.disabled():
        print("", f"  counter: {line[line.index('{') :][:400]}", *(f"  {line}" for line in invocations), sep="\n")


def test_a_threshold_that_comes_down_to_the_notes_starts_a_run_without_an_event(service, log_lines):
    with fresh_space(service, 10) as space:
        ids = post_notes(service, space, 3)
        # It comes down after the last event, so none of the store's sees that it is reached.
        service.wait_until(
            lambda: "".join(counted(log_lines(), space)),
            lambda text: all(note.rpartition("/")[2] in text for note in ids),
        )

        changed = service.send("PATCH", f"/spaces/{space}", {"consolidation_threshold": 3})

        assert changed.status == 200, changed
        assert service.ended(f"{space}.consolidation.{changed.body['started_run']}").status == "done"
        (record,) = service.call("list_consolidations", {"space_id": space})["items"]
        assert (record["trigger"], record["notes_count"]) == ("threshold", len(ids))


def test_the_daily_schedules_event_makes_the_sweep_look_at_every_space(service, invoke):
    with fresh_space(service, 10) as space:
        ids = post_notes(service, space, 3)

        report = invoke("SweepFunction", json.loads((EVENTS / "sweep-all.json").read_text()))

        assert report["spaces"] >= 1
        assert not report["failed"], report
        assert service.call("get_space", {"space_id": space})["live"]["notes_count"] == len(ids)
