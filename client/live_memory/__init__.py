"""A client of Live Memory over its HTTP API, and the command line `livemem`."""
