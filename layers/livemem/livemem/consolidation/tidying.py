"""A tidy run: a model writes those files of a bank shorter that are too long, in one call for each. No note is folded.

A file whose answer can't be used, or is not shorter, stays as it is. All lines that went are in the record.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from livemem import clock as clocks
from livemem.bank import files
from livemem.bank.files import BankFile
from livemem.changes.bank_warnings import BankWarning
from livemem.changes.commit import CommitLost
from livemem.changes.records import Before, FileChange, Record, RemovedLine
from livemem.consolidation import collecting, details, findings, omissions, placeholders, prompt, sizes
from livemem.consolidation.announcing import APPLY_MARGIN
from livemem.consolidation.answer import ReasonText
from livemem.consolidation.collecting import Collected, NothingToDo
from livemem.consolidation.findings import MOST
from livemem.consolidation.losses import LOST_WEIGHT
from livemem.consolidation.planning import SHRINK_FACTOR
from livemem.errors import LiveMemoryError
from livemem.jobs import tidy_due
from livemem.jobs.budget import Meter
from livemem.jobs.run import Run
from livemem.llm import contract as contracts
from livemem.llm import window
from livemem.llm.answering import OF_THE_QUESTION, Contract, Flaw, NoAnswer, ask_model
from livemem.llm.client import Messages
from livemem.llm.contract import ContractError, Part
from livemem.process import Process
from livemem.settings import Settings
from livemem.spaces import head as heads
from livemem.spaces.head import Head
from livemem.spaces.head_fields import Tidied
from livemem.store import stored
from livemem.text import text_tokens

FILES = 10
"""Files that one run asks for, the longest first. A day later the next run asks for others."""
SHORTEST = 60.0
"""Seconds that must be left for one more file after the first."""
TOLD_CHARACTERS = 500
"""Of a line in a warning."""
SAID_CHARACTERS = 1_000
"""Of the reasons in the message of a run that shortened nothing."""
MOST_REMOVED = 500
"""Lines that a record lists. Any others are only counted."""
REMOVED_CHARACTERS = 100_000
"""Of all of them together. Each is whole, or not listed: an erasure finds no part of a line."""
_WORD = re.compile(r"\w+")


class ShorterFile(Part):
    """The answer: the whole file, and why, if much went."""

    content: Annotated[str, Field(min_length=1)]
    reason: ReasonText | None = None


@dataclass(frozen=True)
class LongBank:
    """A bank that may be too long, and the questions to the model."""

    files: list[BankFile]
    rules: str
    language: str | None
    length: int
    why_not: str | None
    """Why the run has nothing to do."""
    requests: list[tuple[BankFile, Messages]] = field(default_factory=list)
    unasked: list[BankWarning] = field(default_factory=list)
    """Warnings of files that are too long, and that the model is not asked for."""

    def prompts(self) -> list[Messages]:
        """The prompts of all calls. Raises NothingToDo if there is none."""
        if not self.requests:
            raise self.nothing(self.unasked)
        return [messages for _, messages in self.requests]

    def warnings(self, before: Mapping[str, str], after: Mapping[str, str]) -> list[BankWarning]:
        """The findings about files before and after, without lines that went: those are in `removed`."""
        return findings.of_files(before, after, (), self.rules, self.language)

    def nothing(self, warnings: Sequence[BankWarning], **metrics: Any) -> NothingToDo:
        """The error of a run that shortens nothing."""
        message = " ".join(["No file was shortened.", *(warning.text for warning in warnings)])
        return NothingToDo(message[:SAID_CHARACTERS], files_tidied=0, bank_length=self.length, **metrics)


def collect(process: Process, head: Head, run: Run) -> LongBank:
    """The bank, and the prompts for its long files: 1 LIST per 1,000 files, and 1 GET for each of them, the rules and
    the synthesis.

    Raises NothingToDo where no tidy run can work in the space, and RunError.
    """
    meta = head.meta
    if cannot := tidy_due.cannot(process.settings, meta):
        raise NothingToDo(cannot)
    around = collecting.surroundings(process, head, run)
    lengths = sizes.lengths({file.path: file.content for file in around.bank})
    length = sum(lengths.values())
    why_not = tidy_due.why_not(process, head, length, run.job_id)
    if run.by_hand():
        why_not = tidy_due.fits(meta, length) if length <= meta.bank_chars else None
    bank = LongBank(around.bank, around.rules, around.language, length, why_not)
    if not why_not:
        _add_prompts(process.settings, bank, around, _wanted(around, head, run, lengths))
    return bank


def _wanted(around: Collected, head: Head, run: Run, lengths: Mapping[str, int]) -> dict[str, int]:
    """The files to shorten, with the length that each should have. Where a file is as the last run wrote it, only a
    user can order that it is asked for again.
    """
    meta = head.meta
    last = meta.tidied.record if meta.tidied and not run.by_hand() else None
    written = {file.path for file in around.bank if last and file.record == last}
    return {path: length for path, length in sizes.too_long(lengths, meta.bank_chars).items() if path not in written}


def _add_prompts(settings: Settings, bank: LongBank, around: Collected, aims: Mapping[str, int]) -> None:
    """Add the prompts for the files with the aims of their lengths, the longest first."""
    outline = prompt.outline(bank.files)
    long = sorted((file for file in bank.files if file.path in aims), key=lambda file: -len(file.content))
    for number, file in enumerate(long):
        if len(bank.requests) == FILES:
            text = f"{len(long) - number} more files are too long. One run takes {FILES}."
            bank.unasked.append(BankWarning(kind="not_tidied", text=text))
            return
        messages = prompt.tidy(
            around.rules, file, outline, aims[file.path], today=around.today, language=around.language
        )
        if window.size(messages) + window.tokens(file.content) > settings.llmaas_context_tokens:
            bank.unasked.append(_left(file, "it does not fit into the model's window with its answer"))
        else:
            bank.requests.append((file, messages))


def claim(process: Process, head: Head, run: Run, length: int) -> Head:
    """Write into the head that the run tidies the bank, before it asks: 1 PUT. Raises CommitLost."""
    tidied = Tidied(
        run_id=run.job_id,
        at=clocks.iso(head.seen_at or process.clock()),
        chars=length,
        # A run without effect, or another try of this one, still knows which files are short already.
        record=head.meta.tidied.record if head.meta.tidied else None,
    )
    with stored.race(lost=CommitLost("The space was changed by another process.")):
        return heads.swap(process, head, tidied=tidied, bank_length=length)


def give_back(process: Process, before: Head, claimed: Head) -> None:
    """Take the claim back after a failure that cost nothing, so that the run is tried again: 1 PUT. A lost swap is
    ignored. A claim of an earlier worker of the run stays.
    """
    was, now = before.meta.tidied, claimed.meta.tidied
    if was and now and was.run_id == now.run_id:
        return
    with suppress(LiveMemoryError):
        heads.update(
            process, claimed.meta.space_id, lambda meta: {"tidied": was} if meta.tidied == now else {}, head=claimed
        )


def remember(process: Process, head: Head, length: int) -> None:
    """Write the counted length of the bank into the head, so that no run starts for another one. A lost swap is
    ignored.
    """
    if head.meta.bank_length not in (None, length):
        heads.try_swap(process, head, bank_length=length)


def record(
    process: Process, head: Head, run: Run, bank: LongBank, meter: Meter, deadline: datetime, started: datetime
) -> Record:
    """The record of the run, the next one after `head`. Raises NothingToDo where no file was shortened, and NoAnswer
    where the model does not answer.
    """
    changes, warnings = _shortened(process, bank, meter, deadline - APPLY_MARGIN)
    before = {file.path: file.content for file in bank.files}
    after = before | {change.path: change.after or "" for change in changes}
    removed = removed_lines({change.path: before[change.path] for change in changes}, after.values())
    length = sum(sizes.lengths(after).values())
    now = process.clock()
    used = {**meter.used.to_metrics(), "duration_seconds": round((now - started).total_seconds(), 3)}
    if not changes:
        raise bank.nothing(warnings, **used)
    warnings += bank.warnings(before, after)
    warnings += _lost_details(removed, after.values())
    if length > tidy_due.TIDY_ABOVE * head.meta.bank_chars:
        text = f"{tidy_due.fits(head.meta, length)} The rules and what still holds may leave no shorter one."
        warnings.append(BankWarning(kind="length", text=text))
    return Record(
        number=head.meta.changes + 1,
        run_id=run.job_id,
        uid=head.meta.uid,
        kind="tidy",
        trigger=run.trigger,
        started_at=clocks.iso_millis(started),
        committed_at=clocks.iso(now),
        model=process.settings.llmaas_model,
        prompt_version=prompt.tidy_version(),
        files=changes,
        rules_changed_at=head.meta.rules_changed_at,
        warnings=warnings,
        removed=listed_lines(removed),
        usage=meter.used,
        metrics={
            "notes_processed": 0,
            "files_tidied": len(changes),
            "lines_removed": len(removed),
            "warnings": len(warnings),
            "bank_length_before": bank.length,
            "bank_length": length,
            **used,
        },
    )


def _shortened(
    process: Process, bank: LongBank, meter: Meter, until: datetime
) -> tuple[list[FileChange], list[BankWarning]]:
    """The changed files, and warnings of all others that are too long. If the model fails later, its earlier answers
    stand.
    """
    changes: list[FileChange] = []
    warnings = [*bank.unasked]
    failure: NoAnswer | None = None
    for number, (file, messages) in enumerate(bank.requests):
        cut = meter.used.prompts_cut
        try:
            shortest = SHORTEST if number else None
            answer = ask_model(process, meter, messages, _contract(file, bank), until, shortest=shortest).value
        except NoAnswer as error:
            warnings.append(_left(file, error.detail))
            if error.code in OF_THE_QUESTION:
                continue
            failure = error
            # It may be this file that takes too long.
            if error.code == "llm_timeout":
                continue
            if rest := len(bank.requests) - number - 1:
                warnings.append(BankWarning(kind="not_tidied", text=f"{rest} more files were not asked for."))
            break
        if meter.used.prompts_cut > cut:
            warnings.append(_left(file, "the model read only a part of the prompt"))
        elif len(answer.content) >= len(file.content):
            warnings.append(_left(file, "the answer is not shorter"))
        else:
            changes.append(_change(file, answer))
            warnings += _shrunk(file, answer)
    if failure and not changes:
        raise failure
    return changes, warnings


def _contract(file: BankFile, bank: LongBank) -> Contract[ShorterFile]:
    def read(text: str) -> ShorterFile:
        answer = contracts.parse(text, ShorterFile)
        if not answer.content.strip():
            raise ContractError("The content is empty.")
        if problem := files.content_problem(answer.content):
            raise ContractError(f"The content {problem}.")
        sources = [file.content, bank.rules]
        placeholders.check_omissions("The content", [answer.content], sources, omissions.heading_words(sources))
        placeholders.check("The content", [answer.content], sources)
        return answer.model_copy(update={"content": answer.content.rstrip("\n") + "\n"})

    def flaws(answer: ShorterFile) -> list[Flaw]:
        warnings = bank.warnings({file.path: file.content}, {file.path: answer.content})
        return [Flaw(warning.kind, warning.text) for warning in warnings]

    return Contract(ShorterFile, read, flaws)


def _change(file: BankFile, answer: ShorterFile) -> FileChange:
    return FileChange(
        path=file.path,
        action="updated",
        before=Before(etag=file.etag, content=file.content, record=file.record),
        after=answer.content,
        reason=answer.reason,
    )


def _shrunk(file: BankFile, answer: ShorterFile) -> list[BankWarning]:
    before, after = len(file.content), len(answer.content)
    if after * SHRINK_FACTOR >= before or (answer.reason or "").strip():
        return []
    text = f"{file.path} has {after} of {before} characters left, and the answer does not say why."
    return [BankWarning(kind="shrunk", text=text, file=file.path)]


def _lost_details(removed: Sequence[RemovedLine], after: Iterable[str]) -> list[BankWarning]:
    """A warning of each line that went with identifiers, numbers or dates that stand nowhere in the new bank."""
    forms = details.held_by(after)
    warnings: list[BankWarning] = []
    for line in removed:
        if not any(detail.weight >= LOST_WEIGHT and not detail.is_held(forms) for detail in details.read(line.line)):
            continue
        if len(warnings) == MOST:
            warnings.append(BankWarning(kind="lost_detail", text="More lines with such details went."))
            break
        # The line is whole, or is not told: an erasure finds no part of it.
        quote = f": {line.line}" if len(line.line) <= TOLD_CHARACTERS else "."
        text = f"With a line of {line.file} details went that stand nowhere in the bank now{quote}"
        warnings.append(BankWarning(kind="lost_detail", text=text, file=line.file))
    return warnings


def _left(file: BankFile, why: str) -> BankWarning:
    text = f"{file.path} ({len(file.content)} characters) was not shortened: {why.rstrip('.')}."
    return BankWarning(kind="not_tidied", text=text, file=file.path)


def removed_lines(before: Mapping[str, str], after: Iterable[str]) -> list[RemovedLine]:
    """The lines of files, by their paths, whose words stand together in no line of the texts `after`.

    So a line that moved, or that was joined with another, has not gone. Words that say little don't count.
    """
    lines = list(dict.fromkeys(line.strip() for text in after for line in text.splitlines()))
    places: dict[str, set[int]] = {}
    for number, line in enumerate(lines):
        for word in _words(line):
            places.setdefault(word, set()).add(number)
    stand = set(lines)
    return [
        RemovedLine(file=path, line=line)
        for path, text in before.items()
        for line in map(str.strip, text.splitlines())
        if line not in stand and _is_gone(_words(line), places)
    ]


def listed_lines(lines: Sequence[RemovedLine]) -> list[RemovedLine]:
    """Those that a record lists."""
    result: list[RemovedLine] = []
    rest = REMOVED_CHARACTERS
    for line in lines:
        if len(result) < MOST_REMOVED and len(line.line) <= rest:
            result.append(line)
            rest -= len(line.line)
    return result


def _is_gone(words: set[str], places: Mapping[str, set[int]]) -> bool:
    if not words:
        return False
    telling = {word for word in words if not text_tokens.is_common(word)} or words
    rarest_first = sorted((places.get(word, set()) for word in telling), key=len)
    return not set.intersection(*rarest_first)


def _words(line: str) -> set[str]:
    return {text_tokens.folded(word) for word in _WORD.findall(line)}
