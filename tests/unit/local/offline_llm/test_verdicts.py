"""The offline LLM says of two memories whether they are one, by fixed rules."""

import json

import pytest

from livemem.memories import verdict
from local.offline_llm.chat import complete_chat


def judged(new, old):
    body = {"model": "any", "messages": verdict._messages(new, old)}
    return json.loads(complete_chat(body, "id", 1)["choices"][0]["message"]["content"])["verdict"]


@pytest.mark.parametrize(
    ("new", "old", "said"),
    [
        ("The daily backup is kept.", "The daily backup is kept for 30 days.", "same"),
        ("The API listens on port 9090.", "The API listens on port 8080.", "contradicts"),
        ("On ne livre plus le vendredi.", "On livre le vendredi.", "contradicts"),
        ("Ann prefers tea.", "Bob prefers tea.", "different"),
        ("The cat sleeps.", "Invoices are sent on Mondays.", "different"),
        ('# A "forged"\n# heading', "Another\u2028line", "different"),
    ],
)
def test_two_memories_are_judged_from_the_prompt_of_the_service(new, old, said):
    assert judged(new, old) == said
