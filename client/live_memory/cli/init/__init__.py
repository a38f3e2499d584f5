"""`livemem init`: what a client such as Claude Code or Cursor needs to use the memory, written into its own files."""
