"""The daily look at a space's backups: the age of the newest, and the removal of incomplete ones. And all jobs that
copy.
"""

from collections.abc import Mapping, Sequence
from functools import partial

from livemem import clock
from livemem.copies import catalog, export, new_space
from livemem.copies.manifest import Manifest, Peeked
from livemem.jobs.describable import Describable
from livemem.jobs.package import HealthProblem, Package, Space
from livemem.process import Process
from livemem.spaces.head import Meta

AGE = "backup_age_hours"
OVERDUE_HOURS = 48
RECENT = 4
"""How many of the newest backups the daily look reads, if nightly retention reads them all."""


def maintain(process: Process, space: Space) -> Mapping[str, float]:
    """On the daily look, clear away incomplete backups: 1 LIST and 1 GET for each backup.

    If nightly backups are expected, and retention with them, it reads only the newest four and those newer than the
    last complete one. It returns the age of that one.
    """
    if not space.daily:
        return {}
    remaining = catalog.ids(process, space.space_id)
    most = RECENT if process.settings.backups_expected else max(len(remaining), 1)
    newest: Manifest | None = None
    cleared = 0
    first = True
    while remaining and (first or not newest):
        batch, remaining = remaining[-most:], remaining[:-most]
        looks = catalog.looks(process, space.space_id, batch)
        newest = newest or _newest(looks, space.head.meta.uid)
        cleared += sum(_clear(process, space.space_id, *pair) for pair in zip(batch, looks, strict=True))
        first = False
    done: dict[str, float] = {"backups_cleared": cleared} if cleared else {}
    return done | ({AGE: round(_hours(space, newest), 2)} if process.settings.backups_expected else {})


def _newest(looks: Sequence[Peeked | None], uid: str) -> Manifest | None:
    for look in reversed(looks):
        if look and look.value and catalog.is_wanted(look.value, lasting=True, uid=uid):
            return look.value
    return None


def _clear(process: Process, space_id: str, backup_id: str, look: Peeked | None) -> bool:
    orphan = catalog.find_incomplete(process, space_id, backup_id, look)
    return bool(orphan) and catalog.clear_incomplete(process, space_id, backup_id, look)


def _hours(space: Space, newest: Manifest | None) -> float:
    """Hours since the moment that the space's newest backup stands for. Since the space exists if it never had a
    backup.
    """
    since = newest.stands_for() if newest else _here_since(space.head.meta)
    return max((space.now - clock.parse(since)).total_seconds(), 0.0) / 3_600


def _here_since(meta: Meta) -> str:
    # A restored space was created long ago, elsewhere.
    return (meta.provisioning and meta.provisioning.finished_at) or meta.created_at


def problems(process: Process, space: Space) -> list[HealthProblem]:
    """A problem if the space should be backed up every night and was not: 1 LIST, and 1 GET as a rule. No request if no
    backup is expected, or the space is young.
    """
    if not process.settings.backups_expected or _hours(space, None) <= OVERDUE_HOURS:
        return []
    newest = catalog.newest(process, space.space_id, lasting=True, uid=space.head.meta.uid)
    hours = _hours(space, newest)
    if hours <= OVERDUE_HOURS:
        return []
    since = f"for {hours:.0f} hours" if newest else f"in the {hours:.0f} hours since its creation or restore"
    return [HealthProblem(space.space_id, "backup_overdue", f"The space was not backed up {since}.")]


PACKAGE = Package(
    maintain=maintain,
    problems=problems,
    jobs={
        "backup": Describable(catalog.described, catalog.listing),
        "export": Describable(export.described, export.listing, export.in_list),
        **{kind: Describable(partial(new_space.described, kind)) for kind in new_space.KINDS},
    },
)
