"""What an agent gets for its tokens: how much of the answers of `search` and `context` over MCP is content.

    .venv/bin/python -m benchmarks.mcp_content [--data FOLDER] [--questions 60] [--vectors none] [--show]

Content are the words of what was found: excerpts, sides of turns, summaries. All else is overhead: ids, times, authors,
headings, marks. Both are counted in tokens (cl100k_base), over the questions of the project of recall_memory.py, and,
with a data set of benchmarks/recall.py, over those of its first conversation, as whole turns and as single messages.
"""

import argparse
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import recall, recall_http, recall_memory
from benchmarks.mcp import Connection, tokens
from benchmarks.recall_http import Taken
from benchmarks.requests import Bench, InstantLlm, running

LIMITS = (5, 10)
_SPEAKER = re.compile(r"^[^:\n]{1,80}: ", re.MULTILINE)


def contents(tool: str, data: Mapping[str, Any]) -> list[str]:
    """The texts of an answer's JSON that an agent asks for."""
    if tool == "search":
        return [hit["snippet"] for hit in data["items"]]
    return [_SPEAKER.sub("", one["text"]) if one["kind"] == "turn" else one["text"] for one in data["items"]]


def share(connection: Connection, tool: str, asked: Sequence[Mapping[str, Any]], *, show: bool) -> str:
    """A row of the table: answers that are not empty, tokens of each, and the percentage that is content."""
    whole = content = answers = 0
    for arguments in asked:
        result = connection.mcp("tools/call", {"name": tool, "arguments": arguments}, tool)
        text = result["content"][0]["text"]
        texts = [" ".join(one.split()) for one in contents(tool, result["structuredContent"])]
        if any(texts):
            answers += 1
            whole += tokens(text)
            content += sum(map(tokens, texts))
            if show and answers == 1:
                print(text)
    return f"{answers} | {whole / max(answers, 1):.0f} | {100 * content / max(whole, 1):.0f} %"


def rows(space: str, questions: Sequence[str], talk: str | None) -> Iterator[tuple[str, str, Any]]:
    """The name of a way to ask, the tool, and the arguments of each call."""
    for limit in LIMITS:
        yield f"search, {limit} hits", "search", [{"space_id": space, "q": one, "limit": limit} for one in questions]
    yield "context", "context", [{"space_id": space, "q": one} for one in questions]
    if talk:
        asked = [{"space_id": space, "q": one, "conversation_id": talk} for one in questions]
        yield "context of a conversation", "context", asked


def project(bench: Bench, most: int) -> Iterator[tuple[str, Taken, Sequence[str], str | None]]:
    """The memory of the project: its name, its space, the questions, and its conversation if it is one."""
    given = recall_memory.rows_of(recall_memory.PROJECT)
    memory = recall_memory.take_in(bench, "project", recall_memory.project(given), folded=4)
    recall_memory.add_others(bench, memory, given)
    yield "project", Taken("project", "all", [], []), [row["ask"] for row in given if "ask" in row][:most], None


def talks(bench: Bench, folder: Path, most: int) -> Iterator[tuple[str, Taken, Sequence[str], str | None]]:
    """The same of the first conversation of a data set, for each way in."""
    conversation = recall.part(recall.read(folder), 1, most).dataset.conversations[0]
    for way in ("turns", "messages"):
        taken = recall_http.take_in(bench, conversation, way, way)
        talk = taken.ids[0].partition("/")[0]
        yield f"{folder.name}, {way}", taken, [one.text for one in conversation.questions], talk


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="a data set with conversations, such as LoCoMo")
    parser.add_argument("--questions", type=int, default=60, help="of each memory")
    parser.add_argument("--vectors", choices=["local", "none"], default="none")
    parser.add_argument("--show", action="store_true", help="print the first answer of each row")
    options = parser.parse_args()
    off = {"EMBEDDINGS_API_URL": "off"} if options.vectors == "none" else {}
    print("| memory | asked | answers | tokens of each | content |\n|---|---|---:|---:|---:|", flush=True)
    notes = recall_memory.project(recall_memory.rows_of(recall_memory.PROJECT))
    llm = InstantLlm(recall_memory.Keeper(notes).answer)
    llm.start()
    with running(0, 1, variables={"LLMAAS_API_URL": llm.url, "LLMAAS_API_KEY": "none", **off}) as bench:
        show(bench, project(bench, options.questions), options)
    if options.data:
        with running(0, 1, offline_llm=True, variables=off) as bench:
            show(bench, talks(bench, options.data, options.questions), options)


def show(
    bench: Bench, memories: Iterator[tuple[str, Taken, Sequence[str], str | None]], options: argparse.Namespace
) -> None:
    """Print the rows of some memories."""
    connection = Connection(int(bench.url.rpartition(":")[2]), bench.token)
    for name, taken, questions, talk in memories:
        if options.vectors != "none":
            recall_http.wait_for_vectors(bench, taken)
        for way, tool, asked in rows(taken.space, questions, talk):
            print(f"| {name} | {way} | {share(connection, tool, asked, show=options.show)} |", flush=True)


if __name__ == "__main__":
    main()
