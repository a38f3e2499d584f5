"""Questions that an agent answers from what a space remembers: it calls tools, and each step of it is stored.

`question_work.py` asks and goes on, `turns.py` is the loop, `tools.py` what the model may call, `sessions.py` the
conversation that a user's questions are part of.
"""
