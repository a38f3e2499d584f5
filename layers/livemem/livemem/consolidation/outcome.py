"""The record of a model's checked answer, which is then committed. Files that the rules ask for and that a first
consolidation did not make are created with their headings.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from livemem import clock as clocks
from livemem.bank import paths
from livemem.bank import synthesis as syntheses
from livemem.changes.bank_warnings import BankWarning
from livemem.changes.records import FileChange, Record, SynthesisChange
from livemem.consolidation import answer, asked_files, checks, prompt, sizes
from livemem.consolidation.answer import ContractError
from livemem.consolidation.asked_files import AskedFile
from livemem.consolidation.checks import Folded
from livemem.consolidation.collecting import Collected
from livemem.jobs.run import Run
from livemem.llm.answering import Answered
from livemem.process import Process
from livemem.settings import Settings
from livemem.spaces.head import Head


def record(
    process: Process, head: Head, run: Run, collected: Collected, answered: Answered[Folded], started: datetime
) -> Record:
    """The record of the run, the next one after `head`."""
    folded, missing = complete(process.settings, collected, answered.value)
    warnings = [*checks.warnings(folded), *missing]
    outcome, synthesis = folded.outcome, folded.synthesis
    ids = [note.note_id for note in collected.notes]
    # A note that two runs in a row leave out is taken and listed as uncited. It must not wait for ever.
    live = {number for number in outcome.uncited if ids[number - 1] not in head.meta.left_out}
    uncited = sorted(outcome.uncited - live)
    taken = [number for number in range(1, len(ids) + 1) if number not in live]
    number = head.meta.changes + 1
    now = process.clock()
    text = syntheses.format_synthesis(
        synthesis, consolidated_at=clocks.iso(now), number=number, notes_processed=len(taken)
    )
    if not synthesis:
        text = collected.synthesis.content if collected.synthesis else ""
    metrics: dict[str, Any] = {
        "notes_processed": len(taken),
        "notes_remaining": collected.remaining + len(live),
        "notes_discarded": len(outcome.discarded),
        "notes_uncited": len(uncited),
        "notes_left_out": len(live),
        "notes_oversized": len(collected.oversized_notes.needs),
        "bank_files_created": sum(change.before is None for change in outcome.files),
        "bank_files_updated": sum(change.before is not None for change in outcome.files),
        "bank_files_unchanged": outcome.unchanged,
        "edits_applied": outcome.edits_applied,
        "warnings": len(warnings),
        "bank_length": _length(collected, outcome.files),
        "synthesis_size": len(text.encode()),
        **answered.used.to_metrics(),
        "duration_seconds": round((now - started).total_seconds(), 3),
        **collected.metrics(),
    }
    return Record(
        number=number,
        run_id=run.job_id,
        uid=head.meta.uid,
        kind="consolidation",
        trigger=run.trigger,
        started_at=clocks.iso_millis(started),
        committed_at=clocks.iso(now),
        model=run.model,
        prompt_version=prompt.version(),
        agent=run.agent,
        notes=[collected.sources[index - 1] for index in taken],
        files=outcome.files,
        synthesis=SynthesisChange(before=collected.synthesis, after=text) if synthesis else None,
        rules_changed_at=head.meta.rules_changed_at,
        discarded=[
            {"note_id": ids[index - 1], "reason": reason} for index, reason in sorted(outcome.discarded.items())
        ],
        uncited=[ids[number - 1] for number in uncited],
        left_out=[ids[number - 1] for number in sorted(live)],
        oversized_notes=collected.oversized_notes.bounded(),
        warnings=warnings,
        usage=answered.used,
        metrics=metrics,
    )


def _length(collected: Collected, changed: Sequence[FileChange]) -> int:
    """The characters of the bank after the changes."""
    texts = {file.path: file.content for file in collected.bank}
    return sum(sizes.lengths(texts | {change.path: change.after or "" for change in changed}).values())


REASON = "The rules ask for it; the answer did not create it."


def complete(settings: Settings, collected: Collected, folded: Folded) -> tuple[Folded, list[BankWarning]]:
    """The first consolidation of a space, with the files of the rules that its answer lacks, and warnings.

    There is one warning for each file that can't be created. A space that has a bank gets no files: a person may have
    deleted them.
    """
    if collected.bank:
        return folded, []
    warnings = []
    for file in asked_files.asked_for(collected.rules):
        files = folded.outcome.files
        if file.path.lower() in {change.path.lower() for change in files}:
            continue
        try:
            change = _created(file, len(files))
            outcome = replace(folded.outcome, files=[*files, change])
            checks.check_room(settings, collected, outcome, folded.synthesis)
            folded = replace(folded, outcome=outcome)
        except (ContractError, paths.BankPathError) as error:
            text = f"The rules ask for {file.path}, which was not created: {error}"
            warnings.append(BankWarning(kind="file_not_created", text=text, file=file.path))
    return folded, warnings


def _created(file: AskedFile, count: int) -> FileChange:
    if asked_files.is_pattern(file.path):
        raise ContractError("its name is a pattern for several files.")
    if count >= answer.FILES:
        raise ContractError(f"there are {count} other files already.")
    paths.check_bank_path(file.path)
    return FileChange(path=file.path, action="created", before=None, after=file.text(), reason=REASON)
