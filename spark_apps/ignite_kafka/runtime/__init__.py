"""What a run needs whatever it copies: clients, the Spark job, progress, parallelism, memory and logs.

Imports state, plan and settings; source and sink import it."""
