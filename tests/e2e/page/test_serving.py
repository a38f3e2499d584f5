"""The page opens in a browser, without a word of complaint from it, and a violation of its policy would be seen."""

import re
import time

from tests.support.browser import PATIENCE_MS, Visit


def test_the_address_of_the_service_opens_a_page_that_names_that_address(visit):
    found: Visit = visit()
    found.open()

    found.page.get_by_text(f"livemem login --url {found.url}").wait_for()
    assert found.findings() == []
    found.shot("signed-out")


def test_a_script_a_style_and_a_picture_that_do_not_come_from_the_service_are_refused_and_noticed(visit):
    found: Visit = visit()
    found.open()
    found.page.evaluate(
        """() => {
          const script = document.createElement("script"), picture = document.createElement("img");
          try { script.textContent = "window.ran = true"; document.body.append(script); } catch {}
          picture.src = "https://example.org/pixel.png";
          document.body.append(picture);
          document.body.setAttribute("style", "color: red");
          try { document.body.innerHTML = "<b onclick=alert(1)>x</b>"; } catch {}
        }"""
    )
    deadline = time.monotonic() + PATIENCE_MS / 1_000
    for directive in ("img-src", "style-src", "trusted-types-for"):
        while not re.search(f"policy violation: .*{directive}", " ".join(found.troubles)):
            assert time.monotonic() < deadline, (directive, found.troubles)
            found.page.wait_for_timeout(20)

    found.troubles.clear()
    assert found.page.evaluate("window.ran") is None
