"""Sends an archive to the service: a PUT to a URL of the store, and the service makes a space of it."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO, Any, Protocol

import httpx

from live_memory import LiveMemoryError

TRIES = 3
PIECE = 1 << 18
POLL_SECONDS = 3.0
PATIENCE = 1_200.0
"""Seconds: an import of the largest archive takes some minutes."""
FAILED = "The archive could not be uploaded to the store's URL: {}. Nothing was imported."


class Service(Protocol):
    """The methods of the client that are needed here."""

    def call(self, name: str, arguments: dict[str, Any], *, idempotency_key: str | None = None) -> Any:
        """Call an operation, JSON in and out."""


def send(
    service: Service,
    web: httpx.Client,
    archives: Sequence[IO[bytes]],
    space_id: str,
    options: Mapping[str, str],
    sleep: Callable[[float], None],
) -> dict[str, Any]:
    """Import the archives of a space as a new one, and return the job (`done` or `failed`).

    Raises LiveMemoryError, such as `space_exists`, and `still_running` if it takes too long.
    """
    uploads = []
    for archive in archives:
        upload = service.call("create_upload", {"size": archive.seek(0, os.SEEK_END)})
        _put(web, upload["url"], archive, sleep)
        uploads.append(upload["upload_id"])
    source = {"archive": uploads if len(uploads) > 1 else uploads[0]}
    try:
        job = service.call("create_space", {"space_id": space_id, "from": source, **options})
    except LiveMemoryError as error:
        # A request whose answer was lost may have started the import.
        job = _ours(service, space_id, uploads[0]) if error.status in (None, 409) else None
        if not job:
            raise
    waited = 0.0
    while job["status"] in ("queued", "running"):
        if waited >= PATIENCE:
            raise LiveMemoryError("still_running", f"The import into {space_id} continues. Check again later.")
        sleep(POLL_SECONDS)
        waited += POLL_SECONDS
        job = service.call("get_job", {"job": job["job"]})
    return dict(job)


def _ours(service: Service, space_id: str, upload_id: str) -> dict[str, Any] | None:
    try:
        jobs = service.call("list_jobs", {"space_id": space_id, "kind": "import"})["items"]
    except LiveMemoryError:
        return None
    return next((job for job in jobs if job.get("subject") == upload_id), None)


def _put(web: httpx.Client, url: str, archive: IO[bytes], sleep: Callable[[float], None]) -> None:
    """PUT the archive, again after an error that may pass: the same bytes to the same URL. The request has no token."""
    size = archive.seek(0, os.SEEK_END)
    reason = ""
    for tries in range(TRIES):
        if tries:
            sleep(2.0**tries)
        archive.seek(0)
        try:
            answer = web.put(url, content=_pieces(archive), headers={"Content-Length": str(size)})
        except httpx.TransportError:
            reason = "no connection"
            continue
        if answer.is_success:
            return
        reason = f"status {answer.status_code}"
        if answer.status_code < 500:
            break
    raise LiveMemoryError("upload_failed", FAILED.format(reason))


def _pieces(archive: IO[bytes]) -> Iterator[bytes]:
    while piece := archive.read(PIECE):
        yield piece
