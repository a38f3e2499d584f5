"""What a short text names: words in their order, with what is known of each without a dictionary.

Details are what a memory is kept for and what a restatement may lose: numbers, dates, names, identifiers, addresses.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

_THOUSANDS = re.compile(r"(?<![\w.,])\d{1,3}(?:[ ,'\u00a0\u202f]\d{3})+(?![\d])")
_TOKEN = re.compile(r"https?://[^\s<>\"»)]*[\w/]|[^\W_][\w]*(?:[./:@+&-]+\w+)*[%+#]*|_+\w+(?:[./:@-]\w+)*")
_ELISION = re.compile(r"\b(?:[cdjlmnst]|(?:jus|lors|puis)?qu)['’](?=\w)", re.IGNORECASE)
_NOT_CONTRACTED = re.compile(r"n['’]t\b", re.IGNORECASE)
_OF_IT = re.compile(r"['’]s\b", re.IGNORECASE)
_ACCENTS = re.compile("[\u0300-\u036f]+")
_SENTENCE_END = re.compile(r"[.!?:]\s*\Z|\A\W*\Z")
_IDENTIFIER = re.compile(r"[a-z]+[A-Z]|_|[^\W\d][./@]\w|\d[^\W\d]|[^\W\d]-?\d")
_ENDINGS = "ements ement ments ment ions ings ion ing ees ed es ee er ez e s".split()
"""Cut from words of more than five letters, the first that is there: enough to see "deploys" in "deployment"."""

_NEGATIONS = """
not no never none nobody nothing neither nor cannot without forbidden disabled denied refuses refused unable
stopped removed abandoned ne pas jamais aucun aucune rien personne sans ni interdit interdite interdits
interdites desactive desactivee desactives desactivees refuse abandonne abandonnee supprime supprimee
"""
_COMMON = """
a about all also always an and any are as at be been being both but by can could did do does doing done each
every for from had has have he her his how if in into is it its itself may me might must my of off on once one
only or other our out over own shall she should since so some still such than that the their them then there
these they this those through to too until up us was we were what when where which while who whom whose why
will with would you your now today currently please just very really here au aux avec aussi bien c ca ce cela
ces cet cette ceux chaque chez comme d dans de depuis des doit doivent donc du elle elles en encore entre es
est et etait ete etre eu faut fait il ils je l la le les leur leurs lors lui m ma mais meme mes mon nos notre
nous ont ou par peut peuvent plus pour qu quand que quel quelle qui s sa se sera ses si soit son sont sous sur
t ta te tes toi ton toujours tous tout toute toutes tu un une va vers vos votre vous y ai avons avez
maintenant desormais actuellement aujourd hui ici tres ne pas
"""


@dataclass(frozen=True, slots=True)
class Token:
    """One word, number, name or address, in the order of the text."""

    root: str
    """What it is compared by: without case, accents and the usual endings; details as they are written."""
    is_name: bool = False
    is_number: bool = False
    is_common: bool = False
    """It says little: an article, a preposition, an auxiliary verb."""

    opens: bool = False
    """It begins a sentence with a capital: it may be a name, or not."""

    @property
    def is_detail(self) -> bool:
        """Whether a restatement without it says less."""
        return self.is_name or self.is_number


@dataclass(frozen=True)
class Said:
    """What one text says, as far as its letters tell."""

    tokens: tuple[Token, ...]
    negates: bool
    asks: bool

    @property
    def details(self) -> frozenset[str]:
        """Numbers, dates, names, identifiers, addresses."""
        return frozenset(token.root for token in self.tokens if token.is_detail)

    @property
    def names(self) -> frozenset[str]:
        """Details that are no numbers."""
        return frozenset(token.root for token in self.tokens if token.is_name)

    @property
    def openings(self) -> frozenset[str]:
        """Words that may be names, since they begin a sentence."""
        return frozenset(token.root for token in self.tokens if token.opens)

    @property
    def words(self) -> frozenset[str]:
        """All that say something."""
        return frozenset(token.root for token in self.tokens if not token.is_common)


def read(text: str) -> Said:
    """What a text of one or a few sentences says."""
    plain = unicodedata.normalize("NFC", text)
    negates = bool(_NOT_CONTRACTED.search(plain))
    plain = _OF_IT.sub("", _NOT_CONTRACTED.sub("", plain))
    plain = _ELISION.sub(lambda found: " ne " if found[0][0] in "nN" else " ", plain)
    plain = _THOUSANDS.sub(lambda found: re.sub(r"\D", "", found[0]), plain)
    tokens = tuple(_tokens(plain))
    return Said(tokens, negates or any(token.root in _negating() for token in tokens), plain.rstrip().endswith("?"))


def folded(word: str) -> str:
    """Without case and accents."""
    return _ACCENTS.sub("", unicodedata.normalize("NFD", word.casefold()))


def _tokens(text: str) -> Iterator[Token]:
    for found in _TOKEN.finditer(text):
        word = found[0]
        plain = folded(word)
        if word[0].isdigit() and not _IDENTIFIER.search(word):
            yield Token(plain, is_number=True)
        elif _IDENTIFIER.search(word) or (len(word) == 1 and word.isupper() and plain not in _common()):
            # Its case may be a part of it.
            yield Token(word, is_name=True)
        elif plain in _common() or plain in _negating():
            yield Token(plain, is_common=True)
        else:
            begins = bool(_SENTENCE_END.search(text[max(0, found.start() - 3) : found.start()]))
            capital = word[0].isupper()
            is_name = capital and (not begins or word[1:] != word[1:].lower())
            yield Token(_root(plain), is_name=is_name, opens=capital and begins)


def _root(word: str) -> str:
    if len(word) > 5:
        for ending in _ENDINGS:
            if word.endswith(ending) and len(word) - len(ending) > 3:
                return word[: -len(ending)]
    return word[:-1] if len(word) > 3 and word[-1] in "se" else word


@cache
def _negating() -> frozenset[str]:
    return frozenset(_NEGATIONS.split())


@cache
def _common() -> frozenset[str]:
    return frozenset(_COMMON.split())
