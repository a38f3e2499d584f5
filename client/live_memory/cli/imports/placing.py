"""Sends notes and memories to a space that exists, each once.

Each has a name made of its content, which the service knows for 7 days (notes) or 30 days (memories). The names of what
this machine has sent are also kept in a file beside the configuration, so that a later repeat sends nothing twice.
"""

import hashlib
import json
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from live_memory import LiveMemoryError
from live_memory.cli import own_files
from live_memory.cli.imports.found_items import Found, FoundItem
from live_memory.cli.imports.reports import ItemReport
from live_memory.cli.imports.sending import Service

OPERATIONS = {"note": "append_note", "memory": "store_memory"}
UNFIT_STATUS = (400, 413, 422)
KEPT_EVERY = 20
"""Items after which the file is written."""


@dataclass(frozen=True)
class Sent:
    """The file with the names of what was sent to one space."""

    path: Path

    @classmethod
    def of(cls, folder: Path, url: str, space_id: str, uid: str) -> "Sent":
        """The file of a space of a service, in `folder`. A space that was made again has another `uid`."""
        name = hashlib.sha256(f"{url}\0{space_id}\0{uid}".encode()).hexdigest()[:24]
        return cls(folder / "imports" / f"{name}.json")

    def read(self) -> set[str]:
        """The names. A file that can't be read is taken for an empty one: the service still knows the last days."""
        try:
            value = json.loads(self.path.read_bytes())
        except (OSError, ValueError):
            return set()
        return {one for one in value if isinstance(one, str)} if isinstance(value, list) else set()

    def write(self, names: set[str]) -> None:
        """Keep the names. Raises OSError."""
        own_files.write(self.path, json.dumps(sorted(names)).encode())


def plan(found: Found, space_id: str, sent: Collection[str] = ()) -> ItemReport:
    """What would be sent, without a request. `sent`: the names of what was sent before."""
    return ItemReport(
        space_id,
        dry_run=True,
        service=found.service,
        notes=sum(one.kind == "note" for one in found.items),
        memories=sum(one.kind == "memory" for one in found.items),
        characters=sum(len(one.content) for one in found.items),
        redacted=found.redacted,
        repeated=sum(one.key in sent for one in found.items),
        items=[_described(one) for one in found.items if one.key not in sent],
        changed=found.changed,
        left_out=list(found.left_out),
        not_taken=found.not_taken,
    )


def _described(item: FoundItem) -> str:
    first = " ".join(item.content.split())
    shown = first if len(first) <= 80 else first[:79] + "…"
    when = f" ({item.said_at[:10]})" if item.said_at else ""
    until = f" until {item.until}" if item.until else ""
    return f"{item.kind} {item.category or 'fact'}{when}{until}: {shown}"


def carry_out(
    service: Service,
    found: Found,
    space_id: str,
    sent: Sent,
    say: Callable[[str], None] = lambda _: None,
) -> ItemReport:
    """Send what was not sent before. Raises LiveMemoryError and OSError. A repeat continues the import."""
    report = plan(found, space_id)
    report.dry_run = False
    names = sent.read()
    try:
        for number, item in enumerate(found.items, 1):
            if item.key in names:
                report.repeated += 1
                continue
            try:
                body = {"space_id": space_id, **item.body()}
                service.call(OPERATIONS[item.kind], body, idempotency_key=item.idempotency_key)
            except LiveMemoryError as error:
                if error.status not in UNFIT_STATUS:
                    raise
                report.left_out.append(f"{item.name} is refused: {error.detail}")
                continue
            names.add(item.key)
            report.imported += 1
            if number % KEPT_EVERY == 0:
                sent.write(names)
                say(f"{number} of {len(found.items)}")
    finally:
        if report.imported:
            sent.write(names)
    return report
