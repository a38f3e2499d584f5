"""The documents of a space as one SQLite database, filled from the bucket's objects and queried by words.

Derived state: it may lag, and can be thrown away at any time. It is not safe for threads. Its holder ensures that one
thread uses it (view.py).
"""

import json
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from livemem.search import database, words
from livemem.search.database import Unusable
from livemem.search.documents import LISTS, SPOKEN, WORDLESS, Document, Reading
from livemem.search.traits import traits
from livemem.store import vector_file
from livemem.text.items import folded

_PLACES = 1 << 20
"""More than a passage has words."""

_FIELDS = ("id", "kind", "position", "title", "time", "author", "role", "category", "expires")
"""The columns that are a document's values as they stand."""
_WORDS = ("text", "title", "time", "author", "more")
"""The values of a document without whose change its words and passages stay."""

__all__ = ["Columns", "DocumentFilter", "Index", "Passages", "Unusable"]


@dataclass(frozen=True)
class DocumentFilter:
    """Which documents may be found; None is any. `since` and `until` are inclusive, ISO 8601 in UTC."""

    kinds: tuple[str, ...] | None = None
    author: str | None = None
    category: str | None = None
    tag: str | None = None
    topic: str | None = None
    entity: str | None = None
    """Of summaries, both as items.folded gives them."""
    since: str | None = None
    until: str | None = None
    memory_kind: str | None = None
    """Of memories: `fact`, `self` or `goal`."""
    groups: tuple[str, ...] | None = None
    """`kinds` and `groups` are checked by the shape of all documents (engine.py), which has them at hand."""


class Columns(NamedTuple):
    """All documents as ranking sees them, without their texts: a list for each property."""

    numbers: Sequence[int]
    kinds: Sequence[str]
    parts: Sequence[str]
    """Their groups."""
    positions: Sequence[str]
    roles: Sequence[str]
    times: Sequence[str]
    authors: Sequence[str]
    asks: Sequence[int]
    tells: Sequence[int]
    holds: Sequence[int]
    """The last three as in traits.Traits."""


class Passages(NamedTuple):
    """All passages in the same way: their numbers, their documents' numbers, where in its text each begins, how many
    words they have, their vectors' names.
    """

    numbers: NDArray[np.int64]
    documents: NDArray[np.int64]
    beginnings: NDArray[np.int64]
    lengths: NDArray[np.int64]
    hashes: NDArray[np.object_]


class Index:
    """The database. `prefix` stands before each text that is embedded (EMBEDDINGS_TEXT_PREFIX)."""

    def __init__(self, path: Path, prefix: str = "") -> None:
        """Open the file, or make it where there is none. Raises Unusable."""
        self.path = path
        self.touched: set[int] = set()
        """The numbers of documents that were put in or removed. The view clears it after reading (view.py)."""
        self._prefix = prefix
        self._db = database.open_file(path) if path.exists() else database.create(path)
        if self.about("prefix") != prefix:
            self._name_vectors_anew()

    def close(self) -> None:
        """Close it; the file stays."""
        self._db.close()

    def _all(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        """All rows that a statement gives, as tuples."""
        return self._db.execute(statement, tuple(values)).fetchall()

    def about(self, name: str) -> str | None:
        """The note about the whole index under this name."""
        row = self._db.execute("SELECT value FROM about WHERE name = ?", (name,)).get
        return None if row is None else str(row)

    def note(self, **about: str) -> None:
        """Write notes about the whole index."""
        with self._db:
            self._db.executemany("INSERT OR REPLACE INTO about VALUES(?, ?)", about.items())

    def known(self) -> dict[str, str]:
        """The marks of the objects that are in here, by their keys."""
        return dict(self._all("SELECT key, mark FROM objects"))

    def count(self) -> int:
        """How many documents there are."""
        return int(self._db.execute("SELECT count(*) FROM documents").get)

    def size(self) -> int:
        """Bytes of the file."""
        return self.path.stat().st_size

    def update(self, readings: Sequence[Reading], gone: Iterable[str] = ()) -> list[str]:
        """Take in the readings of objects, and forget the objects that are gone, all of it or nothing.

        Returns the keys of known objects that must be read once more: they hold a document that another object stood
        for until now.
        """
        with self._db:
            touched: set[str] = set()
            for key in gone:
                touched |= self._forget(key)
            for reading in readings:
                touched |= self._forget(reading.key)
            for reading in readings:
                touched |= self._claim(reading)
            fresh = {(doc.id, reading.key): (doc, reading) for reading in readings for doc in reading.documents}
            again = {unread for name in touched if (unread := self._settle(name, fresh))}
            self._db.executemany("DELETE FROM objects WHERE key = ?", [(key,) for key in again])
        return sorted(again)

    def _forget(self, key: str) -> set[str]:
        ids = {row[0] for row in self._all("SELECT id FROM claims WHERE object = ?", (key,))}
        self._db.execute("DELETE FROM claims WHERE object = ?", (key,))
        self._db.execute("DELETE FROM objects WHERE key = ?", (key,))
        return ids

    def _claim(self, reading: Reading) -> set[str]:
        claims = {document.id: 0 for document in reading.documents} | dict.fromkeys(reading.gives_back, 1)
        self._db.executemany(
            "INSERT INTO claims VALUES(?, ?, ?, ?)",
            [(name, reading.rank, reading.key, back) for name, back in claims.items()],
        )
        self._db.execute("INSERT INTO objects VALUES(?, ?)", (reading.key, reading.mark))
        for group, moments in reading.confirmed.items():
            self._confirm(group, reading.rank, moments)
        return set(claims)

    def _confirm(self, group: str, rank: int, moments: Mapping[str, str]) -> None:
        if self._all("SELECT 1 FROM confirming WHERE part = ? AND rank > ?", (group, rank)):
            return
        self._db.execute("INSERT OR REPLACE INTO confirming VALUES(?, ?)", (group, rank))
        self._db.execute("DELETE FROM confirmed WHERE part = ?", (group,))
        rows = [(group, title, moment) for title, moment in moments.items()]
        self._db.executemany("INSERT INTO confirmed VALUES(?, ?, ?)", rows)

    def _settle(self, name: str, fresh: Mapping[tuple[str, str], tuple[Document, Reading]]) -> str | None:
        """Update a document from the object that counts. Returns that object's key if it is not at hand."""
        claims = self._all(
            "SELECT rank, object, back FROM claims WHERE id = ? ORDER BY rank DESC, object DESC", (name,)
        )
        if claims and claims[0][2]:
            # Given back last: the document is that of the live notes, if there is one.
            claims = [claim for claim in claims if claim[0] == 0]
        here = self._all("SELECT n, object FROM documents WHERE id = ?", (name,))
        if not claims:
            for row in here:
                self._remove(row[0])
            return None
        key = claims[0][1]
        if (name, key) in fresh:
            document, reading = fresh[name, key]
            self._put(document, reading, here[0][0] if here else None)
            return None
        if here and here[0][1] == key:
            return None
        return str(key)

    def _put(self, document: Document, reading: Reading, number: int | None) -> None:
        values = {name: getattr(document, name) for name in _FIELDS} | {
            "object": reading.key,
            "part": document.group,
            "source": json.dumps(dict(document.source), ensure_ascii=False),
            "aside": document.aside or ("" if _can_be_sought(document) else WORDLESS),
            **vars(traits(document.text)),
        }
        if number is not None:
            former = self.document(number)
            if any(getattr(former, name) != getattr(document, name) for name in _WORDS):
                self._remove(number)
                number = None
        if number is None:
            names = ", ".join(values)
            marks = ", ".join("?" * len(values))
            self._db.execute(f"INSERT INTO documents({names}) VALUES({marks})", tuple(values.values()))
            number = self._db.last_insert_rowid()
            more = json.dumps(dict(document.more), ensure_ascii=False) if document.more else ""
            self._db.execute("INSERT INTO texts VALUES(?, ?, ?)", (number, document.text, more))
            self._add_words(number, document)
        else:
            # A note that moves from its own object into a record: its words are here already.
            names = ", ".join(f"{name} = ?" for name in values)
            self._db.execute(f"UPDATE documents SET {names} WHERE n = ?", (*values.values(), number))  # noqa: S608
            self._db.execute("DELETE FROM tags WHERE n = ?", (number,))
            self._db.execute("DELETE FROM names WHERE n = ?", (number,))
        self.touched.add(number)
        self._db.executemany("INSERT OR IGNORE INTO tags VALUES(?, ?)", [(number, tag) for tag in document.tags])
        names_of = [("topic", name) for name in document.topics] + [("entity", name) for name in document.entities]
        self._db.executemany("INSERT OR IGNORE INTO names VALUES(?, ?, ?)", [(number, *item) for item in names_of])

    def _add_words(self, number: int, document: Document) -> None:
        heading = words.terms(document.title)
        for first, last in document.passages:
            terms = [*heading, *words.terms(document.text[first:last])]
            if document.kind in LISTS:
                # It stands above all lines once.
                heading = []
            name = vector_file.name_of(embedded(document.kind, document.title, document.text[first:last]), self._prefix)
            self._db.execute(
                "INSERT INTO passages(n, first, last, length, hash) VALUES(?, ?, ?, ?, ?)",
                (number, first, last, len(terms), name),
            )
            self._db.execute(
                "INSERT INTO words(rowid, terms) VALUES(?, ?)", (self._db.last_insert_rowid(), " ".join(terms))
            )

    def _remove(self, number: int) -> None:
        self.touched.add(number)
        self._db.execute("DELETE FROM words WHERE rowid IN (SELECT p FROM passages WHERE n = ?)", (number,))
        for table in ("passages", "tags", "names", "texts", "documents"):
            self._db.execute(f"DELETE FROM {table} WHERE n = ?", (number,))  # noqa: S608

    def _name_vectors_anew(self) -> None:
        with self._db:
            # One by one: all texts of a large space would not fit into memory.
            for (number,) in self._all("SELECT p FROM passages"):
                name = vector_file.name_of(self.texts([number])[number], self._prefix)
                self._db.execute("UPDATE passages SET hash = ? WHERE p = ?", (name, number))
        self.note(prefix=self._prefix)

    def columns(self, numbers: Sequence[int] | None = None, aside: str = "") -> Columns:
        """All documents, or the existing ones of these numbers. Those of a group stand one behind the other in its
        order. Those that are `aside` under a name, instead of all others.
        """
        result = self._some(
            "SELECT n, kind, part, position, role, time, author, asks, tells, holds FROM documents WHERE aside = ?",
            numbers,
            aside,
            " ORDER BY part, position, n",
        )
        return Columns(*zip(*result, strict=True)) if result else Columns(*[()] * len(Columns._fields))

    def passages(self, numbers: Sequence[int] | None = None, aside: str = "") -> Passages:
        """All passages, or those of these documents, in no order: sorting them here would look each one up by its
        document.
        """
        # Few documents are aside, and an index has them: it serves only where the text says `<> ''`.
        apart = "SELECT n FROM documents WHERE aside <> ''"
        those = f"IN ({apart} AND aside = ?)" if aside else f"NOT IN ({apart} AND ? = '')"
        result = self._some(f"SELECT p, n, first, length, hash FROM passages WHERE n {those}", numbers, aside)  # noqa: S608
        *columns, hashes = zip(*result, strict=True) if result else [()] * len(Passages._fields)
        names = np.empty(len(hashes), dtype=np.object_)
        names[:] = hashes
        own, documents, beginnings, lengths = (np.array(column, dtype=np.int64) for column in columns)
        return Passages(own, documents, beginnings, lengths, names)

    def _some(self, statement: str, numbers: Sequence[int] | None, aside: str, order: str = "") -> list[Any]:
        if numbers is None:
            return self._all(statement + order, (aside,))
        batch = " AND n IN (SELECT value FROM json_each(?))"
        return self._all(statement + batch + order, (aside, json.dumps(numbers)))

    def instances(self, term: str) -> NDArray[np.int64]:
        """Where a word stands, one row for each time: the number of the passage, and the place in it, in words."""
        # As one text: a row of its own for each of 10,000 instances takes Python three times as long.
        row = self._db.execute(
            "SELECT group_concat(doc * ? + offset, ' ') FROM instances WHERE term = ?", (_PLACES, term)
        ).get
        packed = np.fromstring(row or "", dtype=np.int64, sep=" ")
        return np.stack((packed // _PLACES, packed % _PLACES), axis=1)

    def holding(self, terms: Collection[str], least: int, moment: str) -> set[tuple[str, str]]:
        """The kind, and the name of what is aside (documents.Document.aside), of all documents that hold at least
        `least` of these words, and have not expired at a moment.
        """
        counts = Counter(
            number
            for term in terms
            for (number,) in self._all(
                "SELECT DISTINCT n FROM instances JOIN passages ON p = doc WHERE term = ?", (term,)
            )
        )
        numbers = [number for number, count in counts.items() if count >= least]
        result = self._all(
            "SELECT DISTINCT kind, aside FROM documents WHERE n IN (SELECT value FROM json_each(?)) "
            "AND (expires = '' OR expires > ?)",
            (json.dumps(numbers), moment),
        )
        return {(kind, aside) for kind, aside in result}

    def completions(self, beginning: str, most: int) -> list[str]:
        """The words of the index with this beginning, up to `most` of them."""
        result = self._all(
            "SELECT DISTINCT term FROM instances WHERE term >= ? AND term < ? LIMIT ?",
            # UTF-8 sorts as its characters do, so behind all that begin so.
            (beginning, beginning + chr(sys.maxunicode), most),
        )
        return [row[0] for row in result]

    def with_phrase(self, terms: Sequence[str]) -> list[int]:
        """The numbers of the documents in which these words stand one behind the other."""
        match = '"' + " ".join(terms) + '"'
        result = self._all(
            "SELECT DISTINCT n FROM words JOIN passages ON p = words.rowid WHERE words MATCH ?", (match,)
        )
        return [row[0] for row in result]

    def admitted(self, wanted: DocumentFilter) -> list[int] | None:
        """The numbers of the documents that pass the filter, its kinds and groups aside. None if all do."""
        tests = {
            "category = ?": wanted.category,
            "n IN (SELECT n FROM names WHERE kind = 'topic' AND name = ?)": wanted.topic,
            "n IN (SELECT n FROM names WHERE kind = 'entity' AND name = ?)": wanted.entity,
            "time >= ?": wanted.since,
            "time <= ? AND time <> ''": wanted.until,
            "json_extract(source, '$.kind') = ?": wanted.memory_kind,
        }
        if wanted.author is not None:
            tests["author IN (SELECT value FROM json_each(?))"] = self._alike("author", "documents", wanted.author)
        if wanted.tag is not None:
            batch = "n IN (SELECT n FROM tags WHERE tag IN (SELECT value FROM json_each(?)))"
            tests[batch] = self._alike("tag", "tags", wanted.tag)
        filled = {test: value for test, value in tests.items() if value is not None}
        values: list[str] = list(filled.values())
        conditions = list(filled)
        if not conditions:
            return None
        result = self._all(f"SELECT n FROM documents WHERE {' AND '.join(conditions)}", values)  # noqa: S608
        return [row[0] for row in result]

    def _alike(self, column: str, table: str, name: str) -> str:
        """The values of a column that are the same name (items.folded), as JSON."""
        existing = self._all(f"SELECT DISTINCT {column} FROM {table}")  # noqa: S608
        return json.dumps([item for (item,) in existing if folded(item) == folded(name)])

    def expired(self, moment: str) -> list[int]:
        """The numbers of the documents that have expired by then (documents.Document.expires)."""
        return [row[0] for row in self._all("SELECT n FROM documents WHERE expires <> '' AND expires <= ?", (moment,))]

    def document(self, number: int) -> Document:
        """A document whole."""
        *values, group, aside, source, text, more = self._all(
            f"SELECT {', '.join(_FIELDS)}, part, aside, source, text, more "  # noqa: S608
            "FROM documents JOIN texts USING(n) WHERE n = ?",
            (number,),
        )[0]
        tags = [tag for (tag,) in self._all("SELECT tag FROM tags WHERE n = ? ORDER BY tag", (number,))]
        return Document(
            **dict(zip(_FIELDS, values, strict=True)),
            text=text,
            group=group,
            aside=aside,
            tags=tuple(tags),
            source=json.loads(source),
            more=json.loads(more) if more else {},
        )

    def named(self, name: str) -> Document | None:
        """The document of this id, or None."""
        number = self.number(name)
        return None if number is None else self.document(number)

    def sources(self, kind: str) -> list[tuple[str, dict[str, str]]]:
        """The group and the source of each document of a kind, in their order."""
        result = self._all("SELECT part, source FROM documents WHERE kind = ? ORDER BY part, position, n", (kind,))
        return [(group, json.loads(source)) for group, source in result]

    def number(self, name: str) -> int | None:
        """The number of the document of this id, or None."""
        row = self._db.execute("SELECT n FROM documents WHERE id = ?", (name,)).get
        return None if row is None else int(row)

    def confirmed_at(self, document: Document) -> str | None:
        """When the document was last confirmed (documents.Reading). None where no object tells it."""
        wanted = document.group, document.title
        row = self._db.execute("SELECT moment FROM confirmed WHERE part = ? AND title = ?", wanted).get
        return None if row is None else str(row)

    def told_of(self, group: str, names: Collection[str]) -> dict[str, str]:
        """What an object tells of names in a group (`documents.Reading.confirmed`)."""
        rows = self._all("SELECT title, moment FROM confirmed WHERE part = ?", (group,)) if names else []
        return {str(name): str(told) for name, told in rows if name in names}

    def texts(self, numbers: Collection[int]) -> dict[int, str]:
        """The texts that are embedded for passages, by their numbers."""
        result: dict[int, str] = {}
        for number in numbers:
            kind, title, text, first, last = self._all(
                "SELECT kind, title, text, first, last "
                "FROM passages JOIN documents USING(n) JOIN texts USING(n) WHERE p = ?",
                (number,),
            )[0]
            result[number] = embedded(kind, title, text[first:last])
        return result

    def copy_to(self, path: Path) -> None:
        """Write the database to a file of its own, as small as it can be."""
        with self._db:
            self._db.execute("INSERT INTO words(words) VALUES('optimize')")
        self._db.execute("VACUUM INTO ?", (str(path),))


def _can_be_sought(document: Document) -> bool:
    """Whether it has a word to look for. Small talk in a conversation has none, but the writer of a note means it."""
    has_words = words.says_something if document.kind in SPOKEN else words.has_words
    return has_words(document.text) or has_words(document.title)


def embedded(kind: str, title: str, text: str) -> str:
    """The text of a passage for the model. The title before it names its subject; of a line its own heading is enough,
    all headings would say more than the line.
    """
    if kind in LISTS:
        title = title.rpartition(" > ")[2]
    return f"{title}\n{text}" if title else text
