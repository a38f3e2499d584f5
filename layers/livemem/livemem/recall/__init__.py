"""The material that an agent gets: contexts, the start of a session, and searches."""
