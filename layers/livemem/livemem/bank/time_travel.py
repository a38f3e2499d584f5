"""A bank file as it stood after an earlier change."""

from livemem.bank import files
from livemem.bank.files import File
from livemem.changes import records
from livemem.errors import NotFound
from livemem.process import Process


def read_at(process: Process, space_id: str, path: str, number: int) -> File:
    """One file as it stood after consolidation `number`, from the records; `last_modified` is that moment.

    Raises InvalidName, NotFound (no such consolidation, or the file did not exist then).
    """
    files.check_path(path)
    listed = records.names(process, space_id)
    then = next((name for name in listed if name.number == number), None)
    if not then:
        raise NotFound("consolidation", str(number))
    moment = records.read(process, space_id, then).committed_at
    # The first later change of the file knows what was before it; without one the file still is as it was.
    later = [name for name in listed if name.number > number]
    for start in range(0, len(later), records.AT_ONCE):
        for record in records.read_many(process, space_id, later[start : start + records.AT_ONCE]):
            change = next((change for change in record.files if change.path == path), None)
            if change and not change.before:
                raise NotFound("bank file", path)
            if change and change.before:
                return File(path, len(change.before.content.encode()), moment, change.before.content, number)
    found = files.read(process, space_id, path)
    return File(path, found.size, moment, found.content, number)
