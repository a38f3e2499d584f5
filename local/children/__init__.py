"""Processes beside the runtime, none of which outlives its owner, even when that is killed.

A module of ours runs behind `module.py`, which watches the owner from within (`child.py` starts it so); a foreign
program runs behind `leash.py`, which watches from outside.
"""
