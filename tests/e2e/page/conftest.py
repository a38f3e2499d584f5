"""A browser for the tests of the page; what it must not see fails the test.

PAGE_SCREENSHOTS  a folder for pictures of the views
CHROMIUM          the browser to drive, if it is not on the PATH
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.e2e.client import Service
from tests.e2e.page.own import Own
from tests.e2e.stack import give_up
from tests.support.browser import NoBrowserError, Visit, launched, visited


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Chromium, one for the tests of the page. While it is open no other event loop can run in this thread."""
    if folder := os.environ.get("PAGE_SCREENSHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
    try:
        with launched() as found:
            yield found
    except NoBrowserError as error:
        give_up(str(error))


@pytest.fixture(scope="package")
def tabs() -> dict[str, Visit]:
    """The tab of each service that its key has signed in, between two tests."""
    return {}


class Visits:
    """The visits of a test; nothing may have gone wrong in them."""

    def __init__(self, browser: Browser, service: Service, tabs: dict[str, Visit]) -> None:
        self._browser, self._service, self._tabs = browser, service, tabs
        self._begun: list[Visit] = []
        self._tab: Visit | None = None

    def begin(self, **options: Any) -> Visit:
        """begin(**options of Playwright's contexts): a browser of its own."""
        self._begun.append(visited(self._browser, self._service.url, **options))
        return self._begun[-1]

    def signed_in(self, link: str = "#/", token: str | None = None, *, fresh: bool = False, **options: Any) -> Visit:
        """A visit that a token has signed in, at a view. By the key alone the first one goes on in the tab of the test
        before, with nothing of that: a new browser loads all of the page. `fresh`: not this one.
        """
        shared = not (fresh or token or options or self._tab)
        if shared and (tab := self._tabs.pop(self._service.url, None)):
            self._tab = tab
            tab.open(link)
            return tab
        found = self.begin(**options)
        found.open(link)
        found.sign_in(token or str(self._service.token))
        if shared:
            self._tab = self._begun.pop()
        return found

    def end(self) -> None:
        troubles = [trouble for one in (*self._begun, self._tab) if one for trouble in one.troubles]
        for one in self._begun:
            one.page.context.close()
        if self._tab:
            self._tab.clear()
            self._tabs[self._service.url] = self._tab
        assert troubles == []


@pytest.fixture
def visits(browser: Browser, service: Service, tabs: dict[str, Visit]) -> Iterator[Visits]:
    """Those of the service that all tests share."""
    found = Visits(browser, service, tabs)
    yield found
    found.end()


@pytest.fixture
def visit(visits: Visits) -> Callable[..., Visit]:
    """A visit that nobody has signed in."""
    return visits.begin


@pytest.fixture
def signed_in(visits: Visits) -> Callable[..., Visit]:
    """A visit that the bootstrap key has signed in, at a view."""
    return visits.signed_in


@pytest.fixture(scope="package")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Own]:
    """A service of these tests' own."""
    found = Own(tmp_path_factory.mktemp("own") / "data")
    try:
        found.start()
        yield found
        found.stop()
    finally:
        found.model.stop()


@pytest.fixture
def api(own: Own) -> Service:
    """A client of it."""
    return Service(own.url, own.token)


@pytest.fixture
def at(browser: Browser, api: Service, tabs: dict[str, Visit]) -> Iterator[Callable[..., Visit]]:
    """at(link, token): a visit at a view of it, signed in."""
    found = Visits(browser, api, tabs)
    yield found.signed_in
    found.end()
