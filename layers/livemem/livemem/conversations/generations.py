"""Generations of seals and summaries: a rebuild with other parameters makes the next one, and switches to it."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, ClassVar

from pydantic import Field

from livemem import clock
from livemem.conversations.conversation import Conversation, parsed
from livemem.conversations.parameters import Parameters, Profile
from livemem.errors import ConversationBroken
from livemem.process import Process
from livemem.spaces import unreadable
from livemem.store import conversation_keys as keys
from livemem.store import stored
from livemem.store.documents import Document, Moment
from livemem.store.stored import Read, Revised, Stored

FIRST = 1
MOST = 100_000
"""Generations of a conversation: a rebuild asks the model for all summaries anew, so that nobody comes near to it."""
Generation = Annotated[int, Field(ge=FIRST, le=MOST)]
KEPT = timedelta(days=1)
"""For which a generation that was replaced is still there: who reads it now may finish."""


class Built(Document):
    """A generation, and what it is built with."""

    generation: Generation
    profile: Profile
    parameters: Parameters
    job_id: str = ""


class Retired(Document):
    """A generation that was replaced."""

    generation: Generation
    at: Moment


class Generations(Revised):
    """`generation.json`, changed by compare-and-swap alone; where it is missing the first generation counts."""

    most_bytes: ClassVar[int] = 256 << 10

    generation: Generation
    profile: Profile | None = None
    parameters: Parameters | None = None
    building: Built | None = None
    retired: list[Retired] = []
    highest: Generation = FIRST
    """The highest number that was ever given."""

    @classmethod
    def first(cls) -> "Generations":
        """What counts where there is no document."""
        return cls(generation=FIRST)


@dataclass(frozen=True)
class Standing:
    """The generations of a conversation as they were read; `document` is None where there is none yet."""

    space_id: str
    conversation: Conversation
    document: Stored[Generations] | None

    @property
    def known(self) -> Generations:
        """What counts."""
        return self.document.value if self.document else Generations.first()

    def current(self) -> Built:
        """The generation that counts."""
        one = self.known
        return Built(
            generation=one.generation,
            profile=one.profile or self.conversation.profile,
            parameters=one.parameters or self.conversation.parameters,
        )


def read(process: Process, space_id: str, conversation: Conversation) -> Standing:
    """The generations of the conversation: 1 GET."""
    key = keys.generation(space_id, conversation.conversation_id)
    return Standing(space_id, conversation, stored.find(process.store, key, reading(process)))


def reading(process: Process) -> Read[Generations]:
    """How the document is read; raises ConversationBroken."""
    return lambda found: parsed(process, Generations, found)


def begin(process: Process, standing: Standing, profile: Profile, parameters: Parameters, job_id: str) -> Built:
    """Begin to build the next generation, or go on with one of the same parameters; the latest wish counts.

    Raises PreconditionLost, ConversationBroken.
    """

    def wanted(known: Generations) -> Generations | None:
        there = known.building
        if there and (there.profile, there.parameters) == (profile, parameters):
            return None
        if known.highest == MOST:
            # Nobody made so many: somebody wrote that into the bucket.
            key = keys.generation(standing.space_id, standing.conversation.conversation_id)
            raise unreadable.error(key, ConversationBroken)
        fresh = Built(generation=known.highest + 1, profile=profile, parameters=parameters, job_id=job_id)
        return known.model_copy(update={"building": fresh, "highest": fresh.generation})

    building = _update(process, standing, wanted).known.building
    assert building
    return building


def switch(process: Process, standing: Standing, built: Built) -> bool:
    """Let a generation count that is built by now; False if it is wanted no more. Raises PreconditionLost."""

    def wanted(known: Generations) -> Generations | None:
        if not known.building or known.building.generation != built.generation:
            return None
        now = clock.iso(process.clock())
        return known.model_copy(
            update={
                "generation": built.generation,
                "profile": built.profile,
                "parameters": built.parameters,
                "building": None,
                "retired": [*known.retired, Retired(generation=known.generation, at=now)],
            }
        )

    return _update(process, standing, wanted).known.generation == built.generation


def forget(process: Process, standing: Standing, removed: list[int]) -> None:
    """Take replaced generations whose objects are gone out of the document. Raises PreconditionLost."""

    def wanted(known: Generations) -> Generations | None:
        left = [one for one in known.retired if one.generation not in removed]
        return known.model_copy(update={"retired": left}) if left != known.retired else None

    _update(process, standing, wanted)


def _update(process: Process, standing: Standing, wanted: Callable[[Generations], Generations | None]) -> Standing:
    """Apply a change to the newest document, again after each lost race: 1 PUT, none where there is no change."""
    space_id, conversation = standing.space_id, standing.conversation
    key = keys.generation(space_id, conversation.conversation_id)
    document = stored.update(
        process.store,
        key,
        lambda known: wanted(known or Generations.first()),
        process.new_id,
        read=reading(process),
        known=standing.document,
    )
    return Standing(space_id, conversation, document)
