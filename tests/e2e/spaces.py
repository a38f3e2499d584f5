"""What several e2e files do with a space."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from tests.e2e.client import Service


def fresh_id() -> str:
    """An id that no space has."""
    return f"e2e-{uuid.uuid4().hex[:12]}"


@contextmanager
def fresh_space(service: Service, threshold: int) -> Iterator[str]:
    """A space that consolidates by itself at `threshold` notes; removed afterwards."""
    space_id = fresh_id()
    body = {"space_id": space_id, "description": "end to end", "consolidation_threshold": threshold}
    assert service.send("POST", "/spaces", body).status == 201
    with removed(service, space_id):
        yield space_id


@contextmanager
def removed(service: Service, space_id: str) -> Iterator[None]:
    """Removes the space afterwards, unless a failure should stay to be looked at."""
    yield
    # A consolidation that is being written keeps a deletion waiting for a moment.
    service.wait_until(
        lambda: service.send("DELETE", f"/spaces/{space_id}?confirm={space_id}").status,
        lambda status: status in (204, 404),
    )


def post_notes(service: Service, space: str, count: int) -> list[str]:
    """Append notes; returns their ids."""
    ids = []
    for index in range(count):
        note = {"category": "progress", "content": f"Step {index} of {uuid.uuid4().hex[:6]} is done."}
        answer = service.send("POST", f"/spaces/{space}/notes", note)
        assert answer.status == 201, answer
        ids.append(answer.body["note_id"])
    return ids
