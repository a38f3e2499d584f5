"""`livemem hook`: what clients call by themselves when a session starts, is compacted or ends."""
