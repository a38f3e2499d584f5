"""The page in a real browser against its targets: weight, first view, pauses in a long list, and the cost of each view.

    python -m benchmarks.page [--notes 2000] [--items 100000] [--loads 5]

A service of its own is started, with a space of `--notes` live notes. The long list gets its answers from here: a
thousand notes a page until `--items` of them are in the browser. From then on it is measured, with pages as they are
asked for. All other answers are the service's own. A task of the browser's main thread is a pause: somebody who types
or scrolls waits for it.
"""

import argparse
import json
import re
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Browser, Route

from benchmarks.scale import tally
from live_memory import Client
from local.demo.__main__ import running_service
from tests.support.browser import Visit, launched, store_requests, visited

SPACE = "page"
BATCH = 100
PAGE = 1_000
"""Notes of one answer while the long list is made long."""
WATCHED = 60
"""Seconds for which a view is left open, to tell what an hour of it costs."""
OPEN = ("start", "space", "history", "memories", "jobs")
SCROLLS = 60
"""Through the long list, half of them to its end."""
TARGETS = {"kB of the first view": 120.0, "seconds to the first view": 1.0, "longest pause in ms": 50.0}
VIEWS = {
    "start": "#/",
    "space": f"#/spaces/{SPACE}",
    "bank": f"#/spaces/{SPACE}/bank",
    "history": f"#/spaces/{SPACE}/history",
    "told": f"#/spaces/{SPACE}/told",
    "rules": f"#/spaces/{SPACE}/rules",
    "settings": f"#/spaces/{SPACE}/settings",
    "search": f"#/spaces/{SPACE}/search?q=store",
    "conversations": f"#/spaces/{SPACE}/conversations",
    "memories": f"#/spaces/{SPACE}/memories",
    "rooms": f"#/spaces/{SPACE}/rooms",
    "health": "#/operate/health",
    "jobs": "#/operate/jobs",
    "usage": "#/operate/usage",
    "tokens": "#/operate/tokens",
    "backups": "#/operate/backups",
}
PAUSES = """
window.pauses = [];
new PerformanceObserver((list) => list.getEntries().forEach((entry) => window.pauses.push(entry.duration)))
  .observe({ type: 'longtask', buffered: true });
"""


@dataclass(frozen=True)
class Service:
    """The running service: a client and the key of its admin."""

    admin: Client
    admin_key: str


@dataclass(frozen=True)
class Cost:
    """What one view asked of the API, and the API of the store."""

    calls: int
    store: Counter[str]


def main() -> int:
    """Measure, print, and return 1 where a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.page")
    for option, usual in (("--notes", 2_000), ("--items", 100_000), ("--loads", 5)):
        parser.add_argument(option, type=int, default=usual)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, launched() as browser, running(Path(folder)) as service:
        fill(service, given.notes)
        found = {
            "kB of the first view": weight(browser, service) / 1_000,
            "seconds to the first view": first_view(browser, service, given.loads),
            "longest pause in ms": longest_pause(browser, service, given.items),
        }
        print("| | measured | target |\n|---|---:|---:|")
        for name, value in found.items():
            print(f"| {name} | {value:.2f} | {TARGETS[name]:g} |")
        print("\n| view | calls | requests to the store |\n|---|---:|---|")
        for name, cost in costs(browser, service).items():
            told = ", ".join(f"{count} {kind}" for kind, count in sorted(cost.store.items())) or "none"
            print(f"| {name} | {cost.calls} | {told} |")
        print("\n| an hour of | calls | requests to the store | dollars for these |\n|---|---:|---:|---:|")
        for name in OPEN:
            cost = hour(browser, service, VIEWS[name])
            print(f"| {name} | {cost.calls:,} | {cost.store.total():,} | {tally.dollars(cost.store):.4f} |")
    return int(any(value > TARGETS[name] for name, value in found.items()))


@contextmanager
def running(data: Path) -> Iterator[Service]:
    """A service of its own, for as long as the block lasts."""
    with running_service(data) as (service, endpoints):
        key = service.data.admin_key()
        yield Service(Client(endpoints["api"], key, timeout=30.0), key)


def fill(service: Service, count: int) -> None:
    """A space with so many live notes."""
    service.admin.spaces.create(space_id=SPACE, consolidation_threshold=0)
    for first in range(0, count, BATCH):
        some = range(first, min(first + BATCH, count))
        notes = [{"category": "progress", "content": f"Step {one}: the store keeps part {one}."} for one in some]
        service.admin.notes.append(SPACE, items=notes)


def signed_in(browser: Browser, service: Service, link: str) -> Visit:
    """A visit at this view."""
    visit = visited(browser, url_of(service))
    visit.page.add_init_script(PAUSES)
    visit.open(link)
    visit.sign_in(service.admin_key)
    settle(visit)
    return visit


def url_of(service: Service) -> str:
    """The address of the service."""
    return str(service.admin.url).removesuffix("/v1")


def settle(visit: Visit) -> None:
    """Wait until the view has all that it asks for."""
    visit.page.locator("h1").first.wait_for()
    visit.settle()


def weight(browser: Browser, service: Service) -> int:
    """Bytes of all files that the first view loads, as they come over the wire, without data."""
    visit = visited(browser, url_of(service))
    sizes: list[int] = []
    visit.page.on(
        "requestfinished",
        lambda request: sizes.append(request.sizes()["responseBodySize"]) if "/v1/" not in request.url else None,
    )
    visit.open(f"#/spaces/{SPACE}")
    visit.sign_in(service.admin_key)
    settle(visit)
    visit.page.context.close()
    return sum(sizes)


def first_view(browser: Browser, service: Service, loads: int) -> float:
    """Seconds from the address to the newest note on the screen, by a browser with an empty cache: the median."""
    seconds = []
    for _ in range(loads):
        visit = signed_in(browser, service, f"#/spaces/{SPACE}")
        visit.page.context.clear_cookies()
        began = time.perf_counter()
        visit.page.reload()
        visit.page.get_by_text("the store keeps part").first.wait_for()
        seconds.append(time.perf_counter() - began)
        visit.page.context.close()
    return statistics.median(seconds)


def longest_pause(browser: Browser, service: Service, items: int) -> float:
    """Milliseconds of the longest task while a list of `items` is scrolled and grows, and while a search is typed."""
    visit = signed_in(browser, service, "#/")
    loaded: list[int] = []
    visit.page.route(re.compile(rf"/v1/spaces/{SPACE}/notes\?"), lambda route: loaded.append(answer_page(route, items)))
    visit.open(f"#/spaces/{SPACE}")
    settle(visit)
    for _ in range(3 * items // PAGE):
        scroll(visit, bottom=True)
        if max(loaded) >= items:
            break
    visit.settle()
    visit.page.locator("main ul.page > li").first.wait_for(state="attached")
    rows = visit.page.locator("main ul.page > li").count()
    print(f"{max(loaded)} items are in the list, {rows} rows of them in the document.\n")
    visit.page.evaluate("window.pauses.length = 0")
    for step in range(SCROLLS):
        scroll(visit, bottom=step % 2 == 0)
    visit.settle()
    visit.open(f"#/spaces/{SPACE}/search")
    visit.page.locator("main input[type=search]").first.press_sequentially("which store keeps it", delay=30)
    visit.settle()
    pauses: list[float] = visit.page.evaluate("window.pauses")
    visit.page.context.close()
    return max(pauses, default=0.0)


def scroll(visit: Visit, *, bottom: bool) -> None:
    """To the end of the list, where the next page is loaded, or back to a place within it."""
    visit.page.evaluate("scrollTo(0, document.body.scrollHeight * Math.random())")
    if bottom:
        visit.page.evaluate("scrollTo(0, document.body.scrollHeight)")
    visit.page.wait_for_timeout(60)


def answer_page(route: Route, items: int) -> int:
    """One page of a list that is longer than any service would be filled with here: large ones until it is that long,
    then pages of the size that was asked for, without an end. Returns how many are loaded then.
    """
    asked = parse_qs(urlsplit(route.request.url).query)
    begin = int(asked.get("cursor", ["0"])[0])
    end = begin + (PAGE if begin < items else int(asked.get("limit", ["50"])[0]))
    route.fulfill(
        content_type="application/json",
        body=json.dumps({"items": list(notes(begin, end)), "next_cursor": str(end)}),
    )
    return end


def notes(begin: int, end: int) -> Iterator[dict[str, Any]]:
    """Notes as the service shows them."""
    for one in range(begin, end):
        moment = time.strftime("%Y%m%dT%H%M%S", time.gmtime(1_790_000_000 - one))
        yield {
            "note_id": f"{moment}_ann_progress_{one:08x}",
            "space_id": SPACE,
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(1_790_000_000 - one)),
            "agent": "ann",
            "category": "progress",
            "tags": ["step"],
            "content": f"Step {one}: the store keeps part {one}.",
            "size": 200,
            "status": "live",
        }


def costs(browser: Browser, service: Service) -> dict[str, Cost]:
    """The cost of each view, opened by its link by somebody who is signed in."""
    visit = signed_in(browser, service, "#/")
    found = {}
    for name, link in VIEWS.items():
        visit.page.goto("about:blank")
        visit.requests.clear()
        visit.store.clear()
        visit.open(link)
        settle(visit)
        found[name] = Cost(len(visit.requests), sum(visit.store.values(), Counter()))
    visit.page.context.close()
    return found


def hour(browser: Browser, service: Service, link: str) -> Cost:
    """What a view asks in an hour in which nothing happens, in a tab that is seen."""
    visit = signed_in(browser, service, link)
    calls: list[Counter[str]] = []
    visit.page.on("response", lambda one: calls.append(store_requests(one)) if "/v1/" in one.url else None)
    visit.page.wait_for_timeout(WATCHED * 1_000)
    visit.page.context.close()
    whole = sum(calls, Counter[str]())
    return Cost(len(calls) * 3_600 // WATCHED, Counter({kind: n * 3_600 // WATCHED for kind, n in whole.items()}))


if __name__ == "__main__":
    raise SystemExit(main())
