"""Spaces as one file: made of a backup, and read again as what a stranger sent."""
