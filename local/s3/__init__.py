"""The embedded S3 server: moto behind a thin shell that makes it atomic, durable, frugal and honest.

moto answers requests well, but it is made for tests: it keeps everything in memory, for ever, is not safe for threads,
takes any signature, and accepts settings that nothing here would keep. The shell (application.py) serialises what
changes objects, keeps a copy of them on disk (disk.py), answers the hot requests itself (listing.py), tells functions
about puts (events.py), refuses what was not signed with its key (signatures.py) and what it could not keep
(operations.py). All contact with moto is in backend.py.
"""

ACCESS_KEY = "livememory"
KEY_FILE = "s3.key"
"""Name of the file in the data folder that holds the secret key."""
