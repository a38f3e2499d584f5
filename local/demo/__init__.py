"""`make demo`: the whole product at work, once."""
