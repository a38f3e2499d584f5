"""The head of a space, `_meta.json`, which every change of a space's state goes through."""

import logging
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from types import EllipsisType
from typing import Literal, Self
from zoneinfo import ZoneInfo

from pydantic import NonNegativeInt

from livemem import clock, limits
from livemem.errors import Conflict, InvalidRequest, NotFound, PreconditionLost, SpaceBroken, SpaceTooNew
from livemem.process import Process
from livemem.settings import Settings
from livemem.spaces import unreadable
from livemem.spaces.head_fields import Decision, Erasing, LateWriteRepair, Mode, ProvisioningState, Review, Tidied
from livemem.spaces.oversized_notes import OversizedNotes
from livemem.store import keys, stored
from livemem.store.bucket import HEAD
from livemem.store.cache import TimedCache
from livemem.store.capability_check import require_conditional_writes
from livemem.store.objects import Object
from livemem.store.stored import Revised, Stored
from livemem.store.stored_documents import Count, Line, Moment, Number, Position, StoredDocument
from livemem.text.redaction import identifier, when

logger = logging.getLogger(__name__)

NO_REVIEW = "The space no longer requires approval. Its notes go into the next run."
MEND = "Put the right one back in the bucket, or remove the folder."

LAYOUT = 2
"""The newest layout of a space that this service reads, and the one that it writes (docs/bucket.md, "Versions of the
layout"). A head that names none has the first one.
"""
VERSION = 1
"""The only value of `version`: the bucket's contract with other programs fixes it, so it can't tell of a new layout."""
TOO_NEW = "has the layout {}, which a newer version of the service wrote: this one reads up to {}. Update the service"

KNOWN_SECONDS = 30
KNOWN_SPACES = 1_000

LANGUAGE = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")
"""The shape of a language tag (RFC 5646): `fr`, `pt-BR`, `zh-Hans`."""
LANGUAGE_CHARACTERS = 35
"""The length for which RFC 5646, 4.4.1 requires room."""

Corrections = Literal["admin", "write"]
"""The permission that a correction by section needs."""


class _NamedLayout(StoredDocument):
    """The two fields of `_meta.json` that say how all else in the space is to be read."""

    version: NonNegativeInt = VERSION
    layout: NonNegativeInt = 1

    def number(self) -> int:
        """The layout. A `version` that the contract does not have counts as a layout that nobody knows."""
        return max(self.layout, LAYOUT + self.version - VERSION)


class Meta(Revised):
    """`_meta.json`, changed by compare-and-swap alone. The first eight fields are fixed by contract."""

    space_id: str
    description: str
    owner: str | None
    created_at: Moment
    last_consolidation: Moment | None = None
    consolidation_count: Position = 0
    """Number of consolidations that were not undone. The commit counts them."""
    total_notes_processed: Count = 0
    version: Count = VERSION
    rev: Count = 1
    """Grows by one with each change."""
    layout: Count = 1
    """The layout of all objects in the space. Each write names this service's."""
    uid: Line
    consolidation_threshold: Count
    auto_paused: bool = False
    pause_reason: Line | None = None
    """Why the space is paused, as the end of a sentence. None: it is not paused."""
    corrections: Corrections = "admin"
    consolidation_mode: Mode = "auto"
    bank_chars: Count = 0
    """Characters that the bank should have. 0: any number, as in a space that is older than this field."""
    repository: str | None = None
    """What the space is the memory of, as its first client named it. Another repository gets another space."""
    capture_allowed: bool = True
    """Whether notes may be captured from conversations."""
    agent_folds: bool = False
    """Whether agents with `write` may fold the notes (consolidation/agent_folds.py)."""
    recall: bool = True
    """Whether a prompt is given what is clearly about it."""
    has_conversations: bool = False
    """Whether the sweep has seen a conversation in the space. Readers look for hints about users only then."""
    language: str | None = None
    """The language in which the bank is written. None: that of the rules."""
    timezone: str | None = None
    """The time zone of its digests' hours, by its IANA name. None: DEFAULT_TIMEZONE."""
    changes: Position = 0
    """Number of the newest change of any kind. A commit continues this count."""
    rules_changed_at: Moment | None = None
    """When the rules were changed. It is reset once a consolidation knows the change."""
    committed_run: Line | None = None
    last_run: Line | None = None
    """The run or change by hand that made the newest change."""
    folded_until: Line | None = None
    """Compact time of the newest note that was ever folded. No record holds a note that was written later. Empty or
    None: no note was folded.
    """
    late_duplicates: list[str] = []
    """Ids of live notes that a record holds, and that are to be deleted."""
    late_write_repair: LateWriteRepair | None = None
    runs_seen: Line | None = None
    """Every run up to this one has ended and left nothing behind. The sweep looks at later runs alone."""
    undone: list[tuple[Number, Number]] | None = None
    """Ranges of changes that no longer hold: each from an undone change to its undo."""
    prompt_cut: bool = False
    """Whether the model read only a part of the last consolidation's prompt, by the provider's count of tokens."""
    bank_length: Count | None = None
    """Characters of the bank after the last change, as the last run counted them. None: no run of this version did."""
    tidied: Tidied | None = None
    tidy_paused: bool = False
    """Whether tidy runs start by hand alone: the last one was undone or refused."""
    oversized_notes: OversizedNotes = OversizedNotes()
    left_out: list[str] = []
    """Ids of the live notes that the last run which saw them neither used nor discarded."""
    provisioning: ProvisioningState | None = None
    """Where the space came from if it was restored, forked or imported. In a tombstone: the restore, fork or import
    under way."""
    erasing: Erasing | None = None
    review: Review | None = None
    """The plan that waits for a person, or was decided just now."""
    deleted_at: Moment | None = None
    """Set while the space is being deleted, or is not complete yet. No reader sees such a space."""

    def named_layout(self) -> int:
        """The layout by which the space is to be read."""
        return _NamedLayout(version=self.version, layout=self.layout).number()

    def stamped(self, write_id: str) -> Self:
        """The head as this write makes it: from then on the space has this service's layout."""
        return super().stamped(write_id).model_copy(update={"layout": LAYOUT})

    def automatic(self, settings: Settings) -> bool:
        """Whether consolidations may start by themselves: not while a plan waits, or each note would cost another."""
        stopped = self.auto_paused or self.pending_plan or self.nobody_folds(settings)
        return self.consolidation_threshold > 0 and not stopped

    def nobody_folds(self, settings: Settings) -> bool:
        """Whether the notes wait for an agent: agents may fold them, and in the place of a model are fixed rules."""
        return self.agent_folds and settings.has_offline_llm()

    @property
    def pending_plan(self) -> Review | None:
        """The plan that waits for a person."""
        return self.review if self.review and not self.review.decision else None

    def decided(self, decision: Decision) -> dict[str, object]:
        """The change of the head by which the plan that waits is decided; nothing where none waits."""
        waits = self.pending_plan
        return {"review": waits.model_copy(update={"decision": decision})} if waits else {}

    def erasing_now(self) -> str | None:
        """The erasure that is under way."""
        return self.erasing.at_work if self.erasing else None

    def is_being_provisioned(self) -> bool:
        """Whether a restore, fork or import fills the space, and it is not complete yet."""
        return bool(self.deleted_at and self.provisioning and not self.provisioning.ended())

    def with_undo(self, undoes: int, number: int) -> list[tuple[int, int]]:
        """`undone` after change `number` has undone change `undoes`."""
        # Only the newest change that still holds can be undone. So the changes between do not hold either.
        earlier = [(first, last) for first, last in self.undone or () if first < undoes]
        if earlier and earlier[-1][1] == undoes - 1:
            undoes = earlier.pop()[0]
        return [*earlier, (undoes, number)]


@dataclass(frozen=True)
class Head(Stored[Meta]):
    """A space's meta as it was read or written."""

    @property
    def meta(self) -> Meta:
        """The value."""
        return self.value

    @classmethod
    def of(cls, saved: Stored[Meta]) -> Self:
        """The head that is stored."""
        return cls(saved.key, saved.value, saved.etag, saved.age, saved.seen_at)


_HEADS = partial(TimedCache[str, Head], KNOWN_SPACES, seconds=KNOWN_SECONDS)
"""The heads that this process has read in the last 30 s."""


def zone_of(process: Process, meta: Meta) -> ZoneInfo:
    """The time zone of a space: its own, or else that of the service."""
    try:
        return clock.zone(meta.timezone or process.settings.default_timezone)
    except ValueError:
        # A person wrote it into the bucket, or the zone's name no longer exists.
        return clock.zone(process.settings.default_timezone)


def find(process: Process, space_id: str) -> Head | None:
    """The space's head, fresh from the store, or None."""
    head = find_any(process, space_id)
    return None if head and head.meta.deleted_at else head


def find_any(process: Process, space_id: str) -> Head | None:
    """The head even of a space that is being deleted, or None."""
    current = stored.find(process.store, HEAD.key(space_id), lambda item: _parse(process, space_id, item))
    return Head.of(current) if current else None


def _parse(process: Process, space_id: str, item: Object) -> Meta:
    try:
        meta = unreadable.parsed(process, Meta, item, SpaceBroken)
    except SpaceBroken as error:
        refuse_newer(space_id, layout_of(item.body))
        detail = f"The _meta.json of the space {space_id!r} can't be read. {MEND}"
        raise SpaceBroken(detail, key=item.key) from error
    refuse_newer(space_id, meta.named_layout())
    if meta.space_id != space_id:
        # A copied folder. Writes must never follow a name for which access was not checked.
        detail = f"The _meta.json in the folder {space_id!r} belongs to another space. {MEND}"
        raise SpaceBroken(detail, key=item.key)
    return meta


def refuse_newer(space_id: str, layout: int) -> None:
    """Raise SpaceTooNew for a head with a layout that this version of the service does not know."""
    if layout > LAYOUT:
        key = f"{space_id}/{keys.META}"
        raise SpaceTooNew(f"The space {space_id!r} {TOO_NEW.format(layout, LAYOUT)}.", key=key)


def layout_of(body: bytes) -> int:
    """The layout that a head names, also one of which this version can't read the rest. 0: it names none that is a
    number.
    """
    try:
        return _NamedLayout.from_bytes(body).number()
    except ValueError:
        return 0


def load(process: Process, space_id: str) -> Head:
    """The space's head, fresh from the store; raises NotFound."""
    head = find(process, keys.check_space_id(space_id))
    if not head:
        raise NotFound("space", space_id)
    return head


def load_recent(process: Process, space_id: str) -> Head:
    """The space's head, at most 30 s old in this process: for paths that only need to know that it exists."""
    return process.cache(_HEADS).get(space_id) or refresh(process, space_id)


def refresh(process: Process, space_id: str) -> Head:
    """The space's head, fresh from the store, for `load_recent` too; raises NotFound."""
    return remember(process, load(process, space_id))


def remember(process: Process, head: Head) -> Head:
    """Let `load_recent` know the head of a living space that was just read."""
    return process.cache(_HEADS).put(head.meta.space_id, head)


def forget(process: Process, space_id: str) -> None:
    """Let `load_recent` read the head again. For callers that have written the head as a part of another document."""
    process.cache(_HEADS).pop(space_id)


def create(process: Process, meta: Meta, *, over: Head | None = None) -> Meta:
    """Write the head of a new space, over the tombstone of an earlier one if there is one, and return it as it stands;
    raises PreconditionLost.
    """
    meta = meta.stamped(process.new_id())
    over_etag = over.etag if over else None
    written = stored.write_once(process.store, HEAD.key(meta.space_id), meta.to_bytes(), over=over_etag)
    if written.says_so:
        return meta
    standing = _parse(process, meta.space_id, written.other) if written.other else None
    if not standing or standing.uid != meta.uid:
        raise PreconditionLost("Another request has created the space.")
    # Our head was written, and another process has changed it since.
    return standing


def swap(process: Process, head: Head, /, **changes: object) -> Head:
    """Write `head` with `changes` over exactly the version that was read; raises PreconditionLost."""
    swapped = stored.swap(process.store, head, _changed(head.meta, changes), process.new_id)
    forget(process, swapped.value.space_id)
    return Head.of(swapped)


def try_swap(process: Process, head: Head, /, **changes: object) -> Head | None:
    """As `swap`. None where another process has changed the head since."""
    with suppress(PreconditionLost):
        return swap(process, head, **changes)
    return None


def _changed(meta: Meta, changes: Mapping[str, object]) -> Meta:
    return meta.model_copy(update={**changes, "rev": meta.rev + 1})


def update(
    process: Process, space_id: str, changes: Callable[[Meta], dict[str, object]], *, head: Head | None = None
) -> Head:
    """Apply `changes` to the newest meta, again after each lost race: 1 GET and 1 PUT. No GET if `head` is the newest
    head. No PUT if nothing changes. Raises NotFound, at last PreconditionLost.
    """
    changed = False

    def change(meta: Meta | None) -> Meta | None:
        nonlocal changed
        if not meta or meta.deleted_at:
            raise NotFound("space", space_id)
        fields = changes(meta)
        changed = bool(fields)
        return _changed(meta, fields) if fields else None

    updated = stored.update(
        process.store,
        HEAD.key(keys.check_space_id(space_id)),
        change,
        process.new_id,
        read=lambda item: _parse(process, space_id, item),
        current=head or ...,
    )
    assert updated
    if changed:
        forget(process, space_id)
    return Head.of(updated)


def patch(
    process: Process,
    space_id: str,
    *,
    description: str | None = None,
    owner: str | None = None,
    threshold: int | None = None,
    auto_paused: bool | None = None,
    tidy_paused: bool | None = None,
    corrections: Corrections | None = None,
    consolidation_mode: Mode | None = None,
    capture_allowed: bool | None = None,
    agent_folds: bool | None = None,
    recall: bool | None = None,
    bank_chars: int | None = None,
    repository: str | EllipsisType | None = ...,
    language: str | EllipsisType | None = ...,
    timezone: str | EllipsisType | None = ...,
) -> Meta:
    """Change the fields of a space that a user may change. None leaves a field alone, but is a value of `repository`,
    `language` and `timezone`.

    Raises InvalidRequest or TooLarge (naming the field) before anything is read, NotFound, and Conflict for another
    `repository` than the one that the space has.
    """
    fields: dict[str, object] = {}
    if description is not None:
        fields["description"] = limits.check_text("description", description, limits.DESCRIPTION_BYTES, blank=True)
    if owner is not None:
        fields["owner"] = limits.check_text("owner", owner, limits.OWNER_BYTES)
    fields = {name: when(process.settings.redact_secrets, text) for name, text in fields.items()}
    options = {
        "consolidation_threshold": threshold,
        "auto_paused": auto_paused,
        "tidy_paused": tidy_paused,
        "corrections": corrections,
        "consolidation_mode": consolidation_mode,
        "capture_allowed": capture_allowed,
        "agent_folds": agent_folds,
        "recall": recall,
        "bank_chars": None if bank_chars is None else check_bank_chars(bank_chars),
    }
    fields |= {name: value for name, value in options.items() if value is not None}
    if auto_paused is not None:
        fields["pause_reason"] = "somebody paused it" if auto_paused else None
    if language is not ...:
        fields["language"] = check_language(language)
    if timezone is not ...:
        fields["timezone"] = check_timezone(timezone)
    if repository is not ...:
        fields["repository"] = check_repository(process, repository)
    if fields:
        require_conditional_writes(process.store)

    def changes(meta: Meta) -> dict[str, object]:
        if isinstance(repository, str) and meta.repository not in (None, fields["repository"]):
            raise Conflict(
                f"The space is the memory of {meta.repository!r} already: use another space. If the repository has "
                "another name now, an admin takes the former one away first (`repository` null)."
            )
        return fields | _without_review(meta, consolidation_mode)

    return update(process, space_id, changes).meta


def _without_review(meta: Meta, mode: Mode | None) -> dict[str, object]:
    """Drop the waiting plan if plans need no approval any more. The next run makes its own plan, and commits it."""
    return meta.decided(Decision(code="superseded", message=NO_REVIEW)) if mode == "auto" else {}


def check_settings(meta: Meta) -> None:
    """Raise InvalidRequest or TooLarge, naming the field, unless the API would accept the settings of a head from
    outside. It checks the fields that a user may set.
    """
    limits.check_text("description", meta.description, limits.DESCRIPTION_BYTES, blank=True)
    limits.check_text("owner", meta.owner or "", limits.OWNER_BYTES, blank=True)
    check_language(meta.language)
    check_timezone(meta.timezone)
    check_bank_chars(meta.bank_chars)
    limits.check_text("repository", meta.repository or "", limits.REPOSITORY_BYTES, blank=True)


def check_layout(layout: int) -> None:
    """Raise InvalidRequest for a head from outside that a newer version of the service wrote."""
    if layout > LAYOUT:
        raise InvalidRequest.of("layout", TOO_NEW.format(layout, LAYOUT))


def without_bad_settings(meta: Meta) -> Meta:
    """A head from a backup, without a language or time zone that the API would refuse. A bad setting must not prevent
    the restore of a space. Other settings can't be dangerous.
    """
    changes: dict[str, None] = {}
    for name, check in (("language", check_language), ("timezone", check_timezone)):
        try:
            check(getattr(meta, name))
        except InvalidRequest:
            logger.warning("setting of a backup left out", extra={"space_id": meta.space_id, "setting": name})
            changes[name] = None
    return meta.model_copy(update=changes)


def check_repository(process: Process, repository: str | None) -> str | None:
    """Return the name of a repository without secrets, or raise InvalidRequest, TooLarge."""
    if repository is None:
        return None
    limits.check_text("repository", repository, limits.REPOSITORY_BYTES)
    return identifier(repository) if process.settings.redact_secrets else repository


def check_bank_chars(chars: int) -> int:
    """Return the length that a bank should have, or raise InvalidRequest."""
    if problem := limits.bank_chars_problem(chars):
        raise InvalidRequest.of("bank_chars", problem)
    return chars


def check_language(language: str | None) -> str | None:
    """Return the language tag, or raise InvalidRequest."""
    if language is not None and (len(language) > LANGUAGE_CHARACTERS or not LANGUAGE.fullmatch(language)):
        raise InvalidRequest.of(
            "language", "must be a language tag such as fr or pt-BR, or null for the language of the rules"
        )
    return language


def check_timezone(timezone: str | None) -> str | None:
    """Return the name of a time zone, or raise InvalidRequest."""
    try:
        if timezone is not None:
            clock.zone(timezone)
    except ValueError:
        raise InvalidRequest.of(
            "timezone", "must be the name of a time zone such as Europe/Paris, or null for that of the service"
        ) from None
    return timezone
