"""Which token made which, so that a revocation can also revoke the tokens that the token made.

An entry keeps the first 16 digits of its maker's hash (64 random bits) and the maker's name. When a token is rotated,
its successor becomes the maker of the tokens that it made. When a token is removed, its own maker becomes theirs. So
those tokens are found as long as they exist. Entries of older versions name no maker, so they are not found.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable

from livemem.access.principal import Principal
from livemem.access.registry import Maker, Registry, Token

PREFIX = len("sha256:") + 16
"""Characters of a hash that name a maker. The routes accept as many."""


def prefix(token_hash: str) -> str:
    """How entries name the token of this hash as their maker."""
    return token_hash[:PREFIX]


def maker(principal: Principal) -> Maker:
    """The principal as the maker of a token. The bootstrap key has no hash here: it is in no registry."""
    return Maker(hash=prefix(principal.token_hash) if principal.token_hash else None, name=principal.name)


def _name(maker: Maker | None) -> str:
    """The maker's hash prefix. Empty for no maker and for the bootstrap key."""
    return prefix(maker.hash) if maker and maker.hash else ""


def family(
    registry: Registry,
    token: Token,
    *,
    successors: bool,
    descendants: bool,
    within: Callable[[Token], bool],
) -> list[Token]:
    """The token, the tokens it was rotated to (`successors`), the tokens each of these made (`descendants`), and so on.

    It follows only entries that are `within`. It ends even if somebody wrote circles into the bucket.
    """
    by_hash = {entry.hash: entry for entry in registry.tokens}
    made = defaultdict[str, list[Token]](list)
    for entry in registry.tokens if descendants else ():
        if name := _name(entry.made_by):
            made[name].append(entry)
    family: dict[str, Token] = {}
    ahead = [token]
    while ahead:
        entry = ahead.pop()
        if entry.hash in family:
            continue
        family[entry.hash] = entry
        successor = by_hash.get(entry.replaced_by or "") if successors else None
        ahead += [heir for heir in (successor, *made[prefix(entry.hash)]) if heir and within(heir)]
    return list(family.values())


def handed_over(entries: Iterable[Token], old: Collection[str], new: str) -> list[Token]:
    """The entries, where the `new` hash replaces the `old` ones as maker: all of them have one holder."""
    former = {prefix(token_hash) for token_hash in old}
    return [
        entry.model_copy(update={"made_by": entry.made_by.model_copy(update={"hash": prefix(new)})})
        if entry.made_by and _name(entry.made_by) in former
        else entry
        for entry in entries
    ]


def without(registry: Registry, doomed: Collection[str]) -> Registry:
    """The registry without the entries of these hashes. Tokens that they made get the maker of their maker.

    An entry whose makers are all removed keeps the name of the last one.
    """
    removed = [entry for entry in registry.tokens if entry.hash in doomed]
    above: dict[str, Maker | None] = {prefix(entry.hash): entry.made_by for entry in removed}

    def heir(entry: Token) -> Maker | None:
        maker, passed = entry.made_by, set[str]()
        while (name := _name(maker)) in above and name not in passed:
            passed.add(name)
            maker = above[name]
        # The next search along this path takes one step.
        above.update(dict.fromkeys(passed, maker))
        return maker if maker and maker.hash and _name(maker) not in above else entry.made_by

    heirs = [
        entry if (after := heir(entry)) == entry.made_by else entry.model_copy(update={"made_by": after})
        for entry in registry.tokens
        if entry.hash not in doomed
    ]
    return registry.model_copy(update={"tokens": heirs})
