"""The tokens of a short text: words in their order, with their properties known without a dictionary.

Details are the reason to keep a memory, and a restatement may lose them: numbers, dates, names, identifiers, addresses.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache

_THOUSANDS = re.compile(r"(?<![\w.,])\d{1,3}(?:[ ,'\u00a0\u202f]\d{3})+(?![\d])")
_TOKEN = re.compile(r"https?://[^\s<>\"»)]*[\w/]|[#@]?[^\W_][\w]*(?:[./:@+&-]+\w+)*[%+#]*|_+\w+(?:[./:@-]\w+)*")
_COMPOUND = re.compile(r"[^\W\d_]{2,}(?:-[^\W\d_]{2,})+")
"""`audit-logs` is two words; `db-1`, `e-mail` and `#ops-alerts` are one each."""
_ELISION = re.compile(r"\b(?:[cdjlmnst]|(?:jus|lors|puis)?qu)['’](?=\w)", re.IGNORECASE)
_NOT_CONTRACTED = re.compile(r"n['’]t\b", re.IGNORECASE)
_OF_IT = re.compile(r"['’]s\b", re.IGNORECASE)
_ACCENTS = re.compile("[\u0300-\u036f]+")
_SENTENCE_END = re.compile(r"[.!?:]\s*\Z|\A\W*\Z")
_IDENTIFIER = re.compile(r"[a-z][A-Z]|_|^[#@]|[^\W\d][./@]\w|\d[^\W\d]|[^\W\d]-?\d")
_ENDING = re.compile(r"(?<=.{4})(?:ements?|ments?|ions?|ings?|ees?|e[dsrz]|e|s)\Z", re.DOTALL)
"""The longest one is cut from a word of more than five letters: enough to see "deploys" in "deployment"."""

_DATE = re.compile(r"\d{4}-\d\d(?:-\d\d)?|\d\d?([./])\d\d?\1\d{2,4}|[0-2]?\d:[0-5]\d")
"""2026-05-03, 3.5.2026, 14:30. Not 3.12, which may be a version."""
_DAY_OR_YEAR = re.compile(r"[0-3]?\d(?:st|nd|rd|th|er?)?|(?:19|20)\d\d")

_NEGATIONS = """
not no never none nobody nothing neither nor cannot without forbidden disabled denied refuses refused unable
stopped removed abandoned ne pas jamais aucun aucune rien personne sans ni interdit interdite interdits
interdites desactive desactivee desactives desactivees refuse refusee refusees abandonne abandonnee supprime supprimee
"""
_COUNTED = """
one two three four five six seven eight nine ten eleven twelve twenty thirty hundred thousand
deux trois quatre cinq sept huit dix onze douze vingt trente cent mille
"""
_MONTHS = """
january february march april june july august september october november december
janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre
"""
_DAYS = f"""{_MONTHS}
monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays
sundays lundi mardi mercredi jeudi vendredi samedi dimanche lundis mardis mercredis jeudis vendredis samedis dimanches
"""
_DATES = f"""{_DAYS}
daily weekly monthly yearly nightly day days night nights week weeks month months quarter quarters year years noon
midnight jour jours nuit nuits semaine semaines mois trimestre trimestres an ans annee annees quotidien quotidienne
hebdomadaire mensuel mensuelle annuel annuelle midi minuit
"""
_COMMON = """
a about all also always an and any are as at be been being both but by can could did do does doing done each
every for from had has have he her his how if in into is it its itself may me might must my of off on once
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
class TextToken:
    """One word, number, name or address, in the order of the text."""

    root: str
    """The form that is compared: without case, accents and the usual endings. Details stay as they are written."""
    is_name: bool = False
    is_number: bool = False
    is_date: bool = False
    """A part of a date or a time of day: "Friday", "2026-05-03", the 3 of "3 May"."""
    is_common: bool = False
    """It says little: an article, a preposition, an auxiliary verb."""

    is_label: bool = False
    """A number that identifies one of several things."""
    opens: bool = False
    """It begins a sentence with a capital: it may be a name, or not."""

    @property
    def is_detail(self) -> bool:
        """Whether a restatement without it says less."""
        return self.is_name or self.is_number


@dataclass(frozen=True)
class TextTokens:
    """The content of one text, as far as its letters show it."""

    tokens: tuple[TextToken, ...]
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
    def undated(self) -> frozenset[str]:
        """All words that say something but for dates."""
        return frozenset(token.root for token in self.telling if not token.is_date)

    @property
    def openings(self) -> frozenset[str]:
        """Words that may be names, since they begin a sentence."""
        return frozenset(token.root for token in self.tokens if token.opens)

    @property
    def telling(self) -> list[TextToken]:
        """The tokens that say something, in their order."""
        return [token for token in self.tokens if not token.is_common]

    @property
    def words(self) -> frozenset[str]:
        """All words that say something."""
        return frozenset(token.root for token in self.telling)


def read(text: str) -> TextTokens:
    """The tokens of a text of one or a few sentences."""
    plain = unicodedata.normalize("NFC", text).replace("\u2010", "-").replace("\u2011", "-")
    negates = bool(_NOT_CONTRACTED.search(plain))
    plain = _OF_IT.sub("", _NOT_CONTRACTED.sub("", plain))
    plain = _ELISION.sub(lambda match: " ne " if match[0][0] in "nN" else " ", plain)
    plain = _THOUSANDS.sub(lambda match: re.sub(r"\D", "", match[0]), plain)
    tokens = _dated(_labelled(list(_tokens(plain))))
    negates = negates or not _listed(_NEGATIONS).isdisjoint(token.root for token in tokens)
    return TextTokens(tuple(tokens), negates, plain.rstrip().endswith("?"))


def folded(word: str) -> str:
    """Without case and accents."""
    return word.lower() if word.isascii() else _ACCENTS.sub("", unicodedata.normalize("NFD", word.casefold()))


def is_common(word: str) -> bool:
    """Whether a word, folded, says little wherever it stands."""
    return word in _listed(_COMMON)


def _tokens(text: str) -> Iterator[TextToken]:
    for match in _TOKEN.finditer(text):
        begins = bool(_SENTENCE_END.search(text[max(0, match.start() - 3) : match.start()]))
        for at, part in enumerate(match[0].split("-") if _COMPOUND.fullmatch(match[0]) else [match[0]]):
            yield (_short_token if len(part) < 64 else _token)(part, begins=begins and not at)


def _labelled(tokens: list[TextToken]) -> list[TextToken]:
    """The number in "room 4 has" identifies the room. In "4 rooms" and "it takes 4 days" it does not."""
    return [
        replace(token, is_label=True)
        if token.is_number and 0 < at < len(tokens) - 1 and not tokens[at - 1].is_common and tokens[at + 1].is_common
        else token
        for at, token in enumerate(tokens)
    ]


def _dated(tokens: list[TextToken]) -> list[TextToken]:
    """The day and the year beside a month are parts of a date, too."""
    beside = {place + step for place, token in enumerate(tokens) if token.root in _months() for step in (-2, -1, 1, 2)}
    return [
        replace(token, is_date=True) if place in beside and _DAY_OR_YEAR.fullmatch(token.root) else token
        for place, token in enumerate(tokens)
    ]


def _token(word: str, *, begins: bool) -> TextToken:
    """`begins`: it stands first in a sentence, where a capital says nothing."""
    plain = folded(word)
    if _DATE.fullmatch(plain):
        return TextToken(root(plain), is_number=True, is_date=True)
    if _IDENTIFIER.search(word) or (len(word) == 1 and word.isupper() and not is_common(plain)):
        # Its case may be a part of it.
        return TextToken(word, is_name=True)
    if plain[0].isdigit() or plain in _listed(_DATES) or plain in _listed(_COUNTED):
        return TextToken(root(plain), is_number=True, is_date=plain in _listed(_DAYS))
    if is_common(plain) or plain in _listed(_NEGATIONS):
        return TextToken(plain, is_common=True)
    capital = word[0].isupper()
    is_name = capital and (not begins or word[1:] != word[1:].lower())
    return TextToken(root(plain), is_name=is_name, opens=capital and begins)


_short_token = lru_cache(maxsize=16_384)(_token)  # texts repeat their words


def root(word: str) -> str:
    """A folded word without the usual endings."""
    if len(word) > 5:
        return _ENDING.sub("", word)
    return word[:-1] if len(word) > 3 and word[-1] in "se" else word


@cache
def _months() -> frozenset[str]:
    # "may" is a common word where no day stands beside it.
    return frozenset(root(word) for word in _listed(_MONTHS)) | {"may"}


@cache
def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())
