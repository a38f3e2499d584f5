"""Thousands of statements of one thing."""

from datetime import UTC, datetime, timedelta

from livemem import clock
from livemem.recall.hit_list import WINDOW, HitList
from livemem.recall.search_request import SearchRequest
from livemem.search.documents import Document
from livemem.search.engine import Hit

MANY = 5_000
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


class Ranked:
    """So many statements of one thing that match, the oldest first, each with another number."""

    def __init__(self) -> None:
        self.read = 0

    def first(self, most: int) -> list[Hit]:
        self.read = max(self.read, most)
        return [
            Hit(Document(f"n{at}", "note", f"The kiosk shows {at} free berths.", "notes", str(at), time=_time(at)), 1.0)
            for at in range(min(most, MANY))
        ]

    def with_line(self, hit: Hit) -> Hit:
        return hit

    def document(self, name: str) -> None:
        return None

    def leave_out(self, kinds: tuple[str, ...]) -> None: ...


def _time(at: int) -> str:
    return clock.iso(BEGIN + timedelta(minutes=at))


def test_of_thousands_of_statements_of_one_thing_the_newest_of_the_best_come_first_and_no_more_are_read():
    ranked = Ranked()
    answer = HitList(ranked, SearchRequest.of("free berths of the kiosk", everything=True))  # type: ignore[arg-type]

    hits, behind = answer.page(0, 10)

    assert [hit.document.id for hit in hits] == [f"n{WINDOW - 1 - at}" for at in range(10)]
    assert ranked.read == WINDOW
    assert behind is not None
