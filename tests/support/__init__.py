"""What tests and benchmarks share: a bucket with S3's true conflict semantics, counted clients, a scripted model."""
