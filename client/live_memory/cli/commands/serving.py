"""The service on this machine: `serve`, `status`, `stop`."""

import os
import runpy
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from live_memory.cli import local_service, own_model
from live_memory.cli.exits import NOTHING, Refused
from live_memory.cli.local_service import Choices, LocalService
from live_memory.cli.options import Json
from live_memory.cli.session import plain

_AGAIN = "Kept for later starts; an empty text takes it back."


def serve(
    ctx: typer.Context,
    port: Annotated[
        int | None,
        typer.Option("--port", min=0, max=65535, help="3000 by default; 0: any free one. Kept for later starts."),
    ] = None,
    host: Annotated[
        str | None,
        typer.Option(
            "--host",
            metavar="ADDRESS",
            help="Serve others too, at this address (0.0.0.0: all), behind a proxy with TLS; needs --s3 and "
            "ADMIN_BOOTSTRAP_KEY. Not kept.",
        ),
    ] = None,
    background: Annotated[bool, typer.Option("--background", help="Return when it is ready.")] = False,
    s3: Annotated[
        str | None,
        typer.Option("--s3", metavar="URL", help=f"A store of your own; its keys: S3_ACCESS_KEY_ID, ... {_AGAIN}"),
    ] = None,
    bucket: Annotated[str | None, typer.Option("--bucket", help=f"The bucket in it. {_AGAIN}")] = None,
    region: Annotated[str | None, typer.Option("--region", help=f"Its region; without --s3: AWS. {_AGAIN}")] = None,
    make_bucket: Annotated[
        bool, typer.Option("--make-bucket", help="Make the bucket if the store at --s3 has none. Not kept.")
    ] = False,
    llm: Annotated[
        str | None,
        typer.Option(
            "--llm",
            metavar="URL",
            help=f"An OpenAI-compatible API; its key: LLMAAS_API_KEY. claude: Claude Code of this machine. {_AGAIN}",
        ),
    ] = None,
    model: Annotated[str | None, typer.Option("--model", help=f"The model there. {_AGAIN}")] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers", min=1, max=64, help="Processes at the port; needs --s3 or --region. Kept for later starts."
        ),
    ] = None,
    llm_for: Annotated[
        str | None,
        typer.Option("--llm-for", metavar="WORK", help=f"With --llm claude: folds (default), or all. {_AGAIN}"),
    ] = None,
    json: Json = False,
) -> None:
    """Run the service on this machine, by default for this machine alone; its data is in your own folder.

    Without --s3 it is its own store. Without --llm a small program with fixed rules takes the place of a model.
    """
    with plain(ctx, json=json) as (program, out):
        folder = local_service.data_folder(program.environ)
        found = local_service.ready(folder)
        given = {"s3": s3, "bucket": bucket, "region": region, "llm": llm, "model": model, "llm_for": llm_for}
        numbers = {"port": port, "workers": workers}
        given |= {name: None if number is None else str(number) for name, number in numbers.items()}
        said = Choices.of(program.environ, **given)
        choices = local_service.chosen(folder, own_model.settled(said, program.environ, Path.cwd()))
        if found and (not background or choices != local_service.chosen(folder, Choices()) or host):
            again = "`livemem stop` ends it, so that it can be started with other options."
            raise Refused(f"The service runs already at {found.url} (process {found.pid}): {again}")
        if not found:
            environ = {**program.environ, "LIVEMEM_MAKE_BUCKET": "true"} if make_bucket else program.environ
            if not background:
                arguments, root, variables = local_service.command(environ, folder, choices, host, kept=True)
                # Here, and not in another process: signals and the exit status are its own on every system.
                sys.path.insert(0, str(root))
                os.chdir(root)
                os.environ.clear()
                os.environ.update(variables)
                runpy.run_module(arguments[-1], run_name="__main__", alter_sys=True)
            found = local_service.start(environ, folder, choices, program.sleep, host, kept=True)
        told = _told(found, str(folder))
        out.result(told, lambda: out.text(f"Live Memory runs at {told['url']} (process {told['pid']})."))


def status(ctx: typer.Context, json: Json = False) -> None:
    """Show whether the service of this machine runs, where, and with which store and model."""
    with plain(ctx, json=json) as (program, out):
        folder = local_service.data_folder(program.environ)
        found = local_service.ready(folder)
        if not found:
            none = {"running": False, "data": str(folder)}
            out.result(none, lambda: out.text(f"No service runs that is ready: `livemem serve`. Data: {folder}"))
            raise typer.Exit(NOTHING)
        told = _told(found, str(folder))
        rows = [[name, value] for name, value in told.items() if name != "running"]
        out.result(told, lambda: out.table(["", ""], rows))


def stop(ctx: typer.Context, json: Json = False) -> None:
    """End the service of this machine. Running requests may end first, and queued work resumes at the next start."""
    with plain(ctx, json=json) as (program, out):
        folder = local_service.data_folder(program.environ)
        ended = local_service.stop(folder, program.sleep)
        out.result({"stopped": ended}, lambda: out.text("Stopped." if ended else "The service does not run."))
        if not ended:
            raise typer.Exit(NOTHING)


def _told(found: LocalService, folder: str) -> dict[str, Any]:
    offline = found.endpoints.get("llm_is_offline_stand_in")
    return {
        "running": True,
        "url": found.url,
        "pid": found.pid,
        "data": folder,
        "store": f"{found.endpoints.get('s3')} (bucket {found.endpoints.get('bucket')})",
        "llm": own_model.NO_MODEL if offline else found.endpoints.get("llm"),
    }
