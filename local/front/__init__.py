"""What stands between a socket and a function: HTTP framing, the API, the Invoke API, and the guard at its door."""
