"""The looks of a view: in a wide window, light and in English, and on a phone, dark and in French."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from playwright.sync_api import expect

from tests.support.browser import PATIENCE_MS, Visit
from tests.support.part import part


@dataclass(frozen=True)
class Look:
    name: str
    width: int
    height: int
    scheme: Literal["light", "dark"]
    language: str


WIDE = Look("wide", 1280, 900, "light", "en")
PHONE = Look("phone", 390, 844, "dark", "fr")
HOSTILE = "main img, main script, main a[href^='javascript'], main a[href^='data']"


def looked_at(found: Visit, views: Mapping[str, str]) -> list[str]:
    """What is wrong with views, a name and a link each, in both looks.

    `make test` opens every second view in the one and the others in the other, `make e2e` all in both.
    """
    page, names, wrong = found.page, list(views), []
    cdp = page.context.new_cdp_session(page)
    for first, look in enumerate((WIDE, PHONE)):
        page.set_viewport_size({"width": look.width, "height": look.height})
        page.emulate_media(color_scheme=look.scheme)
        cdp.send("Emulation.setTouchEmulationEnabled", {"enabled": look is PHONE})
        page.locator(f".choices button[lang={look.language}]").evaluate("one => one.click()")
        page.locator(f"html[lang={look.language}]").wait_for()
        for view in part([*names[first:], *names[:first]], 2):
            found.open(views[view])
            page.locator("main h1").wait_for()
            # The frame is there before the view has asked for anything.
            found.settle()
            expect(page.locator("main .loading")).to_have_count(0, timeout=PATIENCE_MS)
            found.shot(f"{look.name}-{view}")
            too_wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
            told = [f"{too_wide} px too wide"] if too_wide > 0 else []
            told += found.findings()
            told += [f"{hostile} hostile elements"] if (hostile := page.locator(HOSTILE).count()) else []
            wrong += [f"{view}, {look.name}: {one}" for one in told]
    return wrong
