"""Dates by their distance from today, and in other forms than a month's name."""

from datetime import date

from livemem.search.dates import Date, dates, names_relative_date, relative_dates
from tests.support.cases import each

WEDNESDAY = date(2026, 1, 14)


@each(
    ("text", "named"),
    [
        ("What did we decide yesterday?", Date(2026, 1, 13)),
        ("qu'avons-nous dit hier ?", Date(2026, 1, 13)),
        ("the day before yesterday", Date(2026, 1, 12)),
        ("avant-hier", Date(2026, 1, 12)),
        ("today", Date(2026, 1, 14)),
        ("aujourd’hui", Date(2026, 1, 14)),
        ("last week", Date(2026, 1, 5, 7)),
        ("la semaine dernière", Date(2026, 1, 5, 7)),
        ("this week", Date(2026, 1, 12, 7)),
        ("cette semaine", Date(2026, 1, 12, 7)),
        ("last month", Date(2025, 12, None)),
        ("le mois dernier", Date(2025, 12, None)),
        ("this month", Date(2026, 1, None)),
        ("l'année dernière", Date(2025, None, None)),
        ("last year", Date(2025, None, None)),
        ("three days ago", Date(2026, 1, 11)),
        ("il y a deux semaines", Date(2025, 12, 29, 7)),
        ("2 months ago", Date(2025, 11, None)),
        ("in the last 3 days", Date(2026, 1, 11, 4)),
        ("les 10 derniers jours", Date(2026, 1, 4, 11)),
        ("999 years ago", Date(1027, None, None)),
        ("the last build of the week", None),
        ("he is at last here", None),
    ],
)
def test_a_distance_from_today_is_a_date(text, named):
    wanted = (Date(*named),) if isinstance(named, tuple) else (named,) if named else ()

    assert relative_dates(text, WEDNESDAY) == wanted
    assert names_relative_date(text) is bool(wanted)


@each("unit", ["days", "weeks", "months", "years"])
def test_a_far_distance_is_a_date_of_the_calendar(unit):
    for text in (f"999 {unit} ago", f"the last 999 {unit}"):
        (found,) = relative_dates(text, WEDNESDAY)
        assert found.year is not None
        assert found.year >= 1000


@each(
    ("text", "named"),
    [
        ("on 2024/03/15", [Date(2024, 3, 15)]),
        ("on 2024-3-5", [Date(2024, 3, 5)]),
        ("in 2024-03", [Date(2024, 3, None)]),
        ("am 15.03.2024", [Date(2024, 3, 15)]),
        ("le 15/03/2024", [Date(2024, 3, 15)]),
        # Of two that may be the month, both are meant.
        ("on 05/03/2024", [Date(2024, 3, 5), Date(2024, 5, 3)]),
        ("on 2024-03-15", [Date(2024, 3, 15)]),
        ("v1.2.2024", [Date(2024, None, None)]),
        ("10.0.2024.1", [Date(2024, None, None)]),
        ("in 2024", [Date(2024, None, None)]),
    ],
)
def test_numbers_are_dates_in_any_usual_order(text, named):
    assert list(dates(text)) == named
