"""A space as one file: `export`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from live_memory.cli import downloads, texts, waiting
from live_memory.cli.exits import CONFLICT, Refused
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
    """Download a space as one file, a tar.gz that can be imported again."""
    with opened(ctx, json=json, space=named(space_id, space)) as session:
        fetch(session, "export_space", output, force=force)


def fetch(session: Session, operation: str, output: Path, *, force: bool, **arguments: Any) -> None:
    """Let the service make the archive, and download it to `output`, whole or not at all."""
    output = output.expanduser()
    if output.exists() and not output.is_file():
        # The file would replace a device.
        raise Refused(f"{output} is not a file.")
    if output.exists() and not force:
        raise Refused(f"{output} exists already. Use another name, or --force.", CONFLICT)
    if not output.parent.is_dir():
        raise Refused(f"There is no folder {output.parent}.")

    def ask() -> Any:
        return session.here(operation, **arguments)

    def made(found: dict[str, Any]) -> str:
        return f"packing {found.get('done') or 0} of {texts.count(found.get('total') or 0, 'object')}"

    archive = waiting.wait(session, ask, lambda found: found["status"] != "done", made)
    with waiting.progress(session.out) as show:
        got = downloads.download(session.program, ask, archive, output, force=force, show=show)
    told = {"file": str(output), "size": got, "objects": archive.get("objects"), "space_id": archive["space_id"]}
    session.out.result(told, lambda: session.out.text(str(output)))
    counted = f"{texts.count(archive.get('objects') or 0, 'object')}, {texts.size(got)}"
    session.out.say(f"{counted}. It holds the notes' own words: keep it where only you can read it.")
    if archive.get("left_out"):
        session.out.say(f"{texts.count(archive['left_out'], 'object')} could not be put into the archive.")
