"""The commands of `livemem`, each with the first sentence of its help. The help of the program loads no other module.

A command is loaded when it is called. To load all of them takes twice as long as all the rest of the help.
"""

from typing import NamedTuple

READ = "Read"
WRITE = "Write"
CHANGE = "The bank and its history"
OPERATE = "Operate"
SERVE = "The service on this machine"
ACCOUNT = "Account"


class Row(NamedTuple):
    """A command, or a group of commands."""

    panel: str
    """Its heading in the help. Empty: it is not shown there."""
    home: str
    """The module below `live_memory.cli`, and the name of the function, or of the group, in it."""
    summary: str
    """The first sentence of its own help."""


COMMANDS = {
    "start": Row(
        READ,
        "commands.asking:start",
        "Show the context for an agent's start: the current sections, new notes, and the names of all other sections.",
    ),
    "read": Row(READ, "commands.asking:read", "Show one thing by its id, whole or in pages."),
    "search": Row(READ, "commands.asking:search", "Search everything, by words and by meaning."),
    "context": Row(
        READ,
        "commands.asking:context",
        "Show what an agent should know before it answers, of all kinds; or what a conversation or a room needs.",
    ),
    "ask": Row(READ, "commands.asking:ask", "Ask the memory; it answers and names its sources."),
    "show": Row(READ, "commands.asking:show", "Show all of a space: rules, synthesis, bank, newest notes."),
    "bank": Row(READ, "commands.asking:bank", "List the files of the bank, or show one."),
    "tail": Row(READ, "commands.tail:tail", "Follow the new notes of a space until Ctrl-C."),
    "open": Row(
        READ, "commands.opening:open_page", "Open the page of the service in a browser, signed in with your token."
    ),
    "note": Row(WRITE, "commands.notes:note", "Write a note; with --batch many."),
    "remember": Row(WRITE, "commands.notes:remember", "Store a fact."),
    "consolidate": Row(CHANGE, "commands.changes:consolidate", "Fold the live notes into the bank."),
    "history": Row(CHANGE, "commands.changes:history", "List the changes of the bank, newest first."),
    "diff": Row(CHANGE, "commands.changes:diff", "Show the effect of a change on the bank, as a diff."),
    "undo": Row(CHANGE, "commands.changes:undo", "Undo a change; its notes are live again."),
    "spaces": Row(OPERATE, "commands.spaces:spaces", "List the spaces that you may see."),
    "export": Row(
        OPERATE,
        "commands.exporting:export",
        "Download a space as one file, a tar.gz that can be imported again.",
    ),
    "import": Row(OPERATE, "imports.command:import_command", "Import what others keep."),
    "jobs": Row(OPERATE, "commands.jobs:jobs", "List long work: of each space the newest first."),
    "wait": Row(OPERATE, "commands.jobs:wait", "Wait until a job of any kind has ended or waits for a person."),
    "erase": Row(
        OPERATE,
        "commands.upkeep:erase",
        "Erase the words of notes, memories and turns everywhere, also in backups.",
    ),
    "gc": Row(OPERATE, "commands.upkeep:gc", "Show work that waits for too long, old backups, and orphans."),
    "usage": Row(OPERATE, "commands.upkeep:usage", "Show the usage of the LLM, by day."),
    "health": Row(OPERATE, "commands.upkeep:health", "Show the health of the service."),
    "serve": Row(
        SERVE,
        "commands.serving:serve",
        "Run the service on this machine, by default for this machine alone; its data is in your own folder.",
    ),
    "status": Row(
        SERVE,
        "commands.serving:status",
        "Show whether the service of this machine runs, where, and with which store and model.",
    ),
    "stop": Row(SERVE, "commands.serving:stop", "End the service of this machine."),
    "try-model": Row(
        SERVE,
        "commands.trying:try_model",
        "Try a model with recorded work: consolidations, digests, verdicts and questions.",
    ),
    "mcp": Row(
        SERVE,
        "mcp.command:mcp_command",
        "Be an MCP server on stdin and stdout, for an agent's program to start.",
    ),
    "mcp-headers": Row(
        SERVE,
        "mcp.headers:mcp_headers",
        "Print the headers of requests to the service as one JSON object, for the `headersHelper` of Claude Code.",
    ),
    "init": Row(ACCOUNT, "init.command:init_command", "Give a client the memory: MCP server, rules text, hooks."),
    "hook": Row("", "init.hooks.shown:hook_command", ""),
    "login": Row(ACCOUNT, "commands.account:login", "Check a token and keep it in a file that only you can read."),
    "logout": Row(ACCOUNT, "commands.account:logout", "Forget the token of this profile."),
    "whoami": Row(
        ACCOUNT,
        "commands.account:whoami",
        "Show your name at the service, and your permissions in each space.",
    ),
    "config": Row(
        ACCOUNT,
        "commands.account:show_config",
        "Show the settings of your commands and where each is from; never a token.",
    ),
    "review": Row(CHANGE, "commands.reviews:app", "Read, approve or refuse plans, in spaces whose mode is `review`."),
    "space": Row(OPERATE, "commands.spaces:app", "Create, show, change, fork or delete a space."),
    "backup": Row(OPERATE, "commands.backups:app", "Take, list, restore, download or delete backups."),
    "token": Row(OPERATE, "commands.tokens:app", "Make, list, revoke and rotate tokens."),
    "connections": Row(
        OPERATE, "commands.connections:app", "List the clients that signed in with your token, or end one."
    ),
    "api": Row(
        OPERATE,
        "generic.group:app",
        "Call any operation of the service by its kind and name; without a name, list them.",
    ),
}
