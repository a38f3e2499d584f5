"""What is in the way of a change."""


class Refused(Exception):
    """Nothing is done, for a reason that the user can do something about; the text says what."""


class NotPlain(Exception):
    """A file that can't be merged without losing something of it; the text says what is in the way."""
