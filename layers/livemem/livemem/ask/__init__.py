"""Questions that an agent answers from what a space remembers. The model calls tools, and each of its steps is stored.

`question_work.py` begins and resumes questions, `turns.py` is one turn of the loop, `tools.py` holds the tools that the
model may call, `sessions.py` the conversation that a user's questions are part of.
"""
