"""Names of speakers: of persons and of agents."""

from livemem import limits
from livemem.errors import InvalidRequest, TooLarge
from livemem.text.invisible import has_controls


def check_speaker(field: str, name: str) -> str:
    """Return a speaker's name, or raise InvalidRequest, TooLarge, which name the field. It must be one line."""
    limits.check_text(field, name, limits.SPEAKER_BYTES)
    if has_controls(name):
        raise InvalidRequest.of(field, "must be on one line, without control characters")
    return name


def fitting(name: str) -> str | None:
    """The name of a speaker that another document holds; None if it is none."""
    try:
        return check_speaker("author", name)
    except (InvalidRequest, TooLarge):
        return None
