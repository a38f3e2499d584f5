"""What a note said is removed from wherever the bucket has it."""
