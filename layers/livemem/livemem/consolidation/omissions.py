"""Lines that stand for content that was left out: "(rest of the file unchanged)", "[existing entries]", "...". Pure.

Such a line would take the place of other lines. It is known by its words: in brackets it names a rest and says that it
stays. Without brackets it has no word of its own.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from livemem.text.text_tokens import folded

LONGEST = 160
"""Characters: a longer line says something of its own."""
_SPLIT = re.compile(r"[^\W_]+")
_DOTS = re.compile(r"(?:\.\s?){3,}|…+")
_FRAME = re.compile(r"<!--.*-->|[(\[{<*_/#\-\s]*[(\[{<].*[)\]}>][*_\s.]*|//.*|/\*.*\*/|(?:\.\.\.|…).*|.*(?:\.\.\.|…)")
"""A comment, brackets around it all, or dots before or behind it."""

_REST = """
rest remainder remaining other others existing previous earlier above original old everything all same content contents
section sections file files entry entries line lines item items bullet bullets text part parts list
reste restant restants restante restantes autre autres existant existants existante existantes precedent precedente
precedents precedentes suite tout contenu contenus section sections fichier fichiers entree entrees ligne lignes
element elements puce puces texte liste
"""
_STAYS = """
unchanged unmodified untouched omitted skipped elided truncated snipped snip brevity identical preserved retained
existing inchange inchangee inchanges inchangees identique identiques omis omise omises tronque tronquee conserve
conservee conserves conservees concision existant existante existants existantes idem
"""
_STAYS_WITH_REST = (
    "same stays stay remains remain kept keep keeping before continues continue follows here demeure reste"
)
_FILLING = """
the a an of is are was were as in for to and or no not any at from with by this that these those it they them see still
exactly simply just else been be changes change changed version full again below current here etc
le la les l de du des d un une est sont etait dans pour et ou ni ne pas aucun aucune sans changement changements modifie
modifiee modifies modifiees ce cet cette ces il elle ils elles voir ici comme meme memes avant apres plus haut bas
version actuel actuelle complet complete
"""


@lru_cache(maxsize=1)
def _words() -> tuple[frozenset[str], frozenset[str], frozenset[str], frozenset[str]]:
    rest, stays, weak, filling = (frozenset(text.split()) for text in (_REST, _STAYS, _STAYS_WITH_REST, _FILLING))
    return rest, stays, weak, filling


def heading_words(texts: Iterable[str]) -> frozenset[str]:
    """The words of all headings of the texts, without case and accents."""
    lines = (line for text in texts for line in text.splitlines() if line.startswith("#"))
    return frozenset(folded(word) for line in lines for word in _SPLIT.findall(line))


def is_omission(bare: str, headings: frozenset[str] = frozenset()) -> bool:
    """Whether a line, without the mark of a list, stands for content that was left out. `headings`: words that name
    sections (heading_words).
    """
    if not bare or len(bare) > LONGEST:
        return False
    if _DOTS.fullmatch(bare.strip("()[]{}<>*_ ")):
        return True
    rest, stays, weak, filling = _words()
    words = [folded(word) for word in _SPLIT.findall(bare)]
    names, says = any(word in rest for word in words), any(word in stays for word in words)
    stays_so = says or (names and any(word in weak for word in words)) or _no_change(words)
    if not stays_so:
        return False
    if _FRAME.fullmatch(bare) and (names or says):
        count = sum(word in rest | stays | weak | filling for word in words)
        return 2 * count >= len(words)
    own = [word for word in words if word not in rest | stays | weak | filling | headings and not word.isdigit()]
    return not own


def _no_change(words: list[str]) -> bool:
    """Whether all that they say is that nothing changes."""
    return (
        len(words) <= 3
        and bool({"no", "sans", "aucun"} & set(words))
        and bool({"change", "changes", "changement", "changements"} & set(words))
    )
