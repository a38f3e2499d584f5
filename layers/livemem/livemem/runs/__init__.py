"""Long work that users poll: runs, how they are queued, and what starts them."""
