"""Programs that are measured: each is a process of its own that does one round for each line it reads (see `serve`)."""
