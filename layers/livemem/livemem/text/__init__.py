"""Properties of a text that need the text alone: words, similarity, language, secrets and invisible characters."""
