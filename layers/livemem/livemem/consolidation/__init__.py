"""Notes become a bank, and nothing is lost on the way."""
