"""The service on real parts: SAM CLI, Docker and MinIO on this machine (`make sam-local`)."""
