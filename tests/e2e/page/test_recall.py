"""Search, conversations, memories, rooms, digests and questions in a real browser."""

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.e2e.client import Service
from tests.e2e.page.looks import looked_at
from tests.e2e.spaces import fresh_space
from tests.support.browser import Visit

SPACE = f"page-recall-{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}"
"""Several workers of a test run share one service."""
HOSTILE = "<script>window.ran = 1</script> <img src=x onerror='window.ran = 1'> [x](javascript:window.ran=1) \u202eexe"
FACTS = [
    "Ann looks after the import of the ferry timetable.",
    "The port of Kiel answers 503 between two and three at night.",
    "Bob is allergic to peanuts.",
    "We deploy on Thursdays.",
    *(f"Ferry {n} leaves pier {'ABCDEF'[n % 6]} at {6 + n:02d}:15 with a crew of {4 + n % 5}." for n in range(5)),
]
TURNS: list[dict[str, Any]] = [
    {
        "user_message": "Why does the import of the timetable fail at night?",
        "assistant_message": "We decided to skip the port of Kiel between two and three, because it answers 503.",
        "tool_calls": [
            {"name": "read_log", "arguments": {"tail": 200}, "result": "02:14 503 kiel", "success": True},
            {"name": "run_tests", "arguments": {}, "result": HOSTILE, "success": False, "duration_ms": 812},
        ],
    },
    {"user_message": f"And by day? {HOSTILE}", "assistant_message": "By day it works. " + "It is quiet. " * 200},
    {"user_message": "Good. What is next?", "assistant_message": "Known issue: the clock of Kiel is two minutes late."},
]


def made(service: Service, path: str, body: Any) -> Any:
    """The answer to a POST below the space."""
    answer = service.send("POST", f"/spaces/{SPACE}{path}", body)
    assert answer.status < 300, answer
    return answer.body


@pytest.fixture(scope="module")
def talk(service: Service) -> str:
    """A space with something of each kind, and hostile content in it; the id of its conversation."""
    answer = service.send("POST", "/spaces", {"space_id": SPACE, "timezone": "Europe/Paris"})
    assert answer.status == 201
    conversation: str = made(service, "/conversations", {"title": f"Import {HOSTILE}", "capture": "notes"})[
        "conversation_id"
    ]
    for number, turn in enumerate(TURNS):
        made(service, f"/conversations/{conversation}/turns", {"message_id": f"t{number}", "user": "ines", **turn})
    made(service, f"/conversations/{conversation}/close", {})
    made(service, "/memories", {"items": [{"content": fact, "subjects": ["import"]} for fact in FACTS]})
    made(service, "/memories", {"content": HOSTILE, "subjects": ["hostile"]})
    made(service, "/notes", {"category": "decision", "content": "The import of the timetable skips Kiel at night."})
    # Not before the last hour of digests: those that came before it are digested at once.
    said = (datetime.now(UTC) - timedelta(seconds=1)).isoformat()
    messages = [
        {
            "message_id": "m1",
            "author": "Zoé",
            "content": "We decided to move the import to the new API.",
            "timestamp": said,
        },
        {"message_id": "m2", "author": "Tom <b>", "content": HOSTILE, "timestamp": said},
    ]
    made(service, "/rooms/harbour/messages", {"items": messages})
    return conversation


def links(service: Service, talk: str) -> dict[str, str]:
    """Each view by its name."""
    root = f"#/spaces/{SPACE}"
    memory = service.send("GET", f"/spaces/{SPACE}/memories?q=allergic+peanuts").body["items"][0]["memory_id"]
    return {
        "search": f"{root}/search?q={quote('who looks after the import')}",
        "search-nothing": f"{root}/search?q={quote('halcyon zebra')}",
        "search-several": f"{root}/search?in=all&q=import",
        "search-help": f"{root}/search",
        "conversations": f"{root}/conversations",
        "conversation": f"{root}/conversations/{talk}",
        "conversation-turns": f"{root}/conversations/{talk}?level=turns",
        "conversation-turn": f"{root}/conversations/{talk}?turn=2",
        "memories": f"{root}/memories",
        "memories-changes": f"{root}/memories?show=changes",
        "memory": f"{root}/memories/{memory}",
        "rooms": f"{root}/rooms",
        "room": f"{root}/rooms/harbour",
        "ask": f"{root}/ask",
    }


@pytest.mark.slow
def test_every_view_fits_the_window_has_no_finding_and_runs_nothing(signed_in, service, talk):
    found: Visit = signed_in("#/", fresh=True)

    assert looked_at(found, links(service, talk)) == []
    assert found.page.evaluate("window.ran") is None


def test_a_search_says_why_a_text_was_found_why_another_was_not_and_leads_to_it(signed_in, talk):
    found: Visit = signed_in(f"#/spaces/{SPACE}/search")
    page = found.page
    page.get_by_role("searchbox", name="Search").fill("who looks after the import")
    page.keyboard.press("Enter")
    hit = page.locator(".hit").filter(has_text="Ann looks after").first
    hit.get_by_role("button", name="Why?").click()
    hit.get_by_text("By its words").wait_for()
    assert hit.locator("mark").count() > 0

    page.get_by_text("Did you expect something else?").click()
    page.get_by_label("Its id, or the address").fill("01KHXE5Q2V8R0M4T6W9YBNCD3F")
    page.get_by_role("button", name="Why was it not found?").click()
    page.get_by_text("The search knows no such text").wait_for()

    # Of several spaces: the pasted address says in which one it is asked.
    page.get_by_label("Spaces", exact=True).select_option("all")
    page.locator(".hit", has_text=SPACE).first.wait_for()
    found.settle()
    page.locator("details.why-not").evaluate("one => (one.open = true)")
    page.get_by_label("Its id, or the address").fill(
        f"{found.url}/#/spaces/{SPACE}/memories/01KHXE5Q2V8R0M4T6W9YBNCD3F"
    )
    page.get_by_role("button", name="Why was it not found?").click()
    page.get_by_text(f"In the space {SPACE}, searched by itself").wait_for()
    page.get_by_label("Spaces", exact=True).select_option("")

    page.get_by_role("button", name="Memories", exact=True).click()
    page.wait_for_url("**scope=memories**")
    page.locator(".hit .kind", has_text="conversation").first.wait_for(state="detached")
    page.locator(".hit").filter(has_text="Ann looks after").first.locator(".hit-name").click()
    page.locator("main h1", has_text="Memory").wait_for()


def test_an_answer_goes_on_by_pages_and_says_how_much_matches(signed_in, service):
    space = "many-cranes"
    service.send("POST", "/spaces", {"space_id": space, "consolidation_threshold": 0})
    notes = [{"category": "observation", "content": f"The crane of pier {number} needs oil."} for number in range(74)]
    service.notes.append(space, items=notes)
    # Vectors that come between two pages change the order.
    path = f"/spaces/{space}/search?scope=all&limit=1&q=crane"
    service.wait_until(lambda: service.send("GET", path).body["unembedded"], lambda left: left == 0)
    found: Visit = signed_in(f"#/spaces/{space}/search?q={quote('crane oil')}")
    page = found.page

    page.get_by_text("20 of 74 that match").wait_for()
    expect(page.locator(".hit")).to_have_count(20)
    page.get_by_role("button", name="Show more").click()
    page.get_by_text("70 of 74 that match").wait_for()
    page.get_by_role("button", name="Show more").click()
    page.get_by_text("74 found").wait_for()
    names = page.locator(".hit .hit-name").evaluate_all("links => links.map((one) => one.href)")
    assert len(set(names)) == len(names) == 74
    assert page.get_by_role("button", name="Show more").count() == 0


def test_nothing_found_is_said_and_what_is_nearest_is_shown_when_asked_for(signed_in, talk):
    found: Visit = signed_in(f"#/spaces/{SPACE}/search?q={quote('halcyon zebra')}")
    found.page.get_by_text("Nothing answers this").or_(found.page.get_by_text("Nothing found")).wait_for()
    assert found.page.locator(".hit").count() == 0


def test_a_conversation_opens_from_its_summaries_down_to_a_turn_that_can_be_erased(signed_in, service, talk):
    path = f"/spaces/{SPACE}/conversations/{talk}"
    service.wait_until(
        lambda: service.send("GET", path).body, lambda told: told["levels"][0]["summarised"] == len(TURNS)
    )
    found: Visit = signed_in(f"#/spaces/{SPACE}/conversations/{talk}?level=1")
    page = found.page
    page.get_by_role("button", name="Read turn 1").click()
    page.get_by_text("2 tool calls").click()
    page.get_by_text("02:14 503 kiel").wait_for()
    expect(page.get_by_text("1 failed")).to_have_count(1)

    found.open(f"#/spaces/{SPACE}/conversations/{talk}?turn=3")
    page.locator(".turn.focus", has_text="What is next?").get_by_role("button", name="Erase").click()
    page.get_by_label("Type").fill(SPACE)
    page.get_by_role("button", name="Erase for ever").click()
    page.wait_for_url("**/erasures/**")
    service.wait_until(lambda: service.send("GET", f"{path}/turns/3").body, lambda turn: "erased_on" in turn)
    path = f"/spaces/{SPACE}/search?scope=all&q={quote('clock of Kiel minutes late')}"
    hits = service.send("GET", path).body["items"]
    assert [hit for hit in hits if "clock of Kiel" in hit["snippet"]] == []


def test_a_memory_is_written_corrected_confirmed_forgotten_and_taken_back(signed_in, service, talk):
    found: Visit = signed_in(f"#/spaces/{SPACE}/memories")
    page = found.page
    found.allowed |= {404}
    page.get_by_role("button", name="New memory").click()
    page.get_by_label("What is so").fill("The harbour master is called Ole.")
    page.reload()
    page.get_by_role("button", name="New memory").click()
    expect(page.get_by_label("What is so")).to_have_value("The harbour master is called Ole.")
    page.get_by_role("button", name="Store the memory").click()
    page.get_by_role("link", name="The harbour master is called Ole.", exact=True).click()

    page.get_by_role("button", name="Correct", exact=True).click()
    page.get_by_label("What is so").fill("The harbour master is called Ole Hansen.")
    page.get_by_role("button", name="Save the correction").click()
    page.locator(".former", has_text="is called Ole.").wait_for()
    page.get_by_role("button", name="Still holds").click()
    page.locator(".event", has_text="Confirmed").wait_for()

    address = page.url
    page.get_by_role("button", name="Forget").click()
    page.get_by_label("Reason").fill("Ole has left.")
    page.get_by_role("button", name="Forget it").click()
    page.get_by_role("button", name="Undo").wait_for()
    page.goto(address)
    page.get_by_text("This memory was forgotten").wait_for()
    page.get_by_role("button", name="Restore it").click()
    page.locator(".memory-whole", has_text="Ole Hansen").wait_for()
    stored = service.send("GET", f"/spaces/{SPACE}/memories?q={quote('harbour master Ole')}").body["items"]
    assert [one["content"] for one in stored] == ["The harbour master is called Ole Hansen."]


def test_the_newest_memories_come_page_by_page_and_one_far_back_shows_its_whole_history(signed_in, service: Service):
    with fresh_space(service, 0) as space:
        first = service.send("POST", f"/spaces/{space}/memories", {"content": "Berth 0 is 10 metres deep."}).body
        for begin in (1, 31):
            facts = [{"content": f"Berth {n} is {n + 10} metres deep."} for n in range(begin, begin + 30)]
            assert service.send("POST", f"/spaces/{space}/memories", {"items": facts}).status == 200
        stored = {
            memory["memory_id"]
            for page in pages(service, f"/spaces/{space}/memories?limit=20")
            for memory in page["items"]
        }
        assert first["memory_id"] in stored
        found: Visit = signed_in(f"#/spaces/{space}/memories")
        rows = found.page.locator("article.memory")
        rows.first.wait_for()

        while rows.count() < len(stored):
            found.page.mouse.wheel(0, 20_000)
            found.page.wait_for_timeout(50)
        found.page.get_by_role("link", name="Berth 0 is 10 metres deep.", exact=True).click()

        found.page.locator(".event", has_text="Stored").wait_for()
        assert found.page.get_by_text("further back").count() == 0


def test_an_admin_chooses_whose_start_is_shown_among_the_tokens_that_may_read_here(signed_in, service: Service):
    with fresh_space(service, 0) as space, fresh_space(service, 0) as other:
        for name, home, permissions in (
            ("told-here", space, ["read", "write"]),
            ("told-elsewhere", other, ["read"]),
            ("told-nothing", space, ["write"]),
        ):
            body = {"name": name, "permissions": permissions, "space_ids": [home]}
            assert service.send("POST", "/tokens", body).status == 201
        found: Visit = signed_in(f"#/spaces/{space}/told")
        found.page.get_by_role("button", name="An agent’s token").click()
        field = found.page.get_by_label("An agent’s token")
        field.locator("option", has_text="told-here").wait_for(state="attached")

        assert not {"told-elsewhere", "told-nothing"} & {*field.locator("option").all_inner_texts()}
        field.select_option("told-here")
        found.page.wait_for_url("**user=told-here**")
        found.page.get_by_text("of 9,500").wait_for()


def pages(service: Service, path: str) -> Iterator[dict[str, Any]]:
    """All pages of a list."""
    page = service.send("GET", path).body
    yield page
    while page["next_cursor"]:
        page = service.send("GET", f"{path}&cursor={page['next_cursor']}").body
        yield page


def test_a_merge_of_the_same_words_is_shown_and_offers_no_split_since_there_is_nothing_to_split_off(
    signed_in, service, talk
):
    first = made(service, "/memories", {"content": "On Mondays the crane rests."})
    again = made(service, "/memories", {"content": "The crane rests on Mondays."})
    assert again["merged_into"] == first["memory_id"]

    found: Visit = signed_in(f"#/spaces/{SPACE}/memories/{first['memory_id']}")
    found.page.locator(".event.merged", has_text="same words").wait_for()
    assert found.page.get_by_role("button", name="Take the merge back").count() == 0


def test_a_digest_is_run_by_hand_and_says_what_it_kept(signed_in, service, talk):
    found: Visit = signed_in(f"#/spaces/{SPACE}/rooms")
    page = found.page
    page.get_by_role("link", name="harbour").click()
    page.locator(".message", has_text="Zoé").wait_for()
    page.get_by_text("Times of Europe/Paris").wait_for()
    page.go_back()
    page.get_by_text("The next digest is due").wait_for()
    page.get_by_role("button", name="Digest now").click()
    page.locator("main h1", has_text="Digest of").wait_for()
    page.locator(".view-head .badge", has_text="done").wait_for()
    page.get_by_text("2 messages").wait_for()


def test_a_question_is_answered_with_its_sources_and_survives_a_reload(signed_in, talk):
    found: Visit = signed_in(f"#/spaces/{SPACE}/ask")
    page = found.page
    question = page.get_by_label("Your question")
    question.fill("Who looks after the import of the ferry timetable?")
    page.reload()
    expect(question).to_have_value("Who looks after the import of the ferry timetable?")
    question.press("Enter")
    page.locator(".exchange .cost").wait_for()
    expect(question).to_have_value("")
    page.locator(".source", has_text="Ann looks after").wait_for()
    posts = [one for one in found.requests if one.startswith("POST") and one.endswith(("/ask 200", "/ask 202"))]

    page.reload()
    page.locator(".source", has_text="Ann looks after").wait_for()
    again = [one for one in found.requests if one.startswith("POST") and one.endswith(("/ask 200", "/ask 202"))]
    assert (len(posts), len(again)) == (1, 1)
    page.locator(".source a").first.click()
    page.locator("main h1", has_text="Memory").wait_for()

    # Another day, in another tab: nothing is kept there.
    later: Visit = signed_in(f"#/spaces/{SPACE}/ask")
    later.page.get_by_role("button", name="Who looks after the import of the ferry timetable?").first.click()
    later.page.locator(".source", has_text="Ann looks after").wait_for()


def test_a_reader_is_offered_nothing_that_would_be_refused(visit, service, talk):
    guest = service.send("POST", "/tokens", {"name": "recall-guest", "permissions": ["read"], "space_ids": [SPACE]})
    found: Visit = visit()
    found.open(f"#/spaces/{SPACE}/memories")
    found.sign_in(guest.body["token"])
    found.page.locator(".memory").first.wait_for()
    assert found.page.get_by_role("button", name="New memory").count() == 0
    found.open(f"#/spaces/{SPACE}/conversations/{talk}?turn=1")
    found.page.locator(".turn.focus").wait_for()
    assert found.page.get_by_role("button", name="Erase").count() == 0
    assert found.page.get_by_role("button", name="Make what is missing").count() == 0
