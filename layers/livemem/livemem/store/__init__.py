"""The object store: objects, clients, documents, and every key of the bucket."""
