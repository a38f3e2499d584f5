"""Whatever request a backup dies at or that fails, and whatever happens beside it: what says that it is complete is
so, and nothing else is left.
"""

import pytest

from livemem.backups import snapshots
from tests.support import crash_backups
from tests.support.crash_backups import PAIRS, Operation
from tests.support.pairs import Pair


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(snapshots, "BATCH", 4)


@pytest.mark.parametrize("operation", crash_backups.OPERATIONS, ids=lambda operation: operation.name)
def test_a_backup_killed_or_failing_at_any_request_leaves_what_is_right(operation: Operation):
    wrong = []
    for one, fault, again in crash_backups.table():
        if one is operation:
            for point in range(crash_backups.requests_of(operation)):
                found = crash_backups.crash(operation, fault, point, again=again)
                wrong += [f"{fault.name} at {point}, {'again' if again else 'not again'}: {item}" for item in found]
    assert not wrong, f"{len(wrong)}:\n" + "\n".join(wrong[:20])


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_a_backup_beside_something_else_keeps_the_promise(pair: Pair):
    broken = [f"{where} -> {found}" for where, found in pair.play() if not found.clean()]
    assert not broken, f"{len(broken)}:\n" + "\n".join(broken[:20])
