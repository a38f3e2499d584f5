"""What becomes of the facts that a digest took from rooms when a note or a memory that says the same is erased."""

from livemem.erasure import scrubbing
from livemem.erasure.task import ErasureTask, Fate, read
from livemem.rooms.digest_documents import Extract, ExtractedFact
from livemem.store.bucket import EXTRACT


def fate(name: str, body: bytes, task: ErasureTask) -> Fate | None:
    """The fate of an extract. None for every other object, and for an extract without any erased text.

    The subjects of a fact go with its text: a name alone is too short to be looked for.
    """
    extract = read(Extract, body) if EXTRACT.parse(f"x/{name}") else None
    if not extract:
        return None
    facts = [_scrubbed(fact, task) for fact in extract.facts]
    return Fate(extract.model_copy(update={"facts": facts}).to_bytes()) if facts != extract.facts else None


def _scrubbed(fact: ExtractedFact, task: ErasureTask) -> ExtractedFact:
    whole = fact.content.strip() in task.texts
    content = scrubbing.ERASED if whole else scrubbing.scrub(fact.content, task.pieces)
    if content == fact.content:
        return fact
    return fact.model_copy(update={"content": content, "subjects": [], "category": None})
