"""Options that many commands have."""

from typing import Annotated

import typer

from live_memory.cli.completion import complete_space

Json = Annotated[bool, typer.Option("--json", help="Print only JSON on stdout.")]
_WHICH = "The space. Default: LIVEMEM_SPACE, then the project's, then the profile's."
Space = Annotated[str | None, typer.Option("--space", "-s", help=_WHICH, autocompletion=complete_space)]
SpaceId = Annotated[str, typer.Argument(metavar="SPACE", help="The id of the space.", autocompletion=complete_space)]
MaybeSpace = Annotated[str | None, typer.Argument(metavar="[SPACE]", help=_WHICH, autocompletion=complete_space)]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
Wait = Annotated[bool, typer.Option("--wait", "-w", help="Wait until the work is done.")]
Limit = Annotated[int | None, typer.Option("--limit", "-n", min=1, help="The maximum number of items.")]


def named(space_id: str | None, space: str | None) -> str | None:
    """The space that was named, where that can be done in two ways."""
    if space_id and space and space_id != space:
        raise typer.BadParameter(f"Which space: {space_id} or {space}?")
    return space_id or space
