"""The caller's token and service: `login`, `logout`, `whoami`, `config`."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from live_memory.cli import config, reading, texts
from live_memory.cli.config import Profile, Settings
from live_memory.cli.exits import NOTHING, Refused, of_error
from live_memory.cli.options import Json
from live_memory.cli.output import Output
from live_memory.cli.program import Program
from live_memory.cli.session import opened, plain, tell_problem
from live_memory.errors import LiveMemoryError


def login(
    ctx: typer.Context,
    url: Annotated[
        str | None, typer.Option("--url", "-u", help="The service, such as https://memory.example.org.")
    ] = None,
    space: Annotated[str | None, typer.Option("--space", "-s", help="The default space of commands.")] = None,
    json: Json = False,
) -> None:
    """Check a token and keep it in a file that only you can read.

    It comes from LIVEMEM_TOKEN, else from a prompt, else from stdin. It never comes from the arguments, which others
    see.
    """
    with plain(ctx, json=json) as (program, out):
        path = config.file_path(program.environ)
        name = config.profile_name(program.environ, program.profile)
        former = config.read(path).get(name, Profile())
        wanted = Profile(_url(program, url, former), None, space or former.space)
        assert wanted.url
        if config.is_open(wanted.url):
            out.say(f"{wanted.url} is not encrypted: anybody on the network can read the token.")
        wanted = config.changed(wanted, token=_token(program))
        try:
            who = _check(program, wanted, space)
        except LiveMemoryError as problem:
            tell_problem(problem, json=json)
            raise typer.Exit(of_error(problem)) from None
        config.keep(path, name, wanted)
        known = {"name": who["name"], "permissions": who["permissions"], "url": wanted.url}
        told = known | {"profile": name, "file": str(path)}
        out.result(told, lambda: out.text(f"You are {who['name']} ({', '.join(who['permissions'])}) at {wanted.url}."))
        out.say(f"Saved in {path}.")


def _url(program: Program, said: str | None, former: Profile) -> str:
    url = said or program.environ.get("LIVEMEM_URL") or former.url
    if not url:
        if not program.is_terminal(sys.stdin):
            raise Refused("Which service? `livemem login --url URL`.")
        url = typer.prompt("URL of the service", err=True)
    return config.check_url(url)


RECORDED = " (that of this repository; your login is to another: `livemem --profile default whoami`)"


def _token(program: Program) -> str:
    token = program.environ.get("LIVEMEM_TOKEN")
    if not token and program.is_terminal(sys.stdin):
        token = typer.prompt("Token", hide_input=True, err=True)
    token = (token or reading.stdin("The token")).strip()
    if not token:
        raise Refused("There is no token: set LIVEMEM_TOKEN, or send it to stdin.")
    return token


def _check(program: Program, wanted: Profile, space: str | None) -> dict[str, Any]:
    """The identity of the token. Raises LiveMemoryError if the service does not know the token or the space."""
    with program.connect(wanted.url, wanted.token) as client:
        who: dict[str, Any] = client.call("get_whoami", {})
        if space:
            client.call("get_space", {"space_id": space})
    return who


def logout(ctx: typer.Context, json: Json = False) -> None:
    """Forget the token of this profile. It stays valid: revoke it if somebody else may have it."""
    with plain(ctx, json=json) as (program, out):
        path = config.file_path(program.environ)
        name = config.profile_name(program.environ, program.profile)
        if name not in config.read(path):
            out.say(f"There is no profile {name}.")
            raise typer.Exit(NOTHING)
        config.keep(path, name, None)
        out.result(
            {"profile": name, "file": str(path)}, lambda: out.text(f"The profile {name} is removed from {path}.")
        )
        if program.environ.get("LIVEMEM_TOKEN"):
            out.say("LIVEMEM_TOKEN is still set.")


def whoami(ctx: typer.Context, json: Json = False) -> None:
    """Show your name at the service, and your permissions in each space."""
    with opened(ctx, json=json) as session:
        who = session.call("get_whoami")
        session.out.result(who, lambda: _who(session.out, who, session.settings))


def _who(out: Output, who: dict[str, Any], settings: Settings) -> None:
    rows = [
        ["name", who["name"]],
        ["may", ", ".join(who["permissions"])],
        ["spaces", ", ".join(who["space_ids"]) or "all"],
        ["until", texts.moment(who.get("expires_at")) or "for ever"],
        ["service", f"{settings.url}{RECORDED if settings.is_recorded else ''}"],
    ]
    here = (("space here", settings.space), ("personal space here", settings.personal))
    out.table(["", ""], [*rows, *([name, space] for name, space in here if space)])


def show_config(ctx: typer.Context, json: Json = False) -> None:
    """Show the settings of your commands and where each is from; never a token."""
    with plain(ctx, json=json) as (program, out):
        path = config.file_path(program.environ)
        settings = config.settle(program.environ, profile=program.profile, folders=[Path.cwd()])
        if settings.notice:
            out.say(settings.notice)
        told = {
            "file": str(path),
            "profile": settings.profile,
            "profiles": sorted(config.read(path)),
            "url": settings.url,
            "token": "set" if settings.token else None,
            "space": settings.space,
            "from": dict(settings.sources),
        }
        out.result(told, lambda: _config(out, told))


def _config(out: Output, told: dict[str, Any]) -> None:
    rows = [["file", told["file"], ""], ["profile", told["profile"], f"of {', '.join(told['profiles']) or 'none'}"]]
    rows += [[name, told[name] or "not set", told["from"][name]] for name in ("url", "token", "space")]
    out.table(["", "", "from"], rows)
