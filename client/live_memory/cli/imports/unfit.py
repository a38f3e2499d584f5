"""What can't be imported: a whole source, or one part of it."""


class BadSource(Exception):
    """The source is nothing that can be imported, or breaks a rule: nothing of it is sent. Said to people as it is."""


class BadPart(Exception):
    """One conversation or note is unfit, and the others are not: it is told and left out."""


def shown(text: str) -> str:
    """A name out of a source for people, whatever is in it."""
    return ascii(text if len(text) <= 200 else text[:200] + "...")
