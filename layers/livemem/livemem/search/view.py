"""A view: the documents of one space as this process knows them, which follows the bucket.

Each search lists the space's prefixes, compares keys and ETags, reads new objects and drops removed ones. So the view
may lag within a search, and converges with each one. On any fault with its file, it is thrown away and made again.
"""

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import apsw
import numpy as np

from livemem.errors import LiveMemoryError, SearchNotReady
from livemem.search import search_snapshots
from livemem.search import shape as shapes
from livemem.search.documents import Reading
from livemem.search.index import Index, Unusable
from livemem.search.segments import Segments
from livemem.search.shape import IndexShape
from livemem.search.vectors import Pool, Rows
from livemem.store import bucket, listing
from livemem.store.bucket import ROOM_MESSAGE, message_name
from livemem.store.objects import Entry, Object, Store

logger = logging.getLogger(__name__)

WHOLE_SECONDS = 60
"""A source of which only tails are listed is listed whole again after so many seconds."""
NEWEST = 50
"""Objects that are listed at first where the newest come first: mostly few are new."""
READ_AT_ONCE = 256
"""Objects that are read and taken in between two checks of the time."""
READ_MOST = 256
"""Objects that a search reads, about 4 ms each. The indexer reads without such a bound, and writes a snapshot of them.
A snapshot may lack fewer (conversation_documents.GROWN). So nothing is left where the indexer is done, unless the time
is over before.
"""
READ_STEP = 64
"""Of them, those that are read between two looks at the time."""
READ_SECONDS = 1.0
"""Time after which a search reads no further step, but answers from what it has."""
ROUNDS = 4
"""How often objects are read once more to take a document over from another object. Each round needs a change in
between.
"""
WAIT_SECONDS = 8.0
"""For the view of a space while other threads use it. The caller has further work to do within 29 s."""
FILES_BYTES = 350_000_000
"""Of the files of all views of a process together: half of /tmp in the template, because a new snapshot needs space."""
VECTOR_BYTES = 400_000_000
"""Of the vectors of all views of a process together, in memory."""


def _etag(item: Entry | Object) -> str:
    return item.etag


Tail = tuple[str, str]
"""A prefix, and the key behind which new objects lie below it."""


@dataclass(frozen=True)
class _Listed:
    """The listed objects of a source. Not `whole` if further known objects exist."""

    entries: list[Entry]
    whole: bool = True


@dataclass(frozen=True)
class DocumentSource:
    """Objects of a space that documents are made of, all those below `prefix`.

    `everything` lists them where none of them is known; None: as they are listed otherwise. `heir`: the content of
    objects of other sources moves into these, and those objects are removed afterwards. Sources may lie within each
    other: they share the objects that were read.
    """

    prefix: str
    chosen: Callable[[list[Entry]], list[Entry]]
    """Those that documents are made of, of all that are listed."""
    read: Callable[[Object], Reading]
    everything: Callable[[], list[Entry]] | None = None
    mark: Callable[[Entry | Object], str] = _etag
    """The mark by which a listing shows that an object is another version than the one that was read."""
    heir: bool = False
    takes_away: bool = False
    """Whether an object may end what an object before it said. Such objects are always read, however many are new."""
    below: str = ""
    """The narrower prefix to list. Known objects below `prefix` but not below this one are to be forgotten."""
    newest_first: bool = False
    """Whether the newest have the first keys. They are read last, so that a view that knows one knows all before it."""
    grows: bool = False
    """Whether, besides, they are written once, and removed only all together. Then they are listed up to the newest
    known one.
    """
    newest: Callable[[], Sequence[Entry]] | None = None
    """Lists the newest where the newest come first, if the caller has them at hand."""
    tails: Callable[[Iterable[str]], list[Tail]] | None = None
    """The tails that mostly hold new objects, given the known keys. Besides, everything is listed once a minute."""

    @property
    def listed(self) -> str:
        """The prefix of the keys that are listed."""
        return self.below or self.prefix

    def all_of(self, store: Store) -> _Listed:
        """All its objects."""
        return _Listed(self.everything() if self.everything else list(store.scan(self.listed)))


def held(holds: Callable[[str], object]) -> Callable[[list[Entry]], list[Entry]]:
    """Keeps the entries of whose key `holds` gives something."""
    return lambda entries: [entry for entry in entries if holds(entry.key)]


_Listing = tuple[DocumentSource, Entry]
"""An object, and the source that it was listed for."""


@dataclass
class SearchView:
    """One space, used by one thread at a time (Views.using)."""

    uid: str
    index: Index
    segments: Segments | None
    cold: bool = True
    """Whether the current search made it."""
    snapshot: int | None = None
    """The last change in the snapshot that it was made of."""
    said: int = 0
    """How many objects of conversations that snapshot knows."""
    damaged: tuple[str, ...] = ()
    known: dict[str, dict[str, str]] = field(default_factory=dict)
    """The marks of objects by their keys, by folder."""
    timer: Callable[[], float] = time.monotonic
    unread: set[str] = field(default_factory=set)
    """The folders in which objects were listed and left unread: the newest known one says nothing of the others."""
    left: int = 0
    """How many were left unread since the caller set it to 0."""
    outdated_by: int | None = None
    """A snapshot of more objects than this of conversations and memories is worth more than the view (Views.using).
    None: the view is not behind.
    """
    read: int = 0
    """Objects that were read since the view was made, or a snapshot of it was written."""
    listed_at: dict[str, float] = field(default_factory=dict)
    """When all below a prefix was listed, by the timer."""
    bounds: dict[str, list[listing.Range]] = field(default_factory=dict)
    """The key ranges by which the next listing below a prefix runs side by side."""
    changed: int = 0
    """Counts the changes."""
    _shape: tuple[int, IndexShape] | None = None
    _before: int | None = None
    """The value of `changed` for the shape that the present shape was made of."""
    _rows: tuple[int, Pool, int, Rows] | None = None

    @property
    def vector_bytes(self) -> int:
        """Bytes of its vectors in memory."""
        return self.segments.nbytes if self.segments else 0

    def shape(self) -> IndexShape:
        """The shape of its documents, kept until they change."""
        if not self._shape or self._shape[0] != self.changed:
            touched = frozenset(self.index.touched)
            self.index.touched.clear()
            old, self._shape = self._shape, None
            self._before = old[0] if old else None
            made = shapes.updated(self.index, old[1], touched) if old else shapes.shape(self.index)
            self._shape = (self.changed, made)
        return self._shape[1]

    def apart(self, aside: str) -> IndexShape:
        """The shape of the documents that are aside under this name. It is asked for rarely, and made each time."""
        return shapes.shape(self.index, aside)

    def rows(self, pool: Pool) -> Rows:
        """The place of each passage's vector in `pool`, -1 where there is none; kept until either changes."""
        whole, kept = self.shape(), self._rows
        if kept and kept[0] == self.changed and kept[1] is pool and kept[2] == len(pool):
            return kept[3]
        rows = np.full(len(whole.hashes), -1, dtype=np.int64)
        if kept and kept[1] is pool:
            # A row of a pool never changes its vector: only passages without one, or new ones, are looked up.
            if kept[0] == self.changed:
                rows = kept[3].copy()
            elif whole.before is not None and kept[0] == self._before and len(kept[3]):
                rows = np.where(whole.before >= 0, kept[3][whole.before], -1)
        new = np.flatnonzero(rows < 0)
        rows[new] = pool.rows_of(whole.hashes[new].tolist())
        # In the order of the documents, so that a sample of them is spread over all groups and times.
        pool.show(rows[whole.corpus.counted[whole.owner] & (rows >= 0)])
        self._rows = (self.changed, pool, len(pool), rows)
        return rows

    def follow(
        self,
        store: Store,
        sources: Sequence[DocumentSource],
        in_time: Callable[[], bool],
        *,
        most: int | None = None,
    ) -> None:
        """Bring the view up to the bucket's present state.

        At `most` so many objects are read, those that were written last, besides those that move or end documents
        (DocumentSource.heir, takes_away). After READ_SECONDS no further ones are read. `left` counts the others, which
        the next call reads.

        1 LIST per 1,000 objects that are known, side by side, and 1 GET for each that is new. If objects were removed
        because they moved, their new place is listed once more, so that nothing is missed in between. Raises
        SearchNotReady when `in_time` returns false. The objects read so far are kept.
        """
        heirs = [source for source in sources if source.heir]
        rest = [source for source in sources if not source.heir]
        cold = not any(self._known(source) for source in sources)
        end = self.timer() + READ_SECONDS
        result = self._listed(store, rest if cold else sources, self.segments)
        if cold or any(self._gone(source, result) for source in rest):
            result |= self._listed(store, heirs)
        cut: list[_Listing] = []
        until = None if most is None else self.read + most
        for _ in range(ROUNDS):
            again, cut = self._take_in(store, sources, result, in_time, until, end)
            if not again:
                break
        ids = {folder_of(entry.key) for _, entry in cut}
        for source in sources:
            if result[source.prefix].whole:
                self.unread -= {folder for folder in self.unread - ids if folder.startswith(source.prefix)}
        self.left += len(cut)

    def _known(self, source: DocumentSource) -> Mapping[str, str]:
        """The marks of a source's known objects, by their keys."""
        if source.prefix in self.known:
            return self.known[source.prefix]
        folders = [marks for folder, marks in self.known.items() if folder.startswith(source.prefix)]
        return folders[0] if len(folders) == 1 else {key: mark for marks in folders for key, mark in marks.items()}

    def _listed(
        self, store: Store, sources: Sequence[DocumentSource], segments: Segments | None = None
    ) -> dict[str, _Listed]:
        """The objects below the sources' prefixes, in one round trip. New segments are read beside it."""
        now = self.timer()
        jobs = [(source.prefix, job) for source in sources for job in self._looks(store, source)]
        todo = [job for _, job in jobs]
        if segments:
            todo.append(partial(_follow, segments, store))
        pages = store.concurrently(*todo)
        parts: dict[str, list[_Listed]] = {source.prefix: [] for source in sources}
        for (prefix, _), page in zip(jobs, pages, strict=False):
            parts[prefix].append(page)
        ids = {}
        for source in sources:
            entries = [entry for page in parts[source.prefix] for entry in page.entries]
            whole = all(page.whole for page in parts[source.prefix])
            if whole:
                self.bounds[source.listed] = listing.ranges(sorted(entry.key for entry in entries))
                self.listed_at[source.listed] = now
            ids[source.prefix] = _Listed(source.chosen(entries), whole)
        return ids

    def _looks(self, store: Store, source: DocumentSource) -> list[Callable[[], _Listed]]:
        """The listings of a source that are done side by side."""
        known = self._known(source)
        if not known:
            return [lambda: source.all_of(store)]
        if source.grows and not any(folder.startswith(source.prefix) for folder in self.unread):
            return [partial(self._newest, store, source, known)]
        listed_at = self.listed_at.get(source.listed)
        if source.tails and listed_at is not None and self.timer() - listed_at < WHOLE_SECONDS:
            return [partial(_list, store, prefix, (after, ""), whole=False) for prefix, after in source.tails(known)]
        ranges = self.bounds.get(source.listed) or listing.ranges(sorted(known))
        return [partial(_list, store, source.listed, part) for part in ranges]

    @staticmethod
    def _newest(store: Store, source: DocumentSource, known: Mapping[str, str]) -> _Listed:
        newest = min(known)
        page = source.newest() if source.newest else list(store.scan(source.prefix, limit=NEWEST))
        existing = next((entry for entry in page if entry.key == newest), None)
        if existing and source.mark(existing) == known[newest]:
            return _Listed([entry for entry in page if entry.key <= newest], whole=False)
        return source.all_of(store)

    def _gone(self, source: DocumentSource, item: Mapping[str, _Listed]) -> set[str]:
        existing = item[source.prefix]
        return self._known(source).keys() - {entry.key for entry in existing.entries} if existing.whole else set()

    def _take_in(
        self,
        store: Store,
        sources: Sequence[DocumentSource],
        item: Mapping[str, _Listed],
        in_time: Callable[[], bool],
        until: int | None,
        end: float,
    ) -> tuple[bool, list[_Listing]]:
        """Read new objects, until `read` is `until` or the timer shows `end`, and forget those that are gone. Returns
        whether something must be read once more, and the listings of objects that were left unread.
        """
        new: list[_Listing] = []
        for source in sorted(sources, key=lambda source: not source.heir):
            known = self._known(source)
            entries = [entry for entry in item[source.prefix].entries if known.get(entry.key) != source.mark(entry)]
            new += [(source, entry) for entry in (reversed(entries) if source.newest_first else entries)]
        again, cut = self._read(store, new, in_time, until, end)
        for source in sources:
            gone = self._gone(source, item)
            if gone:
                unread = self._update([], sorted(gone))
                again = self._forget(unread) or again
                self._forget(gone)
        return again, cut

    def _read(
        self, store: Store, new: list[_Listing], in_time: Callable[[], bool], until: int | None, end: float
    ) -> tuple[bool, list[_Listing]]:
        cut: list[_Listing] = []
        again, step, before = False, READ_AT_ONCE, (set(self.unread), dict(self.listed_at))
        if until is not None:
            new, cut = self._bounded(new, max(until - self.read, 0))
            step = READ_STEP
        while new:
            if not in_time():
                raise SearchNotReady("The space is being read for the first time. Send the request again in a moment.")
            part, new = new[:step], new[step:]
            again = self._read_part(store, part) or again
            if new and until is not None and self.timer() >= end:
                new, further = self._bounded(new, 0)
                cut += further
        if not cut:
            self.unread, self.listed_at = before
        return again, cut

    def _read_part(self, store: Store, part: list[_Listing]) -> bool:
        """Read these objects. Returns whether something must be read once more."""
        again = False
        items = store.get_many([entry.key for _, entry in part])
        self.read += len(part)
        for source in dict.fromkeys(source for source, _ in part):
            mine = [(entry.key, item) for (one, entry), item in zip(part, items, strict=True) if one is source]
            existing = [item for _, item in mine if item]
            # Listed, and removed since: its documents are dropped.
            missing = [key for key, item in mine if not item]
            unread = self._update([source.read(item) for item in existing], missing)
            for item in existing:
                self.known.setdefault(folder_of(item.key), {})[item.key] = source.mark(item)
            again = self._forget(unread) or again
        return again

    def _bounded(self, new: list[_Listing], most: int) -> tuple[list[_Listing], list[_Listing]]:
        """The objects to read, the latest first behind those that must be read, and those to leave unread, of which
        nothing is known any more.
        """
        must = [item for item in new if item[0].heir or item[0].takes_away]
        free = [item for item in new if not (item[0].heir or item[0].takes_away)]
        # Of the same moment the last one comes first.
        free = sorted(free, key=lambda item: item[1].last_modified)[::-1]
        if len(free) > most or len(new) > READ_STEP:
            # Before anything is read: if that fails or ends, the view knows some of the newest, and not those before.
            self.unread |= {folder_of(entry.key) for _, entry in free}
            for source, _ in free:
                # Not only its tails are listed next time.
                self.listed_at.pop(source.listed, None)
        cut = free[most:]
        # Another version was read: it may hold words that were erased since.
        self.drop([entry.key for source, entry in cut if entry.key in self._known(source)])
        return must + free[:most], cut

    def _forget(self, unread: Iterable[str]) -> bool:
        """Forget these objects, so that they are read if they are listed. Returns whether there are any."""
        batch = list(unread)
        for key in batch:
            folder = folder_of(key)
            marks = self.known.get(folder, {})
            marks.pop(key, None)
            if not marks:
                self.known.pop(folder, None)
        return bool(batch)

    def forget(self, prefix: str) -> None:
        """Drop the documents of all objects below a prefix: the objects are gone."""
        self.drop([key for folder, marks in self.known.items() if folder.startswith(prefix) for key in marks])

    def drop(self, keys: Sequence[str]) -> None:
        """Drop the documents of these objects, which are outdated. They are read again if they are listed."""
        if keys:
            self._update([], list(keys))
            self._forget(keys)

    def _update(self, readings: list[Reading], gone: list[str]) -> list[str]:
        self.changed += 1
        return self.index.update(readings, gone)


def folder_of(key: str) -> str:
    """The folder under which an object's mark is kept. Folders distinguish the sources."""
    parsed = message_name(key)
    if parsed:
        return ROOM_MESSAGE.prefix(key.partition("/")[0], parsed.room)
    return bucket.searched_folder(key) or "/".join(key.split("/", 2)[:2]) + "/"


def _list(store: Store, prefix: str, part: listing.Range, *, whole: bool = True) -> _Listed:
    return _Listed(listing.entries(store, prefix, part), whole)


def _follow(segments: Segments, store: Store) -> _Listed:
    """Read new segments, which are no documents."""
    segments.follow(store)
    return _Listed([])


THROWN_AWAY = (
    "The stored search data of the space can't be used, so the space is read again. Send the request again in a moment."
)
IN_USE = "Other requests are searching the space, or it is being read. Send the request again in a moment."


class Views:
    """The views of a process, each in a file of its own. The least recently used ones are removed first."""

    def __init__(self, timer: Callable[[], float] = time.monotonic) -> None:
        """There are none yet. The folder is made when it is needed."""
        self._timer = timer
        self._views: OrderedDict[str, SearchView] = OrderedDict()
        self._lock = threading.Lock()
        self._in_use: dict[str, threading.Lock] = {}
        self._folder: TemporaryDirectory[str] | None = None
        self._made = 0

    @contextmanager
    def using(
        self, store: Store, space_id: str, uid: str, *, prefix: str = "", segments: Callable[[], Segments | None]
    ) -> Iterator[SearchView]:
        """The view of a space for as long as the context lasts, by one thread at a time. A new one is made of the
        newest snapshot. One whose file is damaged is thrown away, and so is one that is behind a newer snapshot: 1 LIST
        where it is behind the bucket. Raises SearchNotReady, also when others use it for longer than WAIT_SECONDS.
        """
        with self._lock:
            in_use = self._in_use.setdefault(space_id, threading.Lock())
        if not in_use.acquire(timeout=WAIT_SECONDS):
            raise SearchNotReady(IN_USE)
        try:
            view = self._find(space_id, uid)
            if view and view.outdated_by is not None and _is_outdated(store, space_id, view):
                self.drop(space_id)
                view = None
            view = view or self._make(store, space_id, uid, prefix, segments)
            yield view
        except (apsw.Error, OSError) as error:
            # On any fault, such as a full disk or a file that somebody touched, the next view is made again.
            logger.warning("view thrown away", extra={"space_id": space_id, "error": type(error).__name__})
            self.drop(space_id)
            raise SearchNotReady(THROWN_AWAY) from error
        else:
            view.cold = False
        finally:
            in_use.release()
        self._trim(space_id)

    def drop(self, space_id: str) -> None:
        """Forget the view of a space."""
        with self._lock:
            view = self._views.pop(space_id, None)
        if view:
            _discard(view)

    def _find(self, space_id: str, uid: str) -> SearchView | None:
        with self._lock:
            view = self._views.get(space_id)
            if view:
                self._views.move_to_end(space_id)
        if view and view.uid != uid:
            # A space of an earlier time.
            self.drop(space_id)
            return None
        return view

    def _make(
        self, store: Store, space_id: str, uid: str, prefix: str, segments: Callable[[], Segments | None]
    ) -> SearchView:
        path = self._path()
        try:
            index, loaded = _opened(store, space_id, uid, path, prefix)
        except (apsw.Error, OSError, LiveMemoryError):
            # Half a snapshot: the next try has a file of its own.
            path.unlink(missing_ok=True)
            raise
        view = SearchView(
            uid, index, segments(), snapshot=loaded.number, said=loaded.said, damaged=loaded.damaged, timer=self._timer
        )
        for key, etag in index.known().items():
            view.known.setdefault(folder_of(key), {})[key] = etag
        with self._lock:
            self._views[space_id] = view
        return view

    def _path(self) -> Path:
        with self._lock:
            if not self._folder:
                # It goes with this object, or with the process.
                self._folder = TemporaryDirectory(prefix="livemem-search-", ignore_cleanup_errors=True)
            self._made += 1
            return Path(self._folder.name) / f"{self._made}.sqlite"

    def _trim(self, keep: str) -> None:
        """Remove views until the others' files and vectors fit, but never the one that was just used."""
        with self._lock:
            files = sum(view.index.size() for view in self._views.values())
            vectors = sum(view.vector_bytes for view in self._views.values())
            doomed = []
            for space_id, view in list(self._views.items()):
                if files <= FILES_BYTES and vectors <= VECTOR_BYTES:
                    break
                in_use = self._in_use[space_id]
                if space_id != keep and in_use.acquire(blocking=False):
                    files -= view.index.size()
                    vectors -= view.vector_bytes
                    doomed.append(self._views.pop(space_id))
                    in_use.release()
        for view in doomed:
            _discard(view)


def _is_outdated(store: Store, space_id: str, view: SearchView) -> bool:
    """Whether the newest snapshot knows all that the view knows, and more: 1 LIST."""
    entries = search_snapshots.listed(store, space_id)
    if not entries or view.outdated_by is None:
        return False
    number, said, _ = entries[0]
    known = -1 if view.snapshot is None else view.snapshot
    return number >= known and said >= view.outdated_by and (number > known or said > view.outdated_by)


def _opened(store: Store, space_id: str, uid: str, path: Path, prefix: str) -> tuple[Index, search_snapshots.Loaded]:
    """The index at `path`, of the newest usable snapshot; empty if there is none."""
    loaded = search_snapshots.load(store, space_id, uid, path)
    try:
        return Index(path, prefix), loaded
    except Unusable:
        path.unlink(missing_ok=True)
        damaged = (*loaded.damaged, *([loaded.key] if loaded.key else []))
        return Index(path, prefix), search_snapshots.Loaded(None, damaged=damaged)


def _discard(view: SearchView) -> None:
    view.index.close()
    view.index.path.unlink(missing_ok=True)
