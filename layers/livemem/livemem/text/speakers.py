"""Names of speakers: of persons and of agents."""

from collections.abc import Sequence

from livemem import limits
from livemem.errors import InvalidRequest, TooLarge
from livemem.text.invisible import has_controls

NAMED = 3
"""Speakers that a text names at most."""


def check_speaker(field: str, name: str) -> str:
    """Return a speaker's name, or raise InvalidRequest, TooLarge, which name the field. It must be one line."""
    limits.check_text(field, name, limits.SPEAKER_BYTES)
    if has_controls(name):
        raise InvalidRequest.of(field, "must be on one line, without control characters")
    return name


def said_by(speaker: str, token: str) -> str:
    """The speaker as texts name it: with the token that wrote the words, where that is not the speaker's own.

    Each token that may `write` can name anybody, and a reader has to know whose words they are.
    """
    return speaker if speaker == token else f"said by {token} for {speaker}"


def all_said_by(exchanges: Sequence[Sequence[str]]) -> str:
    """The first of some tokens with the speakers that they wrote for, as texts name them. Empty if there are none."""
    return ", ".join([said_by(speaker, token) for token, speaker in exchanges[:NAMED]]) + ", …" * (
        len(exchanges) > NAMED
    )


def fitting(name: str) -> str | None:
    """The name of a speaker that another document holds; None if it is none."""
    try:
        return check_speaker("author", name)
    except (InvalidRequest, TooLarge):
        return None
