"""Files that the rules ask for and that the first consolidation did not make. They are created with their headings."""

from dataclasses import replace

from livemem.bank import paths
from livemem.changes.bank_warnings import BankWarning
from livemem.changes.records import FileChange
from livemem.consolidation import answer, asked_files, checks
from livemem.consolidation.answer import ContractError
from livemem.consolidation.asked_files import AskedFile
from livemem.consolidation.checks import Folded
from livemem.consolidation.collecting import Collected
from livemem.settings import Settings

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
