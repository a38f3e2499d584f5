"""What prompts are given by themselves, and how much of it is about them: `GET .../context?clear=true`, as hooks ask.

    .venv/bin/python -m benchmarks.prompts [--wrong]

`prompts.jsonl` has four projects of 60 notes, lines of a bank and turns, and 50 prompts for each, of which 20 deserve
nothing: chat, commands, new subjects, and such that share common words. `right` names what is about a prompt. The rule
(evidence.clear_places) was chosen beside the first two projects, and its numbers with the third one in view. The fourth
was written by somebody who knew nothing of the rule. By words alone it shows what to expect elsewhere. That a text must
also be near was added after it was measured: before, 26 of its 34 lines were about their prompt.

The domain runs in this process, on a bucket in memory. Tokens are characters / 4, for 50 prompts a day. How long the
hook takes: benchmarks/hooks.py. `--wrong`: name what is not about its prompt, and the prompts that got nothing.
"""

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from live_memory.cli.init.hooks import prompts
from livemem.conversations import conversation as conversations
from livemem.conversations import turn_import
from livemem.conversations.conversation import NewConversation
from livemem.conversations.parameters import Parameters
from livemem.recall import message_context
from livemem.store.bucket import BANK_FILE
from livemem_http.views.recall import ContextView
from local.offline_llm.encoder import Encoder
from tests.support import items
from tests.support.searching import MODEL, URL, run_indexer
from tests.support.world import World

SET = Path(__file__).with_name("prompts.jsonl")
SPACE = "demo"
PROMPTS_A_DAY, CHARACTERS_OF_TOKEN = 50, 4
VECTORS = ("bundled model", "by words")

Row = Mapping[str, Any]


def filled(rows: Sequence[Row], encode: Callable[..., Any] | None) -> World:
    """A world that knows all of a project."""
    world = World(embeddings_api_url=URL, embeddings_model=MODEL) if encode else World()
    if encode:
        world.process = world.with_parts(embed=lambda texts, **_: encode(texts))
    world.create_space(SPACE)
    for row in rows:
        if row["as"] not in ("line", "turn"):
            world.note(row["says"])
    lines = "\n".join(f"- {row['says']}" for row in rows if row["as"] == "line")
    world.store.put(BANK_FILE.key(SPACE, "project.md"), f"# Project\n\n## Facts\n\n{lines}\n".encode())
    new = NewConversation(title="Talk", profile="windows", parameters=Parameters(), capture="off")
    talk = conversations.create(world.process, SPACE, "ann", new).conversation_id
    turns = [
        {"message_id": row["keep"], "user_message": row["says"], "assistant_message": row["answer"]}
        for row in rows
        if row["as"] == "turn"
    ]
    turn_import.take_in(world.process, SPACE, talk, "ann", items.drafts(turns))
    if encode:
        run_indexer(world)
    return world


def told(world: World, prompt: str) -> list[str]:
    """The lines that a prompt gets, in a session that was given nothing yet."""
    question = prompts.question(prompt)
    if not question:
        return []
    found = message_context.context(world.process, SPACE, question, max_chars=prompts.ASKED_CHARS, clear=True)
    return prompts.lines(ContextView.of(found).model_dump(mode="json")["items"])


def is_about(line: str, rows: Sequence[Row]) -> bool:
    """Whether a line says one of these."""
    shown = prompts.marks(line)
    return any(len(shown & prompts.marks(f"{row['says']} {row.get('answer', '')}")) >= len(shown) / 4 for row in rows)


def measure(name: str, vectors: str, rows: Sequence[Row], encode: Callable[..., Any], *, wrong: bool) -> str:
    """Ask all prompts of a project; gives the row of the table."""
    known = [row for row in rows if "keep" in row]
    asked = [row for row in rows if "asks" in row]
    world = filled(known, encode if vectors == VECTORS[0] else None)
    given = good = answered = noisy = characters = 0
    for row in asked:
        lines = told(world, row["asks"])
        right = [one for one in known if one["keep"] in row["right"]]
        about = [line for line in lines if is_about(line, right)]
        given, good = given + len(lines), good + len(about)
        answered += bool(about)
        noisy += bool(lines and not right)
        characters += sum(map(len, lines))
        if wrong and (lines or right) and len(about) < max(1, len(lines)):
            print("\n    ".join([row["asks"], *([line for line in lines if line not in about] or ["nothing"])]))
    deserving = sum(bool(row["right"]) for row in asked)
    tokens = characters / CHARACTERS_OF_TOKEN / len(asked) * PROMPTS_A_DAY
    return (
        f"| {name}, {vectors} | {good / max(1, given):.2f} ({good} of {given}) | {answered} of {deserving} "
        f"| {noisy} of {len(asked) - deserving} | {tokens:.0f} |"
    )


def main() -> None:
    """Measure all projects with and without vectors, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wrong", action="store_true")
    wrong = parser.parse_args().wrong
    rows = [json.loads(line) for line in SET.read_text("utf-8").splitlines()]
    encode = Encoder().encode
    print("| project | lines that are about their prompt | prompts that got such a line | noise | tokens a day |")
    print("|---|---|---|---|---:|")
    for name in dict.fromkeys(row["of"] for row in rows):
        for vectors in VECTORS:
            print(measure(name, vectors, [row for row in rows if row["of"] == name], encode, wrong=wrong))


if __name__ == "__main__":
    main()
