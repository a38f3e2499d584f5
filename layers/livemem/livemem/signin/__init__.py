"""Sign-in by OAuth: a client gets a grant, which is at most what a token of the service may do."""
