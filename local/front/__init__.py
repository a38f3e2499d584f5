"""The way from a socket to a function: HTTP framing, the API, the Invoke API, and the guard before them."""
