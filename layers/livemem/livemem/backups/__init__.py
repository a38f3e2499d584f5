"""Copies of whole spaces within the bucket."""
