"""Long work, once: jobs, the lease under which they work, and the worker that carries them out."""
