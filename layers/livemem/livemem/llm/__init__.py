"""The LLM's API: it knows no prompt."""
