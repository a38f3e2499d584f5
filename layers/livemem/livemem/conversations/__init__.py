"""Long conversations, kept turn by turn and summarised in layers (docs/conversations.md).

The log only grows, and holds each message once (log.py). The end of a block of turns, or of a group of summaries, is a
pure function of the log and of parameters that never change (boundaries.py). It is written once. A summary is stored
under the hash of its input, so the work to be done is the summaries that are missing (summaries.py). Workers that run
in parallel may do work twice, but never disagree. Leases only save money.
"""
