"""Spaces: their head, life, contents, rules and lease."""
