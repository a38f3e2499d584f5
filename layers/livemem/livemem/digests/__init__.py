"""Digests: at fixed hours the messages in the rooms of a space become memories.

A digest is named by its slot, the moment (UTC) at which it was due or requested. Its input is written once, before the
LLM is asked. Each answer is written before it is used. Each stored memory names the place that it comes from. So a
worker may stop anywhere, any other worker may continue, and two workers may do the same digest at once.
"""
