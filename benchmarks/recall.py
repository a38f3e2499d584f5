"""How much of what answers a question stands among the first documents: the ranking of the service over data sets.

`python -m benchmarks.recall --data FOLDER...` prints recall @5, @10, @25 and @50 of every folder, with vectors and
without, of all parts together, of each alone and of all but one, and the time of a query. `--choose` also chooses the
weights anew on four fifths of the conversations and measures on the rest, five times. `--through http` asks the same
questions of a local service over HTTP (recall_http.py). `--conversations` and `--questions` take a part of each folder.
docs/recall.md describes the folders. Nothing is fetched.
"""

import argparse
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field, ValidationError

from livemem.search import passages, ranking, words
from livemem.search import vectors as whitened
from livemem.search.traits import traits

FIRST = (5, 10, 25, 50)
OF_VECTORS = ("cosine", "around", "replies")
FOLDS = 5
ROLES = {"user": ranking.USER, "assistant": ranking.ASSISTANT}
TIMES = ("%I:%M %p on %d %B, %Y", "%B-%d-%Y")
NOWHERE = (np.zeros(0, np.int32), np.zeros(0, np.int32))

Floats = NDArray[np.float32]
Recall = NDArray[np.float64]


class Unusable(Exception):
    """A folder that holds no data set; the message is the sentence for the user."""


class Document(BaseModel):
    """One document of a data set."""

    text: str
    time: str = ""
    session: int
    role: str = ""


class Question(BaseModel):
    """One question: its evidence are indexes into the documents of its conversation."""

    text: str
    evidence: list[int] = Field(min_length=1)


class Conversation(BaseModel):
    """Documents in their order and what is asked of them."""

    documents: list[Document] = Field(min_length=1)
    questions: list[Question]

    @property
    def authors(self) -> list[str]:
        """Of every document who speaks: `Name: ` at the beginning of a text without a role, if all of them begin so.
        A text that nobody said may begin with `Note: `.
        """
        named = [None if one.role else re.match(r"(\w+): ", one.text) for one in self.documents]
        talk = all(name or one.role for name, one in zip(named, self.documents, strict=True))
        return [name[1] if talk and name else "" for name in named]


class Dataset(BaseModel):
    """`dataset.json`."""

    name: str
    conversations: list[Conversation] = Field(min_length=1)


@dataclass(frozen=True)
class Asked:
    """One question, ranked: its parts (each of spread 1) by document, in the order of `ranking.WEIGHTS`."""

    conversation: int
    evidence: NDArray[np.int64]
    parts: Floats


@dataclass(frozen=True)
class View:
    """A conversation as the service would hold it."""

    corpus: ranking.Corpus
    postings: Mapping[str, ranking.Instances]
    authors: Sequence[str]
    vectors: Floats
    lens: whitened.Lens
    lengths: Floats


class Loaded(NamedTuple):
    """A folder: its data set, the vectors of its questions and of its passages (else of documents), and the document of
    each of these, counted over all conversations.
    """

    dataset: Dataset
    questions: Floats
    vectors: Floats
    owner: NDArray[np.int64]


def read(folder: Path) -> Loaded:
    """A folder's content. Raises Unusable."""
    try:
        dataset = Dataset.model_validate_json((folder / "dataset.json").read_bytes())
        with (folder / "minilm-l6-v2.npz").open("rb") as opened, np.load(opened) as file:
            whole, questions = file["T"].astype(np.float32), file["Q"].astype(np.float32)
        owner = np.arange(len(whole))
        if (folder / "passages-minilm-l6-v2.npz").exists():
            with (folder / "passages-minilm-l6-v2.npz").open("rb") as opened, np.load(opened) as file:
                whole, owner = file["P"].astype(np.float32), file["document"].astype(np.int64)
    except (OSError, ValueError, KeyError, BadZipFile) as error:
        kind = "does not fit the format" if isinstance(error, ValidationError | KeyError) else "cannot be read"
        raise Unusable(f"{folder}: no data set, a file {kind} (docs/recall.md describes it).") from error
    documents = sum(len(one.documents) for one in dataset.conversations)
    asked = sum(len(one.questions) for one in dataset.conversations)
    if (
        whole.shape[1:] != questions.shape[1:]
        or len(questions) != asked
        or set(owner.tolist()) != set(range(documents))
        or (np.diff(owner) < 0).any()
    ):
        raise Unusable(f"{folder}: the vectors are not those of the documents and questions.")
    if any(
        not 0 <= at < len(one.documents) for one in dataset.conversations for q in one.questions for at in q.evidence
    ):
        raise Unusable(f"{folder}: a question's evidence is no document.")
    return Loaded(dataset, questions, whole, owner)


def part(loaded: Loaded, conversations: int | None, questions: int | None) -> Loaded:
    """The first conversations, and so many questions of each, spread evenly over all of it. None is all."""
    some = loaded.dataset.conversations[:conversations]
    kept: list[Conversation] = []
    picked: list[int] = []
    first = 0
    for one in some:
        count = len(one.questions)
        evenly = np.linspace(0, max(0, count - 1), min(count, questions or count)).astype(int)
        numbers: list[int] = np.unique(evenly).tolist()
        kept.append(one.model_copy(update={"questions": [one.questions[number] for number in numbers]}))
        picked += [first + number for number in numbers]
        first += count
    inside = loaded.owner < sum(len(one.documents) for one in some)
    return Loaded(
        loaded.dataset.model_copy(update={"conversations": kept}),
        loaded.questions[picked],
        loaded.vectors[inside],
        loaded.owner[inside],
    )


def view(conversation: Conversation, vectors: Floats, owner: NDArray[np.int64]) -> View:
    """What the service would know of a conversation; `owner` counts from 0."""
    documents = conversation.documents
    cut = [(at, document.text[a:b]) for at, document in enumerate(documents) for a, b in passages.split(document.text)]
    postings: dict[str, tuple[list[int], list[int]]] = {}
    lengths = []
    for number, (_, text) in enumerate(cut):
        terms = words.terms(text)
        lengths.append(len(terms))
        for offset, term in enumerate(terms):
            numbers, offsets = postings.setdefault(term, ([], []))
            numbers.append(number)
            offsets.append(offset)
    found = [traits(document.text) for document in documents]
    # Notes and paragraphs nobody said to anybody, nor what one says alone.
    sides = [(document.role, name) for document, name in zip(documents, conversation.authors, strict=True)]
    said = np.array([side != ("", "") for side in sides]) & (len({*sides} - {("", "")}) > 1)
    owners = np.array([at for at, _ in cut], np.int32)
    corpus = ranking.corpus(
        owner=owners,
        lengths=np.array(lengths, np.int32),
        group=np.array([document.session for document in documents], np.int32),
        roles=np.array([ROLES.get(document.role, ranking.NO_ROLE) for document in documents], np.int8),
        times=np.array(times(documents)),
        asks=np.array([one.asks for one in found]) & said,
        tells=np.array([one.tells for one in found]) & said,
        holds=np.array([one.holds for one in found], np.int8),
        answers=said,
        derived=np.zeros(len(documents), np.bool_),
        lists=np.zeros(len(documents), np.bool_),
    )
    held = {term: (np.array(a, np.int32), np.array(b, np.int32)) for term, (a, b) in postings.items()}
    fitted = fit(vectors, owner, owners)
    lens = whitened.fit(fitted)
    return View(corpus, held, conversation.authors, fitted, lens, whitened.lengths(lens, fitted))


def fit(vectors: Floats, given: NDArray[np.int64], own: NDArray[np.int32]) -> Floats:
    """A vector for each of our passages: those given where a document has as many, else their mean."""
    found = np.empty((len(own), vectors.shape[1]), np.float32)
    for document in range(int(own[-1]) + 1):
        theirs, ours = vectors[given == document], own == document
        found[ours] = theirs if len(theirs) == ours.sum() else theirs.mean(0)
    return found


def times(documents: Sequence[Document]) -> list[float]:
    """Of every document its time or, where only one of its session has one, that one's; NaN else."""
    of_session: dict[int, float] = {}
    found = [seconds(document.time) for document in documents]
    for document, one in zip(documents, found, strict=True):
        if one is not None:
            of_session.setdefault(document.session, one)
    return [
        of_session.get(document.session, float("nan")) if one is None else one
        for document, one in zip(documents, found, strict=True)
    ]


def seconds(text: str) -> float | None:
    """The seconds since 1970 of a time as the data sets or ISO 8601 write it."""
    for form in TIMES:
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC).timestamp()
        except ValueError:
            continue
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None


def rank(
    held: View, question: str, vector: Floats | None, weights: Mapping[str, float] = ranking.WEIGHTS
) -> ranking.Ranking:
    """The service's ranking of a question. Quotes are read as text: those who asked did not know that they bind."""
    query = words.parse(question.replace('"', " "))
    instances = [held.postings.get(term, NOWHERE) for term in (*query.words, *query.prefixes)]
    by = {name: words.names(query, name) for name in set(held.authors)}
    cosines = None if vector is None else whitened.cosines(held.lens, held.vectors, held.lengths, vector)
    named = np.array([by[name] for name in held.authors])
    return ranking.rank(held.corpus, query, instances, cosines, by_author=named, weights=weights)


def ask(loaded: Loaded) -> tuple[list[Asked], float]:
    """All questions of a folder, ranked, and the mean milliseconds of one."""
    dataset, questions, vectors, owner = loaded
    same = dict.fromkeys(ranking.WEIGHTS, 1.0)
    asked: list[Asked] = []
    spent, first, number = 0.0, 0, 0
    for index, conversation in enumerate(dataset.conversations):
        inside = (owner >= first) & (owner < first + len(conversation.documents))
        held = view(conversation, vectors[inside], owner[inside] - first)
        first += len(conversation.documents)
        for question in conversation.questions:
            started = time.perf_counter()
            parts = rank(held, question.text, questions[number], same).parts
            spent += time.perf_counter() - started
            nothing = np.zeros(len(conversation.documents), np.float32)
            table = np.stack([parts.get(name, nothing) for name in ranking.WEIGHTS])
            asked.append(Asked(index, np.array(question.evidence), table))
            number += 1
    return asked, spent / max(1, len(asked)) * 1_000


def recall(asked: Sequence[Asked], weights: Mapping[str, float]) -> Recall:
    """Percent of each question's evidence in the first k (questions x FIRST). Of equal scores the earlier is first."""
    row = np.array([weights.get(name, 0.0) for name in ranking.WEIGHTS], np.float32)
    found = np.empty((len(asked), len(FIRST)))
    for at, one in enumerate(asked):
        scores = row @ one.parts
        before = [
            (scores > scores[wanted]).sum() + (scores[:wanted] == scores[wanted]).sum() for wanted in one.evidence
        ]
        found[at] = [100 * sum(place < k for place in before) / len(before) for k in FIRST]
    return found


def precision(asked: Sequence[Asked], weights: Mapping[str, float]) -> Recall:
    """Percent of the first k that are evidence, for each question (questions x FIRST)."""
    pieces = np.array([len(one.evidence) for one in asked])
    found: Recall = recall(asked, weights) * pieces[:, None] / np.array(FIRST)
    return found


def choose(sets: Sequence[Sequence[Asked]], rounds: int = 4) -> dict[str, float]:
    """Weights that find most: from equal ones, step by step, each set counting alike. Their signs are given."""
    weights = {name: float(np.sign(weight)) * 0.5 for name, weight in ranking.WEIGHTS.items()}

    def worth(tried: Mapping[str, float]) -> float:
        return sum(float(recall(asked, tried).mean(0) @ (0.15, 0.7, 0.15, 0)) for asked in sets if asked)

    best = worth(weights)
    for _ in range(rounds):
        before = best
        for name, weight in list(weights.items()):
            for factor in (2.0, 0.5, 1.25, 0.8):
                tried = {**weights, name: weight * factor}
                if (got := worth(tried)) > best + 0.05:
                    best, weights = got, tried
                    break
        if best == before:
            break
    return weights


def chosen(sets: Sequence[Sequence[Asked]]) -> list[Recall]:
    """Recall of every set where each conversation is measured with weights that were chosen on others."""
    parts: list[list[Recall]] = [[] for _ in sets]
    for fold in range(FOLDS):
        weights = choose([[one for one in asked if one.conversation % FOLDS != fold] for asked in sets])
        for found, asked in zip(parts, sets, strict=True):
            if rest := [one for one in asked if one.conversation % FOLDS == fold]:
                found.append(recall(rest, weights))
    return [np.concatenate(found) for found in parts]


def without(*names: str) -> dict[str, float]:
    """The weights without these parts."""
    return {name: weight for name, weight in ranking.WEIGHTS.items() if name not in names}


def rows(sets: Sequence[Sequence[Asked]]) -> Iterator[tuple[str, list[Recall]]]:
    """What is measured: a name and the recall of every set, or the precision."""
    yield "all, with vectors", [recall(asked, ranking.WEIGHTS) for asked in sets]
    yield "all, without vectors", [recall(asked, without(*OF_VECTORS)) for asked in sets]
    yield "precision of all, with vectors", [precision(asked, ranking.WEIGHTS) for asked in sets]
    yield "precision of all, without vectors", [precision(asked, without(*OF_VECTORS)) for asked in sets]
    for name, weight in ranking.WEIGHTS.items():
        yield f"{name} alone", [recall(asked, {name: weight}) for asked in sets]
    for name in ranking.WEIGHTS:
        yield f"all but {name}", [recall(asked, without(name)) for asked in sets]


def line(name: str, found: Sequence[Recall]) -> str:
    """A row of the Markdown table."""
    return " | ".join([f"| {name}", *(" / ".join(f"{share:.1f}" for share in one.mean(0)) for one in found)]) + " |"


def main(arguments: Sequence[str]) -> int:
    """The program; its exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", type=Path, required=True, metavar="FOLDER")
    parser.add_argument(
        "--choose", action="store_true", help="also choose weights and measure them on other conversations"
    )
    parser.add_argument("--conversations", type=int, metavar="N", help="only the first N of each folder")
    parser.add_argument("--questions", type=int, metavar="N", help="only N of each conversation, evenly")
    parser.add_argument("--through", choices=["function", "http"], default="function", help="what is asked")
    parser.add_argument("--ways", default="turns,messages,notes", help="over HTTP: how the texts come in")
    parser.add_argument(
        "--vectors", choices=["given", "local", "none"], default="given", help="over HTTP: the embedding model"
    )
    parser.add_argument("--only-search", action="store_true", help="over HTTP: ask no contexts, for a whole set")
    options = parser.parse_args(arguments)
    try:
        loaded = [part(read(folder), options.conversations, options.questions) for folder in options.data]
    except Unusable as unusable:
        print(unusable, file=sys.stderr)
        return 2
    if options.through == "http":
        from benchmarks import recall_http  # noqa: PLC0415 - it imports this module

        recall_http.show(loaded, options.ways.split(","), options.vectors, contexts=not options.only_search)
        return 0
    measured = [ask(one) for one in loaded]
    sets = [asked for asked, _ in measured]
    at = " / ".join(f"@{k}" for k in FIRST)
    print(" | ".join(["| ranking", *(f"{folder.name} {at}" for folder in options.data)]) + " |")
    print("|---|" + "---|" * len(sets))
    for name, found in rows(sets):
        print(line(name, found), flush=True)
    if options.choose:
        print(line("weights chosen on other conversations", chosen(sets)))
    each = ", ".join(f"{folder.name} {ms:.1f}" for folder, (_, ms) in zip(options.data, measured, strict=True))
    print(f"\nmilliseconds a query: {each}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
