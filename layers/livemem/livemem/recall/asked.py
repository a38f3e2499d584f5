"""What is searched for: the texts of a request, checked."""

from dataclasses import dataclass

from livemem import clock as clocks
from livemem.errors import InvalidName, InvalidRequest
from livemem.notes import pages
from livemem.recall.sources import ARCHIVE, BANK, LIVE
from livemem.search import words
from livemem.search.index import Filter
from livemem.search.words import Query
from livemem.store import keys

KINDS = {"live": LIVE, "bank": BANK, "archive": ARCHIVE}
"""What a scope is called in a request, and its kind of documents."""
ALL = "all"
QUERY_CHARACTERS = 4_000
LIMIT_DEFAULT, LIMIT_MOST = 10, 100


@dataclass(frozen=True)
class Asked:
    """What is searched for, checked."""

    text: str
    query: Query
    filter: Filter
    limit: int
    recency: float

    @classmethod
    def of(
        cls,
        text: str,
        *,
        scope: str | None = None,
        limit: int = LIMIT_DEFAULT,
        author: str | None = None,
        category: str | None = None,
        tag: str | None = None,
        since: str | None = None,
        until: str | None = None,
        recency: float = 0.0,
    ) -> "Asked":
        """The request's texts; raises InvalidRequest or InvalidName, naming the field."""
        if len(text) > QUERY_CHARACTERS:
            raise InvalidRequest.of("q", f"at most {QUERY_CHARACTERS} characters")
        query = words.parse(text)
        if not query.words and not query.prefixes:
            raise InvalidRequest.of("q", "holds no word to look for")
        # The same rules, and the same words when they are broken, as for pages of notes.
        checked = pages.Filter.of(category=category, agent=None, tag=tag, since=since, until=until)
        if author is not None and not keys.AGENT.fullmatch(author):
            raise InvalidName("author", "must be the name of an agent: letters, digits and hyphens")
        moments = {"since": checked.since, "until": checked.until}
        return cls(
            text,
            query,
            Filter(
                _kinds(scope),
                author,
                category,
                tag,
                **{name: clocks.iso(moment) if moment else None for name, moment in moments.items()},
            ),
            limit,
            recency,
        )


def _kinds(scope: str | None) -> tuple[str, ...] | None:
    """The kinds of documents that a scope names; None for all."""
    names = (scope or "live,bank").split(",")
    if ALL in names and len(names) == 1:
        return None
    unknown = [name for name in names if name not in KINDS]
    if unknown:
        raise InvalidRequest.of("scope", f"must be {ALL}, or some of {', '.join(KINDS)}, with commas between them")
    return tuple(dict.fromkeys(KINDS[name] for name in names))
