"""docs/sam-local.md starts schedules by events and functions that there are."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_each_event_and_function_that_the_page_names_is_there():
    page = (ROOT / "docs" / "sam-local.md").read_text("utf-8")
    calls = re.findall(r"curl -d @(events/\S+) \$LAMBDA/(\w+)/invocations", page)
    template = (ROOT / "template.yaml").read_text("utf-8")

    assert {Path(event).stem for event, _ in calls} >= {"backup-nightly", "digest-schedule", "digest-run"}
    assert [event for event, _ in calls if not (ROOT / event).is_file()] == []
    assert [name for _, name in calls if f"\n  {name}:\n" not in template] == []
