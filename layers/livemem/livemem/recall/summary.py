"""What an agent loads when it starts."""

from dataclasses import dataclass

from livemem.bank import files
from livemem.bank import synthesis as syntheses
from livemem.bank.files import File
from livemem.bank.synthesis import Synthesis
from livemem.errors import NotFound
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.spaces import rules
from livemem.spaces.head import Meta


@dataclass(frozen=True)
class Summary:
    """A space whole: its meta, rules, synthesis and bank."""

    meta: Meta
    rules: str
    synthesis: Synthesis | None
    bank: list[File]


def summary(process: Process, space_id: str) -> Summary:
    """Meta, rules, synthesis and the whole bank; raises NotFound."""
    meta = heads.load(process, space_id).meta
    try:
        synthesis = syntheses.read_synthesis(process, space_id)
    except NotFound:
        synthesis = None
    return Summary(meta, rules.read(process, space_id), synthesis, files.listing(process, space_id, content=True))
