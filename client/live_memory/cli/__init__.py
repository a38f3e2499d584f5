"""The command line `livemem`."""
