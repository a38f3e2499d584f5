"""The version of the client, as its package has it."""

__version__ = "0.1.0"
