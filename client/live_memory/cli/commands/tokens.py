"""Tokens of agents and people: `token create`, `list`, `revoke`, `rotate`."""

import secrets
from dataclasses import replace
from typing import Annotated, Any

import typer

from live_memory.cli import config, texts
from live_memory.cli.completion import complete_space
from live_memory.cli.options import Json, Yes
from live_memory.cli.output import Output
from live_memory.cli.session import Session, opened

app = typer.Typer(no_args_is_help=True, help="Make, list, revoke and rotate tokens.")

Hash = Annotated[str, typer.Argument(metavar="HASH", help="The hash that `livemem token list` shows.")]


@app.command("create")
def create(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="The agent that uses the token: its notes carry this name.")],
    permission: Annotated[
        list[str] | None,
        typer.Option(
            "--permission", "-p", help="read, write or admin. Repeat the option for more. Default: read and write."
        ),
    ] = None,
    space: Annotated[
        list[str] | None,
        typer.Option(
            "--space",
            "-s",
            help="Only in this space. Repeat the option for more. Default: all spaces.",
            autocompletion=complete_space,
        ),
    ] = None,
    expires_in_days: Annotated[
        int | None, typer.Option(min=1, help="The number of days until the token expires.")
    ] = None,
    email: Annotated[str | None, typer.Option(help="The e-mail address of the responsible person.")] = None,
    json: Json = False,
) -> None:
    """Make a token. It is shown only once: the service keeps only its hash."""
    with opened(ctx, json=json) as session:
        made = session.call(
            "create_token",
            name=name,
            permissions=permission or ["read", "write"],
            space_ids=space or None,
            expires_in_days=expires_in_days,
            email=email,
        )
        _hand_over(session, made)
        session.tell_missing(space or ())


def _hand_over(session: Session, made: dict[str, Any]) -> None:
    """The token alone on stdout, so that it can be piped to another program."""
    session.out.result(made, lambda: session.out.text(made["token"]))
    session.out.say(
        f"This is shown once. {made['name']} logs in with `livemem login --url {session.settings.need_url()}`, which"
        " asks for it, or sets LIVEMEM_TOKEN. Send it over a channel that nobody else reads."
    )
    if made.get("expires_at"):
        session.out.say(f"It expires at {texts.moment(made['expires_at'])} (UTC).")


@app.command("list")
def list_tokens(ctx: typer.Context, json: Json = False) -> None:
    """List the tokens that you may manage, by their hashes. The tokens themselves are never shown."""
    with opened(ctx, json=json) as session:
        session.show_all(
            "list_tokens", ["hash", "name", "may", "spaces", "last used", "ends", "made by"], _row, "There is no token."
        )


def _spaces(token: dict[str, Any]) -> str:
    # An entry that is damaged names none, not even an empty list: it lets nobody in.
    return ",".join(token["space_ids"]) or "all" if "space_ids" in token else "none"


def _row(one: dict[str, Any]) -> list[str]:
    used, made_by = texts.moment(one.get("last_used_at")), one["made_by"]["name"] if one.get("made_by") else ""
    ends = "revoked" if one["revoked"] else texts.moment(one.get("expires_at"))
    return [one["hash"], one["name"], ",".join(one["permissions"]), _spaces(one), used, ends, made_by]


@app.command("revoke")
def revoke(
    ctx: typer.Context,
    token_hash: Hash,
    successors: Annotated[bool, typer.Option(help="Also the tokens that it was rotated to.")] = True,
    descendants: Annotated[
        bool, typer.Option(help="Also the tokens that it made, and the tokens that those made.")
    ] = True,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Revoke a token, with the tokens that it was rotated to or made. Within 30 seconds none of them is valid."""
    also = [
        *(["the tokens that it was rotated to"] if successors else []),
        *(["the tokens that it made"] if descendants else []),
    ]
    with opened(ctx, json=json) as session:
        session.confirm(f"Revoke the token {' and '.join([token_hash, *also])}?", yes=yes)
        found = session.call("revoke_token", token_hash=token_hash, successors=successors, descendants=descendants)
        session.out.result(found, lambda: _revoked(session.out, found))


def _revoked(out: Output, found: dict[str, Any]) -> None:
    # A service of an older version does not tell them.
    others = found.get("others") or []
    out.text(f"The token of {found['name']} is revoked{f', and {len(others)} more tokens with it:' if others else '.'}")
    for one in others:
        out.text(one)


@app.command("rotate")
def rotate(
    ctx: typer.Context,
    grace: Annotated[
        int | None,
        typer.Option(min=0, help="The time in seconds for which the old token stays valid. Default: an hour."),
    ] = None,
    key: Annotated[
        str | None, typer.Option(help="A name for this rotation. If the answer was lost, send the same name again.")
    ] = None,
    json: Json = False,
) -> None:
    """Replace your own token by a new one. If it is the token of the configuration file, the new one is saved there.
    If the answer is lost, the same command returns a valid token for ten minutes, with a grace or without.
    """
    with opened(ctx, json=json) as session:
        path, name = config.file_path(session.program.environ), session.settings.profile
        is_stored = session.settings.sources["token"] == "file"  # noqa: S105 - where it is from
        former = config.read(path)[name] if is_stored else config.Profile()
        key = key or former.rotation or secrets.token_hex(16)
        if is_stored:
            # First: after an interruption the next try uses the same key.
            config.keep(path, name, replace(former, rotation=key))
        else:
            session.out.say(f"If this is interrupted, run within ten minutes: `livemem token rotate --key {key}`.")
        made = session.call("rotate_token", grace_seconds=grace, idempotency_key=key)
        if not is_stored:
            _hand_over(session, made)
            return
        # Shown if it can't be saved: else nobody would have it.
        try:
            config.keep(path, name, replace(former, token=made["token"], rotation=None))
        except Exception:
            session.out.text(made["token"])
            raise
        told = {name: value for name, value in made.items() if name != "token"}
        session.out.result(told, lambda: session.out.text(f"The new token is saved in {path}."))
        session.out.say(f"The old token is valid until {texts.moment(made['old_expires_at'])} (UTC).")
