"""Copies of whole spaces: backups, archives, and spaces that are made from one of them."""
