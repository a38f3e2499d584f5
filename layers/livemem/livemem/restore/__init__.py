"""Spaces that come as a whole: restored, forked, imported."""
