"""What the bucket shows of a space, as evidence for people: the life of a note, and whether the invariants hold."""
