"""A real browser on the page: Debian's Chromium, driven by Playwright.

Each visit is a browser of its own: no cookie, storage or cache is shared. It notes all that a person with the developer
tools open would see: errors of the console, exceptions, requests that failed, violations of the policy, and requests to
another host.
"""

import os
import re
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, Page, Request, Response, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
INSTALL_SECONDS = 600
"""As root, Chromium may have to be installed first."""
PATIENCE_MS = 60_000
"""A busy machine starts functions slowly. What is waited for comes within a second as a rule."""
QUIET_SECONDS = 0.2
COST = re.compile(r"(\d+) ([A-Z]+)")
"""In the header Server-Timing of an answer."""
VIOLATIONS = """
document.addEventListener("securitypolicyviolation", (event) =>
  console.error("policy violation:", event.violatedDirective, event.blockedURI, event.sample));
"""
RESTORE = """(session) => {
  localStorage.clear();
  sessionStorage.clear();
  Object.assign(sessionStorage, session);
}"""
FINDINGS = """async () => {
  const style = (one) => getComputedStyle(one);
  const known = (window.known ??= new Set());
  const first = new Map();
  for (const one of document.body.querySelectorAll('*')) {
    const has = one.matches('input, select, textarea') || [...one.childNodes].some((node) => node.data?.trim());
    if (!has || !one.checkVisibility()) continue;
    const look = [style(one).color, style(one).fontSize, style(one).fontWeight];
    for (let up = one; up; up = up.parentElement)
      look.push(style(up).backgroundColor, style(up).backgroundImage, style(up).opacity);
    const key = look.filter((part) => !['rgba(0, 0, 0, 0)', 'none', '1'].includes(part)).join();
    if (!known.has(key) && !first.has(key)) first.set(key, one);
  }
  const options = { resultTypes: ['violations'], rules: { 'color-contrast': { enabled: false } } };
  const found = (await axe.run(options)).violations;
  if (first.size) {
    const told = await axe.run({ include: [...first.values()] }, { elementRef: true, runOnly: ['color-contrast'] });
    found.push(...told.violations);
    const good = new Set(told.passes.flatMap((rule) => rule.nodes.map((node) => node.element)));
    for (const [key, one] of first) if (good.has(one)) known.add(key);
  }
  return found.flatMap((one) => one.nodes.map((node) => `${one.id}: ${one.help}: ${node.html.slice(0, 200)}`));
}"""
"""Its look at contrast is by far the dearest: it is told one text of those of the same colours and size, and none of
those that it has found good in this document.
"""


class NoBrowserError(Exception):
    """There is no Chromium, and it can't be installed here."""


@dataclass
class Visit:
    """One visit of the page."""

    page: Page
    url: str
    """The base URL of the service."""
    allowed: set[int] = field(default_factory=set)
    """Statuses of answers that this visit asks for, beside those of success."""
    troubles: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    """`GET /v1/spaces 200` of each answer of the API, in order."""
    store: dict[str, Counter[str]] = field(default_factory=dict)
    """The requests to the store by kind, for each call of the API. Of a call that came again: the cheaper answer."""
    _under_way: set[Request] = field(default_factory=set)
    _session: dict[str, str] = field(default_factory=dict)
    """What the tab keeps of who is signed in."""

    def open(self, link: str = "#/") -> None:
        """Open a view by its link."""
        self.page.goto(f"{self.url}/{link}")

    def wake(self) -> None:
        """A network that is there again: the page reads at once."""
        self.page.evaluate("dispatchEvent(new Event('online'))")

    def settle(self) -> None:
        """Wait until the view has asked for all that it shows: nothing was under way for a moment.

        Playwright's `networkidle` is about the document, and a view that follows another one loads none.
        """
        deadline = time.monotonic() + PATIENCE_MS / 1_000
        quiet = time.monotonic()
        while time.monotonic() - quiet < QUIET_SECONDS:
            self.page.wait_for_timeout(50)
            if self._under_way:
                quiet = time.monotonic()
            assert time.monotonic() < deadline, sorted(one.url for one in self._under_way)

    def sign_in(self, token: str) -> None:
        """Type the token where the page asks for it."""
        field = self.page.locator("input[type=password]")
        field.fill(token)
        field.press("Enter")
        field.wait_for(state="detached")
        self._session = self.page.evaluate("({ ...sessionStorage })")

    def clear(self) -> None:
        """Leave the view, and keep nothing but who is signed in and the files of the page."""
        self.page.unroute_all()
        self.page.context.set_offline(False)
        self.page.evaluate(RESTORE, self._session)
        self.page.goto("about:blank")
        for seen in (self.allowed, self.troubles, self.requests, self.store, self._under_way):
            seen.clear()

    def shot(self, name: str) -> None:
        """Keep a picture of the whole page, where `PAGE_SCREENSHOTS` names a folder."""
        if folder := os.environ.get("PAGE_SCREENSHOTS"):
            self.page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)

    def findings(self) -> list[str]:
        """What axe-core finds that hinders people in using the view, however little.

        Look at troubles first: axe's own work in the page is not the page's.
        """
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8"))
        found: list[str] = self.page.evaluate(FINDINGS)
        return found

    def _watch(self) -> None:
        page = self.page
        page.add_init_script(VIOLATIONS)
        page.on("pageerror", lambda error: self.troubles.append(f"exception: {error}"))
        page.on("console", lambda message: self._note_message(message.type, message.text))
        page.on("request", self._note_begin)
        page.on("requestfailed", self._note_end)
        page.on("requestfailed", self._note_failure)
        page.on("response", self._note_answer)

    def _note_message(self, kind: str, text: str) -> None:
        # Chromium repeats the status of each answer as an error; answers are looked at by themselves.
        if kind in {"error", "warning"} and not text.startswith("Failed to load resource"):
            self.troubles.append(f"{kind}: {text}")

    def _note_begin(self, request: Request) -> None:
        self._under_way.add(request)

    def _note_end(self, request: Request) -> None:
        self._under_way.discard(request)

    def _note_failure(self, request: Request) -> None:
        # A view that is left ends its requests.
        if request.failure != "net::ERR_ABORTED":
            self.troubles.append(f"failed: {request.method} {request.url} {request.failure}")

    def _note_answer(self, response: Response) -> None:
        # Not when its body was read: what is asked again and has not changed is never read.
        self._note_end(response.request)
        address = urlsplit(response.url)
        if f"{address.scheme}://{address.netloc}" != self.url:
            self.troubles.append(f"another host: {response.url}")
        if address.path.startswith("/v1/"):
            call = f"{response.request.method} {address.path}"
            self.requests.append(f"{call} {response.status}")
            cost = store_requests(response)
            if call not in self.store or cost.total() < self.store[call].total():
                self.store[call] = cost
        if response.status >= 400 and response.status not in self.allowed:
            self.troubles.append(f"answer: {response.request.method} {response.url} {response.status}")


def store_requests(response: Response) -> Counter[str]:
    """The requests to the store that an answer of the API tells of."""
    told = response.headers.get("server-timing", "")
    return Counter({kind: int(count) for count, kind in COST.findall(told)})


def chromium() -> str:
    """The path of a Chromium. Raises NoBrowserError."""
    command = [str(ROOT / "scripts" / "browser.sh")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
    if done.returncode:
        raise NoBrowserError(done.stderr.strip())
    return done.stdout.strip()


@contextmanager
def launched() -> Iterator[Browser]:
    """A browser without a window. Raises NoBrowserError."""
    program = chromium()
    # Root has no sandbox; nothing but the service on this machine is opened.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    # One process draws all pages: a new one for each site takes half the time of a visit.
    arguments += ["--disable-dev-shm-usage", "--disable-site-isolation-trials", "--renderer-process-limit=1"]
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=arguments)
        try:
            yield browser
        finally:
            browser.close()


def visited(browser: Browser, url: str, **options: Any) -> Visit:
    """A new visit, with Playwright's options of a context: viewport, color_scheme, locale, reduced_motion."""
    context: BrowserContext = browser.new_context(
        **{"viewport": {"width": 1280, "height": 800}, "locale": "en-GB", "timezone_id": "UTC", **options}
    )
    context.set_default_timeout(PATIENCE_MS)
    visit = Visit(context.new_page(), re.sub(r"/+$", "", url))
    visit._watch()
    return visit
