"""A view: the documents of one space as this process knows them, which follows the bucket.

Each search lists the space's prefixes, compares keys and ETags, reads what is new and drops what went. So it may lag
within a search, and converges with each one. Whatever goes wrong with its file, it is thrown away and made anew.
"""

import logging
import shutil
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import apsw

from livemem.errors import LiveMemoryError, SearchNotReady
from livemem.search import engine, snapshots
from livemem.search.documents import Reading
from livemem.search.engine import Shape
from livemem.search.index import Index, Unusable
from livemem.search.segments import Segments
from livemem.search.vectors import Pool, Rows
from livemem.store import conversation_keys, listing
from livemem.store.objects import Entry, Object, Store

logger = logging.getLogger(__name__)

NEWEST = 50
"""Objects that are listed at first where the newest come first: mostly few are new."""
READ_AT_ONCE = 256
"""Objects that are read and taken in between two looks at the time."""
ROUNDS = 4
"""How often what another object told of until now is read once more: each round needs a change in between."""
FILES_BYTES = 350_000_000
"""Of the files of all views of a process together: of /tmp in the template half, as a new snapshot needs its place."""


def _etag(item: Entry | Object) -> str:
    return item.etag


@dataclass(frozen=True)
class Source:
    """Objects of a space that documents are made of, all those below `prefix`.

    `everything` lists them where nothing is known of them. `heir`: what is in objects of other sources moves into
    these, and is removed there afterwards. Sources may lie within each other: what one of them has read, the other
    knows too.
    """

    prefix: str
    chosen: Callable[[list[Entry]], list[Entry]]
    """Those that documents are made of, of all that are listed."""
    read: Callable[[Object], Reading]
    everything: Callable[[], list[Entry]]
    mark: Callable[[Entry | Object], str] = _etag
    """What says, in a listing, whether the object is another one than that which was read."""
    heir: bool = False
    below: str = ""
    """What is listed, where it is but a part of what lies below the prefix; the rest is to be forgotten."""
    newest_first: bool = False
    """Whether the newest have the first keys. They are read last, so that whoever knows one knows all before it."""
    grows: bool = False
    """Whether, besides, they are written once, and removed only all together: then they are listed up to the newest one
    that is known.
    """


def held(holds: Callable[[str], bool]) -> Callable[[list[Entry]], list[Entry]]:
    """Those whose key `holds` says yes to."""
    return lambda entries: [entry for entry in entries if holds(entry.key)]


@dataclass(frozen=True)
class _Listed:
    """What there is of a source; `whole` unless others that are known are there too."""

    entries: list[Entry]
    whole: bool = True


@dataclass
class View:
    """One space; used by one thread at a time (Views.using)."""

    uid: str
    index: Index
    segments: Segments | None
    cold: bool = True
    """Whether it was made by this very search."""
    snapshot: int | None = None
    """The change up to which the snapshot goes that it was made of."""
    damaged: tuple[str, ...] = ()
    known: dict[str, dict[str, str]] = field(default_factory=dict)
    """The marks of objects by their keys, by folder."""
    bounds: dict[str, list[listing.Range]] = field(default_factory=dict)
    """How the last listing below a prefix is done again side by side."""
    changed: int = 0
    """Counts the changes."""
    _shape: tuple[int, Shape] | None = None
    _rows: tuple[int, Pool, int, Rows] | None = None

    def shape(self) -> Shape:
        """The shape of its documents, kept until they change."""
        if not self._shape or self._shape[0] != self.changed:
            self._shape = (self.changed, engine.shape(self.index))
        return self._shape[1]

    def rows(self, pool: Pool) -> Rows:
        """Where the vector of each passage is in `pool`, -1 where there is none; kept until either changes."""
        kept = self._rows
        if not kept or kept[0] != self.changed or kept[1] is not pool or kept[2] != len(pool):
            kept = self._rows = (self.changed, pool, len(pool), pool.rows_of(self.shape().hashes))
        return kept[3]

    def follow(self, store: Store, sources: Sequence[Source], in_time: Callable[[], bool]) -> None:
        """Bring it to what the bucket holds now.

        1 LIST per 1,000 objects that are known, side by side, and 1 GET for each that is new. Objects that were removed
        because they moved are looked for once more where they moved to, so that nothing is missed in between. Raises
        SearchNotReady when `in_time` says no: what was read so far is kept.
        """
        heirs = [source for source in sources if source.heir]
        others = [source for source in sources if not source.heir]
        cold = not any(self._known(source) for source in sources)
        found = self._listed(store, others if cold else sources, self.segments)
        if cold or any(self._gone(source, found) for source in others):
            found |= self._listed(store, heirs)
        for _ in range(ROUNDS):
            again = self._take_in(store, sources, found, in_time)
            if not again:
                return

    def _known(self, source: Source) -> Mapping[str, str]:
        """The marks of what is known of a source, by their keys."""
        if source.prefix in self.known:
            return self.known[source.prefix]
        folders = [marks for folder, marks in self.known.items() if folder.startswith(source.prefix)]
        return folders[0] if len(folders) == 1 else {key: mark for marks in folders for key, mark in marks.items()}

    def _listed(self, store: Store, sources: Sequence[Source], segments: Segments | None = None) -> dict[str, _Listed]:
        """What there is below the sources' prefixes, in one round trip; new segments are read beside it."""
        jobs = [(source, part) for source in sources for part in self._parts(source)]
        todo: list[Callable[[], _Listed]] = [partial(self._list_part, store, *job) for job in jobs]
        if segments:
            todo.append(partial(_follow, segments, store))
        pages = store.map(lambda job: job(), todo)
        parts: dict[str, list[_Listed]] = {source.prefix: [] for source in sources}
        for (source, _), page in zip(jobs, pages, strict=False):
            parts[source.prefix].append(page)
        found = {}
        for source in sources:
            entries = [entry for page in parts[source.prefix] for entry in page.entries]
            whole = all(page.whole for page in parts[source.prefix])
            if whole:
                self.bounds[source.below or source.prefix] = listing.ranges(sorted(entry.key for entry in entries))
            found[source.prefix] = _Listed(source.chosen(entries), whole)
        return found

    def _parts(self, source: Source) -> list[listing.Range | None]:
        known = self._known(source)
        if not known or source.grows:
            return [None]
        return [*(self.bounds.get(source.below or source.prefix) or listing.ranges(sorted(known)))]

    def _list_part(self, store: Store, source: Source, part: listing.Range | None) -> _Listed:
        if part:
            return _Listed(listing.listed(store, source.below or source.prefix, part))
        known = self._known(source)
        if known:
            newest = min(known)
            page = list(store.scan(source.prefix, limit=NEWEST))
            last = next((entry for entry in page if entry.key == newest), None)
            if last and source.mark(last) == known[newest]:
                return _Listed([entry for entry in page if entry.key <= newest], whole=False)
        return _Listed(source.everything())

    def _gone(self, source: Source, found: Mapping[str, _Listed]) -> set[str]:
        there = found[source.prefix]
        return self._known(source).keys() - {entry.key for entry in there.entries} if there.whole else set()

    def _take_in(
        self, store: Store, sources: Sequence[Source], found: Mapping[str, _Listed], in_time: Callable[[], bool]
    ) -> bool:
        """Read what is new and forget what is gone; whether something must be read once more."""
        again = False
        for source in sorted(sources, key=lambda source: not source.heir):
            known = self._known(source)
            listed = found[source.prefix].entries
            new = [entry.key for entry in listed if known.get(entry.key) != source.mark(entry)]
            for some in _batches(new[::-1] if source.newest_first else new):
                if not in_time():
                    raise SearchNotReady("The space is being read for the first time; ask again in a moment.")
                items = [item for item in store.get_many(some) if item]
                # Listed, and removed since: what it told of is told of no more.
                missing = set(some) - {item.key for item in items}
                unread = self._update([source.read(item) for item in items], sorted(missing))
                for item in items:
                    self.known.setdefault(folder_of(item.key), {})[item.key] = source.mark(item)
                again = self._forget(unread) or again
        for source in sources:
            gone = self._gone(source, found)
            if gone:
                unread = self._update([], sorted(gone))
                again = self._forget(unread) or again
                self._forget(gone)
        return again

    def _forget(self, unread: Iterable[str]) -> bool:
        """Know nothing of these objects any more, so that they are read if they are listed; whether there are any."""
        some = list(unread)
        for key in some:
            folder = folder_of(key)
            marks = self.known.get(folder, {})
            marks.pop(key, None)
            if not marks:
                self.known.pop(folder, None)
        return bool(some)

    def forget(self, prefix: str) -> None:
        """Drop what was read of all objects below a prefix: they are gone."""
        gone = [key for folder, marks in self.known.items() if folder.startswith(prefix) for key in marks]
        if gone:
            self._update([], gone)
            self._forget(gone)

    def _update(self, readings: list[Reading], gone: list[str]) -> list[str]:
        self.changed += 1
        return self.index.update(readings, gone)


def folder_of(key: str) -> str:
    """Where what is known of an object is kept: sources are told apart by the folders that they follow."""
    return conversation_keys.searched_folder(key) or "/".join(key.split("/", 2)[:2]) + "/"


def _batches(some: Sequence[str]) -> Iterator[Sequence[str]]:
    return (some[start : start + READ_AT_ONCE] for start in range(0, len(some), READ_AT_ONCE))


def _follow(segments: Segments, store: Store) -> _Listed:
    """Read new segments, which are no documents."""
    segments.follow(store)
    return _Listed([])


THROWN_AWAY = "What was kept of the space for searches can't be used; it is read anew, so ask again in a moment."


class Views:
    """The views of a process: each in a file of its own, those that were not used for longest go first."""

    def __init__(self, _: object = None) -> None:
        """None yet; the folder is made when it is needed."""
        self._views: OrderedDict[str, View] = OrderedDict()
        self._lock = threading.Lock()
        self._in_use: dict[str, threading.Lock] = {}
        self._folder: Path | None = None
        self._made = 0

    @contextmanager
    def using(
        self, store: Store, space_id: str, uid: str, *, prefix: str = "", segments: Callable[[], Segments | None]
    ) -> Iterator[View]:
        """The view of a space for as long as the context lasts, by one thread at a time: a new one is made of the
        newest snapshot. One whose file turns out to be damaged is thrown away.
        """
        with self._lock:
            in_use = self._in_use.setdefault(space_id, threading.Lock())
        with in_use:
            try:
                view = self._find(space_id, uid) or self._make(store, space_id, uid, prefix, segments)
                yield view
            except apsw.Error as error:
                # Whatever it is, a full disk or a file that somebody touched: the next one begins anew.
                logger.warning("view thrown away", extra={"space_id": space_id, "error": type(error).__name__})
                self.drop(space_id)
                raise SearchNotReady(THROWN_AWAY) from error
            else:
                view.cold = False
        self._trim(space_id)

    def drop(self, space_id: str) -> None:
        """Forget the view of a space."""
        with self._lock:
            view = self._views.pop(space_id, None)
        if view:
            _discard(view)

    def _find(self, space_id: str, uid: str) -> View | None:
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
    ) -> View:
        path = self._path()
        try:
            index, loaded = _opened(store, space_id, uid, path, prefix)
        except (apsw.Error, LiveMemoryError):
            # Half a snapshot: the next try has a file of its own.
            path.unlink(missing_ok=True)
            raise
        view = View(uid, index, segments(), snapshot=loaded.number, damaged=loaded.damaged)
        for key, etag in index.known().items():
            view.known.setdefault(folder_of(key), {})[key] = etag
        with self._lock:
            self._views[space_id] = view
        return view

    def _path(self) -> Path:
        with self._lock:
            if not self._folder:
                self._folder = Path(tempfile.mkdtemp(prefix="livemem-search-"))
            self._made += 1
            return self._folder / f"{self._made}.sqlite"

    def _trim(self, keep: str) -> None:
        """Remove views until the others' files have room; never the one that was just used."""
        with self._lock:
            total = sum(view.index.size() for view in self._views.values())
            doomed = []
            for space_id, view in list(self._views.items()):
                if total <= FILES_BYTES:
                    break
                in_use = self._in_use[space_id]
                if space_id != keep and in_use.acquire(blocking=False):
                    total -= view.index.size()
                    doomed.append(self._views.pop(space_id))
                    in_use.release()
        for view in doomed:
            _discard(view)

    def close(self) -> None:
        """Remove all files."""
        with self._lock:
            views, self._views = list(self._views.values()), OrderedDict()
        for view in views:
            view.index.close()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)


def _opened(store: Store, space_id: str, uid: str, path: Path, prefix: str) -> tuple[Index, snapshots.Loaded]:
    """The index at `path`, of the newest snapshot that can be used; empty where there is none."""
    loaded = snapshots.load(store, space_id, uid, path)
    try:
        return Index(path, prefix), loaded
    except Unusable:
        path.unlink(missing_ok=True)
        damaged = (*loaded.damaged, *([loaded.key] if loaded.key else []))
        return Index(path, prefix), snapshots.Loaded(None, None, damaged)


def _discard(view: View) -> None:
    view.index.close()
    view.index.path.unlink(missing_ok=True)
