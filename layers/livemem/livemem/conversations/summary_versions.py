"""Versions of a conversation's summaries. A rebuild with other parameters makes the next one, and switches to it."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, ClassVar, TypeVar

from pydantic import Field

from livemem import clock
from livemem.conversations.boundaries import BlockBoundary, GroupBoundary
from livemem.conversations.conversation import Conversation, parsed
from livemem.conversations.parameters import Parameters, Profile
from livemem.errors import ConversationBroken, NotFound
from livemem.process import Process
from livemem.spaces import unreadable
from livemem.store import stored
from livemem.store.bucket import BOUNDARY, CAPTURE, SUMMARY, SUMMARY_VERSIONS
from livemem.store.stored import Read, Revised, Stored
from livemem.store.stored_documents import Count, Moment, StoredDocument

FIRST = 1
MOST = 100_000
"""Versions of a conversation. Each rebuild asks the model for all summaries again, so no conversation comes near it."""
VersionNumber = Annotated[int, Field(ge=FIRST, le=MOST)]
KEPT = timedelta(days=1)
"""For how long a replaced version is kept, so that its readers can finish."""
S = TypeVar("S", BlockBoundary, GroupBoundary)


class SummaryVersion(StoredDocument):
    """A version, with its profile and parameters."""

    version: VersionNumber
    profile: Profile
    parameters: Parameters
    job_id: str = ""
    captured_until: Count = 0
    """The last turn whose notes a version before has named."""


class Retired(StoredDocument):
    """A version that was replaced."""

    version: VersionNumber
    at: Moment


class SummaryVersions(Revised):
    """`versions.json`, changed by compare-and-swap alone. Where it is missing, the first version counts."""

    most_bytes: ClassVar[int] = 256 << 10

    version: VersionNumber
    profile: Profile | None = None
    parameters: Parameters | None = None
    captured_until: Count = 0
    """The last turn whose notes a version before has named."""
    building: SummaryVersion | None = None
    retired: list[Retired] = []
    highest: VersionNumber = FIRST
    """The highest number that was ever given."""

    @classmethod
    def first(cls) -> "SummaryVersions":
        """The content that counts where there is no document."""
        return cls(version=FIRST)


@dataclass(frozen=True)
class Standing:
    """The versions of a conversation as they were read. `document` is None where there is none yet."""

    space_id: str
    conversation: Conversation
    document: Stored[SummaryVersions] | None

    @property
    def known(self) -> SummaryVersions:
        """The document's content, or its default where there is none."""
        return self.document.value if self.document else SummaryVersions.first()

    def current(self) -> SummaryVersion:
        """The version that counts."""
        item = self.known
        return SummaryVersion(
            version=item.version,
            profile=item.profile or self.conversation.profile,
            parameters=item.parameters or self.conversation.parameters,
            captured_until=item.captured_until,
        )


def read(process: Process, space_id: str, conversation: Conversation) -> Standing:
    """The versions of the conversation: 1 GET."""
    key = SUMMARY_VERSIONS.key(space_id, conversation.conversation_id)
    return Standing(space_id, conversation, stored.find(process.store, key, reading(process)))


def reading(process: Process) -> Read[SummaryVersions]:
    """The function that reads the document. It raises ConversationBroken."""
    return lambda item: parsed(process, SummaryVersions, item)


def begin(
    process: Process, standing: Standing, profile: Profile, parameters: Parameters, job_id: str
) -> SummaryVersion:
    """Begin to build the next version, or continue one with the same parameters. The latest order counts.

    Raises PreconditionLost, ConversationBroken.
    """

    def wanted(summary_versions: SummaryVersions) -> SummaryVersions | None:
        existing = summary_versions.building
        if existing and (existing.profile, existing.parameters) == (profile, parameters):
            return None
        if summary_versions.highest == MOST:
            # No service made so many versions: the document was forged.
            key = SUMMARY_VERSIONS.key(standing.space_id, standing.conversation.conversation_id)
            raise unreadable.error(key, ConversationBroken)
        fresh = SummaryVersion(
            version=summary_versions.highest + 1, profile=profile, parameters=parameters, job_id=job_id
        )
        return summary_versions.model_copy(update={"building": fresh, "highest": fresh.version})

    building = _update(process, standing, wanted).known.building
    assert building
    return building


def switch(process: Process, standing: Standing, built: SummaryVersion, captured_until: int) -> bool:
    """Let the version `built` count. False if another one is being built now. `captured_until` is the last turn of
    which the version before has a block. Raises PreconditionLost.
    """

    def wanted(summary_versions: SummaryVersions) -> SummaryVersions | None:
        if not summary_versions.building or summary_versions.building.version != built.version:
            return None
        now = clock.iso(process.clock())
        return summary_versions.model_copy(
            update={
                "version": built.version,
                "profile": built.profile,
                "parameters": built.parameters,
                "captured_until": max(captured_until, summary_versions.captured_until),
                "building": None,
                "retired": [*summary_versions.retired, Retired(version=summary_versions.version, at=now)],
            }
        )

    return _update(process, standing, wanted).known.version == built.version


def forget(process: Process, standing: Standing, removed: list[int]) -> None:
    """Remove replaced versions from the document, after their objects are gone. Raises PreconditionLost."""

    def wanted(summary_versions: SummaryVersions) -> SummaryVersions | None:
        items = [item for item in summary_versions.retired if item.version not in removed]
        return summary_versions.model_copy(update={"retired": items}) if items != summary_versions.retired else None

    _update(process, standing, wanted)


def _update(
    process: Process, standing: Standing, change_of: Callable[[SummaryVersions], SummaryVersions | None]
) -> Standing:
    """Apply a change to the newest document, and again after each lost race: 1 PUT, none where nothing changes."""
    space_id, conversation = standing.space_id, standing.conversation
    key = SUMMARY_VERSIONS.key(space_id, conversation.conversation_id)
    document = stored.update(
        process.store,
        key,
        lambda known: change_of(known or SummaryVersions.first()),
        process.new_id,
        read=reading(process),
        current=standing.document,
    )
    return Standing(space_id, conversation, document)


@dataclass(frozen=True)
class At:
    """A version of a conversation, with its profile and parameters."""

    space_id: str
    conversation: Conversation
    built: SummaryVersion

    @property
    def conversation_id(self) -> str:
        """The conversation's id."""
        return self.conversation.conversation_id

    @property
    def version(self) -> int:
        """The version's number."""
        return self.built.version

    @property
    def parameters(self) -> Parameters:
        """The version's parameters."""
        return self.built.parameters

    def boundary_key(self, level: int, number: int) -> str:
        """The key of a boundary."""
        return BOUNDARY.key(self.space_id, self.conversation_id, self.version, level, number)

    def capture_key(self, number: int) -> str:
        """The key of the notes that a block names."""
        return CAPTURE.key(self.space_id, self.conversation_id, self.version, number)

    def summary_key(self, level: int, number: int, name: str) -> str:
        """The key of a summary."""
        return SUMMARY.key(self.space_id, self.conversation_id, self.version, level, number, name)


def write_boundary(process: Process, at: At, level: int, number: int, boundary: S) -> S:
    """Write the boundary, or take the one that is there: 1 PUT, and 1 GET where another worker was faster. Raises
    NotFound.
    """
    written = stored.write_once(process.store, at.boundary_key(level, number), boundary.to_bytes())
    if written.gone:
        # Somebody deletes the conversation right now.
        raise NotFound("conversation", at.conversation_id)
    return parsed(process, type(boundary), written.other) if written.other else boundary
