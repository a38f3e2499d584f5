"""What keeps an account healthy: sweep, health, what the service says of itself, and whether the invariants hold."""
