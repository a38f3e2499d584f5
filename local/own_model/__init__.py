"""A model without a key: the command line of a client that is installed here, such as Claude Code, asked as an LLM.

    server (OpenAI's form) -> claude_code (flags, environment, answer) -> program (one process, which ends whole)
    server -> self_check (what this version sends, shown before it gets a note)

Notes are hostile input. So the program gets no tools, files, servers, skills or hooks, and a version of it that can't
be shown to leave all of them out is refused.
"""
