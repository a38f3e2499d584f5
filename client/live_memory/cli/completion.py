"""Completion of the ids of spaces, which the service lists."""

from collections.abc import Callable
from dataclasses import replace

import typer

from live_memory.cli import config
from live_memory.cli.session import program_of

PATIENCE = 1.5
"""Seconds: a person waits at the prompt."""


def complete_space(ctx: typer.Context, incomplete: str) -> list[str]:
    """The spaces that begin with what was typed; none, silently, if the service does not answer at once."""
    profile = ctx.find_root().params.get("profile")

    def spaces() -> list[str]:
        program = replace(program_of(ctx), profile=profile)
        settings = config.settle(program.environ, profile=program.profile)
        options = {"timeout": PATIENCE, "retries": 0}
        with program.connect(settings.need_url(), settings.need_token(), **options) as client:
            found = client.call("list_spaces", {"limit": 100})
        return [str(one["space_id"]) for one in found["items"]]

    return [space for space in _or_none(spaces) if space.startswith(incomplete)]


def _or_none(ask: Callable[[], list[str]]) -> list[str]:
    try:
        return ask()
    except Exception:  # noqa: BLE001 - a message in the middle of somebody's command line helps nobody
        return []
