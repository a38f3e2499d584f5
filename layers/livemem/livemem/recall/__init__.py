"""What an agent is given."""
