"""Notes and memories that are copied from one space into another, with their source, and taken back."""
