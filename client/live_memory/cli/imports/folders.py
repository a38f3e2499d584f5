"""A folder of Markdown files, such as other tools keep as a memory bank, packed for the service."""

from collections import Counter
from typing import IO

from live_memory.cli.imports import files, heads, oldnotes
from live_memory.cli.imports.detection import Source
from live_memory.cli.imports.members import File
from live_memory.cli.imports.packing import Packer
from live_memory.cli.imports.reports import SpaceReport
from live_memory.cli.imports.unfit import BadPart, BadSource, shown
from live_memory.cli.transcripts.private_words import PrivateWords

FILE_BYTES = 500_000
ALL_BYTES = 16 << 20
FILES = 1_000


def pack(source: Source, space_id: str, target: IO[bytes]) -> SpaceReport:
    """Write the Markdown files of the source as an archive. Raises BadSource for files that the service refuses."""
    wanted = [path for path in source.sizes if path.endswith(".md")]
    if len(wanted) > FILES:
        raise BadSource(f"The source has {len(wanted)} Markdown files, but a bank has at most {FILES}.")
    report = SpaceReport(space_id, source=source.path.name, bank_files=0)
    others = len(source.sizes) - len(wanted)
    report.not_taken = Counter({"files that are not Markdown": others}) if others else Counter()
    tops = {path.partition("/")[0] for path in wanted}
    top = f"{tops.pop()}/" if len(tops) == 1 and all("/" in path for path in wanted) else ""
    packer, names, size = Packer(target), dict[str, str](), 0
    try:
        for file in files.files(source.path):
            if not file.path.endswith(".md"):
                continue
            text = _text(file)
            size += file.size
            if size > ALL_BYTES:
                raise BadSource(f"The Markdown files of the source have more than {ALL_BYTES >> 20} MiB together.")
            path = file.path.removeprefix(top)
            try:
                name = oldnotes.bank_path(path, names)
            except BadPart as error:
                raise BadSource(f"{shown(file.path)} {error}.") from None
            if not text.strip():
                report.left_out.append(f"{shown(path)} is empty.")
                continue
            if name != path:
                report.changed.append(f"{shown(path)} was renamed to {name}.")
            text, change = heads.as_bank_file(text)
            if change:
                report.changed.append(f"{name} {change}.")
            names[name] = path
            # In a folder, so that the service removes no part of the names.
            packer.add(f"bank/{name}", text.encode())
        packer.end()
    finally:
        packer.close()
    if not names:
        raise BadSource("All Markdown files of the source are empty.")
    report.bank_files = len(names)
    return report


def _text(file: File) -> str:
    try:
        text = files.read(file, FILE_BYTES).decode()
    except UnicodeDecodeError:
        raise BadSource(f"{shown(file.path)} is not UTF-8.") from None
    if "\0" in text:
        raise BadSource(f"{shown(file.path)} holds a NUL character.")
    return PrivateWords().cut(text.removeprefix("\ufeff"))
