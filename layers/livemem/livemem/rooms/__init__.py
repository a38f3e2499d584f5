"""Rooms: live channels that an agent observes without being spoken to. Nobody creates a room: it exists as soon as a
message is posted to it.

A message stays in its room until a digest has made memories of it, at fixed hours. A digest is named by its slot, the
moment (UTC) at which it was due or requested. Its input is written once, before the LLM is asked. Each answer is
written before it is used. Each stored memory names the place that it comes from. So a worker may stop anywhere, any
other worker may continue, and two workers may do the same digest at once.
"""
