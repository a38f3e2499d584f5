"""Spaces as one file. It is made of a backup, and an import reads it as untrusted input."""
