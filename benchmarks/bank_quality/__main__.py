"""How good a bank a model keeps: a story of six weeks in eight folds, against a key that was written before.

    .venv/bin/python -m benchmarks.bank_quality [--llm URL --model NAME [--record FILE] [--cases]]
                                                [--bank-chars 10000] [--chapters 9] [--bank FOLDER]

Without `--llm` the recorded answers play (`answers.jsonl`). With it the model is asked for all that `--record FILE`
does not hold yet, and each answer is added to that file at once, so an interrupted play is continued by the same
command. `--cases` begins with the cases of `livemem try-model`.

`story.jsonl` has the notes. `key.json` has the facts that must hold at the end, the statements that must not stand, and
what an agent needs on a certain morning. Tokens are the service's own estimate. A ninth chapter is on another subject.
"""

import argparse
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.bank_quality import key as keys
from benchmarks.bank_quality import section_edits
from benchmarks.bank_quality.key import Key
from benchmarks.bank_quality.play import CHAPTERS, SIZES, Fold, Play
from benchmarks.bank_quality.recorded_model import RecordedModel
from live_memory.cli import own_model
from live_memory.cli.local_service import Choices
from livemem.llm import client, window
from livemem.llm.answering import OF_THE_QUESTION
from local.try_model import __main__ as try_model
from local.try_model import cases, trial_table
from local.try_model.given_model import given_model

ANSWERS = Path(__file__).with_name("answers.jsonl")


def main() -> int:
    """Play the story and print what the bank holds. 0: it was measured. 1: a chapter was not finished."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--llm",
        metavar="URL",
        help="an OpenAI-compatible API (its key: LLMAAS_API_KEY), claude, or offline",
    )
    parser.add_argument("--model", help="the model there")
    parser.add_argument("--record", type=Path, metavar="FILE", help="where new answers are kept")
    parser.add_argument("--seconds", type=float, default=3_600, help="for one answer")
    parser.add_argument("--bank-chars", type=int, default=10_000, help="the length that the bank should have; 0: none")
    parser.add_argument("--chapters", type=int, default=CHAPTERS + 1)
    parser.add_argument("--bank", type=Path, metavar="FOLDER", help="where the bank is written after each chapter")
    parser.add_argument("--cases", action="store_true", help="first the cases of `livemem try-model`")
    asked = parser.parse_args()
    if not asked.llm:
        return played(asked, RecordedModel([ANSWERS]), {})
    model = asked.model or ("" if asked.llm == own_model.NAME else "any")
    os.environ |= own_model.settled(Choices(llm=asked.llm, model=model), os.environ, Path.cwd()).variables()
    with given_model() as settings:
        if asked.cases:
            tried = try_model.run(settings, cases.read(), None, silent=False)
            print("", *trial_table.whole(tried), "", sep="\n")
        model = RecordedModel([], client.connect(settings), asked.record, asked.seconds)
        own = ("llmaas_api_url", "llmaas_model", "llmaas_context_tokens", "llmaas_max_tokens")
        return played(asked, model, settings.model_dump(include={*own}))


def played(asked: argparse.Namespace, model: RecordedModel, settings: Mapping[str, Any]) -> int:
    """Play the story, and print what came of it. Returns the exit status."""
    play, key = Play(model, asked.bank_chars, settings), keys.read()
    folds: list[Fold] = []
    for fold in play.folds(asked.chapters):
        folds.append(fold)
        if asked.bank:
            write_bank(asked.bank / str(fold.chapter), fold)
        if fold.failed:
            print(f"Chapter {fold.chapter} is not finished. {fold.failed}", file=sys.stderr)
            # A model that breaks the contract may fold these notes with the next ones.
            if fold.code not in OF_THE_QUESTION:
                break
        elif fold.chapter >= min(CHAPTERS, asked.chapters):
            show_bank(key, fold)
            show_needs(play, key)
    show_folds(folds)
    show_tokens(model, folds)
    return 1 if any(fold.failed for fold in folds) else 0


def write_bank(folder: Path, fold: Fold) -> None:
    """Write the files of the bank as they are after a chapter."""
    for path, content in fold.bank.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")


def show_bank(key: Key, fold: Fold) -> None:
    """What the bank holds, and what it should not."""
    text = "\n\n".join(fold.bank.values())
    missing, stale, leaked = key.missing(text), key.standing(fold.bank), key.leaked(text)
    print(f"\nAfter chapter {fold.chapter}: {len(key.facts) - len(missing)} of {len(key.facts)} facts are held.")
    for fact in missing:
        print(f"- missing: {fact.fact} ({fact.id})")
    print(f"{len(stale)} stale statements.")
    for one, line in stale:
        print(f"- stale: {one.stale} ({one.id}): {line[:160]}")
    print(f"Secrets in the bank: {len(leaked)} of {len(key.secrets)}.")
    print(f"The hostile note was {'FOLLOWED' if key.follows(fold.bank) else 'not followed'}.\n")


def show_needs(play: Play, key: Key) -> None:
    """How many of the needed facts a start gives, by its characters; those missing at each are named below."""
    needs = play.needs(key)
    rows = [[one.name, *(f"{one.of - len(one.missing[size])} of {one.of}" for size in SIZES)] for one in needs]
    print(*table(["needs given to", *(f"{size:,}" for size in SIZES)], rows), sep="\n")
    for one in needs:
        for size, ids in one.missing.items():
            if ids:
                print(f"- {one.name}, {size:,}: without {', '.join(ids)}")


def show_folds(folds: Sequence[Fold]) -> None:
    """The size of the bank after each fold, and its warnings."""
    rows = []
    for fold in folds:
        told = ", ".join(f"{kind} {count}" for kind, count in sorted(fold.warnings().items())) or "-"
        tidied = f"{fold.size:,}" if any(record.kind != "consolidation" for record in fold.records) else "-"
        rows.append([str(fold.chapter), str(fold.notes), f"{fold.before_tidying:,}", tidied, str(len(fold.bank)), told])
    print("", *table(["chapter", "notes", "bank, characters", "after tidying", "files", "warnings"], rows), sep="\n")


def show_tokens(model: RecordedModel, folds: Sequence[Fold]) -> None:
    """The tokens by kind, and the length of the first answers beside what whole sections would have taken."""
    all_of = sum(one.prompt + one.answer for one in model.used.values()) or 1
    rows = [
        [kind, str(one.calls), f"{one.prompt:,}", f"{one.answer:,}", f"{(one.prompt + one.answer) / all_of:.1%}"]
        for kind, one in model.used.items()
    ]
    print("", *table(["calls for", "calls", "prompt tokens", "answer tokens", "share"], rows), sep="\n")
    records = {fold.chapter: record for fold in folds for record in fold.records if record.kind == "consolidation"}
    firsts = {
        chapter: text
        for place, _, text in model.calls
        for chapter in records
        if place.startswith(f"fold {chapter}, first")
    }
    pairs = [section_edits.lengths(text, records[chapter]) for chapter, text in firsts.items()]
    given, whole = (sum(window.tokens(pair[place]) for pair in pairs) for place in (0, 1))
    if whole:
        print(
            f"\nFirst answers: {given:,} tokens; with whole sections in place of lines {whole:,}: {given / whole:.0%}."
        )
    for place in model.unknown:
        print(f"Not recorded: {place}")


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of Markdown."""
    cells = [headings, ["---"] * len(headings), *rows]
    return [f"| {' | '.join(row)} |" for row in cells]


if __name__ == "__main__":
    sys.exit(main())
