"""Programs that measure and print tables; tests assert counts, never times."""
