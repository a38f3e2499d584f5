"""The cache of one process: values live for their time, and only so many of them."""

from livemem.cache import SizedCache, TimedCache


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


def test_what_was_not_asked_for_longest_goes_when_the_sizes_are_too_many():
    cache = SizedCache[str](10)
    for key in "abc":
        cache.put(key, key.upper(), 3)
    assert cache.get("a") == "A"

    cache.put("d", "D", 4)

    assert [cache.get(key) for key in "abcd"] == ["A", None, "C", "D"]


def test_a_value_that_is_put_in_again_counts_once_with_its_new_size():
    cache = SizedCache[str](10)
    for size in (9, 2, 5):
        cache.put("a", f"of {size}", size)
    cache.put("b", "B", 5)

    assert (cache.get("a"), cache.get("b")) == ("of 5", "B")


def test_a_value_that_alone_is_too_large_is_not_kept():
    cache = SizedCache[str](10)

    assert cache.put("a", "A", 11) == "A"
    assert cache.get("a") is None

    cache.put("b", "B", 10)
    assert cache.get("b") == "B"


def test_a_cleared_cache_is_empty_and_takes_as_much_as_a_new_one():
    cache = SizedCache[str](10)
    cache.put("a", "A", 10)
    cache.clear()
    assert cache.get("a") is None

    cache.put("b", "B", 10)
    cache.put("c", "C", 0)
    assert (cache.get("b"), cache.get("c")) == ("B", "C")
