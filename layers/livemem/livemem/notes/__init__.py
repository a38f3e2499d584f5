"""Live notes: their form, appending and reading."""
