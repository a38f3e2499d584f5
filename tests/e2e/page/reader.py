"""A person who begins at the start page, and counts the clicks."""

from dataclasses import dataclass

from playwright.sync_api import Locator

from tests.support.browser import Visit


@dataclass
class Reader:
    """What is typed or chosen in a field counts as a click too."""

    visit: Visit
    clicks: int = 0

    def begin(self) -> None:
        """Open the start page, with no click so far."""
        self.visit.open("#/")
        self.visit.page.locator("main h1", has_text="All spaces").wait_for()
        self.clicks = 0

    def click(self, target: Locator) -> None:
        """The first of what fits, once it is there."""
        target.first.wait_for()
        target.first.click()
        self.clicks += 1

    def link(self, name: str, within: str = "main") -> None:
        """Follow a link."""
        self.click(self.visit.page.locator(within).get_by_role("link", name=name, exact=False))

    def press(self, name: str, within: str = "main") -> None:
        """Press a button."""
        self.click(self.visit.page.locator(within).get_by_role("button", name=name, exact=False))

    def choose(self, label: str, value: str) -> None:
        """Type into a field, or choose in it."""
        field = self.visit.page.get_by_label(label, exact=True).last
        if field.evaluate("one => one.tagName") == "SELECT":
            field.select_option(value)
        else:
            field.fill(value)
        self.clicks += 1

    def sees(self, words: str) -> None:
        """The words come to the screen."""
        # A page may be drawn again at any moment: one wait, no second look.
        self.visit.page.locator("main").get_by_text(words).first.wait_for()
