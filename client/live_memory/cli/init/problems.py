"""The reasons why livemem can't make a change without loss."""


class NotPlain(Exception):
    """A file that can't be merged without loss. The text gives the reason."""
