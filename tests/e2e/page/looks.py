"""The looks of a view: in a wide window, light and in English, and on a phone, dark and in French."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle
from typing import Literal

from playwright.sync_api import expect

from tests.support.browser import PATIENCE_MS, Visit


@dataclass(frozen=True)
class Look:
    name: str
    width: int
    height: int
    scheme: Literal["light", "dark"]
    language: str


WIDE = Look("wide", 1280, 900, "light", "en")
PHONE = Look("phone", 390, 844, "dark", "fr")


class Looks:
    """Looks at one view after the other, at each in both looks: first in the one that the view before had last."""

    def __init__(self, found: Visit) -> None:
        self._found = found
        self._cdp = found.page.context.new_cdp_session(found.page)
        self._orders: Iterator[tuple[Look, Look]] = cycle([(WIDE, PHONE), (PHONE, WIDE)])
        self._take(WIDE)

    def findings(self, view: str) -> list[str]:
        """What is wrong with the view that is open."""
        found, page = self._found, self._found.page
        expect(page.locator("main .loading")).to_have_count(0, timeout=PATIENCE_MS)
        wrong = []
        for look in next(self._orders):
            self._take(look)
            found.shot(f"{look.name}-{view}")
            too_wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
            wrong += [f"{too_wide} px too wide"] if too_wide > 0 else []
            wrong += found.findings()
        return [f"{view}: {one}" for one in wrong]

    def _take(self, look: Look) -> None:
        page = self._found.page
        page.set_viewport_size({"width": look.width, "height": look.height})
        page.emulate_media(color_scheme=look.scheme)
        self._cdp.send("Emulation.setTouchEmulationEnabled", {"enabled": look is PHONE})
        page.locator(f".choices button[lang={look.language}]").evaluate("one => one.click()")
        page.locator(f"html[lang={look.language}]").wait_for()
