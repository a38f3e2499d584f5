"""The SQLite database of a view: its tables, and the error for one that is unusable.

FTS5 must be the same everywhere. Python's own SQLite differs from build to build, so `apsw` brings one.
"""

from pathlib import Path

import apsw

SCHEMA = 19
"""Grows with every change of the tables, of the indexed terms of a text, or of the documents made from objects."""

_TABLES = """
CREATE TABLE about(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
-- What of the bucket is in here.
CREATE TABLE objects(key TEXT PRIMARY KEY, mark TEXT NOT NULL) WITHOUT ROWID;
-- Which objects tell of a document (documents.Reading).
CREATE TABLE claims(
    id TEXT NOT NULL, rank INTEGER NOT NULL, object TEXT NOT NULL, back INTEGER NOT NULL, PRIMARY KEY(id, rank, object)
) WITHOUT ROWID;
CREATE INDEX claims_of ON claims(object);
CREATE TABLE documents(
    n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, object TEXT NOT NULL, kind TEXT NOT NULL,
    part TEXT NOT NULL, position TEXT NOT NULL, title TEXT NOT NULL, time TEXT NOT NULL, author TEXT NOT NULL,
    role TEXT NOT NULL, category TEXT NOT NULL, source TEXT NOT NULL, expires TEXT NOT NULL,
    -- What is not ranked with the others (documents.Document.aside).
    aside TEXT NOT NULL,
    -- What the text is like (traits.Traits).
    asks INTEGER NOT NULL, tells INTEGER NOT NULL, holds INTEGER NOT NULL
);
-- Apart from the rest, which is read whole whenever something has changed.
CREATE TABLE texts(n INTEGER PRIMARY KEY, text TEXT NOT NULL, more TEXT NOT NULL);
CREATE INDEX documents_in_order ON documents(part, position, n);
CREATE INDEX documents_expiring ON documents(expires) WHERE expires <> '';
CREATE INDEX documents_aside ON documents(aside) WHERE aside <> '';
-- When documents of a group were last confirmed, from the object of the highest rank that tells it.
CREATE TABLE confirming(part TEXT PRIMARY KEY, rank INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE confirmed(
    part TEXT NOT NULL, title TEXT NOT NULL, moment TEXT NOT NULL, PRIMARY KEY(part, title)
) WITHOUT ROWID;
CREATE TABLE tags(n INTEGER NOT NULL, tag TEXT NOT NULL, PRIMARY KEY(tag, n)) WITHOUT ROWID;
CREATE INDEX tags_of ON tags(n);
-- Topics and entities of summaries.
CREATE TABLE names(
    n INTEGER NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, PRIMARY KEY(kind, name, n)
) WITHOUT ROWID;
CREATE INDEX names_of ON names(n);
CREATE TABLE passages(
    p INTEGER PRIMARY KEY, n INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, length INTEGER NOT NULL,
    hash BLOB NOT NULL
);
CREATE INDEX passages_of ON passages(n);
CREATE VIRTUAL TABLE words USING fts5(terms, content='', contentless_delete=1, tokenize='ascii');
"""


_LOOK = "CREATE VIRTUAL TABLE temp.instances USING fts5vocab(main, words, instance)"
"""Not part of the file: a look into the index, by word."""


class Unusable(Exception):
    """The file is no database of this schema, or is damaged."""


def create(path: Path) -> apsw.Connection:
    """A new database at `path`, where there must be none."""
    db = _connect(path, apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
    with db:
        db.execute(_TABLES)
        db.execute("INSERT INTO about VALUES('schema', ?)", (str(SCHEMA),))
    db.execute(_LOOK)
    return db


def open_file(path: Path) -> apsw.Connection:
    """The database at `path`, whose bytes were checked before. Raises Unusable after closing it."""
    db = None
    try:
        db = _connect(path, apsw.SQLITE_OPEN_READWRITE)
        row = db.execute("SELECT value FROM about WHERE name = 'schema'").get
        if row != str(SCHEMA):
            raise Unusable("another schema")
        db.execute(_LOOK)
    except (apsw.Error, Unusable) as error:
        if db:
            db.close()
        raise Unusable(type(error).__name__) from error
    return db


def _connect(path: Path, flags: int) -> apsw.Connection:
    # A file is used by one connection, and thrown away whenever anything goes wrong with it: nothing has to outlive a
    # crash, but a transaction that failed must leave the tables as they were.
    db = apsw.Connection(str(path), flags=flags)
    for setting in ("journal_mode = MEMORY", "synchronous = OFF", "trusted_schema = OFF", "cache_size = -16000"):
        db.execute(f"PRAGMA {setting}")
    return db
