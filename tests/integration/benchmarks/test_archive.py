"""The benchmark of archives does what it measures: a space comes out and in again."""

import pytest

from benchmarks import archive


@pytest.mark.proof
def test_a_small_space_is_exported_and_imported_in_processes_of_their_own():
    exported, imported, count = archive.run(1)
    # What an import measures as its size is how many objects there are.
    assert imported.archive == count
    assert exported.archive > 100_000
    assert max(exported.growth, imported.growth) < archive.GOAL_MEBIBYTES
