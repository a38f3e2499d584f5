"""Memories: single durable facts, each stored once, which may expire. Their log is the truth.

A writer stores a memory as the operation after the newest one that it knows. Of two writers at once, one loses the
number, reads the other's operation, and decides again. So each memory was compared with all existing ones.
"""
