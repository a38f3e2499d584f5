"""Tokens, and what each of them may do."""
