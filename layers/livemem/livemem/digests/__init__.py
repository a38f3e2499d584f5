"""Digests: at fixed hours what was said in the rooms of a space becomes memories.

A digest is named by its slot, the moment (UTC) at which it was due, or was asked for. What it takes is written down
once, before anything is asked; each answer is written down before it is used; what is stored carries the place that it
comes from. So it may be broken off anywhere, be gone on with by anybody, and be done by two at once.
"""
