"""What others keep, brought here: exports, folders of Markdown, conversations, buckets of another implementation."""
