"""Rooms: live channels that an agent observes without being spoken to.

A message lies in its room until a digest (digests/) has made memories of it. Rooms are not made: one is there as soon
as something is said in it.
"""
