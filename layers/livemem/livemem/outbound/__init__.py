"""Requests to other servers: those that the settings name, and those that strangers name."""
