"""What an asynchronous invocation of the backup function does: one piece of long work, and the rest of it later."""

import logging
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from livemem.archives import export
from livemem.arrivals import bringing
from livemem.backups import nightly
from livemem.erasure import erasure
from livemem.process import Process

logger = logging.getLogger(__name__)


def carry_out(process: Process, payload: Mapping[str, Any], deadline: datetime) -> dict[str, Any]:
    """Do what `payload` says under `do`; what does not fit before `deadline` is queued anew.

    Raises KeyError for work that it does not know, StoreUnavailable and Busy, so that Lambda tries again.
    """
    works: dict[str, Callable[[Process, Mapping[str, Any], datetime], dict[str, Any]]] = {
        "nightly": nightly.work,
        "back_up": nightly.back_up,
        "retain": nightly.retain,
        "bring": bringing.work,
        "export": export.work,
        "erase": erasure.work,
    }
    return works[payload["do"]](process, payload, deadline)
