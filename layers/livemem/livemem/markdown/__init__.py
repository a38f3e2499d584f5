"""Markdown as blocks, sections and edits of sections; knows nothing of banks."""
