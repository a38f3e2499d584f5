"""Long work that is done once: jobs, their lease and worker, and how runs of consolidations are queued and started."""
