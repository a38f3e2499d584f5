"""A space as one file: `export`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from live_memory.cli import downloads, texts, waiting
from live_memory.cli.exits import CONFLICT, FAILED, Refused
from live_memory.cli.options import Json, MaybeSpace, Space, named
from live_memory.cli.session import Session, opened

Force = Annotated[bool, typer.Option("--force", "-f", help="Overwrite the file if it exists.")]


def export(
    ctx: typer.Context,
    output: Annotated[Path, typer.Option("--output", "-o", help="The file, such as demo.tar.gz.")],
    space_id: MaybeSpace = None,
    force: Force = False,
    space: Space = None,
    json: Json = False,
) -> None:
    """Download a space as one file, a tar.gz that can be imported again. A large one comes as several, such as
    demo.2.tar.gz.
    """
    with opened(ctx, json=json, space=named(space_id, space)) as session:
        fetch(session, output, force=force)


def fetch(session: Session, output: Path, *, force: bool, backup_id: str | None = None) -> None:
    """Let the service make the archives. Download them to `output` and files beside it, each whole or not at all."""
    output = output.expanduser()
    _check(output, force=force)
    if not output.parent.is_dir():
        raise Refused(f"There is no folder {output.parent}.")
    begun = session.here("create_export", backup_id=backup_id)
    job = waiting.job(session, begun["job"], first=begun)
    if job["status"] != "done":
        raise Refused((job.get("error") or {}).get("detail", "The archive could not be made."), FAILED)
    made = job["result"]
    files = [_beside(output, number) for number in range(1, len(made["archives"]) + 1)]
    for file in files[1:]:
        _check(file, force=force)
    sizes = [_download(session, job, number, file, force=force) for number, file in enumerate(files)]
    told = {"files": [str(file) for file in files], "size": sum(sizes), "objects": made["objects"]}
    session.out.result({**told, "space_id": job["space_id"]}, lambda: session.out.text("\n".join(told["files"])))
    counted = f"{texts.count(made['objects'], 'object')}, {texts.size(sum(sizes))}"
    session.out.say(f"{counted}. It holds the notes' own words: keep it where only you can read it.")
    if made.get("left_out"):
        session.out.say(f"{texts.count(made['left_out'], 'object')} could not be put into the archive.")


def _check(file: Path, *, force: bool) -> None:
    if file.exists() and not file.is_file():
        # The file would replace a device.
        raise Refused(f"{file} is not a file.")
    if file.exists() and not force:
        raise Refused(f"{file} exists already. Use another name, or --force.", CONFLICT)


def _beside(output: Path, number: int) -> Path:
    """The file of archive `number`, from 1: `demo.2.tar.gz` beside `demo.tar.gz`."""
    stem = output.name.partition(".")[0] or output.name
    return output if number == 1 else output.with_name(f"{stem}.{number}{output.name.removeprefix(stem)}")


def _download(session: Session, job: dict[str, Any], place: int, file: Path, *, force: bool) -> int:
    """Download the archive at a place in the job's result, and return its size."""

    def ask() -> Any:
        result = session.call("get_job", job=job["job"]).get("result")
        return result["archives"][place] if result else None

    with waiting.progress(session.out) as show:
        return downloads.download(session.program, ask, job["result"]["archives"][place], file, force=force, show=show)
