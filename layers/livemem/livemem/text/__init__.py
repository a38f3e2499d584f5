"""What can be told from a text alone: words, likeness, language, secrets and letters that nobody sees."""
