"""The documents that answer a search, of all that match: in which order, and without what repeats another one.

Each decision about a document depends on those before it, and on the first `WINDOW`, which are always looked at
together. So the answer is one list however many of it are asked for: more results never change the first ones.

A memory holds former values on purpose, in the words of the present one. Which of them fits a question better is
chance, so newer statements stand before older ones that say nearly the same. A consolidated note may say what was true
when it was written. The section or the live note that says it as it is now is often longer, and ranks lower by its
words: such notes come behind. A note no longer holds if a newer one says nearly the same, and the section that both
went into has the newer one's details, and none of the older one's.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import chain, islice

from livemem.recall import conversation_documents
from livemem.recall.document_sources import SECTIONS
from livemem.recall.relevance import LOOKED_AT, statements_of
from livemem.recall.search_request import SKIP_MOST, SearchRequest
from livemem.search import evidence, words
from livemem.search.documents import ARCHIVE, BANK, LIVE, MEMORY, SUMMARY, TALK, TURN, Document
from livemem.search.engine import Hit, Matches
from livemem.search.evidence import QuestionTerms, Statement
from livemem.search.sayings import Saying, deciding
from livemem.search.traits import traits
from livemem.search.words import Query

WINDOW = 25
"""The best documents, which may change places. All others keep their rank."""
BECAME = 0.7
"""The share of a note's words that the line has which it became: what a reader of the line may miss is little."""
MOST_SAID = 25
"""So many texts above are compared word by word with a statement."""


class _ShownLine:
    """The line that a section shows, with the headings above it."""

    def __init__(self, hit: Hit) -> None:
        """Its words are looked at when they are needed."""
        self._document = hit.document
        self._text = hit.document.text[slice(*hit.line)]

    @cached_property
    def _line(self) -> frozenset[str]:
        return words.content_terms(f"{self._document.title} {self._text}")

    @cached_property
    def _section(self) -> frozenset[str]:
        return words.content_terms(f"{self._document.title} {self._document.text}")

    def says(self, note: str, sought: frozenset[str]) -> bool:
        """Whether the line is what a note that went into the section became: it has most of the note's words, those
        with digits and those of the question among them, the section has no other of them, and both deny the same.
        """
        said = words.content_terms(note)
        shared = said & self._line
        needed = (said & self._section) | (said & sought) | {word for word in said if any(map(str.isdigit, word))}
        enough = said and len(shared) >= BECAME * len(said) and needed <= shared
        return bool(enough) and deciding(words.terms(note)) == deciding(words.terms(self._text))

    def holds(self, note: Document, sought: frozenset[str]) -> bool:
        """Whether the section holds a note word for word, or shows the line that the note became. `sought`: the words
        of the question.
        """
        section = self._document
        if section.id in note.more.get(SECTIONS, ()) and self.says(note.text, sought):
            return True
        return section.kind == BANK and _plain(note.text) in _plain(section.text)


class Above:
    """The documents of an answer so far, from the best one on."""

    def __init__(self, query: Query) -> None:
        """There is none yet."""
        self._sought = frozenset(query.words)
        self._turns: dict[tuple[str, int], str] = {}
        self._sections: list[tuple[str, str]] = []
        self._notes: list[tuple[str, str]] = []
        self._said: list[Saying] = []
        self._lines: dict[str, _ShownLine] = {}

    def add(self, hit: Hit) -> None:
        """The next one."""
        document = hit.document
        if document.kind in (BANK, ARCHIVE, LIVE, MEMORY) and len(self._said) < MOST_SAID:
            self._said.append(Saying(document, lists=document.kind == BANK))
        if document.kind == TURN:
            name = document.source["conversation_id"], int(document.source["turn_index"])
            self._turns.setdefault(name, document.id)
        elif document.kind == BANK:
            self._sections.append((_plain(document.text), document.id))
            if hit.line[1]:
                self._lines[document.id] = _ShownLine(hit)
        elif document.kind == ARCHIVE:
            self._notes.append((_plain(document.text), document.id))

    def original(self, document: Document) -> str | None:
        """The id of the document above that this one repeats, None if it repeats none.

        These repeat: a consolidated note the section with its words, and such a section the note; a note that was
        captured from a turn, and the summary of one turn, that turn; a note or a memory the line of a section, the note
        or the memory that says all that it says; a consolidated note the line that it became.
        """
        if document.kind == BANK:
            return self._note_of(document)
        if document.kind == ARCHIVE:
            plain = _plain(document.text)
            section = next((name for text, name in self._sections if plain in text), None)
            return section or self._turn_of(document) or self._said_before(document) or self._became(document)
        if document.kind == MEMORY:
            return self._said_before(document)
        if document.kind == LIVE:
            return self._turn_of(document) or self._said_before(document)
        return self._turn_of(document) if document.kind == SUMMARY else None

    def _said_before(self, statement: Document) -> str | None:
        saying = Saying(statement, lists=statement.kind == BANK)
        return next((item.document.id for item in self._said if item.holds(saying)), None)

    def _became(self, note: Document) -> str | None:
        lines = ((name, self._lines.get(name)) for name in note.more.get(SECTIONS, ()))
        return next((name for name, line in lines if line and line.says(note.text, self._sought)), None)

    def _note_of(self, section: Document) -> str | None:
        """The best note above whose words are all that the section says to the question: each of its lines with a word
        of the question stands in such a note. A section has other lines, which may answer too.
        """
        whole = _plain(section.text)
        within = [(plain, name) for plain, name in self._notes if plain in whole]
        if not within:
            return None
        lines = [line.lstrip("-*+ ") for line in section.text.splitlines()]
        asked = [_plain(line) for line in lines if not self._sought.isdisjoint(words.terms(line))]
        told = all(any(line in plain or plain in line for plain, _ in within) for line in asked)
        return within[0][1] if asked and told else None

    def _turn_of(self, document: Document) -> str | None:
        ends = conversation_documents.ends(document.source, "covers")
        if not ends or (document.kind == SUMMARY and ends[0] != ends[1]):
            return None
        conversation = document.source["conversation_id"]
        if ends[1] - ends[0] < len(self._turns):
            numbers = range(ends[0], ends[1] + 1)
            return next((name for number in numbers if (name := self._turns.get((conversation, number)))), None)
        return next(
            (
                name
                for (said_in, item), name in self._turns.items()
                if said_in == conversation and ends[0] <= item <= ends[1]
            ),
            None,
        )


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


class HitList:
    """The hits that answer a request, read as far as they are asked for. Without a floor all do."""

    def __init__(self, matches: Matches, request: SearchRequest) -> None:
        """The first are read."""
        self.copies: dict[str, str] = {}
        """The ids of those that were left out as copies so far, each with that of what it repeats."""
        self.unfit: set[str] = set()
        """The ids of those that were left out so far because they don't answer."""
        self._matches, self._request, self._query, self._floor = matches, request, request.query, request.floor
        no_copies = self._no_copies()
        looked_at = list(islice(no_copies, LOOKED_AT))
        self.below_floor = not self._passes([hit for _, hit in looked_at])
        """Whether documents match, and none of the first passes the floor. Then there is no hit."""
        self._rest = iter(()) if self.below_floor else chain(looked_at, no_copies)
        if request.clear:
            self._rest = self._clear(looked_at)

    def page(self, skip: int, limit: int) -> tuple[list[Hit], int | None]:
        """The next `limit` hits whose place is at least `skip`, and the place of the one behind them, None if there is
        none.
        """
        batch = ((place, hit) for place, hit in self._fit() if place >= skip)
        hits = [hit for _, hit in islice(batch, limit)]
        return hits, next((place for place, _ in batch), None)

    def read_on(self) -> None:
        """Read all hits, so that `copies` and `unfit` are complete."""
        for _ in self._fit():
            pass

    def _passes(self, first: Sequence[Hit]) -> bool:
        if self._floor is None or not first:
            return True
        hits = [hit for hit in first if hit.document.kind != MEMORY]
        fit = {hit.document.id for hit in first if hit.document.kind == MEMORY} - self.unfit
        return self._floor.is_passed(first, fit.union(self._answering(hits)))

    def _clear(self, looked_at: Sequence[tuple[int, Hit]]) -> Iterator[tuple[int, Hit]]:
        talk = [item for item in looked_at if item[1].document.kind in TALK]
        written = self._clear_of([item for item in looked_at if item[1].document.kind not in TALK], talk=False)
        if written:
            # Who asked the same before says nothing beside it. Else what was answered then may help.
            talk = [item for item in talk if not _asks(item[1].document)]
        return iter([*written, *self._clear_of(talk, talk=True)])

    def _clear_of(self, batch: Sequence[tuple[int, Hit]], *, talk: bool) -> list[tuple[int, Hit]]:
        question = QuestionTerms.of(self._request.text)
        baseline = self._matches.baseline_of_lines(question, [_terms(hit) for _, hit in batch], talk=talk)
        lines = [(place, line) for place, hit in batch for line in self._matches.lines(hit)]
        statements = [
            [
                Statement("", frozenset(words.terms(line.document.text[slice(*passage)])), cosine=line.relevance)
                for passage in ([line.line] if line.line[1] else line.document.passages)
            ]
            for _, line in lines
        ]
        return [lines[place] for place in evidence.clear_places(question, baseline, statements)]

    def _fit(self) -> Iterator[tuple[int, Hit]]:
        """The hits that may answer, each with its place in the order of all that match, from 0."""
        for place, hit in self._rest:
            if self._floor and hit.document.kind != MEMORY and self._floor.is_no_answer(hit):
                self.unfit.add(hit.document.id)
            if hit.document.id not in self.unfit:
                yield place, hit

    def _arranged(self, hits: Sequence[Hit]) -> list[Hit]:
        lined = [self._matches.with_line(hit) for hit in hits]
        arranged = current_first(newer_first(lined, self._query), self._query)
        arranged = with_superseded(arranged, self._matches.document)
        if self._query.asks_past or self._query.dates:
            return arranged
        if self._request.present:
            return [hit for hit in arranged if hit.superseded_by is None]
        return behind(arranged)

    def _no_copies(self) -> Iterator[tuple[int, Hit]]:
        above = Above(self._query)
        best: Sequence[Hit] = ()
        for begin in range(0, SKIP_MOST, WINDOW):
            hits = self._matches.first(begin + WINDOW)[begin:]
            is_last = len(hits) < WINDOW
            if begin == 0:
                best = hits = self._arranged(hits)
            self._judge(best, hits)
            for place, hit in enumerate(hits, begin):
                original = above.original(hit.document)
                if original:
                    self.copies[hit.document.id] = original
                else:
                    above.add(hit)
                    yield place, hit
            if is_last:
                return

    def _judge(self, best: Sequence[Hit], hits: Sequence[Hit]) -> None:
        """Tell which memories among the hits don't answer, beside the best ones. Where none does, none behind them is
        looked at.
        """
        memories = [hit for hit in hits if hit.document.kind == MEMORY]
        if self._floor is None or not memories:
            return
        beside = [] if hits is best else [hit for hit in best if hit.document.kind == MEMORY]
        fit = self._answering([*beside, *memories])
        ids = {hit.document.id for hit in memories}
        self.unfit |= ids.difference(fit)
        if ids.isdisjoint(fit):
            self._matches.leave_out((MEMORY,))

    def _answering(self, hits: Sequence[Hit]) -> frozenset[str]:
        """The ids of those hits that may answer one of the questions in the text, beside all others: memories that do,
        and all else that does not state something else.
        """
        memories = [hit for hit in hits if hit.document.kind == MEMORY]
        stating = {hit.document.id: statements_of(hit.document) for hit in hits if hit.document.kind != MEMORY}
        ids = {name for name, parts in stating.items() if not parts}
        written = [hit for hit in hits if stating.get(hit.document.id)]
        for question in QuestionTerms.all_of(self._request.text):
            if memories:
                texts = [_terms(hit) for hit in memories]
                baseline = self._matches.baseline(question, texts, (MEMORY,))
                statements = [
                    Statement(
                        hit.document.text, text, frozenset(words.terms(" ".join(hit.document.tags))), hit.relevance
                    )
                    for hit, text in zip(memories, texts, strict=True)
                ]
                ids.update(memories[place].document.id for place in evidence.answers(question, baseline, statements))
            if written:
                baseline = self._matches.baseline(question, list(map(_terms, written)))
                for hit in written:
                    parts = (baseline.held(question, frozenset(words.terms(part))) for part in stating[hit.document.id])
                    if any(evidence.may_state(question, baseline, part, hit.relevance) for part in parts):
                        ids.add(hit.document.id)
        return frozenset(ids)


def _asks(document: Document) -> bool:
    """Whether it is a question that a person asked in a conversation."""
    return document.role == "user" and traits(document.text).asks


def _terms(hit: Hit) -> frozenset[str]:
    return frozenset(words.terms(" ".join((hit.document.text, *hit.document.tags))))


def current_first(hits: Sequence[Hit], query: Query) -> list[Hit]:
    """The hits, each consolidated note behind the section that holds it word for word or as a line, else behind the
    best section or live note that holds all its words of the query. That one moves up directly before the note. Its
    part `current` is what it gains.
    """
    if not any(hit.document.kind == ARCHIVE for hit in hits):
        return list(hits)
    sought = frozenset(query.words)
    by_id = {hit.document.id: sought & {*words.terms(f"{hit.document.title} {hit.document.text}")} for hit in hits}
    current = [(hit, _ShownLine(hit)) for hit in hits if hit.document.kind in (BANK, LIVE)]
    placed: set[str] = set()
    ordered = []
    for hit in hits:
        own = by_id[hit.document.id]
        if hit.document.kind == ARCHIVE and own:
            holding = [item for item, _ in current if by_id[item.document.id] >= own]
            sections = [item for item, line in current if line.holds(hit.document, sought)]
            best = next(iter(sections or holding), None)
            if best and best.document.id not in placed and best.score < hit.score:
                placed.add(best.document.id)
                parts = {**best.parts, "current": hit.score - best.score}
                ordered.append(replace(best, score=hit.score, parts=parts))
        if hit.document.id not in placed:
            placed.add(hit.document.id)
            ordered.append(hit)
    return ordered


STATEMENTS = {LIVE, ARCHIVE, MEMORY}
"""Kinds of documents that are statements of a time. A section is of all times, though a live note is not in it yet, and
in a talk the one who repeats something does not take back what was said.
"""
NEARLY, LEAST = 0.6, 2
"""Two statements say nearly the same if both hold this share of the words of the shorter one, and so many at least."""
LENGTHS = 3
"""So many times as long the longer one may be: a few words are not the new value of a sentence."""
CHARACTERS = 1_000
"""Of a statement at most. A longer text says much, and is no new value of another one."""


@dataclass(frozen=True)
class _Statement:
    hit: Hit
    said: frozenset[str]
    """Its words that say something."""
    answers: frozenset[str]
    """Those of the question among them."""

    def is_newer(self, other: "_Statement") -> bool:
        """Whether it says nearly the same as an older one, and as much about the question. So what is said of staging
        does not displace what is said of production, where the question is about that.
        """
        if BANK in (self.hit.document.kind, other.hit.document.kind):
            # What the line says already is no news.
            if self.hit.document.kind != LIVE or other.said >= self.said:
                return False
        elif self.hit.document.time <= other.hit.document.time:
            return False
        if not self.answers >= other.answers:
            return False
        shorter, longer = sorted((len(self.said), len(other.said)))
        return longer <= LENGTHS * shorter and say_nearly_the_same(self.said, other.said)


def say_nearly_the_same(words: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two statements with these words say nearly the same."""
    return len(words & other) >= max(LEAST, NEARLY * min(len(words), len(other)))


def newer_first(hits: Sequence[Hit], query: Query) -> list[Hit]:
    """The hits, each statement behind the newer ones that say nearly the same, and a section behind a live note that no
    statement is newer than, if its line says nearly the same: these move up directly before it. Their part `newer` is
    what they gain. Where the question asks for the past, or names a date, they stay as they are.
    """
    if query.asks_past or query.dates:
        return list(hits)
    sought = frozenset(query.words) - words.stop_terms() - words.asking_terms()
    rest: list[tuple[Hit, _Statement | None]] = [(hit, _statement(hit, sought)) for hit in hits]
    former = {hit.document.id for hit, item in rest if _place_of_newer(rest, item) is not None}
    ordered: list[Hit] = []
    while rest:
        place, score = 0, rest[0][0].score
        while newer := _place_of_newer(rest, rest[place][1], former):
            place = newer
        hit, _ = rest.pop(place)
        if place:
            hit = replace(hit, score=score, parts={**hit.parts, "newer": score - hit.score})
        ordered.append(hit)
    return ordered


def _place_of_newer(
    rest: Sequence[tuple[Hit, _Statement | None]], statement: _Statement | None, former: Collection[str] = ()
) -> int | None:
    """The place of the best newer statement of nearly the same; None if there is none. None that is `former` itself
    displaces a section.
    """
    if statement is None:
        return None
    refused = former if statement.hit.document.kind == BANK else ()
    newer = (
        place
        for place, (hit, other) in enumerate(rest)
        if other and other.is_newer(statement) and hit.document.id not in refused
    )
    return next(newer, None)


def _statement(hit: Hit, sought: frozenset[str]) -> _Statement | None:
    document = hit.document
    text = document.text[slice(*hit.line)] if document.kind == BANK else document.text
    if document.kind not in {*STATEMENTS, BANK} or not document.time or len(text) > CHARACTERS:
        return None
    said = words.content_terms(text)
    return _Statement(hit, said, sought & said) if said else None


def with_superseded(hits: Sequence[Hit], section: Callable[[str], Document | None]) -> list[Hit]:
    """The hits, those of consolidated notes with the id of the newest note that superseded them (`Hit.superseded_by`).
    `section` gives the bank's present section of an id, None if it is gone.
    """
    notes = {hit.document.id: words.content_terms(hit.document.text) for hit in hits if hit.document.kind == ARCHIVE}
    if len(notes) < 2:
        return list(hits)

    @cache
    def terms_of(name: str) -> frozenset[str]:
        document = section(name)
        return frozenset(words.terms(document.text)) if document else frozenset()

    def newer(old: Document) -> Iterator[Document]:
        for hit in hits:
            new = hit.document
            if new.id in notes and new.time > old.time and say_nearly_the_same(notes[old.id], notes[new.id]):
                ids = set(old.more.get(SECTIONS, ())).intersection(new.more.get(SECTIONS, ()))
                if any(_replaced(notes[old.id], notes[new.id], terms_of(name)) for name in ids):
                    yield new

    result = []
    for hit in hits:
        rivals = newer(hit.document) if hit.document.id in notes else ()
        best = max(rivals, key=lambda item: (item.time, item.id), default=None)
        result.append(replace(hit, superseded_by=best.id) if best else hit)
    return result


def behind(hits: Sequence[Hit]) -> list[Hit]:
    """The hits, each superseded note behind the one that superseded it."""
    waiting: dict[str, list[Hit]] = {}
    ids = {hit.document.id for hit in hits}
    ordered: list[Hit] = []

    def put(hit: Hit) -> None:
        ordered.append(hit)
        ids.discard(hit.document.id)
        for other in waiting.pop(hit.document.id, ()):
            put(other)

    for hit in hits:
        if hit.superseded_by in ids:
            waiting.setdefault(hit.superseded_by or "", []).append(hit)
        else:
            put(hit)
    return ordered


def _replaced(old: frozenset[str], new: frozenset[str], section: frozenset[str]) -> bool:
    """Whether a section has what only the newer note says, and nothing of what only the older one says. Of the words
    those with digits count, if there are any: a value that changed is mostly a number.
    """
    lost, gained = _details(old - new), _details(new - old)
    return bool(lost) and section.isdisjoint(lost) and (not gained or not section.isdisjoint(gained))


def _details(terms: frozenset[str]) -> frozenset[str]:
    return frozenset(term for term in terms if any(map(str.isdigit, term))) or terms
