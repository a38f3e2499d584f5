"""Imports conversations into a space: it first reads the whole export and sends nothing, then sends one after the
other.

A repeat finds each conversation by the folder that its id makes, and each turn by its own id: nothing is imported
twice.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from live_memory import LiveMemoryError
from live_memory.cli.imports import (
    chatgpt,
    chats,
    claude,
    claude_sessions,
    codex_sessions,
    cursor_chats,
    files,
    untaken,
)
from live_memory.cli.imports.chats import Chat
from live_memory.cli.imports.claude_sessions import Owners
from live_memory.cli.imports.codex_sessions import Former
from live_memory.cli.imports.detection import SESSION, Source
from live_memory.cli.imports.elements import ELEMENT_BYTES, elements
from live_memory.cli.imports.members import File
from live_memory.cli.imports.projects import Projects
from live_memory.cli.imports.recorded import Recorded
from live_memory.cli.imports.reports import TalkReport
from live_memory.cli.imports.sending import Service
from live_memory.cli.imports.unfit import BadPart, BadSource, shown

BODY_BYTES = 1_000_000
BODY_ITEMS = 500
"""Turns of one request: the service takes more, but its time for a request is limited."""
TOO_LARGE = 413
UNFIT_STATUS = (400, 413, 422)
NO_CHAT = "The source has no conversation of Claude, ChatGPT, Claude Code, Codex or Cursor."


@dataclass(frozen=True)
class Unfit:
    """A conversation that can't be read, and why."""

    reason: str


@dataclass(frozen=True)
class Wanted:
    """The target of the conversations: the space, the parameters of their blocks, and the first day (`2026-02-20`).
    `projects`: of several projects only the own one's sessions are taken.
    """

    space_id: str
    profile: str = "windows"
    since: str | None = None
    projects: Projects | None = None
    cut: Callable[[str], str] = str
    """Takes out of a text what is not for the space."""

    def leaves(self, chat: Chat) -> bool:
        """Whether it is another project's."""
        return bool(self.projects and self.projects.is_other(chat))


def read(source: Source) -> Iterator[Chat | Unfit]:
    """The conversations of an export, one after the other. Raises BadSource."""
    wanted = set(source.chats())
    seen: set[str] = set()
    said: set[str] = set()
    owners, former = _owners(source), Former()
    for file in files.files(source.path, []):
        if file.path not in wanted:
            continue
        if file.path.endswith(SESSION):
            yield from _sessions(file, seen, said, owners, former)
            continue
        if cursor_chats.is_one(file.path):
            yield from _of_cursor(source.path, file.path, seen)
            continue
        try:
            for number, element in enumerate(elements(file.content), 1):
                yield _chat(f"{file.path}, conversation {number}", element, seen)
        except BadSource as error:
            # An error of the list itself is shown without the file's name.
            reason = str(error)
            raise BadSource(reason if reason[0].isupper() else f"{shown(file.path)} {reason}.") from None


def _owners(source: Source) -> Owners:
    """Which of several sessions a message belongs to."""
    owners = Owners()
    sessions = {path for path in source.chats() if path.endswith(SESSION) and not codex_sessions.is_one(path)}
    for file in files.files(source.path, []) if len(sessions) > 1 else ():
        if file.path in sessions:
            with suppress(BadSource):
                owners.learn(file.path, file.content)
    return owners


def _sessions(file: File, seen: set[str], said: set[str], owners: Owners, former: Former) -> list[Chat] | list[Unfit]:
    try:
        if codex_sessions.is_one(file.path):
            chats = [codex_sessions.chat_in(file.path, file.content, former)]
        else:
            chats = claude_sessions.chats_of(file.path, file.content, said, owners)
        if chats[0].folder in seen:
            raise BadPart("has the name of an earlier one")
        seen.add(chats[0].folder)
    except BadPart as error:
        return [Unfit(f"{shown(file.path)} {error}.")]
    except BadSource as error:
        # One file that can't be read does not keep the others.
        return [Unfit(str(error))]
    return chats


def _of_cursor(source: Path, name: str, seen: set[str]) -> Iterator[Chat | Unfit]:
    try:
        if source.is_file() and source.name != name:
            raise BadPart("is in an archive. Unpack it first")
        for chat in cursor_chats.chats_in(source if source.is_file() else source / name):
            if isinstance(chat, BadPart) or chat.folder in seen:
                problem = chat if isinstance(chat, BadPart) else "has a chat of an earlier one"
                yield Unfit(f"{shown(name)} {problem}.")
            else:
                seen.add(chat.folder)
                yield chat
    except BadPart as error:
        yield Unfit(f"{shown(name)} {error}.")


def _chat(where: str, element: bytes | None, seen: set[str]) -> Chat | Unfit:
    try:
        if element is None:
            raise BadPart(f"has more than {ELEMENT_BYTES >> 20} MiB")
        chat = _parsed(element)
        if chat.folder in seen:
            raise BadPart("has the id of an earlier one")
        seen.add(chat.folder)
    except BadPart as error:
        return Unfit(f"{where} {error}.")
    return chat


def _parsed(element: bytes) -> Chat:
    try:
        value = json.loads(element.decode())
    except (ValueError, RecursionError):
        raise BadPart("is not JSON in UTF-8") from None
    if "mapping" in value:
        return chats.without_private_words(chatgpt.chat(value))
    if "chat_messages" in value:
        return chats.without_private_words(claude.chat(value))
    raise BadPart("is not a conversation of Claude or ChatGPT")


def _fit(wanted: Wanted, chat: Chat) -> bool:
    recent = not wanted.since or (chat.updated_at or "") >= wanted.since
    return bool(chat.turns) and recent


def plan(source: Source, wanted: Wanted, *, alone: bool = True) -> TalkReport:
    """The plan of the import, without a request. Raises BadSource, also if there is no conversation and the source
    holds them `alone`.
    """
    report = TalkReport(wanted.space_id, dry_run=True, left_out=list(source.unfit))
    for chat in read(source):
        if isinstance(chat, Unfit):
            report.left_out.append(chat.reason)
        elif wanted.leaves(chat):
            report.others += 1
        elif not _fit(wanted, chat):
            report.skipped += 1
            # What was not understood is told also where nothing else is in a session.
            untaken.add(report.not_taken, Counter() if chat.turns else chat.left_out)
        else:
            report.service = chat.service
            report.conversations += 1
            report.turns += len(chat.turns)
            report.characters += chat.characters
            untaken.add(report.not_taken, chat.left_out)
    if wanted.projects and report.others and not wanted.projects.are_several():
        return plan(source, replace(wanted, projects=None), alone=alone)
    others = len(source.sizes) - len({*source.chats(), *source.beside_chats()})
    report.not_taken += Counter({untaken.OTHER_FILES: others})
    if alone and not (report.conversations or report.skipped or report.others):
        raise BadSource(report.left_out[0] if report.left_out else NO_CHAT)
    return report


def carry_out(
    service: Service,
    source: Source,
    wanted: Wanted,
    planned: TalkReport,
    on_chat: Callable[[int], None] = lambda _: None,
) -> TalkReport:
    """Import the planned conversations. Raises LiveMemoryError. A repeat continues the import. `on_chat` gets the
    number of conversations that are done.
    """
    report = planned
    report.dry_run = False
    done, recorded = 0, Recorded(service, wanted.space_id)
    for chat in read(source):
        if isinstance(chat, Unfit) or not _fit(wanted, chat) or (planned.others and wanted.leaves(chat)):
            continue
        try:
            _bring(service, wanted, chats.changed(chat, wanted.cut), recorded, report)
        except LiveMemoryError as error:
            if error.status not in UNFIT_STATUS:
                raise
            report.left_out.append(f"{shown(chat.title or chat.chat_id)} is refused: {error.detail}")
        done += 1
        on_chat(done)
    return report


def _bring(service: Service, wanted: Wanted, chat: Chat, recorded: Recorded, report: TalkReport) -> None:
    if conversation := recorded.find(chat):
        new = recorded.without(conversation, chat)
        report.repeated += len(chat.turns) - len(new.turns)
        if not new.turns:
            return
        chat = new
    at = {"space_id": wanted.space_id, "conversation_id": conversation or _conversation(service, wanted, chat, report)}
    for items in _bodies(chat):
        _send(service, at, items, report)
    # All has come: the last turns are summarised, too.
    service.call("close_conversation", at)


def _send(service: Service, at: dict[str, Any], items: list[dict[str, Any]], report: TalkReport) -> None:
    """Append turns, in several requests if one is too large or has no time for all."""
    while items:
        try:
            answer = service.call("append_turn", {**at, "items": items})
        except LiveMemoryError as error:
            # Few bytes may hold more values than a body may have.
            if error.status != TOO_LARGE or len(items) < 2:
                raise
            half = len(items) // 2
            _send(service, at, items[:half], report)
            items = items[half:]
            continue
        report.imported += answer["imported"]
        report.repeated += answer["repeated"]
        left = answer.get("left", 0)
        if left >= len(items):
            raise LiveMemoryError("unexpected_answer", "The service did not accept any turn. Try again later.")
        items = items[len(items) - left :]


def _conversation(service: Service, wanted: Wanted, chat: Chat, report: TalkReport) -> str:
    """The conversation's id here. If there is none, begin the conversation. Of two begun at once, use the first."""
    place = {"space_id": wanted.space_id, "cwd": chat.folder, "host": chat.service}
    found = _found(service, place)
    if not found:
        title = {"title": chat.title} if chat.title else {}
        _begin(service, {**place, **title, "profile": wanted.profile})
        found = _found(service, place)
        if not found:
            raise LiveMemoryError(
                "unexpected_answer", "The service does not list a conversation that was just created."
            )
        report.begun += 1
    return found


def _begin(service: Service, conversation: dict[str, Any]) -> None:
    try:
        service.call("create_conversation", conversation)
    except LiveMemoryError as error:
        # Without an answer it may have been begun anyway: the search for it shows that.
        if error.status is not None:
            raise


def _found(service: Service, place: dict[str, Any]) -> str | None:
    items = service.call("list_conversations", {**place, "limit": 100})["items"]
    return min((str(item["conversation_id"]) for item in items), default=None)


def _bodies(chat: Chat) -> Iterator[list[dict[str, Any]]]:
    """The turns of a conversation, in bodies that fit into a request."""
    body: list[dict[str, Any]] = []
    size = 0
    for turn in chat.turns:
        for item in chats.turn_items(turn):
            length = chats.size(item)
            if body and (size + length > BODY_BYTES or len(body) == BODY_ITEMS):
                yield body
                body, size = [], 0
            body.append(item)
            size += length
    if body:
        yield body
