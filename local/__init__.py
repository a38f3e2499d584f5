"""The local runtime: Lambda, an HTTP API and S3 on one machine, without Docker and without an account.

`python -m local` reads template.yaml and runs the same handlers that AWS runs. Nothing in here is deployed.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_LAYER = str(ROOT / "layers" / "livemem")
if _LAYER not in sys.path:
    # The service's packages are a layer of its functions on AWS.
    sys.path.append(_LAYER)
