"""The embedded store over HTTP, for other programs: the S3 protocol (application.py) in front
of the client on files (local/store).

It refuses what was not signed with its key (signatures.py) and what it could not keep (operations.py).
"""

ACCESS_KEY = "livememory"
KEY_FILE = "s3.key"
"""Name of the file in the data folder that holds the secret key."""
