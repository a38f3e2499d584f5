"""The keys of conversations (docs/bucket.md). Only this file builds and parses them."""

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime

from livemem.errors import InvalidName
from livemem.store import keys
from livemem.store.keys import RUN_ID, SPACE_ID

LAST_TURN = 9_999_999_999
"""Turns count down from this number in their keys: S3 lists upwards only, and readers want the newest turns first."""
LAST_MOMENT = 9_999_999_999_999
"""Markers count down from this moment, in milliseconds since 1970."""
LEVELS = (1, 2, 3)
_ID = RUN_ID.pattern
_FOLDER = rf"(?P<space>{SPACE_ID.pattern})/conversations/(?P<conversation>{_ID})/"
_TURN = re.compile(rf"{_FOLDER}turns/(?P<left>[0-9]{{10}})\.turn\.json")
_BOUNDARY = re.compile(
    rf"{_FOLDER}v(?P<version>[1-9][0-9]{{0,8}})/boundaries/l(?P<level>[123])/(?P<number>[0-9]{{6,9}})\.json"
)
_SUMMARY = re.compile(
    rf"{_FOLDER}v(?P<version>[1-9][0-9]{{0,8}})/summaries/l(?P<level>[123])/(?P<number>[0-9]{{6,9}})/(?P<name>[0-9a-f]{{64}})\.json"
)
_CAPTURE = re.compile(rf"{_FOLDER}v[1-9][0-9]{{0,8}}/captures/[0-9]{{6,9}}\.json")
_TURN_ID = re.compile(rf"(?P<conversation>{_ID})/(?P<index>[1-9][0-9]{{0,9}})")
_VERSION = re.compile(r"v(?P<version>[1-9][0-9]{0,8})")
_SEARCHED = re.compile(rf"{_FOLDER}(?:turns|v(?P<version>[1-9][0-9]{{0,8}})/summaries)/")
_CONVERSATION = re.compile(rf"{_FOLDER}conversation\.json")
_DOCUMENT = re.compile(rf"{_FOLDER}versions\.json")
_MESSAGE = re.compile(rf"{_FOLDER}ids/[0-9a-f]{{64}}\.json")
_TOOL_RESULT = re.compile(rf"{_FOLDER}tools/(?P<index>[0-9]{{10}})/[0-9]{{3,4}}\.json")
_JOB = re.compile(rf"{_FOLDER}jobs/(?P<job>{_ID})\.json")
_BY_CWD = re.compile(rf"(?P<space>{SPACE_ID.pattern})/_by_cwd/[0-9a-f]{{32}}/[0-9]{{13}}_(?P<conversation>{_ID})")
_USER_SIGNALS = re.compile(r"_signals/[0-9a-f]{32}\.json")
_PART = re.compile(
    rf"conversations/(?P<conversation>{_ID})/(?:(?P<what>conversation|versions)|(?P<folder>ids|jobs|tools)/.+)\.json"
)


@dataclass(frozen=True)
class BoundaryKey:
    """The key of a level's boundary in a version."""

    space_id: str
    conversation_id: str
    version: int
    level: int
    number: int


@dataclass(frozen=True)
class SummaryKey:
    """The key of the summary of block `number` of a level. `name` is the hash of its input."""

    space_id: str
    conversation_id: str
    version: int
    level: int
    number: int
    name: str


def check_conversation_id(conversation_id: str) -> str:
    """Return `conversation_id`, or raise InvalidName. It is an ULID, so conversations sort by their beginning."""
    return keys.check_ulid("conversation_id", conversation_id)


def prefix(space_id: str) -> str:
    """The prefix of all conversations of a space."""
    return f"{space_id}/conversations/"


def folder(space_id: str, conversation_id: str) -> str:
    """The prefix of every key of the conversation."""
    return f"{prefix(space_id)}{conversation_id}/"


def conversation(space_id: str, conversation_id: str) -> str:
    """The key of the conversation's document, which is written once."""
    return f"{folder(space_id, conversation_id)}conversation.json"


def deleted(space_id: str, conversation_id: str) -> str:
    """The key of an object without content: it shows, in a listing too, that the conversation is deleted."""
    return f"{folder(space_id, conversation_id)}deleted"


def parse_conversation(key: str) -> tuple[str, str] | None:
    """Space and conversation in the key of a conversation's document. None for every other key."""
    match = _CONVERSATION.fullmatch(key)
    return (match["space"], match["conversation"]) if match else None


def turns_prefix(space_id: str, conversation_id: str) -> str:
    """The prefix of the turns, the newest first."""
    return f"{folder(space_id, conversation_id)}turns/"


def turn(space_id: str, conversation_id: str, index: int) -> str:
    """The key of turn `index`, counted from 1."""
    return f"{turns_prefix(space_id, conversation_id)}{LAST_TURN - index:010d}.turn.json"


def parse_turn(key: str) -> tuple[str, str, int] | None:
    """Space, conversation and index in the key of a turn. None for every other key."""
    match = _TURN.fullmatch(key)
    return (match["space"], match["conversation"], LAST_TURN - int(match["left"])) if match else None


def message(space_id: str, conversation_id: str, message_id: str) -> str:
    """The key of a message's id. The object names the turn after which to look for the message."""
    digest = hashlib.sha256(message_id.encode()).hexdigest()
    return f"{folder(space_id, conversation_id)}ids/{digest}.json"


def parse_message(key: str) -> str | None:
    """The conversation in the key of a message's id. None for every other key."""
    match = _MESSAGE.fullmatch(key)
    return match["conversation"] if match else None


def tool_result(space_id: str, conversation_id: str, index: int, order: int) -> str:
    """The key of a large result of the tool call at place `order`, from 0, of a turn."""
    return f"{tool_results_prefix(space_id, conversation_id, index)}{order:03d}.json"


def tool_results_prefix(space_id: str, conversation_id: str, index: int) -> str:
    """The prefix of the large results of a turn's tools."""
    return f"{folder(space_id, conversation_id)}tools/{index:010d}/"


def parse_tool_result(key: str) -> tuple[str, str, int] | None:
    """Space, conversation and index of the turn in the key of such a result. None for every other key."""
    match = _TOOL_RESULT.fullmatch(key)
    return (match["space"], match["conversation"], int(match["index"])) if match else None


def turn_id(conversation_id: str, index: int) -> str:
    """The id of a turn in its space, as searches return it."""
    return f"{conversation_id}/{index}"


def parse_turn_id(turn_id: str) -> tuple[str, int] | None:
    """Conversation and index in such an id. None for every other text."""
    match = _TURN_ID.fullmatch(turn_id)
    return (match["conversation"], int(match["index"])) if match else None


def summary_versions(space_id: str, conversation_id: str) -> str:
    """The key of the document that names the current version of boundaries and summaries."""
    return f"{folder(space_id, conversation_id)}versions.json"


def parse_summary_versions(key: str) -> str | None:
    """The conversation in the key of the document that names the current version. None for every other key."""
    match = _DOCUMENT.fullmatch(key)
    return match["conversation"] if match else None


def version_prefix(space_id: str, conversation_id: str, number: int) -> str:
    """The prefix of the boundaries and summaries of a version."""
    return f"{folder(space_id, conversation_id)}v{number}/"


def parse_version(folder: str) -> int | None:
    """The version in the name of a folder of a conversation. None for every other name."""
    match = _VERSION.fullmatch(folder)
    return int(match["version"]) if match else None


def boundary(space_id: str, conversation_id: str, version: int, level: int, number: int) -> str:
    """The key of boundary `number`, from 1, of a level."""
    return f"{version_prefix(space_id, conversation_id, version)}boundaries/l{level}/{number:06d}.json"


def parse_boundary(key: str) -> BoundaryKey | None:
    """The parts of the key of a boundary. None for every other key."""
    match = _BOUNDARY.fullmatch(key)
    if not match:
        return None
    return BoundaryKey(
        match["space"], match["conversation"], int(match["version"]), int(match["level"]), int(match["number"])
    )


def summaries_prefix(space_id: str, conversation_id: str, version: int) -> str:
    """The prefix of the summaries of all levels of a version."""
    return f"{version_prefix(space_id, conversation_id, version)}summaries/"


def summary(space_id: str, conversation_id: str, version: int, level: int, number: int, name: str) -> str:
    """The key of the summary of block `number` of a level, made of the input with the hash `name`."""
    return f"{summaries_prefix(space_id, conversation_id, version)}l{level}/{number:06d}/{name}.json"


def parse_summary(key: str) -> SummaryKey | None:
    """The parts of the key of a summary. None for every other key."""
    match = _SUMMARY.fullmatch(key)
    if not match:
        return None
    return SummaryKey(
        match["space"],
        match["conversation"],
        int(match["version"]),
        int(match["level"]),
        int(match["number"]),
        match["name"],
    )


def capture(space_id: str, conversation_id: str, version: int, number: int) -> str:
    """The key of the content that a block of a version names for the team."""
    return f"{version_prefix(space_id, conversation_id, version)}captures/{number:06d}.json"


def parse_capture(key: str) -> str | None:
    """The conversation in such a key. None for every other key."""
    match = _CAPTURE.fullmatch(key)
    return match["conversation"] if match else None


def claim(space_id: str, conversation_id: str) -> str:
    """The key of the conversation's lease: the worker that summarises it now, and until when."""
    return f"{folder(space_id, conversation_id)}claims/summaries.json"


def jobs_prefix(space_id: str, conversation_id: str) -> str:
    """The prefix of the runs that made summaries."""
    return f"{folder(space_id, conversation_id)}jobs/"


def job(space_id: str, conversation_id: str, job_id: str) -> str:
    """The key of a run: its status and counters."""
    return f"{jobs_prefix(space_id, conversation_id)}{keys.check_ulid('job_id', job_id)}.json"


def parse_job(key: str) -> str | None:
    """The id of a run in its key. None for every other key."""
    match = _JOB.fullmatch(key)
    return match["job"] if match else None


def by_cwd_prefix(space_id: str, host: str, cwd: str) -> str:
    """The prefix of the markers of the conversations of a folder, the newest first. `host` is empty for any host."""
    digest = hashlib.sha256((host + cwd).encode()).hexdigest()[:32]
    return f"{space_id}/_by_cwd/{digest}/"


def by_cwd(space_id: str, host: str, cwd: str, created_at: datetime, conversation_id: str) -> str:
    """The key of a conversation's marker."""
    rest = LAST_MOMENT - int(created_at.timestamp() * 1_000)
    return f"{by_cwd_prefix(space_id, host, cwd)}{rest:013d}_{conversation_id}"


def user_signals(space_id: str, user: str) -> str:
    """The key of the document that names the summaries with hints about a user."""
    return f"{space_id}/_signals/{hashlib.sha256(user.encode()).hexdigest()[:32]}.json"


def is_user_signals(name: str) -> bool:
    """Whether the key below a space, without the space's id, is of such a document."""
    return _USER_SIGNALS.fullmatch(name) is not None


def parse_by_cwd(key: str) -> str | None:
    """The conversation in such a marker's key. None for every other key."""
    match = _BY_CWD.fullmatch(key)
    return match["conversation"] if match else None


def versions_prefix(space_id: str, conversation_id: str) -> str:
    """The prefix of all versions, and of the document that names the current one."""
    return f"{folder(space_id, conversation_id)}v"


def searched_folder(key: str) -> str | None:
    """The folder of a turn, or of the summaries of a version, up to its slash. None for every other key."""
    match = _SEARCHED.match(key)
    return match[0] if match else None


def version_of(folder: str) -> int | None:
    """The version in a folder of summaries. None for every other folder."""
    match = _SEARCHED.fullmatch(folder)
    return int(match["version"]) if match and match["version"] else None


def parse_part(name: str) -> tuple[str, str] | None:
    """The conversation, and `conversation`, `versions`, `ids`, `jobs` or `tools`, in the key of such a document below
    its space. None for every other key.
    """
    match = _PART.fullmatch(name)
    return (match["conversation"], match["what"] or match["folder"]) if match else None


def is_of_conversations(name: str) -> bool:
    """Whether the key below a space, without the space's id, is of a conversation."""
    return name.startswith(("conversations/", "_by_cwd/", "_signals/"))


def check_number(text: str) -> int:
    """The number of a boundary and of its summary, from a path. Raises InvalidName."""
    return _number("number", text, 999_999_999)


def check_index(text: str) -> int:
    """The index of a turn, from a path. Raises InvalidName."""
    return _number("turn_index", text, LAST_TURN)


def check_level(text: str) -> int:
    """The level of a summary, from a path. Raises InvalidName."""
    return _number("level", text, LEVELS[-1])


def _number(field: str, text: str, most: int) -> int:
    # Python reads the digits of other scripts as numbers too.
    if not (text.isascii() and text.isdecimal()) or len(text) > len(str(most)) or not 1 <= int(text) <= most:
        raise InvalidName(field, f"must be a number from 1 to {most}")
    return int(text)
