"""The bank as users read and correct it."""
