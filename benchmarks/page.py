"""What the page costs and how fast it is, in a real browser on the local runtime.

    .venv/bin/python -m benchmarks.page [--notes 2000] [--scroll 20000]

It starts a runtime of its own with a space of so many notes. For each view it prints the requests of the API and of the
store until all of it is shown, and how long that took: the median of five, after one that nobody counts. Then it scrolls
through a list of `--scroll` notes. These notes are answered within the browser, since only the page's own work is
measured. A pause is a task of the browser of more than 50 ms.
"""

import argparse
import json
import re
import statistics
import tempfile
import time
from collections import Counter
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Page, Response, Route, expect

from live_memory import Client
from local.demo.service import running_service
from tests.support.browser import PATIENCE_MS, launched, visited

SPACE = "page"
CATEGORIES = ("decision", "todo", "issue", "observation", "insight")
BATCH = 100
TIMES = 5
PAUSE_MS = 50
VIEWS = {
    "start": "#/",
    "now": f"#/spaces/{SPACE}",
    "bank": f"#/spaces/{SPACE}/bank",
    "history": f"#/spaces/{SPACE}/history",
    "what an agent is told": f"#/spaces/{SPACE}/told",
    "rules": f"#/spaces/{SPACE}/rules",
    "settings": f"#/spaces/{SPACE}/settings",
    "operate": "#/operate",
}
WATCH = """
window.pauses = [];
new PerformanceObserver((list) => list.getEntries().forEach((one) => pauses.push(one.duration)))
  .observe({ type: "longtask" });
"""


def seed(client: Client, notes: int) -> None:
    """A space whose notes wait, with a bank of the first of them."""
    client.spaces.create(space_id=SPACE, consolidation_threshold=0)
    for start in range(0, notes, BATCH):
        batch = [
            {"category": CATEGORIES[n % 5], "content": f"Note {n}: the import of port {n % 97} fails at night.", "tags": ["a"]}
            for n in range(start, min(start + BATCH, notes))
        ]
        client.notes.append_batch(SPACE, notes=batch)
        if start == 0:
            run = client.runs.start(SPACE)
            client.jobs.wait(run.job, timeout=60)


def opened(page: Page, url: str, link: str) -> float:
    """Milliseconds from following a link to a view that shows all of it."""
    page.goto("about:blank")
    begun = time.perf_counter()
    page.goto(f"{url}/{link}")
    page.locator("main h1").wait_for()
    expect(page.locator("main .loading")).to_have_count(0, timeout=PATIENCE_MS)
    return (time.perf_counter() - begun) * 1000


def measure_views(page: Page, url: str) -> None:
    """Print each view with its requests and its time."""
    asked: list[str | None] = []

    def note(response: Response) -> None:
        if urlsplit(response.url).path.startswith("/v1/"):
            asked.append(response.headers.get("server-timing"))

    page.on("response", note)
    print("| view | requests of the API | of the store | ms |\n|---|---:|---|---:|")
    for view, link in VIEWS.items():
        opened(page, url, link)
        asked.clear()
        times = [opened(page, url, link)]
        calls, store = len(asked), Counter[str]()
        for timing in asked:
            for number, kind in re.findall(r"(\d+) ([A-Z]+)", timing or ""):
                store[kind] += int(number)
        times += [opened(page, url, link) for _ in range(TIMES - 1)]
        told = ", ".join(f"{number} {kind}" for kind, number in sorted(store.items()))
        print(f"| {view} | {calls} | {told} | {statistics.median(times):,.0f} |")


def answer_notes(route: Route, total: int) -> None:
    """A page of a list of so many notes."""
    query = parse_qs(urlsplit(route.request.url).query)
    start, limit = int(query.get("cursor", ["0"])[0]), int(query["limit"][0])
    items = [
        {
            "note_id": f"20260220T140000_agent_todo_{n:08x}",
            "space_id": SPACE,
            "timestamp": "2026-02-20T14:00:00Z",
            "agent": f"agent-{n % 7}",
            "category": CATEGORIES[n % 5],
            "tags": ["a"],
            "content": f"Note {n} says that the **import** of port {n % 97} fails at `night`.",
            "size": 60,
            "status": "live",
        }
        for n in range(start, min(start + limit, total))
    ]
    body = {"items": items, **({"next_cursor": str(start + limit)} if start + limit < total else {})}
    route.fulfill(status=200, content_type="application/json", body=json.dumps(body))


def measure_scroll(page: Page, url: str, total: int) -> None:
    """Print the pauses while somebody scrolls through a long list."""
    page.route("**/notes?*", lambda route: answer_notes(route, total))
    opened(page, url, f"#/spaces/{SPACE}")
    page.evaluate(WATCH)
    page.mouse.move(500, 600)
    shown = 0
    while shown < total:
        page.mouse.wheel(0, 20_000)
        page.wait_for_timeout(20)
        shown = page.locator("article.note").count()
    pauses = [one for one in page.evaluate("pauses") if one > PAUSE_MS]
    print(f"\n{shown:,} notes scrolled: {len(pauses)} pauses, the longest {max(pauses, default=0):,.0f} ms")


def main() -> None:
    """Measure all of it."""
    parser = argparse.ArgumentParser(description="What the page costs and how fast it is.")
    parser.add_argument("--notes", type=int, default=2_000)
    parser.add_argument("--scroll", type=int, default=20_000)
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        running_service(Path(folder)) as service,
        service.admin as client,
        launched() as browser,
    ):
        seed(client, given.notes)
        visit = visited(browser, client.url)
        visit.open()
        visit.sign_in(service.admin_key)
        measure_views(visit.page, visit.url)
        measure_scroll(visit.page, visit.url, given.scroll)


if __name__ == "__main__":
    main()
