"""Programs that measure and print tables; tests assert counts, never times."""

import sys
from pathlib import Path

# The layer is where Lambda puts it on the path; `python -m benchmarks.<name>` from the root needs nothing else.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "layers" / "livemem"))
