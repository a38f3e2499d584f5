"""The messages of sessions, from the files that clients write: one reader for hooks and imports, for all clients."""
