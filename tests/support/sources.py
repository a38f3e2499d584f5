"""Sources of imports, made by hand: exports of conversations, and a bucket of another implementation."""

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

OLD_META = {
    "space_id": "alpha",
    "description": "The new API",
    "owner": "cline-dev",
    "created_at": "2026-02-20T14:00:00+00:00",
    "last_consolidation": "2026-02-21T16:00:00+00:00",
    "consolidation_count": 3,
    "total_notes_processed": 127,
    "graph_memory": {"url": "https://graph.example.org/mcp", "token": "gm_secret", "memory_id": "alpha"},
    "version": 1,
}


def old_note(agent: str = "cline-dev", category: str = "decision", content: str = "We take S3.", tags: Any = ()) -> str:
    """A note as that implementation writes it."""
    return (
        f'---\ntimestamp: "2026-02-20T14:00:00.123456+00:00"\nagent: "{agent}"\ncategory: "{category}"\n'
        f'tags: {json.dumps(list(tags))}\nspace_id: "alpha"\n---\n\n{content}'
    )


OLD_SPACE: dict[str, str] = {
    "_meta.json": json.dumps(OLD_META),
    "_rules.md": "# Rules\n\n### progress.md\nWhat works.\n",
    "_synthesis.md": "---\nconsolidated_at: 2026-02-21T16:00:00Z\nnotes_processed: 42\n---\n\n## Synthesis\n\nS3.\n",
    "live/.keep": "",
    "live/20260220T140000_cline-dev_decision_a1b2c3d4.md": old_note(tags=["auth", 'a "quoted" one']),
    "live/20260220T140130_claude_code_todo_e5f6a7b8.md": old_note(
        "claude_code", "todo", "Write tests.\n\n---\n\nSoon."
    ),
    "bank/.keep": "",
    "bank/activeContext.md": "# Now\n\n## Next\n\n- import\n",
    "bank/personas/buyer.md": "# Buyer\n",
}


def write(top: Path, files: Mapping[str, str | bytes]) -> Path:
    """A folder with these files."""
    for name, content in files.items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return top


def old_bucket(top: Path) -> Path:
    """A bucket with two spaces, tokens and a backup."""
    beta = {"_meta.json": json.dumps({**OLD_META, "space_id": "beta", "graph_memory": None}), "bank/.keep": ""}
    spaces = {f"alpha/{name}": text for name, text in OLD_SPACE.items()} | {
        f"beta/{name}": t for name, t in beta.items()
    }
    others = {"_system/tokens.json": '{"tokens": [{"hash": "sha256:secret"}]}', "_backups/alpha/2026/_meta.json": "{}"}
    return write(top, {**spaces, **others})


def claude_message(number: int, sender: str, text: str, **more: Any) -> dict[str, Any]:
    """A message as Claude exports it, the parent of the next one."""
    return {
        "uuid": f"m-{number}",
        "parent_message_uuid": f"m-{number - 1}" if number > 1 else "00000000-0000-4000-8000-000000000000",
        "sender": sender,
        "text": text,
        "content": [{"type": "text", "text": text}],
        "created_at": f"2026-02-20T14:{number:02}:00.123456Z",
        "attachments": [],
        "files": [],
        **more,
    }


def claude_chat(uuid: str = "c-1", *messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A conversation as Claude exports it."""
    said = messages or (
        claude_message(1, "human", "Why does the import fail at night?"),
        claude_message(2, "assistant", "Port Kiel answers 503 between 2 and 3 a.m."),
        claude_message(3, "human", "And by day?"),
        claude_message(4, "assistant", "By day it works."),
    )
    return {
        "uuid": uuid,
        "name": "The import",
        "created_at": "2026-02-20T14:00:00Z",
        "updated_at": "2026-02-20T14:10:00Z",
        "account": {"uuid": "a-1"},
        "chat_messages": list(said),
        **more,
    }


def node(name: str, parent: str | None, role: str, text: Any, **more: Any) -> dict[str, Any]:
    """A node of a tree as ChatGPT exports it."""
    content = text if isinstance(text, dict) else {"content_type": "text", "parts": [text]}
    message = {
        "id": name,
        "author": {"role": role, "name": more.pop("tool", None)},
        "create_time": more.pop("time", 1_771_596_000.5),
        "content": content,
        "recipient": more.pop("recipient", "all"),
        "metadata": more.pop("metadata", {}),
        **more,
    }
    return {"id": name, "parent": parent, "children": [], "message": message}


def chatgpt_chat(
    chat_id: str = "g-1", *nodes: dict[str, Any], current: str | None = "n-4", **more: Any
) -> dict[str, Any]:
    """A conversation as ChatGPT exports it, with an answer that was tried again."""
    tree = nodes or (
        node("n-1", "root", "user", "What is a lease?"),
        node("n-2", "n-1", "assistant", "A lock that ends."),
        node("n-3", "n-1", "assistant", "A lock that ends by itself."),
        node("n-4", "n-3", "user", "Thanks."),
    )
    root = {"id": "root", "parent": None, "children": [], "message": None}
    return {
        "title": "Leases",
        "create_time": 1_771_596_000.0,
        "update_time": 1_771_599_600.0,
        "conversation_id": chat_id,
        "id": chat_id,
        "current_node": current,
        "mapping": {"root": root, **{one["id"]: one for one in tree}},
        **more,
    }


def chat_zip(path: Path, chats: Any, **members: bytes) -> Path:
    """An export as it is downloaded."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("user.json", "{}")
        made.writestr("conversations.json", json.dumps(chats))
        for name, body in members.items():
            made.writestr(name, body)
    return path
