"""The offline LLM: an OpenAI-compatible HTTP server that folds notes into a bank by fixed rules.

It is no language model. It stands in for one where none is configured, so that `make run`, `make demo` and the tests
work without an account or a network. Its model id is `offline-rules`, and it says in each synthesis what it is.

Beside that it serves embeddings of a small but real model, `offline-fuse`, loaded when the first text comes.

Data flows one way through the modules:

    server -> embeddings (vectors) -> encoder (the model)
    server -> chat (a completion) -> prompt (messages to a request) -> fold (request to answer)
    fold -> rules (text to files and sections), outline (bank file to headings and items), filing (note to section),
            orders (notes that give orders), entries (note to bullet), edits (bullets to edits of sections and lines)
    chat -> summary_prompt (messages to a request) -> extract (request to answer), named_notes (request to its notes)
    chat -> digest_prompt (messages to a request) -> listening (request to memories)
    chat -> verdict_prompt (messages to pairs of notes, and to the answer)
    chat -> agent (messages and tools to the next calls)

All of them take whole sentences (sentences).
docs/local.md tells a user what it does.
"""
