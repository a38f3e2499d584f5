"""Entries of Claude Code's transcripts, as 2.1.197 writes them, and as users of 1.0 to 2.1 report them."""

import re
from collections.abc import Mapping
from typing import Any

from live_memory.cli.transcripts.entries import (
    WITHOUT_WORDS,
    Words,
    fields,
    holds_text,
    string,
    text_of,
    unknown,
    unknown_part,
)

_QUESTION = "AskUserQuestion"
_FLAGS = ("isSidechain", "isMeta", "isCompactSummary", "isApiErrorMessage", "isVisibleInTranscriptOnly")
"""Messages of subagents, or the client's own."""
_SILENT = frozenset(
    {
        "summary",
        "mode",
        "permission-mode",
        "last-prompt",
        "system",
        "progress",
        "file-history-snapshot",
        "custom-title",
        "ai-title",
        "agent-name",
        "agent-color",
        "tag",
        "pr-link",
        "worktree-state",
        "bridge-session",
        "content-replacement",
        "marble-origami-commit",
        "marble-origami-snapshot",
        "attribution-snapshot",
        "speculation-accept",
    }
)
"""Types of entries that hold no new words of the user."""
_ORIGINS = ("human", "auto-continuation", "task-notification")
"""Known origins of a prompt. Another one, such as a channel, may be a person."""
_COMMAND = re.compile(r"/[a-z][\w:-]*(?:\s.*)?", re.DOTALL)
_RUN = re.compile(r"<bash-input>(.*)</bash-input>", re.DOTALL)
"""A command of the shell. While it waits, nothing tells it from a prompt."""
_ANSWERED = re.compile(r"(?:User has answered|Your questions have been answered)[^:]*: (.*)", re.DOTALL)
_PAIR = re.compile(r'"((?:[^"\\]|\\.)*)"="((?:[^"\\]|\\.)*)"')
_REFUSED = re.compile(r"The user doesn't want to proceed with this tool use\..*?the user said:\n(.*)", re.DOTALL)


class ClaudeCode:
    """Reads entries in their order: which call of a tool was a question is known from an earlier entry."""

    def __init__(self) -> None:
        self._tools: dict[str, str] = {}

    def read(self, entry: Mapping[str, Any]) -> Words | None:
        """The words of an entry, None where it holds none."""
        kind = string(entry.get("type"))
        if kind in ("user", "assistant"):
            return self._message(entry, kind)
        if kind == "queue-operation":
            return _queued(entry)
        if kind == "attachment":
            return _attached(entry)
        return None if kind in _SILENT else unknown(entry, kind)

    def _message(self, entry: Mapping[str, Any], role: str) -> Words | None:
        message = fields(entry.get("message"))
        content = message.get("content")
        if not message:
            return unknown(entry, role)
        origin = string(fields(entry.get("origin")).get("kind")) or "human"
        if any(entry.get(flag) for flag in _FLAGS) or origin != "human" or message.get("model") == "<synthetic>":
            return Words(left_out=WITHOUT_WORDS) if origin in _ORIGINS else unknown(entry, f"origin:{origin}")
        if role == "assistant":
            self._learn(content)
        copied = fields(entry.get("forkedFrom"))
        name = string(copied.get("messageUuid")) or string(entry.get("uuid"))
        session = string(copied.get("sessionId")) or string(entry.get("sessionId"))
        text = text_of(content, role, typed=_is_typed(entry))
        chosen = self._chosen(entry, content) if role == "user" else ""
        text = "\n\n".join(part for part in (text, chosen) if part)
        odd = unknown_part(content) if role == "user" else ""
        if text or odd:
            return Words(role, text, name=name, session=session, left_out=odd)
        run = _RUN.fullmatch(string(content))
        return Words(text=run[1], kind="run") if run else Words(left_out=WITHOUT_WORDS)

    def _learn(self, content: Any) -> None:
        for block in content if isinstance(content, list) else ():
            if fields(block).get("type") == "tool_use":
                self._tools[string(block.get("id"))] = string(block.get("name"))

    def _chosen(self, entry: Mapping[str, Any], content: Any) -> str:
        """What the user chose in a question, or said when refusing a tool."""
        results = [each for each in content if fields(each).get("type") == "tool_result"] if _is_list(content) else []
        parts = []
        for result in results:
            text = text_of(result.get("content"), "")
            tool = self._tools.get(string(result.get("tool_use_id")))
            refused = _REFUSED.fullmatch(text.split("\n\nNote: The user's next message", 1)[0])
            if refused and result.get("is_error"):
                parts.append(refused[1].strip())
            elif tool == _QUESTION or (tool is None and len(results) == 1):
                parts.append(_answers(fields(entry.get("toolUseResult")), text if tool else ""))
        return "\n\n".join(part for part in parts if part)


def _is_typed(entry: Mapping[str, Any]) -> bool:
    """Whether the client says that a person typed it."""
    return fields(entry.get("origin")).get("kind") == "human"


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _answers(result: Mapping[str, Any], text: str) -> str:
    answers = result.get("answers")
    if isinstance(answers, dict) and isinstance(result.get("questions"), list):
        notes = fields(result.get("annotations"))
        lines = []
        for question, answer in answers.items():
            chosen = ", ".join(map(string, answer)) if isinstance(answer, list) else string(answer)
            note = string(fields(notes.get(question)).get("notes"))
            lines += [f"{question} {chosen}" + (f" ({note})" if note else "")] if chosen or note else []
        return "\n".join(lines)
    found = _ANSWERED.match(text)
    return "\n".join(f"{question} {answer}" for question, answer in _PAIR.findall(found[1])) if found else ""


def _queued(entry: Mapping[str, Any]) -> Words | None:
    operation, content = entry.get("operation"), entry.get("content")
    if operation == "popAll":
        return Words(kind="taken back", text=text_of(content, "user"))
    if operation != "enqueue":
        return None
    text = text_of(content, "user")
    if not text or _COMMAND.fullmatch(text):
        return Words(left_out=WITHOUT_WORDS) if holds_text(content) else None
    return Words("user", text, "queued", string(entry.get("uuid")), string(entry.get("sessionId")))


def _attached(entry: Mapping[str, Any]) -> Words | None:
    attachment = fields(entry.get("attachment"))
    kind = string(attachment.get("type"))
    if kind != "queued_command":
        return None if kind in _ATTACHMENTS else unknown(entry, f"attachment:{kind}")
    origin = string(fields(attachment.get("origin")).get("kind")) or "human"
    own = attachment.get("commandMode", "prompt") == "prompt" and origin == "human" and not attachment.get("isMeta")
    text = text_of(attachment.get("prompt"), "user", typed=_is_typed(attachment))
    if not own or not text or entry.get("isSidechain"):
        return Words(left_out=WITHOUT_WORDS) if holds_text(attachment.get("prompt")) else None
    name = string(entry.get("uuid")) or string(attachment.get("source_uuid"))
    return Words("user", text, "delivered", name, string(entry.get("sessionId")))


_ATTACHMENTS = frozenset(
    {
        "file",
        "directory",
        "compact_file_reference",
        "pdf_reference",
        "already_read_file",
        "edited_text_file",
        "edited_image_file",
        "new_file",
        "new_directory",
        "todo",
        "todo_reminder",
        "task_reminder",
        "nested_memory",
        "relevant_memories",
        "dynamic_skill",
        "skill_listing",
        "skill_discovery",
        "invoked_skills",
        "agent_listing_delta",
        "agent_mention",
        "mcp_resource",
        "mcp_instructions_delta",
        "deferred_tools_delta",
        "opened_file_in_ide",
        "selected_lines_in_ide",
        "diagnostics",
        "plan_mode",
        "plan_mode_reentry",
        "plan_mode_exit",
        "plan_file_reference",
        "auto_mode",
        "auto_mode_exit",
        "task_status",
        "async_hook_response",
        "hook_success",
        "hook_blocking_error",
        "hook_non_blocking_error",
        "hook_error_during_execution",
        "hook_cancelled",
        "hook_stopped_continuation",
        "hook_additional_context",
        "hook_system_message",
        "hook_permission_decision",
        "critical_system_reminder",
        "output_style",
        "ultrathink_effort",
        "ultramemory",
        "token_usage",
        "budget_usd",
        "output_token_usage",
        "date_change",
        "memory_update",
        "compaction_reminder",
        "context_efficiency",
        "bagel_console",
        "teammate_mailbox",
        "team_context",
        "teammate_shutdown_batch",
        "verify_plan_reminder",
        "max_turns_reached",
        "current_session_memory",
        "structured_output",
        "command_permissions",
        "companion_intro",
    }
)
"""Attachments that the client makes itself: files, reminders, results of hooks."""
