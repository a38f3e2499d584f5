"""Long conversations, kept turn by turn and summarised in layers (docs/conversations.md).

The log only grows, and a message is in it once (log.py). Where a block of turns ends, or a group of summaries, is a
pure function of the log and of parameters that never change (boundaries.py), and is written down once. A summary lies
under the hash of its input, so what is to be done is what is missing (summaries.py). So workers that run beside each
other can do work twice, and never disagree; leases only save money.
"""
