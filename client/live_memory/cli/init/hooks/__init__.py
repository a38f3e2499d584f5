"""`livemem hook`: the command that clients call by themselves when a session starts, is compacted or ends."""
