"""Explains recording to the user who decides on it: the data that is kept, its place, its readers, and how to turn it
off.
"""

from live_memory.cli.init.setup import Setup

WHAT = {
    "cursor": "what you type and what the agent answers",
    "cline": "what you type, and the result of a finished task",
}
"""Clients for whose sessions different data is kept."""


def told(client: str, setup: Setup) -> list[str]:
    """The lines, also where nothing is recorded."""
    if not setup.record:
        return [f"Nothing that is said in {client} is recorded: the hook only loads the memory."]
    what = WHAT.get(client, "what you type and what the agent answers, from the transcript")
    where = f"conversations of the space {setup.space} at {setup.url}"
    return [
        "What is recorded:",
        f"- {what} (no files, no results of tools), with the folder's path and this machine's name.",
        f"- Where to: {where}. Whoever may read the space reads them, and the service's LLM summarises them.",
        "- What the team should know of it becomes notes of the space: the LLM that summarises names them.",
        "- An admin turns these notes off for the whole space (capture_allowed).",
        "- What looks like a password, a key or a token is taken out before it is sent. That is a net, not a promise.",
        "- To turn it off: the same command with --no-record, now or later. To take all back: --undo.",
        "- What is recorded by then stays until an admin deletes the conversation.",
    ]
