"""The cache of one process: values live for their time, and only so many of them."""

from livemem.cache import TimedCache


class Seconds:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_value_is_kept_for_its_time_and_not_longer():
    clock = Seconds()
    cache = TimedCache[str](30, clock=clock)
    cache.put("demo", "meta")

    clock.now += 29.9
    assert cache.get("demo") == "meta"

    clock.now += 0.1
    assert cache.get("demo") is None


def test_putting_a_value_again_renews_its_time():
    clock = Seconds()
    cache = TimedCache[str](30, clock=clock)
    cache.put("demo", "old")
    clock.now += 20

    assert cache.put("demo", "new") == "new"
    clock.now += 20

    assert cache.get("demo") == "new"


def test_the_oldest_value_goes_when_there_are_too_many():
    cache = TimedCache[int](30, size=2, clock=Seconds())
    for number in (1, 2, 3):
        cache.put(number, number)

    assert [cache.get(number) for number in (1, 2, 3)] == [None, 2, 3]


def test_a_value_that_was_put_in_again_is_not_the_oldest():
    cache = TimedCache[int](30, size=2, clock=Seconds())
    for number in (1, 2, 1, 3):
        cache.put(number, number)

    assert [cache.get(number) for number in (1, 2, 3)] == [1, None, 3]


def test_a_dropped_value_is_gone_and_dropping_nothing_is_no_error():
    cache = TimedCache[int](30, clock=Seconds())
    cache.put(1, 1)

    cache.drop(1)
    cache.drop(2)

    assert cache.get(1) is None
