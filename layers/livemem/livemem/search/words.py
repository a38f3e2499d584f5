"""The words of texts and of queries: those that are indexed, that rank, and that are marked in a result.

A text becomes one stream of terms. A word gives one term, its stem: by English rules, then by French ones, and by these
once more when its accents are folded. So a text may mix both languages and a query need not say which one it is in
(docs/ranking.md gives the cost). A name with joints (`read_file`, `tokenBudget`, `v1.3.1`, `src/app/main.py`,
`follow-up`) gives its parts in order and then the whole, written without its joints: `readFile`, `read_file` and
`read-file` are one term. Scripts without spaces (Chinese, Japanese, Korean, Thai, ...) give their pairs of neighbouring
characters, an emoji gives itself.
"""

import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass
from functools import lru_cache

import Stemmer

from livemem.search.dates import Date, dates
from livemem.search.passages import SNIPPET
from livemem.search.sought import asks_model, asks_past, sought

LONGEST = 64
"""Characters of a term. A longer word keeps its beginning, so that a prefix finds it, and a hash for the rest."""

# The characters of a word: letters and digits of any script with the marks that combine with them. `\w` knows no marks.
_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc"
    "\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0711\u0730-\u074a\u0900-\u0963\u0966-\u109f\u135d-\u135f\u1712-\u1715\u17b4-\u17d3"
    "\u1920-\u193b\u1a17-\u1a1b\u1a55-\u1a7f\u1ab0-\u1aff\u1b00-\u1b4b\u1b6b-\u1b73\u1b80-\u1baf\u1dc0-\u1dff\u20d0-\u20ff"
)
# Possessive, so that no text makes it go back.
_LETTERS = f"[^\\W_]++(?:[{_MARKS}]++[^\\W_]*+)*+"
_APOSTROPHES = "'\u2019\u02bc"
_EMOJI = "\u2600-\u27bf\U0001f300-\U0001faff"
_CHUNK = re.compile(f"{_LETTERS}(?:(?:[./\\\\@{_APOSTROPHES}\u00ad\u2010\u2011-]|_+|::?){_LETTERS})*|[{_EMOJI}]")
_COMPONENT = re.compile(r"[^/\\]+")
_PIECE = re.compile(f"{_LETTERS}(?:[{_APOSTROPHES}]{_LETTERS})*")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_ELISION = re.compile(f"(?:[cdjlmnst]|(?:jus|lors|puis|quoi|quel|pres)?qu|entr)[{_APOSTROPHES}]", re.IGNORECASE)
_CONTRACTION = re.compile(f"[{_APOSTROPHES}](?:s|re|ve|ll|d|m)$", re.IGNORECASE)
# Scripts that are written without spaces, and Korean, whose words grow endings.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003fffd"
)
_RUN = re.compile(f"(?P<unspaced>[{_UNSPACED}]+)|[^{_UNSPACED}]+")
_NOT_IN_TERMS = re.compile(r"[\x00-\x2f\x3a-\x40\x5b-\x60\x7b-\x7f\ud800-\udfff]+")
_ACCENTS = re.compile("[\u0300-\u036f]+")
_LIGATURES = str.maketrans({"œ": "oe", "æ": "ae", "ø": "o", "ł": "l", "đ": "d", "ı": "i"})
# Between two digits of a whole, so that v1.31 and v1.3.1 stay apart. Not ASCII: the index keeps it within its term.
_BETWEEN_DIGITS = "\u00b7"
_BETWEEN = re.compile(r"(?<=\d)[^\w]+(?=\d)")
_JOINTS = re.compile(f"[^\\w{_MARKS}{_BETWEEN_DIGITS}]+|_+")

_ENGLISH = """
a about above after again against ain all also although am among an and any anyone anything are aren arent as at be
became because become becomes been before being below between both but by can cannot cant could couldnt did didnt do
does doesnt doing dont down during each either else ever every few for from further get gets getting give given go
goes going got had hadnt has hasnt have havent having he her here hers herself him himself his how however i if im in
into is isnt it its itself ive just let lets like likely ll made make makes many may maybe me might more most much
must my myself neither no nor not now of off often on once one only onto or other others our ours ourselves out over
own per perhaps please quite rather re really same shall she should shouldnt since so some someone something somewhat
still such than that thats the their theirs them themselves then there theres these they this those though through to
too toward towards under until up upon us very via was wasnt way we well were werent what whatever when whenever where
wherever whether which while who whoever whom whose why will with within without wont would wouldnt yes yet you your
yours yourself yourselves
"""
_FRENCH = """
afin ai aie ainsi alors apres as assez au aucun aucune aura aurait aussi autre autres aux avaient avait avec avez
avoir avons bien c ca ce ceci cela celle celles celui ces cet cette ceux chaque chez comme d dans de deja depuis des
desormais dois doit doivent donc dont du elle elles en encore entre es est et etaient etait etant etc ete etes etre eu
eux fait faire fais faut font fut ici il ils j je jusqu juste l la laquelle le lequel les lesquelles lesquels leur
leurs lors lorsqu lorsque lui m ma mais malgre meme memes mes moi moins mon n ne ni nos notre nous on ont ou par parce
parmi pas peu peut peuvent peux plus plutot pour pourquoi pourrait pouvait pouvez puis puisqu puisque qu quand que
quel quelle quelles quelqu quelque quelques quels qui quoi quoiqu s sa sans se sera serait ses si soit sommes sont
sous suis sur t ta tandis tant te tel telle telles tels tes toi toujours tous tout toute toutes tres trop tu un une va
vais vers veut veux voici voila vont vos votre vous y
"""
_STOP_WORDS = _ENGLISH + _FRENCH


# Words of questions that answers seldom repeat. Each weighs less (docs/ranking.md).
_SMALL_TALK = """
ok okay k kk thanks thank thx ty cheers hello hi hey bye goodbye morning afternoon evening night good great nice cool
fine perfect excellent awesome wonderful super sure yes yep yeah yup nope right alright understood welcome sorry go on
continue proceed lol haha hmm wow
merci beaucoup bonjour bonsoir salut coucou revoir adieu bonne bon nuit soiree journee matin accord parfait genial
excellent impeccable nickel oui ouais non vas allez allons va y continue continuons continuez suite pardon desole
bien entendu voila chouette nouvelles plait
"""
_ASKING_WORDS = """
according kind kinds type types sort sorts name mention mentioned mentions describe described discuss discussed say
said tell told list lists order summarize summary comprehensive explain overview item items aspect aspects different
across throughout conversation conversations bring brought walk regarding related specific particular mainly state
stated sorte sortes genre selon résumer résumé décrire mentionner mentionné liste lister ordre expliquer dire dit
raconter discuter discuté différents différentes aspects conversations
"""


@dataclass(frozen=True)
class Query:
    """A parsed query. Every term is written as `terms` writes it."""

    words: tuple[str, ...] = ()
    """Terms that rank, each once, in the order of the query, those of phrases too. Stop words only if all are stop
    words.
    """
    phrases: tuple[tuple[str, ...], ...] = ()
    """Terms that a document must hold side by side: the quoted phrases."""
    excluded: tuple[tuple[str, ...], ...] = ()
    """Terms that a document must not hold side by side: `-word` and `-"a phrase"`."""
    prefixes: tuple[str, ...] = ()
    """Beginnings of terms. Each ranks as one word, whose instances are those of all terms that begin with it."""

    dates: tuple[Date, ...] = ()
    """Dates that it names. The documents of that time rank higher, none is left out."""
    sought: int = 0
    """The kind of answer that it asks for (search/sought.py). Documents that hold one rank higher."""
    asking: tuple[str, ...] = ()
    """Terms that ask here, and may tell elsewhere."""
    asks_model: bool = False
    """It asks what a model said (search/sought.py). Models' messages rank higher, else persons'."""
    asks_past: bool = False
    """It asks for what held before (search/sought.py)."""


def terms(text: str) -> list[str]:
    """The terms of any text, in order, as they are indexed.

    A term is never empty, has at most `LONGEST` characters and holds a-z, 0-9 and characters past ASCII alone: FTS5's
    `ascii` tokenizer keeps it whole. Offsets and lengths count terms. The whole of a jointed name has a place behind
    its parts.
    """
    return [term for chunk in _CHUNK.findall(text) for term in _terms_of(chunk)]


def content_terms(text: str) -> frozenset[str]:
    """The terms of a text that say something, without stop words."""
    return frozenset(terms(text)) - stop_terms()


def names(query: Query, author: str) -> bool:
    """Whether a query names an author: by a word of the name that is no stop word."""
    return not set(query.words).isdisjoint(term for term in terms(author) if term not in stop_terms())


def parse(query: str) -> Query:
    """The query in a text. Any text is one. Quotes, `-` before a word and `*` behind one are all its syntax."""
    words: dict[str, bool] = {}
    phrases: list[tuple[str, ...]] = []
    excluded: list[tuple[str, ...]] = []
    prefixes: dict[str, bool] = {}
    for match in _SYNTAX.finditer(query):
        holding = tuple(terms(match["phrase"] or match["word"] or match["prefix"] or ""))
        if not holding:
            continue
        if match["minus"]:
            excluded.append(holding)
            continue
        if match["phrase"]:
            phrases.append(holding)
        if match["prefix"]:
            *held_before, last = holding
            prefix = folded(match["prefix"])
            # Terms are stems, and a prefix that is longer than its own stem would find none.
            prefixes[last if held_before or prefix.startswith(last) else prefix] = True
            holding = tuple(held_before)
        words.update(dict.fromkeys(holding, True))
    ranking = tuple(word for word in words if word not in stop_terms())
    if not ranking and not prefixes:
        ranking = tuple(words)
    return Query(
        ranking,
        tuple(dict.fromkeys(phrases)),
        tuple(dict.fromkeys(excluded)),
        tuple(prefixes),
        dates(query),
        sought(query),
        tuple(terms("comment")) if _COMMENT.search(query) else (),
        asks_model(query),
        asks_past(query),
    )


# French for "how" where a sentence or a part of it begins, else an English noun.
_COMMENT = re.compile(r"(?:^|[.:;,?!(] ?)(?:et |mais )?comment\b", re.IGNORECASE)
# A word or phrase stands at the beginning or behind white space; all else, such as a quote within a word, is text.
_SYNTAX = re.compile(
    r'(?<!\S)(?P<minus>-(?=["\w])(?!\d))?(?:"(?P<phrase>[^"]*)"|(?P<prefix>[^\W\d_]{2}[^\s"*]*)\*(?!\S)|(?P<word>[^\s]+))'
)


def plain(text: str) -> str:
    """The text as a query without syntax, so that a message is searched by its words."""
    return re.sub(r"(?<!\S)-+", " ", re.sub(r'["*]', " ", text))


def marks(text: str, query: Query) -> list[tuple[int, int]]:
    """Where the words of a query stand in a text: character ranges within it, sorted, apart from each other."""
    return _merged([(start, end) for start, end, _ in found(text, query)])


def found(text: str, query: Query) -> Iterator[tuple[int, int, str]]:
    """The terms of a text that a query looks for, in their order, each with the characters that it stands for: start,
    end, term.
    """
    sought = set(query.words).union(*query.phrases)
    for match in _CHUNK.finditer(text):
        holding = _terms_of(match[0])
        if not sought.isdisjoint(holding) or (
            query.prefixes and any(term.startswith(query.prefixes) for term in holding)
        ):
            for term, start, end in _chunk(match[0]):
                if _matches(term, sought, query.prefixes):
                    yield match.start() + start, match.start() + end, term


def snippet(
    text: str, query: Query, *, within: tuple[int, int] | None = None, longest: int = SNIPPET
) -> tuple[int, int]:
    """The characters of the excerpt that holds most different words of the query, then most of their instances.

    `within` is the best passage, where one is known. An excerpt has at most `longest` characters and begins and ends
    between words.
    """
    begin, end = within or (0, len(text))
    hits = [(begin + start, begin + stop, term) for start, stop, term in found(text[begin:end], query)]
    first, last = _densest(hits, longest)
    room = max(0, longest - (last - first)) if hits else longest
    start = max(begin, first - room // 2) if hits else begin
    stop = min(end, start + longest)
    start = max(begin, min(start, stop - longest))
    return _between_words(text, start, stop, begin, end, keep=(first, last) if hits else None)


def _densest(hits: list[tuple[int, int, str]], longest: int) -> tuple[int, int]:
    """The range of characters of an excerpt that holds the most different words."""
    best, result = (-1, -1), (0, 0)
    counts: dict[str, int] = {}
    rest = 0
    for right, (_, stop, term) in enumerate(hits):
        counts[term] = counts.get(term, 0) + 1
        while rest < right and stop - hits[rest][0] > longest:
            gone = hits[rest][2]
            counts[gone] -= 1
            if not counts[gone]:
                del counts[gone]
            rest += 1
        worth = (len(counts), right - rest)
        if worth > best:
            best, result = worth, (hits[rest][0], stop)
    return result


def _between_words(
    text: str, start: int, stop: int, begin: int, end: int, keep: tuple[int, int] | None
) -> tuple[int, int]:
    """Those characters without the halves of words at both ends. The range `keep` is not cut."""
    keep_start, keep_stop = keep or (stop, start)
    if start > begin and not text[start - 1].isspace():
        space = re.search(r"\s", text[start : min(keep_start, stop)])
        start += space.end() if space else 0
    if stop < end and not text[stop].isspace():
        lowest = max(keep_stop, start)
        cut = max(text.rfind(space, lowest, stop) for space in " \n\t")
        stop = cut if cut > start else stop
    while start < stop and text[start].isspace():
        start += 1
    while stop > start and text[stop - 1].isspace():
        stop -= 1
    return start, stop


def _matches(term: str, sought: Set[str], prefixes: tuple[str, ...]) -> bool:
    return term in sought or (bool(prefixes) and term.startswith(prefixes))


@lru_cache(maxsize=1)
def stop_terms() -> frozenset[str]:
    """The terms of French and English words that say little. They are indexed, for phrases, and do not rank."""
    return frozenset(term for word in _STOP_WORDS.split() for term in (word, _stem(word)))


_BEGINNING = 2_000  # characters


def language(text: str) -> str | None:
    """`en` or `fr`: the language of which a text, or its beginning, has more small words. None if it has as many of
    both. A question is too short for the commonest words alone (text/language.py).
    """
    english, french = _small_words()
    said = re.findall(r"[^\W\d_]{2,}", folded(text[:_BEGINNING]))
    more = sum((word in english) - (word in french) for word in said)
    return None if not more else "en" if more > 0 else "fr"


@lru_cache(maxsize=1)
def _small_words() -> tuple[frozenset[str], frozenset[str]]:
    """English ones and French ones, those of both left out."""
    english, french = frozenset(_ENGLISH.split()), frozenset(_FRENCH.split())
    return english - french, french - english


@lru_cache(maxsize=1)
def asking_terms() -> frozenset[str]:
    """The terms of words that ask rather than tell."""
    return frozenset(terms(_ASKING_WORDS))


@lru_cache(maxsize=1)
def little_said() -> frozenset[str]:
    """The words behind `stop_terms` and `asking_terms` as they are written, without accents. Their terms are also those
    of other words: of the names Léa and Sam.
    """
    return frozenset(folded(f"{_STOP_WORDS} {_ASKING_WORDS}").split())


@lru_cache(maxsize=1)
def small_talk_words() -> frozenset[str]:
    """Words of greeting, of thanks and of consent, as they are written, without accents."""
    return frozenset(_SMALL_TALK.split())


@lru_cache(maxsize=1)
def small_talk_terms() -> frozenset[str]:
    """The terms of words of greeting, of thanks and of consent."""
    return frozenset(terms(_SMALL_TALK))


def has_words(text: str) -> bool:
    """Whether a text has words, and not only smileys."""
    return bool(_alphanumeric(text))


def _alphanumeric(text: str) -> list[str]:
    return [term for term in terms(text) if any(map(str.isalnum, term))]


def says_something(text: str) -> bool:
    """Whether a text has words, and not only those of small talk, alone or among stop words ("ok, do it")."""
    said, talk = _alphanumeric(text), small_talk_terms()
    return bool(said) and (talk.isdisjoint(said) or any(term not in talk | stop_terms() for term in said))


def _merged(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Sorted ranges where those that touch are one: a whole that follows its parts may reach back over several."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


_Parts = Iterator[tuple[str, int, int]]
"""Terms, each with the characters that it stands for: start and end."""


def _terms_of(chunk: str) -> tuple[str, ...]:
    return _short_terms(chunk) if len(chunk) <= LONGEST else tuple(term for term, _, _ in _chunk(chunk))


@lru_cache(maxsize=65_536)
def _short_terms(chunk: str) -> tuple[str, ...]:
    """The terms of words that are joined without a space: texts repeat them."""
    return tuple(term for term, _, _ in _chunk(chunk))


def _chunk(chunk: str) -> _Parts:
    start = 0
    while elision := _ELISION.match(chunk, start):
        yield from _word(chunk[start : elision.end() - 1], start)
        start = elision.end()
    components = list(_COMPONENT.finditer(chunk, start))
    for component in components:
        yield from _part(_component, component)
    if len(components) > 1:
        yield from _whole(chunk[start:], start)


def _part(parts: Callable[[str], _Parts], match: re.Match[str]) -> _Parts:
    """The terms of a part of a chunk."""
    text, at = match[0], match.start()
    known = _short_parts(parts, text) if len(text) <= LONGEST else parts(text)
    return ((term, at + first, at + last) for term, first, last in known)


@lru_cache(maxsize=32_768)
def _short_parts(parts: Callable[[str], _Parts], text: str) -> tuple[tuple[str, int, int], ...]:
    """The terms of a short part: long paths have many parts, and few different ones."""
    return tuple(parts(text))


def _component(text: str) -> _Parts:
    pieces = list(_PIECE.finditer(text))
    if not pieces:
        yield from _word(text, 0)  # an emoji
    for piece in pieces:
        yield from _part(_piece, piece)
    if len(pieces) > 1:
        yield from _whole(text, 0)


def _piece(text: str) -> _Parts:
    word = _uncontracted(text)
    humps = _CAMEL.split(word)
    if len(humps) > 1:
        at = 0
        for hump in humps:
            yield from _word(hump, at)
            at += len(hump)
    yield from _word(word, 0)


def _uncontracted(text: str) -> str:
    contraction = _CONTRACTION.search(text)
    return text[: contraction.start()] if contraction else text


def _word(text: str, start: int) -> _Parts:
    end = start + len(text)
    for match in _RUN.finditer(folded(text, accents=True)):
        run = match[0]
        if not match["unspaced"]:
            term = _stem(run)
            if term:
                yield term, start, end
        elif len(run) == 1:
            yield run, start, end
        else:
            for index in range(len(run) - 1):
                yield run[index : index + 2], start, end


def _whole(text: str, start: int) -> _Parts:
    joined = _JOINTS.sub("", _BETWEEN.sub(_BETWEEN_DIGITS, _uncontracted(text)))
    term = _stem(folded(joined, accents=True))
    if term:
        yield term, start, start + len(text)


def folded(text: str, *, accents: bool = False) -> str:
    """The text in one case and one form, without the accents of Latin, Greek and Cyrillic letters unless `accents`."""
    if text.isascii():
        return text.lower()
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold()).translate(_LIGATURES)
    return text if accents else _without_accents(text)


def _without_accents(text: str) -> str:
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", text)))


def _stem(word: str) -> str:
    """The term of a folded word; empty where nothing is left of it."""
    if not word.isascii() or not word.isalnum():
        word = _NOT_IN_TERMS.sub("", word)
    if len(word) > LONGEST:
        plain = _without_accents(word)
        word = plain[: LONGEST - 16] + hashlib.blake2b(plain.encode(), digest_size=8).hexdigest()
    elif word.isalpha():
        english, french = _stemmers()
        word = french.stemWord(_without_accents(french.stemWord(english.stemWord(word))))
    return word if word.isascii() else _NOT_IN_TERMS.sub("", _without_accents(word))


@lru_cache(maxsize=1)
def _stemmers() -> tuple[Stemmer.Stemmer, Stemmer.Stemmer]:
    return Stemmer.Stemmer("english"), Stemmer.Stemmer("french")
