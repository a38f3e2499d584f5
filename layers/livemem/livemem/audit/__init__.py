"""What the bucket shows of a space, as evidence for people: whether the invariants hold."""
