"""The command line `livemem`: daily commands by hand, every other operation from the table of operations."""
