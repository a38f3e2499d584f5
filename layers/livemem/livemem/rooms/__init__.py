"""Rooms: live channels that an agent observes without being spoken to.

A message stays in its room until a digest (digests/) has made memories of it. Nobody creates a room: it exists as soon
as a message is posted to it.
"""
