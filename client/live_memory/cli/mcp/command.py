"""`livemem mcp`: the MCP server that an agent's program starts."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from live_memory.cli.init import project_space, record
from live_memory.cli.session import plain


def mcp_command(
    ctx: typer.Context,
    space: Annotated[
        str, typer.Option("--space", "-s", metavar="NAME", help="The space; auto: that of the repository.")
    ] = "auto",
    toolset: Annotated[
        Literal["core", "read", "full"], typer.Option("--toolset", help="Which tools it offers.")
    ] = "core",
) -> None:
    """Be an MCP server on stdin and stdout, for an agent's program to start.

    It passes everything on to the service of the profile. Without a profile that is the service of this machine, which
    is started if it does not run. With `--space auto` the space is LIVEMEM_SPACE, else the one that
    `livemem init` gave to the repository, else the profile's, else one of the repository's own, which is made if it is
    not there. A space that a file of the project names counts only if `livemem init` has accepted it on this machine.
    """
    with plain(ctx, json=False) as (program, out):
        # httpx takes longer to load than all the rest.
        from live_memory.cli.mcp.kept_answers import KeptAnswers  # noqa: PLC0415
        from live_memory.cli.mcp.stdio import Passer  # noqa: PLC0415
        from live_memory.cli.mcp.upstream import Upstreams  # noqa: PLC0415

        environ, left_out = project_space.own_environment(program.environ, [Path.cwd()])
        if left_out:
            out.say(left_out)
        own = replace(program, environ=environ)
        upstreams = Upstreams(own, space if space == "auto" else project_space.checked_space(space), Path.cwd())
        kept = KeptAnswers(record.state_folder(environ) / "mcp", toolset)
        Passer(upstreams, kept, sys.stdout.buffer, out.say, Path.cwd()).run(sys.stdin.buffer)
