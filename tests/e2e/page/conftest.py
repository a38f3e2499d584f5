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
from tests.e2e.stack import Running, give_up
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


@pytest.fixture
def visit(browser: Browser, running: Running) -> Iterator[Callable[..., Visit]]:
    """visit(**options of Playwright's contexts): a visit of the service; nothing may have gone wrong in it."""
    visits: list[Visit] = []

    def begin(**options: Any) -> Visit:
        visits.append(visited(browser, running.url, **options))
        return visits[-1]

    yield begin
    troubles = [trouble for one in visits for trouble in one.troubles]
    for one in visits:
        one.page.context.close()
    assert troubles == []


@pytest.fixture
def signed_in(visit: Callable[..., Visit], service: Service) -> Callable[..., Visit]:
    """signed_in(link, **options): a visit that the bootstrap key has signed in, at a view."""

    def begin(link: str = "#/", **options: Any) -> Visit:
        found = visit(**options)
        found.open(link)
        found.sign_in(str(service.token))
        return found

    return begin


@pytest.fixture(scope="module")
def variables() -> dict[str, str]:
    """Variables of the environment of `own`; a module may have others."""
    return {}


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory, variables: dict[str, str]) -> Iterator[Own]:
    """A service of a module's own."""
    found = Own(tmp_path_factory.mktemp("own") / "data", variables)
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
def at(browser: Browser, own: Own) -> Iterator[Callable[..., Visit]]:
    """at(link, token=None, **options): a visit at a view of it, signed in; nothing else may go wrong in the visit."""
    visits: list[Visit] = []

    def begin(link: str, token: str | None = None, **options: Any) -> Visit:
        found = visited(browser, own.url, **options)
        visits.append(found)
        found.open(link)
        found.sign_in(token or own.token)
        return found

    yield begin
    troubles = [trouble for one in visits for trouble in one.troubles]
    for one in visits:
        one.page.context.close()
    assert troubles == []
