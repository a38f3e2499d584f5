"""What can't be imported: a whole source, or one part of it."""


class BadSource(Exception):
    """The source can't be imported, or breaks a rule. Nothing of it is sent. The text is shown to the user."""


class BadPart(Exception):
    """One conversation or note is unfit. The import leaves it out, reports it, and imports the others."""


def shown(text: str) -> str:
    """A name from a source, safe to show to people."""
    return ascii(text if len(text) <= 200 else text[:200] + "...")
