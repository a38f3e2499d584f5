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
        return [f"No chat in {client} is recorded: the hook only loads the memory."]
    what = WHAT.get(client, "what you type and what the agent answers, from the transcript")
    where = f"conversations of the space {setup.space} at {setup.url}"
    return [
        "This is recorded:",
        f"- {what} (no files, no results of tools), with the folder's path and this machine's name.",
        f"- Where to: {where}. Everybody who may read the space can read them, and the service's LLM summarises them.",
        "- Facts that the team should know become notes of the space. The LLM that summarises selects them.",
        "- An admin turns these notes off for the whole space (capture_allowed).",
        "- What looks like a password, a key or a token is replaced before it is sent. This finds most, not all.",
        "- To turn it off: the same command with --no-record, now or later. To remove everything: --undo.",
        "- Chats that are recorded by then are kept until an admin deletes the conversation.",
    ]
