"""The notes that were taken while this project was built: `examples/build-log.jsonl`, one JSON a line."""

import json
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
NOTES = EXAMPLES / "build-log.jsonl"
_FIELDS = ("timestamp", "agent", "category", "content")


def read_notes(file: Path = NOTES) -> list[dict[str, Any]]:
    """The notes of a file, oldest first; raises ValueError that names the line which is none."""
    rows = []
    for number, line in enumerate(file.read_text("utf-8").split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise ValueError(f"{file}, line {number}, is not JSON.") from error
        if not isinstance(row, dict) or any(not isinstance(row.get(name), str) for name in _FIELDS):
            raise ValueError(f"{file}, line {number}, needs the texts {', '.join(_FIELDS)}.")
        rows.append(row)
    return sorted(rows, key=lambda row: str(row["timestamp"]))
