"""Imports from other sources: exports, folders of Markdown, conversations, buckets of another implementation."""
