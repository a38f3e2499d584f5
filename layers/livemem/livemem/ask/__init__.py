"""Questions that an agent answers from what a space remembers. The model calls tools, and each of its steps is stored.

`question_work.py` begins and resumes questions, and takes their turns. `prompt.py` has what the model is asked,
`tools.py` the tools that it may call, `sessions.py` the conversation that a user's questions are part of.
"""
