"""What a memory is worth on the fourth morning: three days of one person, and what the next start knows of them."""
