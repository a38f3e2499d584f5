"""Long work, once: jobs, their lease and worker; and the runs of consolidations, how they are queued and started."""
