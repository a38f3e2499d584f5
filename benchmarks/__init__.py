"""Programs that measure and print tables; tests assert counts, never times."""

import sys
from pathlib import Path

# Lambda and pip put these on the path. So `.venv/bin/python -m benchmarks.<name>` from the root needs nothing else.
ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "layers" / "livemem"), str(ROOT / "client")]
