"""What is in the way of a change that livemem can't make without loss."""


class NotPlain(Exception):
    """A file that can't be merged without losing something of it; the text says what is in the way."""
