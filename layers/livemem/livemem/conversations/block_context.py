"""The context of a block in its prompt: the beginning of the summary of the block before, and the text just before.

The summary is shown where it is stored when the block's wave of calls begins. So a wave waits for no other one, and of
an import, whose blocks are summarised some at once, the first block of each wave has it. Neither the name of the
block's summary nor the ids of its notes depend on it: a retry that is shown more makes the same objects.
"""

from collections.abc import Sequence

from livemem.conversations import names
from livemem.conversations.summaries import Layers, Summary, load
from livemem.errors import LiveMemoryError
from livemem.process import Process

CHARACTERS = 300
"""Of the summary of the block before."""
CHAIN = 8
"""A summary may repeat words of the one that it was shown, and so may the next. Every eighth block is shown none. So
the erasure of a turn makes at most so many summaries again.
"""


def find(process: Process, layers: Layers, number: int, tokens: Sequence[str]) -> Summary | None:
    """The summary of the block before `number`: 1 GET, none where this process has read it.

    None where it is missing or can't be read, where it may hold an erased turn, and where others than the `tokens` of
    the block wrote its turns: their words must not become notes and signals of these.
    """
    existing = names.current(layers.names[1].get(number - 1, ()))
    if not existing or number % CHAIN == 1:
        return None
    try:
        (result,) = load(process, layers, 1, {number - 1: existing})
    except LiveMemoryError:
        return None
    own = result.written_by is not None and set(result.written_by) <= set(tokens)
    return result if own and not any(map(result.says_of, layers.at.conversation.erased_turns)) else None


def excerpt(summary: Summary) -> str:
    """The beginning of a summary; of a block that is its own summary the end, which came just before."""
    text = summary.summary
    if len(text) <= CHARACTERS:
        return text
    return f"…{text[1 - CHARACTERS :]}" if summary.verbatim else f"{text[: CHARACTERS - 1]}…"
