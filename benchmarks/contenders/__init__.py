"""Programs that are measured: each is a process that runs one round for each line it reads (see `serve`)."""
