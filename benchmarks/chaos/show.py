"""`python -m benchmarks.chaos.show DATA TEXT...`: the requests that name all these texts, as the store saw them."""

import json
import sys
from pathlib import Path
from typing import Any

USAGE = 2


def main() -> int:
    """Print them; returns the exit status."""
    if len(sys.argv) < USAGE + 1:
        print(__doc__, file=sys.stderr)
        return USAGE
    texts = sys.argv[2:]
    found: list[dict[str, Any]] = []
    for name in ("requests.jsonl", "happened.jsonl", "llm.jsonl"):
        for line in (Path(sys.argv[1]) / name).read_text("utf-8").splitlines():
            if all(text in line for text in texts):
                found.append(json.loads(line))  # noqa: PERF401 - clearer so
    for entry in sorted(found, key=lambda entry: float(entry.get("done", entry.get("t", 0)))):
        print(_line(entry) if "verb" in entry else json.dumps(entry))
    return 0


def _line(entry: dict[str, Any]) -> str:
    what = entry["key"] or ", ".join(entry.get("keys", []))
    parts = [
        f"{entry['done']:9.3f}",
        f"{entry['verb']:<13}",
        str(entry.get("status", "-")),
        what,
        f"if {entry['condition']}" if "condition" in entry else "",
        entry.get("says", ""),
        f"[{entry['fault']} {entry.get('seconds', '')}]" if "fault" in entry else "",
        "[the store was away]" if "away" in entry else "",
    ]
    return " ".join(part for part in parts if part)


if __name__ == "__main__":
    sys.exit(main())
