"""The local runtime: Lambda, an HTTP API and S3 on one machine, without Docker and without an account.

`python -m local` reads template.yaml and runs the same handlers that AWS runs. Nothing in here is deployed.
"""
