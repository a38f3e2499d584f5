"""What the service costs and how long it takes with thousands of spaces, on the simulated world in virtual time."""
