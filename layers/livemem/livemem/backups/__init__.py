"""Backups of spaces, and what rests on them: restore, fork, archives."""
