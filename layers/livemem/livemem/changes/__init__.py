"""The one way in which a bank changes: records, commit, undo."""
