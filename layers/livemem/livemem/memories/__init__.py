"""Memories: single durable facts, each once, which may expire, and whose log is the truth.

A memory is stored by the operation after the newest one that its writer knows: of two who write at once one loses the
number, takes in what the other stored, and decides anew. So what is stored was compared with all that was there.
"""
