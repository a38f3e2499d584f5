"""Live Memory's domain: spaces, notes, the bank and its consolidation. It knows nothing of HTTP or Lambda events."""

__version__ = "0.1.0"
