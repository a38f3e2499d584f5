"""The offline LLM: an OpenAI-compatible HTTP server that folds notes into a bank by fixed rules.

It is no language model. It stands in for one where none is configured, so that `make run`, `make demo` and the tests
work without an account or a network. Its model id is `offline-rules`, and it says in each synthesis what it is.
Beside that it serves embeddings of a small but real model, `offline-fuse`, loaded when the first text comes.

    server -> embeddings -> encoder (the model)
    server -> chat (a completion) -> prompt (what the service asks) -> fold, summary or digest
           -> chat -> agent (the next calls of tools)
    fold   -> rules (files and sections), filing (a note's section), entries (its bullet), edits (of a file)

All of them take whole sentences (sentences). docs/local.md tells a user what each does.
"""
