"""A model that folds all notes into one file, and answers all else in few words. It imports nothing that a function
does not load.
"""

import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from livemem.llm.client import Messages, Reply
from livemem.llm.tool_calling import Call, ToolReply


def read_notes(messages: Messages) -> tuple[Mapping[int, str], bool]:
    """The notes in a prompt of a consolidation by their numbers, and whether the bank has the file already."""
    values = []
    for line in messages[1]["content"].split("\n"):
        if line and not line.startswith("#"):
            try:
                values.append(json.loads(line))
            except ValueError:
                continue
    bank, notes = values[-2:]
    return {note[0]: note[4] for note in notes}, "log.md" in bank


def fold(notes: Mapping[int, str], there: bool) -> str:
    """The answer: one bullet with the first note. All others are discarded, so the bank stays small."""
    first, *others = notes
    bullet = f"- {' '.join(notes[first].split())}"
    edit = {"op": "append_to_section", "heading": "## Log", "content": bullet, "notes": [first]}
    file: Mapping[str, Any] = {"filename": "log.md", "action": "edited", "edits": [edit]}
    if not there:
        content = f"# Log\n\n## Log\n\n{bullet}\n"
        file = {"filename": "log.md", "action": "created", "content": content, "notes": [first]}
    discarded = [{"note": number, "reason": "It repeats the first one."} for number in others]
    return json.dumps({"bank_files": [file], "synthesis": "Notes.", "discarded": discarded})


def reply(messages: Messages, *limits: Any, **_: Any) -> Reply:
    """As `livemem.llm.client.Ask`; the last of the limits is the schema, which tells what is asked."""
    wanted = (limits[2] if len(limits) > 2 and limits[2] else {}).get("properties", {})
    if "summary" in wanted:
        said = json.dumps({"summary": "They spoke about the port. " * 20, "key_findings": ["The port is named."]})
    elif "verdicts" in wanted or "uncited" in wanted:
        # No verdict: all memories stand, and are linked. And nothing to add.
        said = "{}"
    elif "memories" in wanted:
        said = _one_in_twenty(messages)
    else:
        said = fold(*read_notes(messages))
    return Reply(said, {"prompt_tokens": 3_000, "completion_tokens": 300})


def _one_in_twenty(messages: Messages) -> str:
    """A memory of each twentieth chunk of messages."""
    asked = messages[1]["content"]
    number = zlib.crc32(asked.encode())
    found = [{"kind": "fact", "content": f"The number {number} was named.", "messages": [1]}]
    return json.dumps({"memories": found if number % 20 == 0 else []})


def converse(messages: Sequence[Mapping[str, Any]], *_: Any, **__: Any) -> ToolReply:
    """As `livemem.llm.tool_calling.Converse`: it searches in notes and memories, and then answers."""
    asked: dict[str, Any] = {name: {"query": "ports servers"} for name in ("search_notes", "search_memories")}
    if any(message["role"] == "tool" for message in messages):
        asked = {"respond": {"expression": "neutral", "message": "On port 8080.", "sources": []}}
    calls = tuple(Call(f"c{name}", name, json.dumps(given)) for name, given in asked.items())
    return ToolReply("", calls, {"prompt_tokens": 3_000, "completion_tokens": 300})
