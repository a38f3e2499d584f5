"""The page of the service in a browser: `open`."""

import sys
import webbrowser
from typing import Annotated

import typer

from live_memory.cli.options import Json
from live_memory.cli.session import Session, opened

_SCREENS = ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY")
"""Variables that say that a browser has a screen, or which one to take. Without a screen Linux has browsers that would
take the terminal.
"""


def open_page(
    ctx: typer.Context,
    show: Annotated[bool, typer.Option("--print", help="Only print the address, and open nothing.")] = False,
    json: Json = False,
) -> None:
    """Open the page of the service in a browser, signed in with your token.

    The address holds a code that works once, within a minute. It never holds the token.
    """
    with opened(ctx, json=json) as session:
        made = session.call("create_page_code")
        url = session.settings.need_url().removesuffix("/v1").rstrip("/") + made["path"]
        done = not show and _has_screen(session) and webbrowser.open(url)
        session.out.result(
            {"url": url, "expires_in": made["expires_in"], "opened": done}, lambda: _tell(session, url, done=done)
        )


def _has_screen(session: Session) -> bool:
    return sys.platform in {"darwin", "win32"} or any(session.program.environ.get(name) for name in _SCREENS)


def _tell(session: Session, url: str, *, done: bool) -> None:
    if done:
        session.out.say("The page opens in your browser.")
        return
    session.out.text(url)
    session.out.say("Open this address in a browser within a minute. It works once.")
