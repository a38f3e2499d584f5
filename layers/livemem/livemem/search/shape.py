"""The shape of all documents of a view, independent of the question. It is made once, and then updated with changes."""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray

from livemem.search import ranking
from livemem.search.documents import LISTS, PERSON, SPOKEN
from livemem.search.index import Columns, Index, Passages
from livemem.search.ranking import Corpus, Instances

Numbers = NDArray[np.int64]

DERIVED = {"summary"}
"""The kinds of documents that say again what others say. Only the others count for the rarity of words, and for the
lens through which vectors are compared.
"""
SILENT = {"tool", "system"}
"""Roles in which nobody speaks."""
ROLES = {"user": ranking.USER, "assistant": ranking.ASSISTANT}
SESSION_SECONDS = 3_600.0
"""A pause of this length in what was said ends a session. What follows is no neighbour of what was before: people have
moved on to other subjects. Neighbours and the part `group` of the ranking are those of the session. Notes of what
several people said without such a pause are a talk too.
"""
KEPT_BYTES = 16 << 20
"""Of the places of words in memory."""
FEW = 2_000
"""Up to so many changed documents are put in among the others. For more, the shape is made from all."""


@dataclass(frozen=True)
class DocumentTable:
    """Documents in the order of ranking, which is by group, then position, then number: a value of each property for
    every one.
    """

    order: Sequence[tuple[str, str, int]]
    """Group, position and number."""
    documents: Numbers
    """The numbers in the index."""
    authors: Sequence[str]
    author: Numbers
    """The author's place in `authors`."""
    kinds: Sequence[str]
    kind: Numbers
    """The kind's place in `kinds`."""
    groups: dict[str, int]
    """Numbers of the groups, in no order."""
    group: Numbers
    """The number of the group."""
    spoken: NDArray[np.bool_]
    """Whether somebody said it, to a model or to others, in a conversation or a room."""
    quoted: NDArray[np.bool_]
    """Whether it is a note of what a person said."""
    roles: NDArray[np.int8]
    """Its own role; `corpus` has those that count (`_heard`)."""
    times: NDArray[np.float64]
    asks: NDArray[np.bool_]
    tells: NDArray[np.bool_]
    """Its own traits; `corpus` has those that count, of what was said."""
    holds: NDArray[np.int8]

    def of_groups(self, groups: Collection[str]) -> NDArray[np.bool_]:
        """Whether each document is of one of these groups."""
        return np.isin(self.group, [self.groups[group] for group in groups if group in self.groups])

    def of_kinds(self, kinds: Collection[str]) -> NDArray[np.bool_]:
        """Whether each document is of one of these kinds."""
        return np.isin(self.kind, [place for place, name in enumerate(self.kinds) if name in kinds])


@dataclass(frozen=True)
class IndexShape(DocumentTable):
    """All documents and passages; `passages` are the passages' numbers in the index."""

    passages: Numbers
    hashes: NDArray[np.object_]
    owner: Numbers
    corpus: Corpus
    before: Numbers | None
    """Of every passage its place in the shape that this one was made of, -1 if it is new. None if it was made of none.
    """
    beginnings: Numbers
    lengths: Numbers
    document_at: Numbers
    passage_at: Numbers
    kept: LRUCache[str, Instances] = field(
        default_factory=lambda: LRUCache(KEPT_BYTES, getsizeof=lambda entry: entry[0].nbytes + entry[1].nbytes + 200)
    )
    """The places of words of earlier questions."""

    def documents_at(self, numbers: Sequence[int]) -> Numbers:
        """The places of those documents of these numbers that are in the shape."""
        places = _looked_up(self.document_at, np.asarray(numbers, dtype=np.int64))
        return places[places >= 0]

    def passages_at(self, numbers: Numbers) -> Numbers:
        """The places of passages by their numbers; -1 for those that are not in the shape."""
        return _looked_up(self.passage_at, numbers)


def shape(index: Index, aside: str = "") -> IndexShape:
    """The shape of all that is in the index, without what is aside; or of that alone which is `aside` under a name."""
    documents = _documents(index.columns(aside=aside))
    return _made(documents, index.passages(aside=aside), before=None)


def updated(index: Index, old: IndexShape, touched: AbstractSet[int]) -> IndexShape:
    """The same, if only the documents with these numbers may differ from those of `old`, or be gone."""
    if len(touched) > FEW:
        return shape(index)
    numbers = sorted(touched)
    fresh = _documents(index.columns(numbers), old)
    gone = np.zeros(len(old.documents), dtype=np.bool_)
    gone[old.documents_at(numbers)] = True
    new = index.passages(numbers)
    stays = np.flatnonzero(~gone[old.owner])
    kept = [array[stays] for array in (old.passages, old.documents[old.owner], old.beginnings, old.lengths, old.hashes)]
    before = np.concatenate([stays, np.full(len(new.numbers), -1, dtype=np.int64)])
    parts: Iterator[Any] = map(np.concatenate, zip(kept, new, strict=True))
    return _made(_merged(old, ~gone, fresh), Passages(*parts), before=before)


def _merged(old: IndexShape, stays: NDArray[np.bool_], fresh: DocumentTable) -> DocumentTable:
    """The documents that stay, with the new ones among them."""
    order = [item for item, kept in zip(old.order, stays.tolist(), strict=True) if kept]
    at = np.array([bisect_left(order, item) for item in fresh.order], dtype=np.int64)
    columns: dict[str, Any] = {
        name: np.insert(getattr(old, name)[stays], at, values)
        for name, values in vars(fresh).items()
        if isinstance(values, np.ndarray)
    }
    return replace(fresh, order=sorted([*order, *fresh.order]), **columns)


def _documents(rows: Columns, old: DocumentTable | None = None) -> DocumentTable:
    """The rows of the index as documents, in their order. Authors, kinds and groups keep the numbers that they have in
    an `old` table.
    """
    authors, author = _numbered(old.authors if old else (), rows.authors)
    kinds, kind = _numbered(old.kinds if old else (), rows.kinds)
    groups, group = _numbered(old.groups if old else (), rows.parts)
    said = zip(rows.kinds, rows.roles, strict=True)
    spoken = np.array([kind in SPOKEN and role not in SILENT for kind, role in said], dtype=np.bool_)
    return DocumentTable(
        list(zip(rows.parts, rows.positions, rows.numbers, strict=True)),
        np.array(rows.numbers, dtype=np.int64),
        list(authors),
        author,
        list(kinds),
        kind,
        groups,
        group,
        spoken,
        np.array([role == PERSON for role in rows.roles], dtype=np.bool_),
        np.array([ROLES.get(role, ranking.NO_ROLE) for role in rows.roles], dtype=np.int8),
        seconds(rows.times),
        np.array(rows.asks, dtype=np.bool_),
        np.array(rows.tells, dtype=np.bool_),
        np.array(rows.holds, dtype=np.int8),
    )


def _numbered(known: Iterable[str], names: Sequence[str]) -> tuple[dict[str, int], Numbers]:
    """The numbers of names, those that are known first, and the number of each of `names`."""
    numbers = {name: place for place, name in enumerate(known)}
    for name in names:
        numbers.setdefault(name, len(numbers))
    return numbers, np.array([numbers[name] for name in names], dtype=np.int64)


def _made(documents: DocumentTable, passages: Passages, *, before: Numbers | None) -> IndexShape:
    """The shape of documents in their order, and of passages in any order."""
    document_at = _places(documents.documents)
    owner = document_at[passages.documents]
    order = np.lexsort((passages.beginnings, owner))
    owner, numbers, lengths = owner[order], passages.numbers[order], passages.lengths[order]
    talks = _talks(documents)
    told = _answered(documents) | talks
    corpus = ranking.corpus(
        owner.astype(np.int32),
        lengths.astype(np.int32),
        np.cumsum(_begins(documents, documents.spoken | talks), dtype=np.int32),
        _heard(documents),
        documents.times,
        # Whether a text asks, or speaks of its author, matters only if somebody said it to somebody.
        documents.asks & told,
        documents.tells & told,
        documents.holds,
        told,
        documents.of_kinds(DERIVED),
        documents.of_kinds(LISTS),
    )
    return IndexShape(
        **vars(documents),
        passages=numbers,
        hashes=passages.hashes[order],
        owner=owner,
        corpus=corpus,
        before=None if before is None else before[order],
        beginnings=passages.beginnings[order],
        lengths=lengths,
        document_at=document_at,
        passage_at=_places(numbers),
    )


def _begins(documents: DocumentTable, mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Of every document whether another group, or another session of what was said, begins with it."""
    new = np.zeros(len(documents.documents), dtype=np.bool_)
    pause = mask[1:] & (np.diff(documents.times) > SESSION_SECONDS)
    new[1:] = (documents.group[1:] != documents.group[:-1]) | pause
    return new


def _talks(documents: DocumentTable) -> NDArray[np.bool_]:
    """Of every document whether it is a note of a talk: of what several people said, one soon after the other."""
    quoted = documents.quoted
    if not quoted.any():
        return quoted
    # Another talk begins where a group or a session does, and where notes begin that nobody said.
    talk = np.cumsum(_begins(documents, quoted) | np.append(True, quoted[1:] != quoted[:-1]))
    speakers = np.unique(np.stack([talk[quoted], documents.author[quoted]]), axis=1)
    several = np.bincount(speakers[0], minlength=int(talk[-1]) + 1) > 1
    mask: NDArray[np.bool_] = quoted & several[talk]
    return mask


def _answered(documents: DocumentTable) -> NDArray[np.bool_]:
    """Of every document whether it was said where more than one speaks: several people, or one and an assistant."""
    spoken = documents.spoken
    if not spoken.any():
        return spoken
    sides = np.stack([documents.group[spoken], documents.author[spoken], documents.roles[spoken]])
    several = np.bincount(np.unique(sides, axis=1)[0], minlength=len(documents.groups)) > 1
    mask: NDArray[np.bool_] = spoken & several[documents.group]
    return mask


def _heard(documents: DocumentTable) -> NDArray[np.int8]:
    """The roles that count: none in a conversation in which several people speak and no assistant. They speak to each
    other, so a question is no statement about the one who asks, and the answer to it comes from another person.
    """
    count = len(documents.groups)
    with_assistant = np.zeros(count, dtype=np.bool_)
    with_assistant[documents.group[documents.roles == ranking.ASSISTANT]] = True
    of_people = documents.roles == ranking.USER
    speakers = np.unique(np.stack([documents.group[of_people], documents.author[of_people]]), axis=1)
    several = np.bincount(speakers[0], minlength=count) > 1
    alone = (several & ~with_assistant)[documents.group]
    return np.where(alone, np.int8(ranking.NO_ROLE), documents.roles)


def _places(numbers: Numbers) -> Numbers:
    places = np.full(int(numbers.max(initial=0)) + 1, -1, dtype=np.int64)
    places[numbers] = np.arange(len(numbers))
    return places


def _looked_up(places: Numbers, numbers: Numbers) -> Numbers:
    """The places of these numbers, -1 where there is none."""
    values = np.full(len(numbers), -1, dtype=np.int64)
    known = numbers < len(places)
    values[known] = places[numbers[known]]
    return values


def seconds(times: Sequence[str]) -> NDArray[np.float64]:
    """Times (ISO 8601, UTC, with `Z`) as seconds since 1970; NaN for an empty one."""
    moments = np.array([time.removesuffix("Z") for time in times], dtype="datetime64[s]")
    return np.where(np.isnat(moments), np.nan, moments.astype(np.int64).astype(np.float64))
