"""Spaces: the list, and what an admin does with one."""

from typing import Annotated, Any, Literal

import typer

from live_memory.cli import reading, texts
from live_memory.cli.commands import provisioned
from live_memory.cli.options import Json, MaybeSpace, SpaceId, Wait
from live_memory.cli.output import Output
from live_memory.cli.session import Session, given, opened

app = typer.Typer(no_args_is_help=True, help="Create, show, change, fork or delete a space.")

Description = Annotated[str | None, typer.Option("--description", "-d", help="The purpose of the space.")]
Threshold = Annotated[
    int | None, typer.Option(min=0, help="Number of live notes that starts a consolidation. 0: only by hand.")
]
BankChars = Annotated[
    int | None,
    typer.Option(min=0, max=500_000, help="Number of characters that the bank should have, from 2000. 0: any."),
]
RulesFile = Annotated[str | None, typer.Option("--rules", help="A file with your own rules; `-` reads stdin.")]
Template = Annotated[
    str | None,
    typer.Option(
        "--template",
        help="A template of rules: standard, journal, research, support. In French: standard-fr and so on.",
    ),
]
Mode = Annotated[Literal["auto", "review"] | None, typer.Option(help="review: a person approves each plan.")]
Timezone = Annotated[str | None, typer.Option(help="The time zone of digests, such as Europe/Paris.")]


def spaces(ctx: typer.Context, json: Json = False) -> None:
    """List the spaces that you may see."""
    with opened(ctx, json=json) as session:
        session.show_all(
            "list_spaces",
            ["space", "changes", "last consolidation", "description"],
            lambda one: [
                one["space_id"],
                one["changes"],
                texts.moment(one.get("last_consolidation")),
                one["description"],
            ],
            "There is no space that you may see. To make one: livemem space create SPACE.",
        )


@app.command("show")
def show_space(ctx: typer.Context, space_id: MaybeSpace = None, json: Json = False) -> None:
    """Show a space's settings, the number of its live notes and the size of its bank."""
    with opened(ctx, json=json, space=space_id) as session:
        found = session.here("get_space")
        session.out.result(found, lambda: _space(session.out, found))


def _space(out: Output, found: dict[str, Any]) -> None:
    live, bank = found["live"], found["bank"]
    rows = [
        ["space", found["space_id"]],
        ["description", found["description"]],
        ["owner", found.get("owner")],
        ["repository", found.get("repository")],
        ["live notes", f"{live['notes_count']} ({texts.size(live['total_size'])})"],
        ["bank", f"{texts.count(bank['files_count'], 'file')} ({texts.size(bank['total_size'])})"],
        ["length of the bank", _length(found)],
        ["last tidy run", texts.moment((found.get("tidied") or {}).get("at"))],
        ["changes", found["changes"]],
        ["last consolidation", texts.moment(found.get("last_consolidation"))],
        ["threshold", found["consolidation_threshold"]],
        ["paused", "yes" if found["auto_paused"] else "no"],
        ["mode", found.get("consolidation_mode")],
        ["recall at prompts", "off" if found.get("recall") is False else "on"],
        ["plan that waits", (found.get("pending_plan") or {}).get("job")],
        ["next consolidation", texts.next_run((found.get("waiting") or {}).get("next_run"))],
    ]
    out.table(["", ""], rows)


def _length(found: dict[str, Any]) -> str | None:
    """Characters of the bank beside those that it should have. None: it may have any number."""
    wanted, length = found.get("bank_chars"), found.get("bank_length")
    if not wanted:
        return None
    paused = ", tidy runs are paused (--resume-tidy)" if found.get("tidy_paused") else ""
    return f"{'not counted yet' if length is None else f'{length:,}'} of {wanted:,} characters{paused}"


@app.command("create")
def create_space(
    ctx: typer.Context,
    space_id: Annotated[
        str, typer.Argument(metavar="SPACE", help="The id of the space: letters, digits, `_` and `-`.")
    ],
    description: Description = None,
    rules: RulesFile = None,
    template: Template = None,
    threshold: Threshold = None,
    mode: Mode = None,
    timezone: Timezone = None,
    bank_chars: BankChars = None,
    json: Json = False,
) -> None:
    """Create a space."""
    with opened(ctx, json=json) as session:
        made = session.call(
            "create_space",
            space_id=space_id,
            description=description,
            rules=reading.file(rules, "The rules") if rules else None,
            rules_template=template,
            consolidation_threshold=threshold,
            consolidation_mode=mode,
            timezone=timezone,
            bank_chars=bank_chars,
        )
        session.out.result(made, lambda: session.out.text(made["space_id"]))
        session.out.say(f"A token for an agent: livemem token create NAME -s {made['space_id']}")


@app.command("set")
def change_space(
    ctx: typer.Context,
    space_id: MaybeSpace = None,
    description: Description = None,
    owner: Annotated[str | None, typer.Option(help="The person or team responsible for the space.")] = None,
    threshold: Threshold = None,
    paused: Annotated[
        bool | None, typer.Option("--pause/--resume", help="Whether consolidations start by themselves.")
    ] = None,
    tidy_paused: Annotated[
        bool | None, typer.Option("--pause-tidy/--resume-tidy", help="Whether tidy runs start by themselves.")
    ] = None,
    corrections: Annotated[
        Literal["admin", "write"] | None, typer.Option(help="The permission needed to correct the bank by hand.")
    ] = None,
    mode: Mode = None,
    recall: Annotated[
        bool | None, typer.Option("--recall/--no-recall", help="Whether prompts are given what is clearly about them.")
    ] = None,
    timezone: Timezone = None,
    bank_chars: BankChars = None,
    json: Json = False,
) -> None:
    """Change a space's settings. Other settings keep their values."""
    changes = {
        "description": description,
        "owner": owner,
        "consolidation_threshold": threshold,
        "auto_paused": paused,
        "tidy_paused": tidy_paused,
        "corrections": corrections,
        "consolidation_mode": mode,
        "recall": recall,
        "timezone": timezone,
        "bank_chars": bank_chars,
    }
    if all(value is None for value in changes.values()):
        raise typer.BadParameter("name at least one setting")
    with opened(ctx, json=json, space=space_id) as session:
        changed = session.here("patch_space", **changes)
        set_to = ", ".join(f"{name.replace('_', ' ')} {_value(value)}" for name, value in given(changes).items())
        session.out.result(changed, lambda: session.out.text(texts.clean(f"{changed['space_id']}: {set_to}")))


def _value(value: object) -> object:
    return ("off", "on")[value] if isinstance(value, bool) else value


@app.command("rules")
def rules_of_space(
    ctx: typer.Context,
    space_id: SpaceId,
    file: Annotated[str | None, typer.Option("--set", help="Replace the rules by this file; `-` reads stdin.")] = None,
    template: Template = None,
    reason: Annotated[str | None, typer.Option(help="The reason, for the history.")] = None,
    json: Json = False,
) -> None:
    """Show a space's rules, or replace them."""
    with opened(ctx, json=json, space=space_id) as session:
        if file or template:
            text = reading.file(file, "The rules") if file else None
            found = session.here("put_rules", rules=text, rules_template=template, reason=reason)
            session.out.say("The next consolidation uses these rules.")
        else:
            found = session.here("get_rules")
        session.out.result(found, lambda: session.out.text(found["rules"]))


@app.command("fork")
def fork_space(
    ctx: typer.Context,
    space_id: SpaceId,
    target: Annotated[str, typer.Argument(metavar="NEW", help="The id of the new space.")],
    at: Annotated[int | None, typer.Option(min=0, help="The number of a change: fork the state after it.")] = None,
    wait: Wait = False,
    json: Json = False,
) -> None:
    """Make a new space with the content and history of this one."""
    with opened(ctx, json=json, space=space_id) as session:
        source = {"space": session.space, **({} if at is None else {"at": at})}
        job = session.client.call("create_space", {"space_id": target, "from": source})
        provisioned.tell(session, job, wait=wait)


@app.command("delete")
def delete_space(
    ctx: typer.Context,
    space_id: SpaceId,
    confirm: Annotated[
        str | None, typer.Option(help="The id again, to confirm the deletion without a question.")
    ] = None,
    json: Json = False,
) -> None:
    """Delete a space with all its content. Only its backups are kept."""
    with opened(ctx, json=json, space=space_id) as session:
        if confirm is None:
            session.confirm(
                f"Delete {space_id} with all its content?",
                yes=False,
                option=f"--confirm {space_id}",
                typed=space_id,
                more=lambda: _what_goes(session),
            )
            confirm = space_id
        session.here("delete_space", confirm=confirm)
        session.out.result({"deleted": space_id}, lambda: session.out.text(f"{space_id} is deleted."))
        session.out.say(
            "It can be brought back from a backup: livemem backup list. Under its own id that takes 21 minutes "
            f"(livemem backup restore BACKUP -s {space_id} --wait), under another id it works at once (--as)."
        )


def _what_goes(session: Session) -> str:
    """The content that a deletion removes, and the backups that stay: a warning for a user who named the wrong space,
    or has no backup.
    """
    found = session.here("get_space")
    complete = (one for one in session.pages("list_backups", limit=10) if one["complete"])
    newest = next(complete, None)
    left = f"Its newest backup is {newest['backup_id']} (UTC)." if newest else "It has NO backup to bring it back from."
    notes, files = found["live"]["notes_count"], found["bank"]["files_count"]
    return f"It has {texts.count(notes, 'live note')} and {texts.count(files, 'bank file')}. {left}"
